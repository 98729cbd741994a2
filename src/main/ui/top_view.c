/* SPDX-License-Identifier: MIT */
/* Functions by cost: one row per function. */
#include <stdlib.h>
#include <string.h>

#include <ctop/ui/theme.h>
#include "view.h"

enum sort { SORT_SELF, SORT_TOTAL, SORT_NAME, SORT_MODULE, NR_SORTS };

enum { TREND_SECONDS = 8, NAME_COLS = 16, TREND_FROM_COLS = 70 };
enum { MODULE_COLS_MOST = 24, MODULE_FROM_COLS = 50 };

struct top_view {
	struct view view;
	struct selection_functions rows;
	enum sort sort;
	bool inverted;
	size_t module_cols; /* of the longest module, within bounds */
	/* Of the rows on the screen. */
	uint64_t trend[SELECTION_TREND_ROWS_MAX * TREND_SECONDS];
	size_t trend_first, nr_trends;
};

static struct top_view *top_of(struct view *view)
{
	return (struct top_view *)view;
}

/* ---- rows ---- */

static void measure_modules(struct top_view *top, struct model *model)
{
	top->module_cols = strlen("MODULE") + 1;
	for (size_t i = 0; i < top->rows.nr; i++) {
		size_t cols = text_cols(model_module(model, top->rows.items[i].id));
		top->module_cols = cols > top->module_cols ? cols : top->module_cols;
	}
	if (top->module_cols > MODULE_COLS_MOST)
		top->module_cols = MODULE_COLS_MOST;
}

static void turn_round(struct selection_functions *rows)
{
	for (size_t i = 0; i < rows->nr / 2; i++) {
		struct selection_function row = rows->items[i];
		rows->items[i] = rows->items[rows->nr - 1 - i];
		rows->items[rows->nr - 1 - i] = row;
	}
}

static int refresh(struct view *view, struct model *model)
{
	static const enum selection_order orders[NR_SORTS] = {
		SELECTION_BY_SELF, SELECTION_BY_TOTAL, SELECTION_BY_NAME, SELECTION_BY_MODULE};
	struct top_view *top = top_of(view);
	struct selection_functions *rows = &top->rows;
	int result = selection_top(model->selection, orders[top->sort], 0, rows, NULL);
	if (result)
		return result;
	size_t nr = 0;
	for (size_t i = 0; i < rows->nr; i++)
		if (!model_hides(model, rows->items[i].cost.total_weight))
			rows->items[nr++] = rows->items[i];
	rows->nr = view->nr_rows = nr;
	if (top->inverted)
		turn_round(rows);
	measure_modules(top, model);
	return 0;
}

static int reorder(struct view *view, const size_t *order)
{
	struct selection_functions *rows = &top_of(view)->rows;
	return view_reorder(rows->items, rows->nr, sizeof(*rows->items), order);
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return ((const struct top_view *)view)->rows.items[row].id.index;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	*function = ((const struct top_view *)view)->rows.items[row].id;
	return true;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	return model_full_name(model, top_of(view)->rows.items[row].id);
}

/* ---- drawing ---- */

/* Where the columns begin; those that have no room begin at the end. */
struct columns {
	int trend, name, module, end;
};

static struct columns columns_of(const struct top_view *top, struct area line)
{
	int end = line.col + line.cols, name = line.col + NAME_COLS;
	bool has_trend = line.cols >= TREND_FROM_COLS;
	bool has_module = line.cols >= MODULE_FROM_COLS;
	return (struct columns){
		.trend = has_trend ? name : end,
		.name = has_trend ? name + TREND_SECONDS + 1 : name,
		.module = has_module ? end - (int)top->module_cols : end,
		.end = end,
	};
}

/* Second by second, of what is on the screen. */
static void prepare(struct view *view, struct model *model, size_t first, size_t nr)
{
	struct top_view *top = top_of(view);
	struct function_id functions[SELECTION_TREND_ROWS_MAX];
	nr = nr < SELECTION_TREND_ROWS_MAX ? nr : SELECTION_TREND_ROWS_MAX;
	for (size_t i = 0; i < nr; i++)
		functions[i] = top->rows.items[first + i].id;
	top->trend_first = first;
	top->nr_trends = selection_trend_functions(model->selection, SELECTION_SELF, functions, nr,
						   TREND_SECONDS, top->trend)
				 ? 0
				 : nr;
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
	struct columns at = columns_of(top, line);
	title(top, model, cells, line.row, line.col + 1, 7, SORT_SELF, "SELF%");
	title(top, model, cells, line.row, line.col + 8, 8, SORT_TOTAL, "TOTAL%");
	cells_put(cells, line.row, at.trend, at.end - at.trend, ROLE_TITLE, "TREND");
	title(top, model, cells, line.row, at.name, at.module - at.name - 1, SORT_NAME, "FUNCTION");
	title(top, model, cells, line.row, at.module, at.end - at.module, SORT_MODULE, "MODULE");
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	const struct top_view *top = top_of(view);
	const struct selection_function *function = &top->rows.items[row];
	double self = model_percent(model, function->cost.self_weight);
	struct columns at = columns_of(top, line);
	bool few = history_effective(function->cost.total_weight, function->squares) < FEW_SAMPLES;
	bool kernel = history_function_kernel(model->history, function->id);
	enum role role = few ? ROLE_DIM : ROLE_TEXT;
	size_t trend = row - top->trend_first;
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	cells_putf(cells, line.row, line.col + 1, 6, few ? ROLE_DIM : model_percent_role(self),
		   "%5.1f", self);
	cells_putf(cells, line.row, line.col + 8, 7, role, "%6.1f",
		   model_percent(model, function->cost.total_weight));
	if (at.trend < at.end && trend < top->nr_trends)
		model_put_trend(model, cells, line.row, at.trend,
				&top->trend[trend * TREND_SECONDS], TREND_SECONDS);
	view_put_name(model, cells, line.row, at.name, at.module - at.name - 1,
		      kernel ? ROLE_KERNEL : role, model_name(model, function->id));
	cells_put_cut(cells, line.row, at.module, at.end - at.module, ROLE_MODULE,
		      model_module(model, function->id));
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
	view_release(view);
	free(top_of(view)->rows.items);
	free(view);
}

struct view *top_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_TOP,
		.refresh = refresh,
		.id_at = id_at,
		.reorder = reorder,
		.prepare = prepare,
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
