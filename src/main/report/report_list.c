/* SPDX-License-Identifier: MIT */
/* The list of functions, or of what else options->grouping says. */
#include "report_internal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/function_name.h>
#include <ctop/base/task_id.h>
#include <ctop/goroutine.h>
#include <ctop/report/numbers.h>

#include "report_events.h"
#include "report_threads.h"

/* Names in full push their modules to the right, on lines that are made for this many columns. */
enum { FULL_LINE_COLS = 80 };
enum {
	NUMBERS_COLS = 27, /* "SELF% TOTAL% SAMPLES" and the gaps around them */
	MODULE_COLS_MOST = 24,
	MODULE_COLS_BESIDE = 14, /* columns of events */
};

struct list {
	struct report *report;
	enum grouping by;
	struct text name; /* scratch */
	size_t name_cols, module_cols;
	bool fit; /* nothing is wider */
	struct report_events events;
	struct report_threads threads;
	size_t nr_sampled; /* of the rows; those behind have no samples */
};

struct words {
	const char *heading, *one, *several;
};

static const struct words *words_of(enum grouping by)
{
	static const struct words words[NR_GROUPINGS] = {
		[GROUPING_INLINE] = {"FUNCTION", "function", "functions"},
		[GROUPING_FUNCTION] = {"FUNCTION", "function", "functions"},
		[GROUPING_LINE] = {"LINE", "line", "lines"},
		[GROUPING_ADDRESS] = {"ADDRESS", "address", "addresses"},
		[GROUPING_MODULE] = {"MODULE", "module", "modules"},
		[GROUPING_THREAD] = {"    PID      TID  THREAD", "thread", "threads"},
		[GROUPING_PROCESS] = {"    PID  PROCESS", "process", "processes"},
	};
	return &words[by];
}

/* Behind the name stands its module. */
static bool has_module(const struct list *list)
{
	return list->by <= GROUPING_ADDRESS;
}

static size_t between(size_t value, size_t least, size_t most)
{
	return value < least ? least : value > most ? most : value;
}

/* The last part of a module's path, as people know it. Valid until the next call, as the other names. */
static const char *shown_module(struct list *list, const struct group *group)
{
	text_clear(&list->name);
	text_add_safe(&list->name, base_name(group->module));
	return text_string(&list->name);
}

static const char *task_name(struct list *list, const struct group *group)
{
	text_addf(&list->name, "%7" PRId32 "  ", group->pid);
	if (group->tid >= 0) {
		text_addf(&list->name, "%7" PRId32 "  ", group->tid);
	} else if (is_goroutine(group->tid)) {
		task_id_add(&list->name, group->tid);
		text_add(&list->name, "  ");
	}
	text_add_safe(&list->name, group->comm);
	return text_string(&list->name);
}

/* In at most so many columns; 0: whole. */
static const char *shown_name(struct list *list, const struct group *group, size_t cols)
{
	text_clear(&list->name);
	if (group->comm)
		return task_name(list, group);
	if (list->by == GROUPING_MODULE) {
		text_add_safe(&list->name, *group->module ? group->module : "[unknown]");
		return text_string(&list->name);
	}
	group_add_place(&list->name, group);
	if (list->name.size)
		text_add(&list->name, " ");
	const size_t taken = text_cols(text_string(&list->name));
	if (cols)
		cols = between(cols, taken + NAME_COLS_LEAST, cols) - taken;
	text_add(&list->name, report_function_name(list->report, group->function, cols));
	return text_string(&list->name);
}

/* ---- rows ---- */

/* Of a thread without samples, how long it lived says what it is worth. */
static bool shows(const struct list *list, const struct selection_group *row)
{
	const struct report *report = list->report;
	return row->cost.total ? report_shows(report, row->cost.total_weight)
			       : report_threads_percent(&list->threads, &row->group) >=
					 report->options->min_percent;
}

static void find_widths(struct list *list, const struct selection_group *rows, size_t nr)
{
	struct report *report = list->report;
	list->fit = report_line_cols(report) > 0;
	list->module_cols = strlen("MODULE");
	const size_t line = list->fit ? report_line_cols(report) : FULL_LINE_COLS;
	for (size_t i = 0; i < nr; i++) {
		size_t cols = text_cols(shown_module(list, &rows[i].group));
		if (shows(list, &rows[i]) && cols > list->module_cols)
			list->module_cols = cols;
	}
	const size_t module_most =
		list->fit && list->events.cols ? MODULE_COLS_BESIDE : MODULE_COLS_MOST;
	list->module_cols = between(list->module_cols, 1, module_most);
	const size_t fixed = NUMBERS_COLS + list->events.cols + list->threads.cols +
			     (has_module(list) ? 2 + list->module_cols : 0),
		     room = line > fixed ? line - fixed : 0;
	const size_t most = room > NAME_COLS_LEAST ? room : NAME_COLS_LEAST;
	/* As wide as the names are once they fit. */
	for (size_t i = 0; i < nr; i++) {
		size_t cols = text_cols(shown_name(list, &rows[i].group, list->fit ? most : 0));
		if (shows(list, &rows[i]) && cols > list->name_cols)
			list->name_cols = cols;
	}
	list->name_cols = between(list->name_cols, NAME_COLS_LEAST, most);
}

static void add_heading(struct list *list)
{
	const char *heading = words_of(list->by)->heading;
	text_addf(list->report->out, " SELF%%  TOTAL%%    SAMPLES");
	report_events_add_heading(&list->events, list->report->history, list->report->out);
	report_threads_add_heading(&list->threads, list->report->out);
	text_add(list->report->out, "  ");
	if (has_module(list))
		text_addf(list->report->out, "%-*s  MODULE\n", (int)list->name_cols, heading);
	else
		text_addf(list->report->out, "%s\n", heading);
}

static void add_count_column(struct text *out, uint64_t number, size_t cols)
{
	struct text digits = {0};
	add_grouped(&digits, number);
	if (digits.size < cols)
		report_add_blanks(out, cols - digits.size);
	text_add(out, text_string(&digits));
	out->failed |= digits.failed;
	text_release(&digits);
}

static void add_row(struct list *list, const struct selection_group *row, size_t number)
{
	const struct report *report = list->report;
	struct text *out = report->out;
	report_add_share(out, row->cost.self_weight, report->totals.weight);
	text_add(out, "  ");
	report_add_share(out, row->cost.total_weight, report->totals.weight);
	add_count_column(out, row->cost.self, 11);
	if (number < list->nr_sampled)
		report_events_add_row(&list->events, number, out);
	else
		report_events_add_nothing(&list->events, out);
	report_threads_add_row(&list->threads, &row->group, out);
	text_add(out, "  ");
	const char *name = shown_name(list, &row->group, list->fit ? list->name_cols : 0);
	const size_t taken = text_cols(name);
	if (has_module(list)) {
		text_add(out, name);
		report_add_blanks(out, taken < list->name_cols ? list->name_cols - taken : 0);
		text_add(out, "  ");
		name_add_elided(out, shown_module(list, &row->group),
				list->fit ? list->module_cols : SIZE_MAX);
	} else {
		name_add_elided(out, name, list->fit ? list->name_cols : SIZE_MAX);
	}
	text_add(out, "\n");
}

/* How many rows were left out, and why. */
static void add_rest(const struct list *list, size_t nr, size_t nr_below, uint64_t self_weight)
{
	const struct report *report = list->report;
	const struct words *words = words_of(list->by);
	text_add(report->out, "... ");
	add_grouped(report->out, nr);
	text_addf(report->out, " more %s with ", nr == 1 ? words->one : words->several);
	add_percent(report->out, self_weight, report->totals.weight);
	text_add(report->out, "% self:");
	if (nr_below) {
		text_add(report->out, " ");
		add_grouped(report->out, nr_below);
		text_addf(report->out, " below %g%%", report->options->min_percent);
	}
	if (nr > nr_below) {
		text_add(report->out, nr_below ? ", " : " ");
		add_grouped(report->out, nr - nr_below);
		text_addf(report->out, " past the first %" PRIu32, report->options->limit);
	}
	text_add(report->out, "\n");
}

/* Of the rows, as many as it takes to have all that will be there. */
static size_t nr_until_limit(const struct list *list, const struct selection_groups *rows)
{
	const uint32_t limit = list->report->options->limit;
	size_t nr = 0;
	for (uint32_t nr_shown = 0; nr < rows->nr && (!limit || nr_shown < limit); nr++)
		nr_shown += shows(list, &rows->items[nr]);
	return nr;
}

static void add_rows(struct list *list, const struct selection_groups *rows)
{
	const struct report *report = list->report;
	const uint32_t limit = report->options->limit;
	size_t nr_shown = 0, nr_below = 0;
	uint64_t self_shown = 0;
	/* Widths are those of the rows that will be there, not of all that were sampled. */
	report_events_fit(&list->events, report->history, report_line_cols(report),
			  NUMBERS_COLS + ROOM_COLS_LEAST);
	report_threads_fit(&list->threads, report_line_cols(report),
			   NUMBERS_COLS + ROOM_COLS_LEAST + list->events.cols);
	find_widths(list, rows->items, nr_until_limit(list, rows));
	add_heading(list);
	for (size_t i = 0; i < rows->nr; i++) {
		const struct selection_group *row = &rows->items[i];
		if (!shows(list, row)) {
			nr_below++;
			continue;
		}
		if (limit && nr_shown == limit)
			continue;
		add_row(list, row, i);
		nr_shown++;
		self_shown += row->cost.self_weight;
	}
	if (nr_shown < rows->nr)
		add_rest(list, rows->nr - nr_shown, nr_below, report->totals.weight - self_shown);
}

int report_list_add(struct report *report)
{
	struct list list = {.report = report, .by = report->options->grouping};
	struct selection_groups rows = {0};
	int result = selection_groups(report->selection, list.by, SELECTION_OWN_EVENT, &rows);
	if (!result)
		result = event_columns_take(&list.events.of, report->selection, report->history,
					    list.by, &rows);
	list.nr_sampled = rows.nr;
	if (!result)
		result = report_threads_take(&list.threads, report->history, report->options);
	if (!result)
		result = report_threads_add_others(&list.threads, report->options, &rows);
	if (!result && rows.nr)
		add_rows(&list, &rows);
	report->out->failed |= list.name.failed;
	text_release(&list.name);
	report_events_release(&list.events);
	report_threads_release(&list.threads);
	free(rows.items);
	return result;
}
