/* SPDX-License-Identifier: MIT */
/* The stacks of a selection, one by one: what an export writes of what is shown. */
#include <ctop/query/selection.h>

#include <errno.h>

#include "selection_internal.h"

int selection_each_stack(struct selection *selection,
			 int (*each)(void *context, const struct history_stack *stack),
			 void *context)
{
	struct stack_view view;
	int result = stack_view_init(&view);
	for (size_t i = 0; !result && i < selection->stacks.nr; i++) {
		const struct stack_count *count = &selection->counts.items[i];
		if (!selection->stacks.items[i].passes || !count->samples)
			continue;
		struct counted_stack counted = selection->history->stacks.items[i];
		counted.samples = count->samples;
		counted.weight = count->weight;
		result = stack_view_set(&view, selection->history, &counted);
		view.stack.squares = selection_stack_squares(selection, i);
		if (!result)
			result = each(context, &view.stack);
	}
	stack_view_release(&view);
	return result;
}
