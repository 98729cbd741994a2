/* SPDX-License-Identifier: MIT */
/* Runs taken in, one after the other; then what functions and paths cost on either side. */
#include <ctop/compare/compare.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/compare/name.h>

#include "internal.h"

struct compare *compare_new(bool by_share)
{
	struct compare *compare = calloc(1, sizeof(*compare));
	const struct same_function root = {
		.name = (char[]){"[all]"}, .module = (char[]){""}, .label = true};
	uint32_t function;
	if (!compare)
		return NULL;
	compare->by_share = by_share;
	if (vec_reserve(&compare->paths, 1) ||
	    same_functions_add(&compare->functions, COMPARE_A, &root, root.name, &function)) {
		compare_free(compare);
		return NULL;
	}
	compare->paths.items[compare->paths.nr++] = (struct path_row){.outermost = true};
	return compare;
}

static void release_run(struct compared_run *run)
{
	free(run->own.items);
	free(run->below.items);
	free(run->self.items);
	free(run->total.items);
}

void compare_free(struct compare *compare)
{
	if (!compare)
		return;
	for (size_t i = 0; i < compare->nr_runs; i++)
		release_run(&compare->runs[i]);
	free(compare->runs);
	free(compare->measured);
	free(compare->row);
	same_functions_release(&compare->functions);
	free(compare->paths.items);
	index_release(&compare->paths.index);
	free(compare);
}

/* ---- taking in a run ---- */

/* The rows of functions by the ids that a history gives them, plus 1; 0: not met yet. */
struct function_rows {
	uint32_t *items;
	size_t nr, capacity;
};

struct taking {
	struct compare *compare;
	struct history *history;
	enum compare_side side;
	struct compared_run *run;
	struct function_rows rows;
	struct text name;
};

/* The last part of a path, as builds in different directories have it in common. */
static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* What a function goes by; name and module are texts of the caller's. 0 or -ENOMEM. */
static int name_function(const struct history *history, struct function_id id, const char *path,
			 struct text *name, struct text *module, struct same_function *function)
{
	*function = (struct same_function){
		.kernel = history_function_kernel(history, id),
		.named = history_function_named(history, id),
	};
	text_clear(name);
	text_clear(module);
	text_add(module, file_name(path && path[0] ? path : "[unknown]"));
	if (function->named)
		name_add_stable(name, history_function_marked_name(history, id));
	else /* its address says nothing in another build */
		text_addf(name, "[%s]", text_string(module));
	function->name = name->bytes;
	function->module = module->bytes;
	return name->failed || module->failed || !name->bytes ? -ENOMEM : 0;
}

static int add_function(struct taking *taking, const struct history_frame *frame, uint32_t *row)
{
	struct text module = {0};
	struct same_function function;
	const char *path = frame->module_name ? frame->module_name
					      : history_module(taking->history, frame->module).path;
	int result = name_function(taking->history, frame->function, path, &taking->name, &module,
				   &function);
	if (!result)
		result = same_functions_add(
			&taking->compare->functions, taking->side, &function,
			function.named
				? history_function_marked_name(taking->history, frame->function)
				: function.name,
			row);
	text_release(&module);
	return result;
}

static int find_function(struct taking *taking, const struct history_frame *frame, uint32_t *row)
{
	struct function_rows *rows = &taking->rows;
	const size_t at = frame->function.index;
	if (at >= rows->nr) {
		if (vec_reserve(rows, at + 1))
			return -ENOMEM;
		memset(rows->items + rows->nr, 0, (at + 1 - rows->nr) * sizeof(*rows->items));
		rows->nr = at + 1;
	}
	if (!rows->items[at]) {
		int result = add_function(taking, frame, row);
		if (result)
			return result;
		rows->items[at] = *row + 1;
	}
	*row = rows->items[at] - 1;
	return 0;
}

/* Stacks that do not reach their root hang below what says so. */
static int add_end(struct taking *taking, enum stack_end end, uint32_t *path)
{
	const char *label = end == STACK_SWITCHED    ? "[switched]"
			    : end == STACK_TRUNCATED ? "[truncated]"
			    : end == STACK_BROKEN    ? "[broken]"
						     : NULL;
	if (!label)
		return 0;
	struct same_function function = {.module = (char[]){""}, .label = true};
	uint32_t row;
	text_clear(&taking->name);
	text_add(&taking->name, label);
	function.name = taking->name.bytes;
	int result = taking->name.failed ? -ENOMEM
					 : same_functions_add(&taking->compare->functions,
							      taking->side, &function, label, &row);
	return result ? result : path_rows_add(taking->compare, *path, row, path);
}

static int reach(struct weighed_rows *rows, size_t nr)
{
	if (nr <= rows->nr)
		return 0;
	if (vec_reserve(rows, nr))
		return -ENOMEM;
	memset(rows->items + rows->nr, 0, (nr - rows->nr) * sizeof(*rows->items));
	rows->nr = nr;
	return 0;
}

static void add_weighed(struct weighed *to, const struct weighed *what)
{
	to->weight += what->weight;
	to->squares += what->squares;
}

static int take_stack(void *context, const struct history_stack *stack)
{
	struct taking *taking = context;
	uint32_t path = COMPARE_ROOT, function;
	int result = add_end(taking, stack->end, &path);
	for (size_t i = 0; !result && i < stack->nr_frames; i++) {
		result = find_function(taking, &stack->frames[i], &function);
		if (!result)
			result = path_rows_add(taking->compare, path, function, &path);
	}
	if (!result)
		result = reach(&taking->run->own, (size_t)path + 1);
	if (!result)
		add_weighed(&taking->run->own.items[path],
			    &(struct weighed){(double)stack->weight, stack->squares});
	return result;
}

static int grow_runs(struct compare *compare)
{
	const size_t nr = compare->nr_runs + 1;
	struct compared_run *runs = realloc(compare->runs, nr * sizeof(*runs));
	compare->runs = runs ? runs : compare->runs;
	struct noise_run *measured = realloc(compare->measured, nr * sizeof(*measured));
	compare->measured = measured ? measured : compare->measured;
	return runs && measured ? 0 : -ENOMEM;
}

int compare_add(struct compare *compare, enum compare_side side,
		const struct compare_divisor *divisor, struct history *history,
		struct selection *selection)
{
	if (grow_runs(compare))
		return -ENOMEM;
	compare->runs[compare->nr_runs] = (struct compared_run){0};
	struct taking taking = {.compare = compare,
				.history = history,
				.side = side,
				.run = &compare->runs[compare->nr_runs++]};
	struct noise_run *measured = &compare->measured[compare->nr_runs - 1];
	int result = selection_each_stack(selection, take_stack, &taking);
	*measured = (struct noise_run){.side = side};
	for (size_t i = 0; i < taking.run->own.nr; i++)
		add_weighed(&measured->all, &taking.run->own.items[i]);
	measured->per = compare->by_share ? measured->all.weight : divisor->per;
	measured->per_variance = compare->by_share ? 0 : divisor->variance;
	free(taking.rows.items);
	text_release(&taking.name);
	return result ? result : measured->all.weight > 0 && measured->per > 0 ? 0 : -ENODATA;
}

/* ---- all is there ---- */

/* Paths of functions that have moved are those of where they are now. */
static int join_moved(struct compare *compare)
{
	struct path_rows old = compare->paths;
	struct same_function *functions = compare->functions.items;
	uint32_t *now = calloc(old.nr, sizeof(*now));
	int result = now ? 0 : -ENOMEM;
	compare->paths = (struct path_rows){0};
	if (vec_reserve(&compare->paths, old.nr))
		result = -ENOMEM;
	else
		compare->paths.items[compare->paths.nr++] = (struct path_row){.outermost = true};
	for (size_t i = 0; i < compare->functions.nr; i++)
		functions[i].nr_paths = 0;
	for (size_t i = 1; !result && i < old.nr; i++)
		result = path_rows_add(compare, now[old.items[i].parent],
				       functions[old.items[i].function].moved_to, &now[i]);
	for (size_t run = 0; !result && run < compare->nr_runs; run++) {
		struct weighed_rows *own = &compare->runs[run].own, joined = {0};
		result = reach(&joined, compare->paths.nr);
		for (size_t i = 0; !result && i < own->nr; i++)
			add_weighed(&joined.items[now[i]], &own->items[i]);
		free(own->items);
		*own = joined;
	}
	free(now);
	free(old.items);
	index_release(&old.index);
	return result;
}

static int sum_up(struct compare *compare, struct compared_run *run)
{
	const struct path_row *paths = compare->paths.items;
	if (reach(&run->own, compare->paths.nr) || reach(&run->below, compare->paths.nr) ||
	    reach(&run->self, compare->functions.nr) || reach(&run->total, compare->functions.nr))
		return -ENOMEM;
	for (size_t i = compare->paths.nr; i-- > 0;) {
		add_weighed(&run->below.items[i], &run->own.items[i]);
		add_weighed(&run->self.items[paths[i].function], &run->own.items[i]);
		if (paths[i].outermost)
			add_weighed(&run->total.items[paths[i].function], &run->below.items[i]);
		if (i)
			add_weighed(&run->below.items[paths[i].parent], &run->below.items[i]);
	}
	return 0;
}

static void link_children(struct path_rows *paths)
{
	for (size_t i = paths->nr; i-- > 1;) {
		struct path_row *parent = &paths->items[paths->items[i].parent];
		paths->items[i].next_sibling = parent->first_child;
		parent->first_child = (uint32_t)i;
	}
}

int compare_finish(struct compare *compare)
{
	int result = same_functions_find_moved(&compare->functions);
	if (!result)
		result = join_moved(compare);
	for (size_t i = 0; !result && i < compare->nr_runs; i++)
		result = sum_up(compare, &compare->runs[i]);
	if (!result)
		link_children(&compare->paths);
	noise_init(&compare->noise, compare->measured, compare->nr_runs, compare->by_share);
	return result ? result : compare_measure(compare);
}

/* ---- asked for ---- */

/* The row of a function, where it is now. */
static bool find_row(const struct compare *compare, const struct history *history,
		     struct function_id id, uint32_t *row)
{
	struct text name = {0}, module = {0};
	struct same_function wanted;
	const char *path = history_function_path(history, id);
	const bool found = !name_function(history, id, path, &name, &module, &wanted) &&
			   same_functions_find(&compare->functions, &wanted, row);
	text_release(&name);
	text_release(&module);
	if (found)
		*row = compare->functions.items[*row].moved_to;
	return found;
}

static bool find_label(const struct compare *compare, const char *label, uint32_t *row)
{
	char name[32];
	const struct same_function wanted = {.name = name, .module = (char[]){""}, .label = true};
	snprintf(name, sizeof(name), "%s", label);
	return same_functions_find(&compare->functions, &wanted, row);
}

bool compare_find(const struct compare *compare, const struct history *history,
		  struct function_id id, struct compare_function *function)
{
	uint32_t row;
	const bool found = find_row(compare, history, id, &row);
	if (found)
		*function = compare_measured(compare, row);
	return found;
}

uint32_t compare_step(const struct compare *compare, uint32_t path, const struct history *history,
		      struct function_id id, const char *label)
{
	uint32_t function, next;
	const bool found = path != COMPARE_NO_PATH &&
			   (label ? find_label(compare, label, &function)
				  : find_row(compare, history, id, &function)) &&
			   path_rows_find(&compare->paths, path, function, &next);
	return found ? next : COMPARE_NO_PATH;
}

const struct noise *compare_noise(const struct compare *compare)
{
	return &compare->noise;
}

struct compare_counts compare_counts(const struct compare *compare)
{
	return compare->counts;
}
