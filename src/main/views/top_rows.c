/* SPDX-License-Identifier: MIT */
#include "top_rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/task_id.h>
#include <ctop/base/vec.h>

/* Which the selection has at hand. */
static int take_functions(struct model *model, enum selection_order order,
			  struct selection_groups *rows)
{
	struct selection_functions functions = {0};
	int result = selection_top(model->selection, order, 0, &functions, NULL);
	rows->nr = 0;
	if (!result && vec_reserve(rows, functions.nr + 1))
		result = -ENOMEM;
	for (size_t i = 0; !result && i < functions.nr; i++) {
		const struct selection_function *function = &functions.items[i];
		rows->items[rows->nr++] = (struct selection_group){
			.group = {.function = function->id,
				  .module = history_function_module(model->history, function->id),
				  .file = ""},
			.cost = function->cost,
			.squares = function->squares,
		};
	}
	free(functions.items);
	return result;
}

struct sorting {
	const struct history *history;
	enum selection_order order;
};

static int compare_groups(const struct sorting *sorting, const struct group *a,
			  const struct group *b)
{
	int order = strcmp(a->file, b->file);
	if (!order)
		order = (a->line > b->line) - (a->line < b->line);
	if (!order)
		order = (a->address > b->address) - (a->address < b->address);
	if (!order && a->comm)
		order = strcmp(a->comm, b->comm);
	if (!order && !a->comm)
		order = strcmp(history_function_name(sorting->history, a->function),
			       history_function_name(sorting->history, b->function));
	return order ? order : (a->tid > b->tid) - (a->tid < b->tid);
}

static int compare(const void *a, const void *b, void *context)
{
	const struct sorting *sorting = context;
	const struct selection_group *left = a, *right = b;
	int order = 0;
	if (sorting->order == SELECTION_BY_MODULE)
		order = strcmp(left->group.module, right->group.module);
	if (!order && sorting->order != SELECTION_BY_NAME)
		order = (left->cost.total_weight < right->cost.total_weight) -
			(left->cost.total_weight > right->cost.total_weight);
	return order ? order : compare_groups(sorting, &left->group, &right->group);
}

int top_rows_take(struct model *model, enum selection_order order, struct selection_groups *rows)
{
	struct sorting sorting = {model->history, order};
	if (model->grouping == GROUPING_INLINE)
		return take_functions(model, order, rows);
	int result = selection_groups(model->selection, model->grouping, SELECTION_OWN_EVENT, rows);
	if (!result && order != SELECTION_BY_SELF && rows->nr)
		qsort_r(rows->items, rows->nr, sizeof(*rows->items), compare, &sorting);
	return result;
}

uint64_t top_row_id(const struct model *model, const struct group *group)
{
	if (model->grouping <= GROUPING_FUNCTION)
		return group->function.index;
	if (group->comm)
		return (uint64_t)(uint32_t)group->pid << 32 | (uint32_t)group->tid;
	if (model->grouping == GROUPING_MODULE)
		return (uintptr_t)group->module;
	return group_hash(group, model->grouping);
}

const char *top_rows_heading(const struct model *model)
{
	static const char *const headings[NR_GROUPINGS] = {
		[GROUPING_INLINE] = "FUNCTION", [GROUPING_FUNCTION] = "CALLED FUNCTION",
		[GROUPING_LINE] = "LINE",	[GROUPING_ADDRESS] = "ADDRESS",
		[GROUPING_MODULE] = "MODULE",	[GROUPING_THREAD] = "THREAD",
		[GROUPING_PROCESS] = "PROCESS",
	};
	return headings[model->grouping];
}

void top_row_add_name(struct model *model, const struct group *group, int cols, struct text *out)
{
	if (group->comm) {
		task_id_add(out, group->tid == -1 ? group->pid : group->tid);
		text_add(out, " ");
		text_add_safe(out, group->comm);
		return;
	}
	if (model->grouping == GROUPING_MODULE) {
		text_add_safe(out, *group->module ? group->module : "[unknown]");
		return;
	}
	const size_t before = out->size;
	group_add_place(out, group);
	text_add(out, out->size > before ? " " : "");
	const int taken = (int)text_cols(text_string(out) + before);
	text_add(out, !cols ? model_full_name(model, group->function)
			    : model_fit_name(model, group->function, cols - taken));
}
