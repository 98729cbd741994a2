/* SPDX-License-Identifier: MIT */
/* Threads, or processes, by what they used. */
#include <stdlib.h>
#include <string.h>

#include <ctop/ui/theme.h>

#include "view.h"

enum { TREND_SECONDS = 8 };
/* What the columns need; a state is shown where there is room for it. */
enum { NAME_COLS = 17, STATE_COLS = 22, FUNCTION_COLS_LEAST = 16, STATE_FROM_COLS = 70 };

struct threads_view {
	struct view view;
	bool processes, chosen; /* chosen: by the user; else whole machines are shown by process */
	struct selection_tasks rows;
	struct text name; /* scratch */
	/* Of the rows on the screen. */
	uint64_t trend[SELECTION_TREND_ROWS_MAX * TREND_SECONDS];
	size_t trend_first, nr_trends;
};

static struct threads_view *threads_of(struct view *view)
{
	return (struct threads_view *)view;
}

static const struct selection_task *task_at(const struct view *view, size_t row)
{
	return &((const struct threads_view *)view)->rows.items[row];
}

static int refresh(struct view *view, struct model *model)
{
	struct threads_view *threads = threads_of(view);
	if (!threads->chosen)
		threads->processes = model->facts.nr_cpus > 0;
	int result = selection_tasks(model->selection,
				     threads->processes ? SELECTION_PROCESSES : SELECTION_THREADS,
				     -1, &threads->rows);
	view->nr_rows = result ? 0 : threads->rows.nr;
	return result;
}

static int reorder(struct view *view, const size_t *order)
{
	struct selection_tasks *rows = &threads_of(view)->rows;
	return view_reorder(rows->items, rows->nr, sizeof(*rows->items), order);
}

static int32_t shown_id(const struct selection_task *task)
{
	return task->tid < 0 ? task->pid : task->tid;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	const struct selection_task *task = task_at(view, row);
	return (uint64_t)(uint32_t)task->pid << 32 | (uint32_t)task->tid;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	*function = task_at(view, row)->top;
	return true;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	const struct selection_task *task = task_at(view, row);
	struct text *text = &threads_of(view)->name;
	text_clear(text);
	text_addf(text, "%d ", shown_id(task));
	text_add_safe(text, task->comm);
	text_addf(text, "  %s", model_full_name(model, task->top));
	return text_string(text);
}

static void prepare(struct view *view, struct model *model, size_t first, size_t nr)
{
	struct threads_view *threads = threads_of(view);
	nr = nr < SELECTION_TREND_ROWS_MAX ? nr : SELECTION_TREND_ROWS_MAX;
	int result = selection_trend_tasks(model->selection, &threads->rows.items[first], nr,
					   TREND_SECONDS, threads->trend);
	threads->trend_first = first;
	threads->nr_trends = result ? 0 : nr;
}

/* Where the columns begin; those that have no room begin where the next does. */
struct columns {
	int cpu, tid, trend, name, state, function, end;
};

static struct columns columns_of(const struct model *model, struct area line)
{
	struct columns at = {.cpu = line.col + 9, .end = line.col + line.cols};
	at.tid = model->facts.unit == WEIGHT_NS ? at.cpu + 7 : at.cpu;
	at.trend = at.tid + 8;
	at.name = at.trend + TREND_SECONDS + 1;
	at.state = at.name + NAME_COLS;
	bool has_state = model->facts.state == UI_LIVE && line.cols >= STATE_FROM_COLS;
	int room = at.end - at.state - FUNCTION_COLS_LEAST;
	at.function = at.state + (!has_state ? 0 : room < STATE_COLS ? room : STATE_COLS);
	if (at.function < at.state)
		at.function = at.state;
	return at;
}

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	struct columns at = columns_of(model, line);
	bool processes = threads_of(view)->processes;
	cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE, "  SHARE%");
	cells_put(cells, line.row, at.cpu, at.tid - at.cpu, ROLE_TITLE, "  CPU%");
	cells_put(cells, line.row, at.tid, at.end - at.tid, ROLE_TITLE,
		  processes ? "    PID" : "    TID");
	cells_put(cells, line.row, at.trend, at.end - at.trend, ROLE_TITLE, "TREND");
	cells_put(cells, line.row, at.name, at.end - at.name, ROLE_TITLE,
		  processes ? "PROCESS" : "THREAD");
	cells_put(cells, line.row, at.state, at.function - at.state, ROLE_TITLE,
		  processes ? "THREADS" : "NOW");
	cells_put(cells, line.row, at.function, at.end - at.function, ROLE_TITLE, "MOST OF IT IN");
}

/* Of one CPU: how much of the window it ran, by the clock that samples it. */
static double cpu_percent(const struct model *model, const struct selection_task *task)
{
	uint64_t window_ns = model->totals.to_ns - model->totals.from_ns;
	return window_ns ? 100.0 * (double)task->weight / (double)window_ns : 0;
}

static void draw_state(struct threads_view *threads, const struct model *model, struct cells *cells,
		       int row, const struct columns *at, const struct selection_task *task)
{
	if (at->function == at->state)
		return;
	text_clear(&threads->name);
	if (task->tid < 0)
		text_addf(&threads->name, "%u", task->nr_threads);
	else
		model->host->thread(model->host->context, task->pid, task->tid, &threads->name);
	cells_put_cut(cells, row, at->state, at->function - at->state - 1, ROLE_TEXT,
		      text_string(&threads->name));
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	struct threads_view *threads = threads_of(view);
	const struct selection_task *task = task_at(view, row);
	double share = model_percent(model, task->weight);
	size_t trend = row - threads->trend_first;
	struct columns at = columns_of(model, line);
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	cells_putf(cells, line.row, line.col + 1, 7,
		   history_effective(task->weight, task->squares) < FEW_SAMPLES
			   ? ROLE_DIM
			   : model_percent_role(share),
		   "%7.1f", share);
	if (at.cpu < at.tid)
		cells_putf(cells, line.row, at.cpu, 6, ROLE_TEXT, "%6.1f",
			   cpu_percent(model, task));
	cells_putf(cells, line.row, at.tid, 7, ROLE_TEXT, "%7d", shown_id(task));
	if (trend < threads->nr_trends)
		model_put_trend(model, cells, line.row, at.trend,
				&threads->trend[trend * TREND_SECONDS], TREND_SECONDS);
	text_clear(&threads->name);
	text_add_safe(&threads->name, task->comm);
	cells_put_cut(cells, line.row, at.name, NAME_COLS - 1, ROLE_LABEL,
		      text_string(&threads->name));
	draw_state(threads, model, cells, line.row, &at, task);
	int taken = cells_putf(
		cells, line.row, at.function, at.end - at.function, ROLE_TEXT, "%3.0f%% ",
		task->weight ? 100.0 * (double)task->top_weight / (double)task->weight : 0.0);
	view_put_name(model, cells, line.row, at.function + taken, at.end - at.function - taken,
		      ROLE_TEXT, model_name(model, task->top));
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct threads_view *threads = threads_of(view);
	if (action == ACTION_PROCESSES) {
		threads->processes = !threads->processes;
		threads->chosen = view->stale = true;
		return true;
	}
	if (action != ACTION_ZOOM_THREAD && action != ACTION_ENTER)
		return false;
	if (view->selected >= view->nr_rows)
		return true;
	const struct selection_task *task = task_at(view, view->selected);
	struct text label = {0};
	text_addf(&label, "%s=%d ", task->tid < 0 ? "process" : "thread", shown_id(task));
	text_add_safe(&label, task->comm);
	model_zoom(model,
		   (struct selection_criterion){.what = task->tid < 0 ? SELECTION_PROCESS
								      : SELECTION_THREAD,
						.number = shown_id(task)},
		   text_string(&label));
	text_release(&label);
	return true;
}

static void threads_free(struct view *view)
{
	view_release(view);
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
		.reorder = reorder,
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
