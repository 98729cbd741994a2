/* SPDX-License-Identifier: MIT */
/* Functions by cost: one row per function, or by line, address, module, thread or process. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/goroutine.h>
#include <ctop/base/task_id.h>
#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>
#include <ctop/views/views.h>

#include "event_cells.h"
#include "top_rows.h"
#include "trend.h"

enum sort { SORT_SELF, SORT_TOTAL, SORT_NAME, SORT_MODULE, NR_SORTS };

enum { NAME_COLS = 16, HINT_COLS = 11 };
/* From this width on there is room for a number of samples. */
enum { SAMPLES_FROM_COLS = 130, SAMPLES_COLS = 9 };
/* A smaller share is shown as 0.0. */
static const double least_self_percent = 0.05;
enum { MODULE_COLS_MOST = 24, MODULE_FROM_COLS = 50 };
/* Beside columns of events. */
enum { TREND_BESIDE_FROM_COLS = 110 };

struct top_view {
	struct view view;
	struct selection_groups rows;
	const struct model *model; /* as refreshed last */
	struct text text;	   /* scratch */
	enum sort sort;
	bool inverted;
	size_t module_cols; /* of the longest module, within bounds */
	size_t name_cols;   /* that names on the screen have needed so far */
	enum name_level measured;
	enum grouping measured_by;
	size_t nr_without_self; /* hidden */
	struct trends trends;
	struct event_cells events;
};

static struct top_view *top_of(struct view *view)
{
	return (struct top_view *)view;
}

/* ---- rows ---- */

static const char *row_module(struct model *model, const struct group *group)
{
	return group->comm ? "" : model_module(model, group->function);
}

static void measure_modules(struct top_view *top, struct model *model)
{
	top->module_cols = strlen("MODULE") + 1;
	for (size_t i = 0; i < top->rows.nr; i++) {
		size_t cols = text_cols(row_module(model, &top->rows.items[i].group));
		top->module_cols = cols > top->module_cols ? cols : top->module_cols;
	}
	if (top->module_cols > MODULE_COLS_MOST)
		top->module_cols = MODULE_COLS_MOST;
}

static void turn_round(struct selection_groups *rows)
{
	for (size_t i = 0; i < rows->nr / 2; i++) {
		struct selection_group row = rows->items[i];
		rows->items[i] = rows->items[rows->nr - 1 - i];
		rows->items[rows->nr - 1 - i] = row;
	}
}

static bool has_self(const struct model *model, const struct selection_group *row)
{
	return model_percent(model, row->cost.self_weight) >= least_self_percent;
}

/* While it is sorted by self, who only calls is in the way; they are at the end, unless nobody has more. */
static void leave_out_hidden(struct top_view *top, const struct model *model)
{
	struct selection_groups *rows = &top->rows;
	const bool hides = top->sort == SORT_SELF && !model->shows_callers && rows->nr &&
			   has_self(model, &rows->items[0]);
	size_t nr = 0;
	top->nr_without_self = 0;
	for (size_t i = 0; i < rows->nr; i++) {
		if (model_hides(model, rows->items[i].cost.total_weight))
			continue;
		if (hides && !has_self(model, &rows->items[i]))
			top->nr_without_self++;
		else
			rows->items[nr++] = rows->items[i];
	}
	rows->nr = top->view.nr_rows = nr;
}

struct changed_row {
	struct selection_group row;
	double change; /* 0: it is noise */
};

static int compare_changes(const void *a, const void *b)
{
	const struct changed_row *left = a, *right = b;
	const double l = left->change, r = right->change;
	return (l < r) - (l > r);
}

/* Those first that have changed most; the others stay as they are. */
static int put_changed_first(struct selection_groups *rows, const struct model *model)
{
	struct changed_row *changed = malloc(rows->nr * sizeof(*changed) + 1);
	struct ui_change change;
	size_t nr = 0, nr_others = 0;
	if (!changed)
		return -ENOMEM;
	for (size_t i = 0; i < rows->nr; i++) {
		const struct selection_group row = rows->items[i];
		if (model->host->change(model->host->context, row.group.function, &change) &&
		    change.self_beyond)
			changed[nr++] = (struct changed_row){row, fabs(change.self)};
		else
			rows->items[nr_others++] = row;
	}
	qsort(changed, nr, sizeof(*changed), compare_changes);
	memmove(rows->items + nr, rows->items, nr_others * sizeof(*rows->items));
	for (size_t i = 0; i < nr; i++)
		rows->items[i] = changed[i].row;
	free(changed);
	return 0;
}

static int refresh(struct view *view, struct model *model)
{
	static const enum selection_order orders[NR_SORTS] = {
		SELECTION_BY_SELF, SELECTION_BY_TOTAL, SELECTION_BY_NAME, SELECTION_BY_MODULE};
	struct top_view *top = top_of(view);
	struct selection_groups *rows = &top->rows;
	int result = top_rows_take(model, orders[top->sort], rows);
	top->model = model;
	if (result)
		return result;
	leave_out_hidden(top, model);
	if (changes_known(model) && top->sort == SORT_SELF)
		result = put_changed_first(rows, model);
	if (top->inverted)
		turn_round(rows);
	measure_modules(top, model);
	if (!result)
		result = event_cells_take(&top->events, model, rows);
	return result;
}

static int reorder(struct view *view, const size_t *order)
{
	struct selection_groups *rows = &top_of(view)->rows;
	if (event_cells_reorder(&top_of(view)->events, rows->nr, order))
		return -ENOMEM;
	return view_reorder(rows->items, rows->nr, sizeof(*rows->items), order);
}

static uint64_t id_at(const struct view *view, size_t row)
{
	const struct top_view *top = (const struct top_view *)view;
	return top_row_id(top->model, &top->rows.items[row].group);
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	const struct top_view *top = (const struct top_view *)view;
	*function = top->rows.items[row].group.function;
	return top_rows_have_functions(top->model);
}

static const char *module_at(const struct view *view, const struct model *model, size_t row)
{
	const struct top_view *top = (const struct top_view *)view;
	return model->grouping == GROUPING_MODULE ? top->rows.items[row].group.module : NULL;
}

/* Valid until the next call. cols 0: in full. */
static const char *row_name(struct top_view *top, struct model *model, size_t row, int cols)
{
	text_clear(&top->text);
	top_row_add_name(model, &top->rows.items[row].group, cols, &top->text);
	return text_string(&top->text);
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	return row_name(top_of(view), model, row, 0);
}

/* ---- drawing ---- */

/* Where the columns begin; those that have no room begin at the end. */
struct columns {
	int events, samples, trend, name, module, end;
};

static struct columns columns_of(const struct top_view *top, const struct model *model,
				 struct area line)
{
	int end = line.col + line.cols,
	    samples = line.col + NAME_COLS + (changes_known(model) ? CHANGE_COLS : 0);
	const bool of_functions = model->grouping == GROUPING_INLINE;
	const int events = samples;
	samples += top->events.cols;
	const bool has_trend =
		of_functions && (!top->events.cols || line.cols >= TREND_BESIDE_FROM_COLS);
	const int trend = has_trend ? (int)trend_cols(model) : 0;
	const bool has_module = line.cols >= MODULE_FROM_COLS && top_rows_have_functions(model);
	const bool has_samples = line.cols >= SAMPLES_FROM_COLS;
	struct columns at = {
		.events = events,
		.samples = has_samples ? samples : end,
		.trend = has_samples ? samples + SAMPLES_COLS + 1 : samples,
		.module = has_module ? end - (int)top->module_cols : end,
		.end = end,
	};
	at.name = trend ? at.trend + trend + 1 : at.trend;
	at.trend = trend ? at.trend : end;
	/* Beside the names, where these do not need all the room. */
	const int needed = at.name + (int)top->name_cols + 2;
	if (has_module && top->name_cols && needed < at.module)
		at.module = needed;
	return at;
}

/* It only grows: columns stay where they are while rows come and go. */
static void measure_names(struct top_view *top, struct model *model, size_t first, size_t nr)
{
	if (top->measured != model->names || top->measured_by != model->grouping)
		top->name_cols = 0;
	top->measured = model->names;
	top->measured_by = model->grouping;
	for (size_t i = first; i < first + nr; i++) {
		size_t cols = text_cols(row_name(top, model, i, model->cols));
		top->name_cols = cols > top->name_cols ? cols : top->name_cols;
	}
}

/* Second by second, of what is on the screen. */
static void prepare(struct view *view, struct model *model, size_t first, size_t nr)
{
	struct top_view *top = top_of(view);
	struct trends *trends = &top->trends;
	measure_names(top, model, first, nr);
	trends_begin(trends, model, first);
	while (model->grouping == GROUPING_INLINE && trends->seconds && trends->nr < nr &&
	       trends->nr < TREND_ROWS_MOST) {
		struct function_id functions[SELECTION_TREND_ROWS_MAX];
		size_t from = first + trends->nr, some = nr - trends->nr;
		some = some < SELECTION_TREND_ROWS_MAX ? some : SELECTION_TREND_ROWS_MAX;
		for (size_t i = 0; i < some; i++)
			functions[i] = top->rows.items[from + i].group.function;
		if (selection_trend_functions(model->selection, SELECTION_SELF, functions, some,
					      trends->seconds, trends_room(trends)))
			break;
		trends_add(trends, some);
	}
	trends_scale(trends, model);
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
	struct top_view *top = top_of(view);
	event_cells_fit(&top->events, model, line.cols - NAME_COLS);
	struct columns at = columns_of(top, model, line);
	title(top, model, cells, line.row, line.col + 1, 7, SORT_SELF, "SELF%");
	title(top, model, cells, line.row, line.col + 8, 8, SORT_TOTAL, "TOTAL%");
	if (changes_known(model))
		cells_put(cells, line.row, line.col + NAME_COLS, CHANGE_COLS, ROLE_TITLE,
			  " CHANGE");
	event_cells_draw_title(&top->events, model, cells, line.row, at.events);
	if (at.samples < at.end)
		cells_putf(cells, line.row, at.samples, SAMPLES_COLS, ROLE_TITLE, "%*s",
			   SAMPLES_COLS, "SAMPLES");
	cells_put(cells, line.row, at.trend, at.end - at.trend, ROLE_TITLE, "TREND");
	const char *heading = top_rows_heading(model);
	title(top, model, cells, line.row, at.name, at.module - at.name - 1, SORT_NAME, heading);
	title(top, model, cells, line.row, at.module, at.end - at.module, SORT_MODULE, "MODULE");
	char hint[40];
	const int col = at.name + HINT_COLS + (int)(strlen(heading) - strlen("FUNCTION"));
	snprintf(hint, sizeof(hint), "z: %zu more, self 0.0", top->nr_without_self);
	if (top->nr_without_self && col + (int)strlen(hint) < at.module)
		cells_put(cells, line.row, col, at.module - col, ROLE_DIM, hint);
}

/* Of self; only what is more than noise is coloured. */
static void draw_change(const struct model *model, struct cells *cells, struct function_id function,
			struct area line)
{
	struct ui_change change;
	if (model->host->change(model->host->context, function, &change))
		changes_put(cells, line.row, line.col + NAME_COLS, change.self, change.self_beyond);
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	struct top_view *top = top_of(view);
	const struct selection_group *function = &top->rows.items[row];
	double self = model_percent(model, function->cost.self_weight);
	struct columns at = columns_of(top, model, line);
	bool few = history_effective(function->cost.total_weight, function->squares) < FEW_SAMPLES;
	bool kernel = !function->group.comm &&
		      history_function_kernel(model->history, function->group.function);
	enum role role = few ? ROLE_DIM : ROLE_TEXT;
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	cells_putf(cells, line.row, line.col + 1, 6,
		   few ? ROLE_DIM : model_percent_role(model, self), "%5.1f", self);
	cells_putf(cells, line.row, line.col + 8, 7, role, "%6.1f",
		   model_percent(model, function->cost.total_weight));
	if (changes_known(model))
		draw_change(model, cells, function->group.function, line);
	event_cells_draw_row(&top->events, model, cells, line.row, at.events, row);
	if (at.samples < at.end)
		cells_putf(cells, line.row, at.samples, SAMPLES_COLS, role, "%*" PRIu64,
			   SAMPLES_COLS, function->cost.self);
	if (at.trend < at.end)
		trends_put(&top->trends, model, cells, line.row, at.trend, row);
	view_put_name(model, cells, line.row, at.name, at.module - at.name - 1,
		      kernel ? ROLE_KERNEL : role,
		      row_name(top, model, row, at.module - at.name - 1));
	cells_put_cut(cells, line.row, at.module, at.end - at.module, ROLE_MODULE,
		      row_module(model, &function->group));
}

/* ---- actions ---- */

/* A thread or process is shown alone. */
static bool zoom_task(struct view *view, struct model *model, enum action action)
{
	if ((action != ACTION_ENTER && action != ACTION_ZOOM_THREAD) ||
	    view->selected >= view->nr_rows)
		return false;
	const struct group *group = &top_of(view)->rows.items[view->selected].group;
	const bool is_thread = group->tid != -1;
	const struct selection_criterion criterion = {
		.what = is_thread ? SELECTION_THREAD : SELECTION_PROCESS,
		.number = is_thread ? group->tid : group->pid,
	};
	struct text label = {0};
	if (!group->comm)
		return false;
	if (!is_goroutine(criterion.number))
		text_add(&label, is_thread ? "thread=" : "process=");
	task_id_add(&label, criterion.number);
	text_add(&label, " ");
	text_add_safe(&label, group->comm);
	model->grouping = GROUPING_INLINE; /* of one row there is nothing to see */
	model_zoom(model, criterion, text_string(&label));
	text_release(&label);
	return true;
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct top_view *top = top_of(view);
	if (zoom_task(view, model, action))
		return true;
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
	event_cells_release(&top_of(view)->events);
	text_release(&top_of(view)->text);
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
		.module_at = module_at,
		.act = act,
		.free = top_free,
	};
	return view_new(&ops, sizeof(struct top_view));
}
