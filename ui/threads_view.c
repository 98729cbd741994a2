/* SPDX-License-Identifier: MIT */
/* Threads by what they used: one row a thread. */
#include <stdlib.h>
#include <string.h>

#include <ctop/ui/theme.h>

#include "view.h"

enum { TREND_SECONDS = 8, NAME_COL = 26, FUNCTION_COL = 43 };

struct threads_view {
	struct view view;
	struct slice_tasks rows;
	struct text name; /* scratch */
	/* Of the rows on the screen. */
	uint64_t trend[SLICE_TREND_ROWS_MAX * TREND_SECONDS];
	size_t trend_first, nr_trends;
};

static struct threads_view *threads_of(struct view *view)
{
	return (struct threads_view *)view;
}

static const struct slice_task *task_at(const struct view *view, size_t row)
{
	return &((const struct threads_view *)view)->rows.items[row];
}

static int refresh(struct view *view, struct model *model)
{
	struct threads_view *threads = threads_of(view);
	int result = slice_tasks(model->slice, SLICE_THREADS, -1, &threads->rows);
	view->nr_rows = result ? 0 : threads->rows.nr;
	return result;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	const struct slice_task *task = task_at(view, row);
	return (uint64_t)(uint32_t)task->pid << 32 | (uint32_t)task->tid;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	*function = task_at(view, row)->top;
	return true;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	const struct slice_task *task = task_at(view, row);
	struct text *text = &threads_of(view)->name;
	text_clear(text);
	text_addf(text, "%d ", task->tid);
	text_add_safe(text, task->comm);
	text_addf(text, "  %s", model_full_name(model, task->top));
	return text_string(text);
}

static void prepare(struct view *view, struct model *model, size_t first, size_t nr)
{
	struct threads_view *threads = threads_of(view);
	nr = nr < SLICE_TREND_ROWS_MAX ? nr : SLICE_TREND_ROWS_MAX;
	int result = slice_trend_tasks(model->slice, &threads->rows.items[first], nr, TREND_SECONDS,
				       threads->trend);
	threads->trend_first = first;
	threads->nr_trends = result ? 0 : nr;
}

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	(void)view;
	(void)model;
	cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE,
		  "  SHARE%     TID  TREND    THREAD           MOST OF IT IN");
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	struct threads_view *threads = threads_of(view);
	const struct slice_task *task = task_at(view, row);
	double share = model_percent(model, task->samples);
	size_t trend = row - threads->trend_first;
	int end = line.col + line.cols, function = line.col + FUNCTION_COL;
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	cells_putf(cells, line.row, line.col + 1, 7,
		   task->samples < FEW_SAMPLES ? ROLE_DIM : model_percent_role(share), "%7.1f",
		   share);
	cells_putf(cells, line.row, line.col + 9, 7, ROLE_TEXT, "%7d", task->tid);
	if (trend < threads->nr_trends)
		model_put_trend(model, cells, line.row, line.col + 17,
				&threads->trend[trend * TREND_SECONDS], TREND_SECONDS);
	text_clear(&threads->name);
	text_add_safe(&threads->name, task->comm);
	cells_put_cut(cells, line.row, line.col + NAME_COL, FUNCTION_COL - NAME_COL - 1, ROLE_LABEL,
		      text_string(&threads->name));
	int taken = cells_putf(
		cells, line.row, function, end - function, ROLE_TEXT, "%3.0f%% ",
		task->samples ? 100.0 * (double)task->top_samples / (double)task->samples : 0.0);
	view_put_name(model, cells, line.row, function + taken, end - function - taken, ROLE_TEXT,
		      model_name(model, task->top));
}

static bool act(struct view *view, struct model *model, enum action action)
{
	if (action != ACTION_ZOOM_THREAD && action != ACTION_ENTER)
		return false;
	if (view->selected >= view->nr_rows)
		return true;
	const struct slice_task *task = task_at(view, view->selected);
	struct text label = {0};
	text_addf(&label, "thread=%d ", task->tid);
	text_add_safe(&label, task->comm);
	model_zoom(model, (struct slice_criterion){.what = SLICE_THREAD, .number = task->tid},
		   text_string(&label));
	text_release(&label);
	return true;
}

static void threads_free(struct view *view)
{
	free(threads_of(view)->rows.items);
	text_release(&threads_of(view)->name);
	free(view);
}

struct view *threads_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_THREADS,
		.refresh = refresh,
		.id_at = id_at,
		.prepare = prepare,
		.draw_title = draw_title,
		.draw_row = draw_row,
		.text_at = text_at,
		.function_at = function_at,
		.act = act,
		.free = threads_free,
	};
	struct threads_view *threads = calloc(1, sizeof(*threads));
	if (!threads)
		return NULL;
	threads->view.ops = &ops;
	threads->view.stale = true;
	return &threads->view;
}
