/* SPDX-License-Identifier: MIT */
#include <ctop/query/slice.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "slice_internal.h"

struct sorting {
	const struct history *history;
	enum slice_order order;
};

static int compare_counts(uint64_t a, uint64_t b)
{
	return (a < b) - (a > b); /* more first */
}

static int compare(const void *a, const void *b, void *context)
{
	const struct slice_function *left = a, *right = b;
	const struct sorting *sorting = context;
	int by_self = compare_counts(left->cost.self_weight, right->cost.self_weight);
	int by_total = compare_counts(left->cost.total_weight, right->cost.total_weight);
	int order = 0;
	switch (sorting->order) {
	case SLICE_BY_SELF:
		order = by_self ? by_self : by_total;
		break;
	case SLICE_BY_TOTAL:
		order = by_total ? by_total : by_self;
		break;
	case SLICE_BY_MODULE:
		order = strcmp(history_function_module(sorting->history, left->id),
			       history_function_module(sorting->history, right->id));
		if (!order)
			order = by_self ? by_self : by_total;
		break;
	case SLICE_BY_NAME:
		break;
	}
	return order ? order : history_compare_functions(sorting->history, left->id, right->id);
}

/* Lets the first item sink to its place: every parent comes after its children in the order, so that the last of all is first. */
static void sink(struct slice_function *items, size_t nr, struct sorting *sorting)
{
	for (size_t at = 0, child; (child = 2 * at + 1) < nr; at = child) {
		if (child + 1 < nr && compare(&items[child], &items[child + 1], sorting) < 0)
			child++;
		if (compare(&items[at], &items[child], sorting) >= 0)
			return;
		struct slice_function swapped = items[at];
		items[at] = items[child];
		items[child] = swapped;
	}
}

/*
 * The first `most` come to the front, in no order: a heap of the best so far, whose worst gives way. A heap that is
 * sorted backwards is one already.
 */
static void choose(struct slice_functions *functions, size_t most, struct sorting *sorting)
{
	struct slice_function *items = functions->items;
	qsort_r(items, most, sizeof(*items), compare, sorting);
	for (size_t i = 0; i < most / 2; i++) {
		struct slice_function swapped = items[i];
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

int slice_top(struct slice *slice, enum slice_order order, size_t most,
	      struct slice_functions *functions, size_t *nr_all)
{
	struct sorting sorting = {slice->history, order};
	functions->nr = 0;
	if (vec_reserve(functions, slice->keys.nr))
		return -ENOMEM;
	for (uint32_t key = NR_LABELS; key < slice->keys.nr; key++) {
		const struct slice_cost *cost = &slice->keys.items[key].cost;
		if (cost->total)
			functions->items[functions->nr++] =
				(struct slice_function){function_of_key(key), *cost, 0};
	}
	if (nr_all)
		*nr_all = functions->nr;
	if (most && most < functions->nr)
		choose(functions, most, &sorting);
	if (functions->nr)
		qsort_r(functions->items, functions->nr, sizeof(*functions->items), compare,
			&sorting);
	for (size_t i = 0; i < functions->nr; i++)
		functions->items[i].squares = slice_function_squares(slice, functions->items[i].id);
	return 0;
}

struct slice_cost slice_function_cost(const struct slice *slice, struct function_id function)
{
	if ((uint64_t)function.index + NR_LABELS >= slice->keys.nr)
		return (struct slice_cost){0};
	return slice->keys.items[key_of_function(function.index)].cost;
}

double slice_function_squares(const struct slice *slice, struct function_id function)
{
	if ((uint64_t)function.index + NR_LABELS >= slice->keys.nr)
		return 0;
	return slice_key_squares(slice, key_of_function(function.index));
}
