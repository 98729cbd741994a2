/* SPDX-License-Identifier: MIT */
/* The stacks of a slice, one by one: what an export writes of what is shown. */
#include <ctop/query/slice.h>

#include <errno.h>

#include "slice_internal.h"

int slice_each_stack(struct slice *slice,
		     int (*each)(void *context, const struct history_stack *stack), void *context)
{
	struct stack_view view;
	int result = stack_view_init(&view);
	for (size_t i = 0; !result && i < slice->stacks.nr; i++) {
		const struct stack_count *count = &slice->counts.items[i];
		if (!slice->stacks.items[i].passes || !count->samples)
			continue;
		struct counted_stack counted = slice->history->stacks.items[i];
		counted.samples = count->samples;
		counted.weight = count->weight;
		result = stack_view_set(&view, slice->history, &counted);
		if (!result)
			result = each(context, &view.stack);
	}
	stack_view_release(&view);
	return result;
}
