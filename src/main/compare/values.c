/* SPDX-License-Identifier: MIT */
/* What functions and paths cost on either side, and whether that differs by more than noise. */
#include <ctop/compare/compare.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "internal.h"

typedef const struct weighed_rows *(rows_of)(const struct compared_run *run);

static const struct weighed_rows *self_rows(const struct compared_run *run)
{
	return &run->self;
}

static const struct weighed_rows *total_rows(const struct compared_run *run)
{
	return &run->total;
}

static const struct weighed_rows *own_rows(const struct compared_run *run)
{
	return &run->own;
}

static const struct weighed_rows *below_rows(const struct compared_run *run)
{
	return &run->below;
}

/* What each run has for a row. */
static const struct weighed *collect(const struct compare *compare, rows_of *of, size_t row)
{
	for (size_t i = 0; i < compare->nr_runs; i++)
		compare->row[i] = of(&compare->runs[i])->items[row];
	return compare->row;
}

static struct noise_value value_of(const struct compare *compare, const struct noise *noise,
				   rows_of *of, size_t row)
{
	return noise_value(noise, collect(compare, of, row));
}

/* ---- how much is noise ---- */

static bool is_function(const struct compare *compare, size_t row)
{
	const struct same_function *function = &compare->functions.items[row];
	return !function->label && function->moved_to == row;
}

/* The total is another row than self only where functions are called. */
static bool has_callees(const struct compare *compare, size_t row)
{
	for (size_t i = 0; i < compare->nr_runs; i++)
		if (compare->runs[i].total.items[row].weight >
		    compare->runs[i].self.items[row].weight)
			return true;
	return false;
}

static size_t count_tests(const struct compare *compare, size_t row)
{
	const struct noise *noise = &compare->noise;
	size_t nr = noise_is_tested(noise, collect(compare, self_rows, row));
	if (has_callees(compare, row))
		nr += noise_is_tested(noise, collect(compare, total_rows, row));
	return nr;
}

static void count_path_tests(struct compare *compare)
{
	size_t nr = 0;
	for (size_t i = 1; i < compare->paths.nr; i++)
		nr += noise_is_tested(&compare->noise, collect(compare, below_rows, i));
	compare->path_noise = compare->noise;
	noise_set_tests(&compare->path_noise, nr);
}

static bool is_on_side(const struct compare *compare, size_t row, enum compare_side side)
{
	for (size_t i = 0; i < compare->nr_runs; i++)
		if (compare->measured[i].side == side &&
		    compare->runs[i].total.items[row].weight > 0)
			return true;
	return false;
}

static void count_function(struct compare *compare, size_t row)
{
	const struct compare_function function = compare_function_of(compare, (uint32_t)row);
	struct compare_counts *counts = &compare->counts;
	if (!function.in_a && !function.in_b)
		return;
	counts->only_a += !function.in_b;
	counts->only_b += !function.in_a;
	counts->matched += function.in_a && function.in_b;
	counts->renamed += function.name_in_a != NULL;
	counts->moved += function.module_in_a != NULL;
	counts->tested += count_tests(compare, row);
}

int compare_measure(struct compare *compare)
{
	struct noise_spread spread = {0};
	compare->row = calloc(compare->nr_runs, sizeof(*compare->row));
	if (!compare->row)
		return -ENOMEM;
	for (size_t i = 0; i < compare->functions.nr; i++) {
		if (!is_function(compare, i))
			continue;
		noise_add_spread(&compare->noise, collect(compare, self_rows, i), &spread);
		count_function(compare, i);
	}
	noise_end_spread(&compare->noise, &spread);
	noise_set_tests(&compare->noise, compare->counts.tested);
	count_path_tests(compare);
	return 0;
}

struct noise_value compare_total(const struct compare *compare)
{
	return value_of(compare, &compare->noise, below_rows, 0);
}

/* ---- functions ---- */

/* Where a function of this row was in A. */
static const struct same_function *origin_of(const struct compare *compare, uint32_t row)
{
	const struct same_function *function = &compare->functions.items[row];
	return function->moved_from ? &compare->functions.items[function->moved_from] : function;
}

static const char *name_on(const struct same_function *function, enum compare_side side)
{
	return function->several[side] ? function->name : function->names[side];
}

struct compare_function compare_function_of(const struct compare *compare, uint32_t row)
{
	const struct same_function *function = &compare->functions.items[row],
				   *origin = origin_of(compare, row);
	const char *in_a = name_on(origin, COMPARE_A), *in_b = name_on(function, COMPARE_B);
	return (struct compare_function){
		.name = in_b   ? in_b
			: in_a ? in_a
			       : function->name,
		.name_in_a = in_a && in_b && strcmp(in_a, in_b) != 0 ? in_a : NULL,
		.module = function->module,
		.module_in_a = origin != function ? origin->module : NULL,
		.kernel = function->kernel,
		.in_a = is_on_side(compare, row, COMPARE_A),
		.in_b = is_on_side(compare, row, COMPARE_B),
	};
}

struct compare_function compare_measured(const struct compare *compare, uint32_t row)
{
	struct compare_function function = compare_function_of(compare, row);
	function.self = value_of(compare, &compare->noise, self_rows, row);
	function.total = value_of(compare, &compare->noise, total_rows, row);
	return function;
}

static double most(const struct noise_value *value)
{
	return value->a > value->b ? value->a : value->b;
}

static int by_size(double a, double b)
{
	return (a < b) - (a > b); /* more first */
}

static double change(const struct noise_value *value)
{
	return value->beyond ? fabs(value->b - value->a) : 0;
}

static int compare_rows(const void *a, const void *b)
{
	const struct compare_function *left = a, *right = b;
	int order = by_size(change(&left->self), change(&right->self));
	if (!order)
		order = by_size(change(&left->total), change(&right->total));
	if (!order)
		order = by_size(most(&left->self), most(&right->self));
	if (!order)
		order = by_size(most(&left->total), most(&right->total));
	if (!order)
		order = strcmp(left->name, right->name);
	return order ? order : strcmp(left->module, right->module);
}

int compare_functions(struct compare *compare, struct compare_functions *functions)
{
	functions->nr = 0;
	if (vec_reserve(functions, compare->functions.nr))
		return -ENOMEM;
	for (uint32_t i = 0; i < compare->functions.nr; i++) {
		if (!is_function(compare, i))
			continue;
		const struct compare_function function = compare_measured(compare, i);
		if (function.in_a || function.in_b)
			functions->items[functions->nr++] = function;
	}
	qsort(functions->items, functions->nr, sizeof(*functions->items), compare_rows);
	return 0;
}

/* ---- the tree ---- */

struct compare_function compare_path(const struct compare *compare, uint32_t path)
{
	struct compare_function function =
		compare_function_of(compare, compare->paths.items[path].function);
	function.self = value_of(compare, &compare->path_noise, own_rows, path);
	function.total = value_of(compare, &compare->path_noise, below_rows, path);
	return function;
}

struct waiting_path {
	uint32_t path, depth;
	double most;
};

struct waiting_paths {
	struct waiting_path *items;
	size_t nr, capacity;
};

static int compare_waiting(const void *a, const void *b)
{
	const struct waiting_path *left = a, *right = b;
	int order = by_size(right->most, left->most); /* the last is the next */
	return order ? order : (left->path < right->path) - (left->path > right->path);
}

/* Puts the children of a path that are large enough on the pile, the largest uppermost. */
static int pile_up(const struct compare *compare, double least, const struct waiting_path *above,
		   struct waiting_paths *pile)
{
	const size_t low = pile->nr;
	for (uint32_t child = compare->paths.items[above->path].first_child; child;
	     child = compare->paths.items[child].next_sibling) {
		const struct noise_value value =
			value_of(compare, &compare->path_noise, below_rows, child);
		if (most(&value) < least)
			continue;
		if (vec_reserve(pile, pile->nr + 1))
			return -ENOMEM;
		pile->items[pile->nr++] =
			(struct waiting_path){child, above->depth + 1, most(&value)};
	}
	if (pile->nr > low)
		qsort(pile->items + low, pile->nr - low, sizeof(*pile->items), compare_waiting);
	return 0;
}

int compare_each_node(struct compare *compare, double least,
		      int (*each)(void *context, const struct compare_node *node), void *context)
{
	struct waiting_paths pile = {0};
	const struct waiting_path root = {0};
	int result = pile_up(compare, least, &root, &pile);
	while (!result && pile.nr) {
		const struct waiting_path next = pile.items[--pile.nr];
		const uint32_t row = compare->paths.items[next.path].function;
		const struct compare_node node = {
			.function = compare_path(compare, next.path),
			.label = compare->functions.items[row].label
					 ? compare->functions.items[row].name
					 : NULL,
			.depth = next.depth - 1,
		};
		result = each(context, &node);
		if (!result)
			result = pile_up(compare, least, &next, &pile);
	}
	free(pile.items);
	return result;
}
