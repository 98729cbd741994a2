/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <inttypes.h>

#include "sample_text.h"

/*
 * What the unwinder did, for those who have to find out why a stack is as it is: script.c's text, with how the
 * stack ended behind the event, and how each frame was found behind its address
 *
 *     comm   pid/tid   [cpu] seconds.micros:     period event: truncated (dump_end)
 *     	         address method     symbol+0xoffset (module+0xaddress)
 *     	         ...
 *
 * in the words of stack_end.h. Both addresses are those of the ELF file: the first as it stood in a register or on
 * the stack, the one behind the module as it was looked up: of a caller that is 1 less. Code without a file
 * has addresses of its process. What was inlined has the address of the function that it is in, and (inlined) instead of a
 * module. Behind each stands its line, where that is known.
 */

/* An address that came from a call is looked up in the call's own instruction. */
static bool is_return_address(const struct history_frame *frame, bool is_leaf)
{
	return !is_leaf && frame->address && frame->method != FRAME_LEAF &&
	       frame->method != FRAME_SIGNAL && frame->method != FRAME_SWITCHED;
}

static void add_line(struct text *text, const struct history_frame *frame)
{
	if (!frame->line)
		return;
	text_add(text, " ");
	text_add_safe(text, *frame->file ? frame->file : "?");
	text_addf(text, ":%" PRIu32, frame->line);
}

static void add_frame(struct sample_text *text, const struct history_stack *stack,
		      const struct history_frame *frame, bool is_leaf)
{
	unsigned back = is_return_address(frame, is_leaf);
	text_add(&text->text, "\t");
	sample_text_add_hex(text, frame->address + back, 16);
	text_addf(&text->text, " %-10s ",
		  frame->inlined ? "inlined" : frame_method_name(frame->method));
	sample_text_add_function(text, frame, back);
	text_add(&text->text, " (");
	sample_text_add_module(text, frame, stack->pid);
	if (!frame->inlined) {
		text_add(&text->text, "+0x");
		sample_text_add_hex(text, frame->address, 0);
	}
	text_add(&text->text, ")");
	add_line(&text->text, frame);
	text_add(&text->text, "\n");
}

static void add_sample(struct sample_text *text, const struct history_sample *sample)
{
	const struct history_stack *stack = &sample->stack;
	sample_text_add_head(text, sample);
	text_add(&text->text, stack_end_name(stack->end));
	if (stack->reason != STACK_REASON_NONE)
		text_addf(&text->text, " (%s)", stack_reason_name(stack->reason));
	text_add(&text->text, "\n");
	for (size_t i = stack->nr_frames; i-- > 0;)
		add_frame(text, stack, &stack->frames[i], i == stack->nr_frames - 1);
	text_add(&text->text, "\n");
}

int frames_write(const struct export_request *request)
{
	return sample_text_write(request, add_sample);
}
