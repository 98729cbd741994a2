/* SPDX-License-Identifier: MIT */
/* Processes by CPU use, to choose from: typing filters, Space marks, Enter profiles. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/screen/prompt.h>
#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>
#include <ctop/views/views.h>

struct picker_view {
	struct view view;
	struct ui_process *all;
	size_t nr_all;
	uint32_t *rows; /* of `all`, that pass the filter */
	struct prompt filter;
	bool begun; /* the filter has what was wanted */
	struct picked marked;
	struct text name; /* scratch */
};

static struct picker_view *picker_of(struct view *view)
{
	return (struct picker_view *)view;
}

static const struct ui_process *process_at(const struct view *view, size_t row)
{
	const struct picker_view *picker = (const struct picker_view *)view;
	return &picker->all[picker->rows[row]];
}

static int compare(const void *a, const void *b)
{
	const struct ui_process *left = a, *right = b;
	if (left->cpu_percent < right->cpu_percent || left->cpu_percent > right->cpu_percent)
		return left->cpu_percent < right->cpu_percent ? 1 : -1;
	return (left->pid > right->pid) - (left->pid < right->pid);
}

/* As the command line looks for a name: the thread's own, or that of the file it was started as. */
static bool is_called(const struct ui_process *process, const char *name)
{
	const size_t size = strcspn(process->command, " ");
	const char *start = process->command;
	for (const char *at = start; at < process->command + size; at++)
		if (*at == '/')
			start = at + 1;
	const size_t length = (size_t)(process->command + size - start);
	return !strcmp(process->name, name) ||
	       (length == strlen(name) && !memcmp(start, name, length));
}

static bool passes(const struct ui_process *process, const char *wanted)
{
	char pid[16];
	snprintf(pid, sizeof(pid), "%d", process->pid);
	return view_text_has(process->name, wanted) || view_text_has(process->command, wanted) ||
	       view_text_has(process->user, wanted) || strncmp(pid, wanted, strlen(wanted)) == 0;
}

/* ---- marks ---- */

/* Where it stands among the marked; their number: nowhere. */
static size_t find_mark(const struct picker_view *picker, int32_t pid)
{
	size_t i = 0;
	while (i < picker->marked.nr && picker->marked.items[i] != pid)
		i++;
	return i;
}

static bool is_marked(const struct picker_view *picker, int32_t pid)
{
	return find_mark(picker, pid) < picker->marked.nr;
}

static void mark(struct picker_view *picker, struct model *model, int32_t pid)
{
	if (vec_reserve(&picker->marked, picker->marked.nr + 1))
		model_failed(model, -ENOMEM);
	else
		picker->marked.items[picker->marked.nr++] = pid;
}

static void toggle_mark(struct picker_view *picker, struct model *model, int32_t pid)
{
	const size_t at = find_mark(picker, pid);
	if (at == picker->marked.nr)
		mark(picker, model, pid);
	else
		picker->marked.items[at] = picker->marked.items[--picker->marked.nr];
}

/* All that are listed, or, where these are marked already, none. */
static void toggle_all(struct picker_view *picker, struct model *model)
{
	size_t nr_missing = 0;
	for (size_t row = 0; row < picker->view.nr_rows; row++) {
		const int32_t pid = process_at(&picker->view, row)->pid;
		if (is_marked(picker, pid))
			continue;
		nr_missing++;
		mark(picker, model, pid);
	}
	if (!nr_missing)
		picker->marked.nr = 0;
}

/* What was marked and has ended is not to be profiled. */
static void forget_ended(struct picker_view *picker)
{
	size_t nr = 0;
	for (size_t i = 0; i < picker->nr_all; i++) {
		const size_t at = find_mark(picker, picker->all[i].pid);
		if (at >= picker->marked.nr || at < nr)
			continue;
		const int32_t pid = picker->marked.items[at];
		picker->marked.items[at] = picker->marked.items[nr];
		picker->marked.items[nr++] = pid;
	}
	picker->marked.nr = nr;
}

/* The marked, else the selected one. */
static void pick(const struct picker_view *picker, struct model *model)
{
	struct picked *picked = &model->picked;
	const size_t nr = picker->marked.nr ? picker->marked.nr : 1;
	picked->nr = 0;
	if (picker->view.selected >= picker->view.nr_rows && !picker->marked.nr)
		return;
	if (vec_reserve(picked, nr)) {
		model_failed(model, -ENOMEM);
		return;
	}
	for (size_t i = 0; i < nr; i++)
		picked->items[picked->nr++] =
			picker->marked.nr ? picker->marked.items[i]
					  : process_at(&picker->view, picker->view.selected)->pid;
}

/* ---- rows ---- */

/* The name that was asked for means those of just that name, until something else is typed. */
static void apply_filter(struct picker_view *picker, const struct model *model)
{
	const char *text = picker->filter.text;
	const bool exact = model->wanted && !strcmp(text, model->wanted);
	picker->view.nr_rows = 0;
	for (uint32_t i = 0; i < picker->nr_all; i++)
		if (exact ? is_called(&picker->all[i], text) : passes(&picker->all[i], text))
			picker->rows[picker->view.nr_rows++] = i;
}

static int refresh(struct view *view, struct model *model)
{
	struct picker_view *picker = picker_of(view);
	struct ui_process *all = NULL;
	size_t nr = 0;
	if (!picker->begun && model->wanted)
		snprintf(picker->filter.text, sizeof(picker->filter.text), "%s", model->wanted);
	picker->begun = true;
	/* The filter alone has changed: the processes are as they were. */
	if (view->generation != model->generation || !picker->rows) {
		int result = model->host->processes(model->host->context, &all, &nr);
		uint32_t *rows = result ? NULL : calloc(nr + 1, sizeof(*rows));
		if (!rows) {
			free(all);
			return result ? result : -ENOMEM;
		}
		free(picker->all);
		free(picker->rows);
		picker->all = all;
		picker->nr_all = nr;
		picker->rows = rows;
		if (nr)
			qsort(all, nr, sizeof(*all), compare);
		forget_ended(picker);
	}
	apply_filter(picker, model);
	return 0;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return (uint64_t)process_at(view, row)->pid;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	struct text *name = &picker_of(view)->name;
	(void)model;
	text_clear(name);
	text_add_safe(name, process_at(view, row)->command);
	return text_string(name);
}

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	(void)view;
	(void)model;
	cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE,
		  "     PID   CPU%  THR USER       NAME             COMMAND");
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t row,
		     struct area line)
{
	const struct ui_process *process = process_at(view, row);
	struct text name = {0};
	int end = line.col + line.cols;
	if (row == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	cells_putf(cells, line.row, line.col + 1, line.cols - 1, ROLE_TEXT, "%7d", process->pid);
	if (is_marked(picker_of(view), process->pid))
		cells_put(cells, line.row, line.col + 8, 1, ROLE_WARN, "*");
	cells_putf(cells, line.row, line.col + 9, 6,
		   model_percent_role(model, process->cpu_percent), "%6.1f", process->cpu_percent);
	cells_putf(cells, line.row, line.col + 16, 4, ROLE_TEXT, "%4u", process->nr_threads);
	text_add_safe(&name, process->user);
	cells_put_cut(cells, line.row, line.col + 21, 10, ROLE_LABEL, text_string(&name));
	text_clear(&name);
	text_add_safe(&name, process->name);
	cells_put_cut(cells, line.row, line.col + 32, 16, ROLE_TEXT, text_string(&name));
	text_clear(&name);
	text_add_safe(&name, process->command);
	cells_put_cut(cells, line.row, line.col + 49, end - line.col - 49, ROLE_MODULE,
		      text_string(&name));
	text_release(&name);
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct picker_view *picker = picker_of(view);
	if (action == ACTION_BACK) {
		if (!picker->filter.text[0])
			return false;
		picker->filter.text[0] = '\0';
		view->stale = true;
		return true;
	}
	if (action == ACTION_MARK && view->selected < view->nr_rows) {
		toggle_mark(picker, model, process_at(view, view->selected)->pid);
		view_select(view, view->selected + 1);
	} else if (action == ACTION_MARK_ALL) {
		toggle_all(picker, model);
	} else if (action == ACTION_ENTER) {
		pick(picker, model);
	}
	return action == ACTION_MARK || action == ACTION_MARK_ALL || action == ACTION_ENTER;
}

static bool type(struct view *view, struct model *model, int key)
{
	struct picker_view *picker = picker_of(view);
	(void)model;
	if (prompt_key(&picker->filter, key) == PROMPT_NO_KEY)
		return false;
	view->stale = true;
	view->chosen = false;
	view->selected = 0;
	return true;
}

static void draw_status(struct view *view, struct cells *cells, int row)
{
	prompt_draw(&picker_of(view)->filter, cells, row, "filter: ");
}

static void picker_free(struct view *view)
{
	struct picker_view *picker = picker_of(view);
	free(picker->all);
	free(picker->rows);
	free(picker->marked.items);
	text_release(&picker->name);
	free(picker);
}

struct view *picker_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_PICKER,
		.refresh = refresh,
		.id_at = id_at,
		.draw_title = draw_title,
		.draw_row = draw_row,
		.draw_status = draw_status,
		.text_at = text_at,
		.act = act,
		.type = type,
		.free = picker_free,
	};
	return view_new(&ops, sizeof(struct picker_view));
}
