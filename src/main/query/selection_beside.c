/* SPDX-License-Identifier: MIT */
/*
 * Other events than the selection's own: their stacks have paths as all have, and what these cost is added up when it is asked for, once
 * between two refreshes.
 */
#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>
#include <ctop/query/selection.h>

#include "selection_internal.h"

bool selection_counts(const struct selection *selection, size_t stack, int32_t event)
{
	const struct stack_count *count = &selection->counts.items[stack];
	const struct counted_stack *counted = &selection->history->stacks.items[stack];
	if (!count->samples && !count->weight)
		return false;
	return event == SELECTION_OWN_EVENT
		       ? selection->stacks.items[stack].passes
		       : counted->event == event &&
				 selection_passes_beside(selection, counted,
							 selection->stacks.items[stack].path);
}

/* The selection sums those of its own event alone. */
double selection_squares_of(const struct selection *selection, size_t stack, int32_t event)
{
	const struct history *history = selection->history;
	const struct stack_count *count = &selection->counts.items[stack];
	const double weight = (double)count->weight;
	if (event == SELECTION_OWN_EVENT)
		return selection_stack_squares(selection, stack);
	if (history->events.items[event].weight_least == history->events.items[event].weight_most)
		return weight * (double)history->events.items[event].weight_least;
	if (count->samples == history->stacks.items[stack].samples)
		return history_stack_squares(history, stack);
	return count->samples ? weight * weight / (double)count->samples : 0;
}

static struct selection_amount of_stack(const struct selection *selection, size_t stack,
					uint32_t event)
{
	const struct stack_count *count = &selection->counts.items[stack];
	return (struct selection_amount){count->samples, count->weight,
					 selection_squares_of(selection, stack, (int32_t)event)};
}

struct selection_amount selection_total_beside(const struct selection *selection, uint32_t event)
{
	struct selection_amount total = {0};
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		if (!selection_counts(selection, i, (int32_t)event))
			continue;
		const struct selection_amount amount = of_stack(selection, i, event);
		selection_add_amount(&total, &amount);
	}
	return total;
}

/* ---- by path ---- */

void selection_forget_beside(struct selection *selection)
{
	for (size_t i = 0; i < selection->beside.nr; i++)
		free(selection->beside.items[i].paths.items);
	selection->beside.nr = 0;
}

/* Paths come after their parents. */
static void add_up(const struct selection *selection, struct paths_beside *beside)
{
	struct selection_amount *paths = beside->paths.items;
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		if (!selection_counts(selection, i, (int32_t)beside->event))
			continue;
		const struct selection_amount amount = of_stack(selection, i, beside->event);
		selection_add_amount(&paths[selection->stacks.items[i].path], &amount);
	}
	for (size_t i = beside->paths.nr; i-- > 1;)
		if (i != selection->root)
			selection_add_amount(&paths[selection->paths.items[i].parent], &paths[i]);
}

const struct paths_beside *selection_paths_beside(struct selection *selection, uint32_t event)
{
	for (size_t i = 0; i < selection->beside.nr; i++)
		if (selection->beside.items[i].event == event)
			return &selection->beside.items[i];
	struct paths_beside beside = {.event = event};
	if (vec_reserve(&selection->beside, selection->beside.nr + 1))
		return NULL;
	beside.paths.nr = beside.paths.capacity = selection->paths.nr;
	beside.paths.items = calloc(beside.paths.nr, sizeof(*beside.paths.items));
	if (!beside.paths.items)
		return NULL;
	add_up(selection, &beside);
	selection->beside.items[selection->beside.nr] = beside;
	return &selection->beside.items[selection->beside.nr++];
}

struct selection_amount selection_path_self_beside(const struct selection *selection,
						   const struct paths_beside *beside, uint32_t path)
{
	const struct path *items = selection->paths.items;
	struct selection_amount self = selection_path_beside(beside, path);
	for (uint32_t child = items[path].first_child; child; child = items[child].next_sibling) {
		const struct selection_amount below = selection_path_beside(beside, child);
		self.samples -= below.samples;
		self.weight -= below.weight;
		self.squares -= below.squares;
	}
	return self;
}
