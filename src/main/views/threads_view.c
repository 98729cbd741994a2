/* SPDX-License-Identifier: MIT */
/* Threads, processes or programs: by what they used, and behind them those that sleep. */
#include <stdlib.h>
#include <string.h>

#include <ctop/goroutine.h>
#include <ctop/base/hash.h>
#include <ctop/base/task_id.h>
#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>
#include <ctop/views/views.h>

#include "thread_pane.h"
#include "thread_rows.h"
#include "thread_text.h"
#include "trend.h"

enum { IS_PROGRAM = -2 }; /* a row's tid */
/* What the columns need; what a thread does now is worth more than a trend. */
enum {
	NAME_COLS = 17,
	STATE_COLS = 22,
	FUNCTION_COLS_LEAST = 16,
	FUNCTION_COLS_BESIDE_TIMES = 15,
	STATE_FROM_COLS = 70,
	TREND_FROM_COLS = 100
};

/* What a row's thread or process did when the rows on the screen were prepared last. */
struct seen {
	int32_t pid, tid; /* as the row has them */
	bool has_now, has_times;
	struct ui_thread_now now;
	struct ui_times times;
};

struct threads_view {
	struct view view;
	enum selection_tasks_of which, shown; /* shown: the last time */
	bool chosen;			      /* by the user; else thread_rows_default() */
	bool several;			      /* of more than one process */
	struct selection_tasks rows;
	struct text name, label; /* scratch */
	/* Of the rows on the screen. */
	struct trends trends;
	struct seen seen[SELECTION_TREND_ROWS_MAX];
	size_t nr_seen;
	bool has_times; /* any of them */
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
		threads->which = thread_rows_default(model);
	if (threads->which != threads->shown) /* rows of another kind: the first one again */
		view_select(view, 0);
	threads->shown = threads->which;
	int result = thread_rows_read(model, threads->which, &threads->rows);
	view->nr_rows = result ? 0 : threads->rows.nr;
	threads->several = false;
	for (size_t i = 1; i < view->nr_rows && !threads->several; i++)
		threads->several = threads->rows.items[i].pid != threads->rows.items[0].pid;
	return result;
}

static int reorder(struct view *view, const size_t *order)
{
	struct selection_tasks *rows = &threads_of(view)->rows;
	return view_reorder(rows->items, rows->nr, sizeof(*rows->items), order);
}

/* Not one thread's, nor a goroutine's; that of a program of one process is that process. */
static bool is_of_process(const struct selection_task *task)
{
	return task->tid == -1 || task->tid == IS_PROGRAM;
}

static int32_t shown_id(const struct selection_task *task)
{
	return is_of_process(task) ? task->pid : task->tid;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	const struct selection_task *task = task_at(view, row);
	if (task->tid == IS_PROGRAM)
		return hash_bytes(task->comm, strlen(task->comm));
	return (uint64_t)(uint32_t)task->pid << 32 | (uint32_t)task->tid;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	*function = task_at(view, row)->top;
	return !thread_row_sleeps(task_at(view, row));
}

/* Of a process, its main thread. */
static struct ui_thread thread_of(const struct selection_task *task)
{
	return (struct ui_thread){task->pid, is_of_process(task) ? task->pid : task->tid};
}

static const struct seen *seen_of(const struct threads_view *threads,
				  const struct selection_task *task)
{
	for (size_t i = 0; i < threads->nr_seen; i++)
		if (threads->seen[i].pid == task->pid && threads->seen[i].tid == task->tid)
			return &threads->seen[i];
	return NULL;
}

/* NULL: that is not known, as these. */
static const struct ui_thread_now *now_of(const struct threads_view *threads,
					  const struct selection_task *task)
{
	const struct seen *seen = seen_of(threads, task);
	return seen && seen->has_now ? &seen->now : NULL;
}

static const struct ui_times *times_of(const struct threads_view *threads,
				       const struct selection_task *task)
{
	const struct seen *seen = seen_of(threads, task);
	return seen && seen->has_times ? &seen->times : NULL;
}

/* Of the rows on the screen. */
static void see(struct threads_view *threads, const struct model *model, size_t first, size_t nr)
{
	threads->has_times = false;
	for (size_t i = 0; i < nr; i++) {
		struct seen *seen = &threads->seen[i];
		const struct selection_task *task = &threads->rows.items[first + i];
		const struct ui_thread thread = thread_of(task);
		seen->pid = task->pid;
		seen->tid = task->tid;
		seen->has_now = model->facts.state == UI_LIVE && !is_goroutine(task->tid) &&
				model->host->thread(model->host->context, thread.pid, thread.tid,
						    &seen->now);
		seen->has_times = task->tid != IS_PROGRAM && !is_goroutine(task->tid) &&
				  model_times(model, task->pid, task->tid, &seen->times);
		threads->has_times |= seen->has_times;
	}
	threads->nr_seen = nr;
}

/* A thread that sleeps has only the name that it has now. */
static void add_name(const struct threads_view *threads, const struct model *model,
		     const struct selection_task *task, struct text *out)
{
	const struct ui_thread_now *now = now_of(threads, task);
	char name[16] = "";
	if (is_goroutine(task->tid)) {
		task_id_add(out, task->tid);
		text_add(out, " of ");
	}
	if (task->comm) {
		text_add_safe(out, task->comm);
	} else if (now) {
		text_add_safe(out, now->name);
	} else {
		model->host->thread_name(model->host->context, task->pid, thread_of(task).tid,
					 name);
		text_add_safe(out, name);
	}
}

/* "/usr/lib/gcc/cc1plus -quiet" as "cc1plus -quiet": the directory is the least of it. */
static const char *without_directory(const char *command)
{
	const char *start = command;
	for (const char *at = command; *at && *at != ' '; at++)
		if (*at == '/' && at[1] && at[1] != ' ')
			start = at + 1;
	return start;
}

/* What tells a process from others of its name; "": it is not known. Valid until the next call. */
static const char *command_of(struct threads_view *threads, const struct model *model,
			      const struct selection_task *task)
{
	text_clear(&threads->label);
	if (model->host->command && model->facts.state != UI_FILE)
		model->host->command(model->host->context, task->pid, task->started_ns,
				     &threads->label);
	return without_directory(text_string(&threads->label));
}

/* A process goes by its command line, and among others so does its main thread. */
static void add_label(struct threads_view *threads, const struct model *model,
		      const struct selection_task *task, struct text *out)
{
	const bool is_main = task->tid == -1 || (task->tid == task->pid && threads->several);
	const char *command = is_main ? command_of(threads, model, task) : "";
	if (command[0])
		text_add(out, command);
	else
		add_name(threads, model, task, out);
}

static void add_program(const struct model *model, const struct selection_task *task,
			struct text *out)
{
	text_add_safe(out, task->comm[0] ? task->comm : "[unknown]");
	if (task->nr_processes > 1)
		text_addf(out, " %s%u", model->ascii ? "x" : "×", task->nr_processes);
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	struct threads_view *threads = threads_of(view);
	const struct selection_task *task = task_at(view, row);
	const struct ui_thread_now *now = now_of(threads, task);
	struct text *text = &threads->name;
	text_clear(text);
	if (task->tid == IS_PROGRAM) {
		add_program(model, task, text);
	} else {
		if (!is_goroutine(task->tid))
			text_addf(text, "%d ", shown_id(task));
		if (now) /* of the rows on the screen: a list of thousands is looked through by name */
			add_label(threads, model, task, text);
		else
			add_name(threads, model, task, text);
	}
	text_add(text, "  ");
	if (!thread_row_sleeps(task))
		text_add(text, model_full_name(model, task->top));
	else if (now)
		thread_text_explain(now, text);
	return text_string(text);
}

static void prepare(struct view *view, struct model *model, size_t first, size_t nr)
{
	struct threads_view *threads = threads_of(view);
	nr = nr < SELECTION_TREND_ROWS_MAX ? nr : SELECTION_TREND_ROWS_MAX;
	struct trends *trends = &threads->trends;
	trends_begin(trends, model, first);
	if (trends->seconds && !selection_trend_tasks(model->selection, &threads->rows.items[first],
						      nr, trends->seconds, trends_room(trends)))
		trends_add(trends, nr);
	trends_scale(trends, model);
	see(threads, model, first, nr);
}

/* Where the columns begin; those that have no room begin where the next does. */
struct columns {
	int cpu, wait, tid, trend, name, state, function, end;
};

/* Names of programs, command lines: what tells rows apart has most of the room. */
static int name_cols(const struct threads_view *threads, int room)
{
	const int more = room - NAME_COLS - STATE_COLS - FUNCTION_COLS_LEAST;
	if (threads->which == SELECTION_THREADS)
		return NAME_COLS + (threads->several && more > 0 ? more / 2 : 0);
	return threads->which == SELECTION_PROGRAMS ? NAME_COLS + 4
						    : room - FUNCTION_COLS_LEAST - 6;
}

/* Of how much of a CPU a thread used. */
static bool samples_tell_cpu(const struct model *model)
{
	return model->facts.unit == WEIGHT_NS && !model->time;
}

static struct columns columns_of(const struct threads_view *threads, const struct model *model,
				 struct area line)
{
	struct columns at = {.cpu = line.col + 9, .end = line.col + line.cols};
	const bool live = model->facts.state == UI_LIVE;
	at.wait = at.cpu + (threads->has_times || samples_tell_cpu(model) ? 7 : 0);
	at.tid = at.wait + (threads->has_times ? 7 : 0);
	at.trend = at.tid + (threads->which == SELECTION_PROGRAMS ? 0 : 8);
	at.name = at.trend;
	if (threads->which != SELECTION_PROGRAMS && (!live || line.cols >= TREND_FROM_COLS))
		at.name += trend_cols(model) ? (int)trend_cols(model) + 1 : 0;
	at.state = at.name + name_cols(threads, at.end - at.name);
	const int room = at.end - at.state -
			 (threads->has_times ? FUNCTION_COLS_BESIDE_TIMES : FUNCTION_COLS_LEAST);
	const int state = threads->which == SELECTION_PROGRAMS	  ? room / 2 + room / 4
			  : threads->which == SELECTION_PROCESSES ? 6
			  : live				  ? STATE_COLS
								  : 0;
	at.function = at.state + (line.cols < STATE_FROM_COLS ? 0 : room < state ? room : state);
	if (at.function < at.state)
		at.function = at.state;
	return at;
}

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	static const struct {
		const char *id, *name, *state;
	} titles[] = {
		[SELECTION_THREADS] = {"    TID", "THREAD", "NOW"},
		[SELECTION_PROCESSES] = {"    PID", "PROCESS", "THR"},
		[SELECTION_PROGRAMS] = {"", "PROGRAM", "COMMAND"},
	};
	const struct threads_view *threads = threads_of(view);
	struct columns at = columns_of(threads, model, line);
	cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE, "  SHARE%");
	cells_put(cells, line.row, at.cpu, at.wait - at.cpu, ROLE_TITLE, "  CPU%");
	cells_put(cells, line.row, at.wait, at.tid - at.wait, ROLE_TITLE, " WAIT%");
	cells_put(cells, line.row, at.tid, at.end - at.tid, ROLE_TITLE, titles[threads->which].id);
	cells_put(cells, line.row, at.trend, at.name - at.trend, ROLE_TITLE, "TREND");
	cells_put(cells, line.row, at.name, at.end - at.name, ROLE_TITLE,
		  titles[threads->which].name);
	cells_put(cells, line.row, at.state, at.function - at.state, ROLE_TITLE,
		  titles[threads->which].state);
	cells_put(cells, line.row, at.function, at.end - at.function, ROLE_TITLE, "MOST OF IT IN");
}

/* Of one CPU: how much of the window it ran, by the clock that samples it. */
static double cpu_percent(const struct model *model, const struct selection_task *task)
{
	uint64_t window_ns = model->totals.to_ns - model->totals.from_ns;
	return window_ns ? 100.0 * (double)task->weight / (double)window_ns : 0;
}

/* By the account, which has every switch; without it by samples. */
static void draw_times(const struct threads_view *threads, const struct model *model,
		       struct cells *cells, int row, const struct columns *at,
		       const struct selection_task *task)
{
	enum { COLS = 6 };
	const struct ui_times *times = times_of(threads, task);
	if (at->wait > at->cpu && (times || (samples_tell_cpu(model) && !thread_row_sleeps(task))))
		cells_putf(cells, row, at->cpu, COLS, ROLE_TEXT, "%6.1f",
			   times ? times->cpu_percent : cpu_percent(model, task));
	if (at->tid > at->wait && times)
		cells_putf(cells, row, at->wait, COLS, ROLE_TEXT, "%6.1f", times->waiting_percent);
}

/* What a thread does now; how many threads a process has; a command line of a program's. */
static void draw_now(struct threads_view *threads, const struct model *model, struct cells *cells,
		     int row, const struct columns *at, const struct selection_task *task,
		     const struct ui_thread_now *now)
{
	text_clear(&threads->name);
	if (task->tid == IS_PROGRAM)
		text_add(&threads->name, command_of(threads, model, task));
	else if (task->tid == -1)
		text_addf(&threads->name, "%3u", task->nr_threads);
	else if (now)
		thread_text_add(now, (size_t)(at->function - at->state - 1), &threads->name);
	cells_put_cut(cells, row, at->state, at->function - at->state - 1,
		      task->tid == IS_PROGRAM	 ? ROLE_MODULE
		      : now && now->state == 'D' ? ROLE_WARN
						 : ROLE_TEXT,
		      text_string(&threads->name));
}

/* Where most of its samples are; of one that sleeps, where in the kernel it does. */
static void draw_function(struct threads_view *threads, struct model *model, struct cells *cells,
			  int row, const struct columns *at, const struct selection_task *task,
			  const struct ui_thread_now *now)
{
	const int room = at->end - at->function;
	if (!thread_row_sleeps(task)) {
		const int taken = cells_putf(cells, row, at->function, room, ROLE_TEXT, "%3.0f%% ",
					     task->weight ? 100.0 * (double)task->top_weight /
								    (double)task->weight
							  : 0.0);
		view_put_name(model, cells, row, at->function + taken, room - taken, ROLE_TEXT,
			      model_fit_name(model, task->top, room - taken));
	} else if (now && now->place[0]) {
		text_clear(&threads->name);
		text_add(&threads->name, "[k] ");
		text_add_safe(&threads->name, now->place);
		cells_put_cut(cells, row, at->function, room, ROLE_DIM,
			      text_string(&threads->name));
	}
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	struct threads_view *threads = threads_of(view);
	const struct selection_task *task = task_at(view, row);
	double share = model_percent(model, task->weight);
	const struct ui_thread_now *now = now_of(threads, task);
	struct columns at = columns_of(threads, model, line);
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	if (!thread_row_sleeps(task))
		cells_putf(cells, line.row, line.col + 1, 7,
			   history_effective(task->weight, task->squares) < FEW_SAMPLES
				   ? ROLE_DIM
				   : model_percent_role(model, share),
			   "%7.1f", share);
	draw_times(threads, model, cells, line.row, &at, task);
	if (at.trend > at.tid)
		cells_putf(cells, line.row, at.tid, 7, ROLE_TEXT, "%7d",
			   is_goroutine(task->tid) ? goroutine_of_tid(task->tid) : shown_id(task));
	if (at.name > at.trend)
		trends_put(&threads->trends, model, cells, line.row, at.trend, row);
	text_clear(&threads->name);
	if (task->tid == IS_PROGRAM)
		add_program(model, task, &threads->name);
	else
		add_label(threads, model, task, &threads->name);
	cells_put_cut(cells, line.row, at.name, at.state - at.name - 1, ROLE_LABEL,
		      text_string(&threads->name));
	if (at.function > at.state)
		draw_now(threads, model, cells, line.row, &at, task, now);
	draw_function(threads, model, cells, line.row, &at, task, now);
}

/* Into a program's processes, a process's threads, a thread. A program that is one process is that. */
static void go_into(struct threads_view *threads, struct model *model,
		    const struct selection_task *task)
{
	const bool is_program = task->tid == IS_PROGRAM && task->nr_processes > 1;
	struct selection_criterion criterion = {
		.what = is_program	      ? SELECTION_PROGRAM
			: is_of_process(task) ? SELECTION_PROCESS
					      : SELECTION_THREAD,
		.number = is_program ? 0 : shown_id(task),
		.text = is_program ? task->comm : NULL,
	};
	struct text label = {0};
	if (is_program)
		text_add(&label, "program=");
	else if (!is_goroutine(task->tid))
		text_addf(&label, "%s=%d ", is_of_process(task) ? "process" : "thread",
			  shown_id(task));
	add_name(threads, model, task, &label);
	model_zoom(model, criterion, text_string(&label));
	text_release(&label);
	threads->chosen = false;
}

/* Programs are worth a list of their own where there are many processes. */
static void show_others(struct threads_view *threads, const struct model *model)
{
	static const enum selection_tasks_of next[] = {
		[SELECTION_THREADS] = SELECTION_PROCESSES,
		[SELECTION_PROCESSES] = SELECTION_PROGRAMS,
		[SELECTION_PROGRAMS] = SELECTION_THREADS,
	};
	threads->which = next[threads->which];
	if (threads->which == SELECTION_PROGRAMS && !model->facts.nr_cpus)
		threads->which = SELECTION_THREADS;
	threads->chosen = threads->view.stale = true;
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct threads_view *threads = threads_of(view);
	if (action == ACTION_PROCESSES) {
		show_others(threads, model);
		return true;
	}
	if (action != ACTION_ZOOM_THREAD && action != ACTION_ENTER)
		return false;
	if (view->selected < view->nr_rows)
		go_into(threads, model, task_at(view, view->selected));
	return true;
}

/* What the row's thread, process or program does, beside the list. */
static void draw_pane(struct view *view, struct model *model, struct cells *cells, struct area area)
{
	struct threads_view *threads = threads_of(view);
	if (view->selected >= view->nr_rows)
		return;
	const struct selection_task *task = task_at(view, view->selected);
	text_clear(&threads->name);
	if (task->tid == IS_PROGRAM)
		add_program(model, task, &threads->name);
	else if (!is_goroutine(task->tid))
		text_addf(&threads->name, "%d ", shown_id(task));
	if (task->tid != IS_PROGRAM)
		add_name(threads, model, task, &threads->name);
	const struct thread_pane pane = {
		.task = task,
		.now = task->tid == IS_PROGRAM ? NULL : now_of(threads, task),
		.times = times_of(threads, task),
		.title = text_string(&threads->name),
		.command = command_of(threads, model, task),
	};
	thread_pane_draw(&pane, model, cells, area);
}

static void threads_free(struct view *view)
{
	view_release(view);
	free(threads_of(view)->rows.items);
	text_release(&threads_of(view)->name);
	text_release(&threads_of(view)->label);
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
		.draw_pane = draw_pane,
		.free = threads_free,
	};
	return view_new(&ops, sizeof(struct threads_view));
}
