/* SPDX-License-Identifier: MIT */
#include <ctop/format/script.h>

#include "sample_text.h"

static void add_frame(struct sample_text *text, const struct history_stack *stack,
		      const struct history_frame *frame, bool is_leaf)
{
	/* What the kernel's chain held, before 1 was taken from it to look it up. */
	unsigned back = frame->method == FRAME_KERNEL && !is_leaf;
	text_add(&text->text, "\t");
	sample_text_add_hex(text, frame->address + back, 16);
	text_add(&text->text, " ");
	sample_text_add_function(text, frame, back);
	text_add(&text->text, " (");
	sample_text_add_module(text, frame, stack->pid);
	text_add(&text->text, ")\n");
}

static void add_sample(struct sample_text *text, const struct history_sample *sample)
{
	const struct history_stack *stack = &sample->stack;
	sample_text_add_head(text, sample);
	text_add(&text->text, "\n");
	for (size_t i = stack->nr_frames; i-- > 0;)
		add_frame(text, stack, &stack->frames[i], i == stack->nr_frames - 1);
	text_add(&text->text, "\n");
}

int script_write(struct history *history, struct selection *selection,
		 const struct script_sink *sink)
{
	return sample_text_write(history, selection, sink, add_sample);
}
