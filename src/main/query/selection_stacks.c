/* SPDX-License-Identifier: MIT */
/* The stacks of a selection, one by one: what an export writes of what is shown. */
#include <ctop/query/selection.h>

#include "selection_internal.h"

/* False: it is not shown. */
static bool is_shown(const struct selection *selection, size_t row)
{
	return selection->stacks.items[row].passes && selection->counts.items[row].samples;
}

int selection_each_stack(struct selection *selection,
			 int (*each)(void *context, const struct history_stack *stack),
			 void *context)
{
	struct stack_view view;
	int result = stack_view_init(&view);
	for (size_t i = 0; !result && i < selection->stacks.nr; i++) {
		const struct stack_count *count = &selection->counts.items[i];
		if (!is_shown(selection, i))
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

int selection_walk_stacks(struct selection *selection, struct history_walk *walk,
			  int (*each)(void *context, const struct history_stack *facts,
				      uint32_t number),
			  void *context)
{
	uint32_t number;
	int result = 0;
	for (size_t i = 0; !result && i < selection->stacks.nr; i++) {
		if (!is_shown(selection, i))
			continue;
		struct history_stack facts = history_stack_facts(selection->history, (uint32_t)i);
		facts.samples = selection->counts.items[i].samples;
		facts.weight = selection->counts.items[i].weight;
		result = history_walk(selection->history, walk, (uint32_t)i, &number);
		if (!result)
			result = each(context, &facts, number);
	}
	return result;
}
