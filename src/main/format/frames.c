/* SPDX-License-Identifier: MIT */
#include <ctop/format/frames.h>

#include "sample_text.h"

/* An address that came from a call is looked up in the call's own instruction. */
static bool is_return_address(const struct history_frame *frame, bool is_leaf)
{
	return !is_leaf && frame->method != FRAME_LEAF && frame->method != FRAME_SIGNAL;
}

static void add_frame(struct sample_text *text, const struct history_stack *stack,
		      const struct history_frame *frame, bool is_leaf)
{
	unsigned back = is_return_address(frame, is_leaf);
	text_add(&text->text, "\t");
	sample_text_add_hex(text, frame->address + back, 16);
	text_addf(&text->text, " %-10s ", frame_method_name(frame->method));
	sample_text_add_function(text, frame, back);
	text_add(&text->text, " (");
	sample_text_add_module(text, frame, stack->pid);
	text_add(&text->text, "+0x");
	sample_text_add_hex(text, frame->address, 0);
	text_add(&text->text, ")\n");
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

int frames_write(struct history *history, struct selection *selection,
		 const struct script_sink *sink)
{
	return sample_text_write(history, selection, sink, add_sample);
}
