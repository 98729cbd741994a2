/* SPDX-License-Identifier: MIT */
/* Functions by cost: one row a function. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/ui/theme.h>
#include "view.h"

enum sort { SORT_SELF, SORT_TOTAL, SORT_NAME, SORT_MODULE, NR_SORTS };

struct top_view {
	struct view view;
	struct function_cost *rows;
	size_t capacity;
	enum sort sort;
	bool inverted;
	size_t module_cols; /* of the longest module, within bounds */
};

enum { NUMBERS_COLS = 16, NAME_COLS_LEAST = 16, MODULE_COLS_MOST = 24, MODULE_FROM_COLS = 50 };

static struct top_view *top_of(struct view *view)
{
	return (struct top_view *)view;
}

/* ---- rows ---- */

struct order {
	const struct top_view *top;
	const struct history *history;
};

static int by_number(uint64_t left, uint64_t right)
{
	return (left < right) - (left > right);
}

static int compare(const void *a, const void *b, void *context)
{
	const struct function_cost *left = a, *right = b;
	const struct order *order = context;
	const struct history *history = order->history;
	int by_name = strcmp(history_function_name(history, left->function),
			     history_function_name(history, right->function));
	int by_module = strcmp(history_function_module(history, left->function),
			       history_function_module(history, right->function));
	int by_self = by_number(left->self, right->self);
	int by_total = by_number(left->total, right->total);
	int result = 0;
	switch (order->top->sort) {
	case SORT_SELF:
		result = by_self ? by_self : by_total;
		break;
	case SORT_TOTAL:
		result = by_total ? by_total : by_self;
		break;
	case SORT_NAME:
		result = by_name;
		break;
	case SORT_MODULE:
		result = by_module ? by_module : by_self ? by_self : by_total;
		break;
	case NR_SORTS:
		break;
	}
	if (order->top->inverted)
		result = -result;
	if (!result)
		result = by_name ? by_name : by_module;
	if (!result)
		result = left->function.index < right->function.index ? -1 : 1;
	return result;
}

static void measure_modules(struct top_view *top, struct model *model)
{
	top->module_cols = strlen("MODULE");
	for (size_t i = 0; i < top->view.nr_rows; i++) {
		size_t cols = text_cols(model_module(model, top->rows[i].function));
		top->module_cols = cols > top->module_cols ? cols : top->module_cols;
	}
	if (top->module_cols > MODULE_COLS_MOST)
		top->module_cols = MODULE_COLS_MOST;
}

static int refresh(struct view *view, struct model *model)
{
	struct top_view *top = top_of(view);
	int result = model_functions(model);
	if (result)
		return result;
	free(top->rows);
	view->nr_rows = 0;
	top->rows = calloc(model->nr_functions + 1, sizeof(*top->rows));
	if (!top->rows)
		return -ENOMEM;
	for (size_t i = 0; i < model->nr_functions; i++)
		if (model_percent(model, model->functions[i].total) >= model->least_percent)
			top->rows[view->nr_rows++] = model->functions[i];
	struct order order = {top, model->history};
	qsort_r(top->rows, view->nr_rows, sizeof(*top->rows), compare, &order);
	measure_modules(top, model);
	return 0;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return ((const struct top_view *)view)->rows[row].function.index;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	*function = ((const struct top_view *)view)->rows[row].function;
	return true;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	return model_full_name(model, top_of(view)->rows[row].function);
}

/* ---- drawing ---- */

static int module_col(const struct top_view *top, const struct area *line)
{
	if (line->cols < MODULE_FROM_COLS)
		return line->col + line->cols;
	return line->col + line->cols - (int)top->module_cols;
}

static void title(const struct top_view *top, struct model *model, struct cells *cells, int row,
		  int col, int room, enum sort sort, const char *name)
{
	int taken = cells_put(cells, row, col, room, ROLE_TITLE, name);
	bool rising = (sort == SORT_NAME || sort == SORT_MODULE) != top->inverted;
	if (top->sort == sort)
		cells_put(cells, row, col + taken, room - taken, ROLE_TITLE,
			  rising ? model->glyphs->ascending : model->glyphs->descending);
}

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	const struct top_view *top = top_of(view);
	int name = line.col + NUMBERS_COLS, module = module_col(top, &line);
	title(top, model, cells, line.row, line.col + 1, 7, SORT_SELF, "SELF%");
	title(top, model, cells, line.row, line.col + 8, 8, SORT_TOTAL, "TOTAL%");
	title(top, model, cells, line.row, name, module - name - 1, SORT_NAME, "FUNCTION");
	title(top, model, cells, line.row, module, line.col + line.cols - module, SORT_MODULE,
	      "MODULE");
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	const struct top_view *top = top_of(view);
	const struct function_cost *cost = &top->rows[row];
	double self = model_percent(model, cost->self), total = model_percent(model, cost->total);
	int name = line.col + NUMBERS_COLS, module = module_col(top, &line);
	bool few = cost->total < FEW_SAMPLES;
	enum role role = few ? ROLE_DIM : ROLE_TEXT;
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	cells_putf(cells, line.row, line.col + 1, 6, few ? ROLE_DIM : model_percent_role(self),
		   "%5.1f", self);
	cells_putf(cells, line.row, line.col + 8, 7, role, "%6.1f", total);
	view_put_name(model, cells, line.row, name, module - name - 1,
		      history_function_kernel(model->history, cost->function) ? ROLE_KERNEL : role,
		      model_name(model, cost->function));
	cells_put_cut(cells, line.row, module, line.col + line.cols - module, ROLE_MODULE,
		      model_module(model, cost->function));
}

/* ---- actions ---- */

static bool act(struct view *view, struct model *model, enum action action)
{
	struct top_view *top = top_of(view);
	(void)model;
	if (action == ACTION_SORT) {
		top->sort = (enum sort)((top->sort + 1) % NR_SORTS);
		top->inverted = false;
	} else if (action == ACTION_INVERT) {
		top->inverted = !top->inverted;
	} else {
		return false;
	}
	view->stale = true;
	return true;
}

static void top_free(struct view *view)
{
	free(top_of(view)->rows);
	free(view);
}

struct view *top_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_TOP,
		.refresh = refresh,
		.id_at = id_at,
		.draw_title = draw_title,
		.draw_row = draw_row,
		.text_at = text_at,
		.function_at = function_at,
		.act = act,
		.free = top_free,
	};
	struct top_view *top = calloc(1, sizeof(*top));
	if (!top)
		return NULL;
	top->view.ops = &ops;
	top->view.stale = true;
	return &top->view;
}
