/* SPDX-License-Identifier: MIT */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

struct sorting {
	const struct history *history;
	enum selection_order order;
};

static int compare_counts(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b); /* more first */
}

static int compare(const void *a, const void *b, void *context)
{
	const struct selection_function *left = a, *right = b;
	const struct sorting *sorting = context;
	int by_self = compare_counts(left->cost.self_weight, right->cost.self_weight);
	int by_total = compare_counts(left->cost.total_weight, right->cost.total_weight);
	int order = 0;
	switch (sorting->order) {
	case SELECTION_BY_SELF:
		order = by_self ? by_self : by_total;
		break;
	case SELECTION_BY_TOTAL:
		order = by_total ? by_total : by_self;
		break;
	case SELECTION_BY_MODULE:
		order = strcmp(history_function_module(sorting->history, left->id),
			       history_function_module(sorting->history, right->id));
		if (!order)
			order = by_self ? by_self : by_total;
		break;
	case SELECTION_BY_NAME:
		break;
	}
	return order ? order : history_compare_functions(sorting->history, left->id, right->id);
}

/* Lets the first item sink to its place: every parent comes after its children in the order, so that the last of all is first. */
static void sink(struct selection_function *items, size_t nr, struct sorting *sorting)
{
	for (size_t at = 0, child; (child = 2 * at + 1) < nr; at = child) {
		if (child + 1 < nr && compare(&items[child], &items[child + 1], sorting) < 0)
			child++;
		if (compare(&items[at], &items[child], sorting) >= 0)
			return;
		struct selection_function swapped = items[at];
		items[at] = items[child];
		items[child] = swapped;
	}
}

/*
 * The first `most` come to the front, in no order: a heap of the best so far, whose worst gives way. A heap that is
 * sorted backwards is one already.
 */
static void choose(struct selection_functions *functions, size_t most, struct sorting *sorting)
{
	struct selection_function *items = functions->items;
	qsort_r(items, most, sizeof(*items), compare, sorting);
	for (size_t i = 0; i < most / 2; i++) {
		struct selection_function swapped = items[i];
		items[i] = items[most - 1 - i];
		items[most - 1 - i] = swapped;
	}
	for (size_t i = most; i < functions->nr; i++) {
		if (compare(&items[i], &items[0], sorting) >= 0)
			continue;
		items[0] = items[i];
		sink(items, most, sorting);
	}
	functions->nr = most;
}

int selection_top(struct selection *selection, enum selection_order order, size_t most,
		  struct selection_functions *functions, size_t *nr_all)
{
	struct sorting sorting = {selection->history, order};
	functions->nr = 0;
	if (selection_need_paths(selection) || vec_reserve(functions, selection->keys.nr))
		return -ENOMEM;
	for (uint32_t key = NR_LABELS; key < selection->keys.nr; key++) {
		const struct selection_cost *cost = &selection->keys.items[key].cost;
		if (cost->total)
			functions->items[functions->nr++] =
				(struct selection_function){function_of_key(key), *cost, 0};
	}
	if (nr_all)
		*nr_all = functions->nr;
	if (most && most < functions->nr)
		choose(functions, most, &sorting);
	if (functions->nr)
		qsort_r(functions->items, functions->nr, sizeof(*functions->items), compare,
			&sorting);
	for (size_t i = 0; i < functions->nr; i++)
		functions->items[i].squares =
			selection_function_squares(selection, functions->items[i].id);
	return 0;
}

struct selection_cost selection_function_cost(const struct selection *selection,
					      struct function_id function)
{
	if ((uint64_t)function.index + NR_LABELS >= selection->keys.nr)
		return (struct selection_cost){0};
	return selection->keys.items[key_of_function(function.index)].cost;
}

double selection_function_squares(const struct selection *selection, struct function_id function)
{
	if ((uint64_t)function.index + NR_LABELS >= selection->keys.nr)
		return 0;
	return selection_key_squares(selection, key_of_function(function.index));
}

int selection_function_beside(struct selection *selection, struct function_id function,
			      uint32_t event, struct selection_amount *self,
			      struct selection_amount *total)
{
	const uint32_t key = key_of_function(function.index);
	*self = *total = (struct selection_amount){0};
	int result = selection_need_paths(selection);
	const struct paths_beside *beside =
		result ? NULL : selection_paths_beside(selection, event);
	if (!beside)
		return -ENOMEM;
	uint32_t path = key < selection->keys.nr ? selection->keys.items[key].first_path : 0;
	for (; path; path = selection->paths.items[path].next_same) {
		const struct selection_amount all = selection_path_beside(beside, path),
					      own = selection_path_self_beside(selection, beside,
									       path);
		selection_add_amount(self, &own);
		if (selection_is_outermost(selection, &selection->paths.items[path]))
			selection_add_amount(total, &all);
	}
	return 0;
}
