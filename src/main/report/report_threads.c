/* SPDX-License-Identifier: MIT */
#include "report_threads.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/among.h>
#include <ctop/base/clock.h>
#include <ctop/base/vec.h>

enum { SECONDS_COLS = 11, MOSTLY_COLS = 12 };

void report_threads_release(struct report_threads *threads)
{
	thread_facts_release(&threads->facts);
	*threads = (struct report_threads){0};
}

/* ---- what is known ---- */

static int compare(const void *a, const void *b)
{
	const struct thread_times *left = a, *right = b;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

/* Numbers of threads come again; of those that were too many nothing is told. A process goes by its first thread. */
static void sum_up(struct thread_facts *facts, enum grouping by)
{
	size_t nr = 0;
	thread_facts_sort(facts);
	for (size_t i = 0; i < facts->nr; i++) {
		struct thread_times times = facts->items[i];
		if (by == GROUPING_PROCESS)
			times.tid = -1;
		if (!times.pid)
			continue;
		if (nr && compare(&facts->items[nr - 1], &times) == 0)
			thread_facts_sum(&facts->items[nr - 1], &times);
		else
			facts->items[nr++] = times;
	}
	facts->nr = nr;
}

int report_threads_take(struct report_threads *threads, const struct history *history,
			const struct options *options)
{
	const enum grouping by = options->grouping;
	/* Goroutines are on no thread: there is nothing of threads beside them. Nor is there of what ended waits. */
	if (time_is_apart(options->time) || (by != GROUPING_THREAD && by != GROUPING_PROCESS) ||
	    options->from_seconds > 0 || options->to_seconds > 0)
		return 0;
	int result = thread_facts_read(history, &threads->facts);
	if (result || !threads->facts.nr)
		return result;
	sum_up(&threads->facts, by);
	struct thread_times sum = {0};
	for (size_t i = 0; i < threads->facts.nr; i++)
		thread_facts_sum(&sum, &threads->facts.items[i]);
	threads->observed_ns = sum.observed_ns;
	return 0;
}

/* NULL: nothing is known of it. */
static const struct thread_times *find(const struct report_threads *threads,
				       const struct group *group)
{
	const struct thread_times wanted = {.pid = group->pid, .tid = group->tid};
	return threads->facts.nr ? bsearch(&wanted, threads->facts.items, threads->facts.nr,
					   sizeof(wanted), compare)
				 : NULL;
}

double report_threads_percent(const struct report_threads *threads, const struct group *group)
{
	const struct thread_times *times = find(threads, group);
	return times && threads->observed_ns
		       ? 100.0 * (double)times->observed_ns / (double)threads->observed_ns
		       : 0;
}

/* ---- rows of those without samples ---- */

/* Of a filter of samples nobody knows whether they would pass it. */
static bool pass(const struct thread_times *times, const struct options *options)
{
	return among(times->pid, options->filter_pids.items, options->filter_pids.nr) &&
	       (times->tid < 0
			? !options->filter_tids.nr && !options->comm
			: among(times->tid, options->filter_tids.items, options->filter_tids.nr)) &&
	       (!options->comm || !strcmp(times->name, options->comm)) &&
	       !options->filter_cpus.nr && !options->module && !options->nr_labels &&
	       !options->kernel_only && !options->user_only;
}

static int by_waiting(const void *a, const void *b)
{
	const struct thread_times *const *left = a, *const *right = b;
	const uint64_t left_ns = (*left)->ns[TIME_WAITING], right_ns = (*right)->ns[TIME_WAITING];
	if (left_ns != right_ns)
		return left_ns > right_ns ? -1 : 1;
	return compare(*left, *right);
}

static void mark_rows(const struct report_threads *threads, const struct selection_groups *rows,
		      bool *has_row)
{
	for (size_t i = 0; i < rows->nr; i++) {
		const struct thread_times *times = find(threads, &rows->items[i].group);
		if (times)
			has_row[times - threads->facts.items] = true;
	}
}

static int add_row(struct selection_groups *rows, const struct thread_times *times)
{
	if (vec_reserve(rows, rows->nr + 1))
		return -ENOMEM;
	rows->items[rows->nr++] = (struct selection_group){.group = {.module = "",
								     .file = "",
								     .pid = times->pid,
								     .tid = times->tid,
								     .comm = times->name}};
	return 0;
}

int report_threads_add_others(const struct report_threads *threads, const struct options *options,
			      struct selection_groups *rows)
{
	const struct thread_facts *facts = &threads->facts;
	bool *has_row = calloc(facts->nr + 1, sizeof(*has_row));
	const struct thread_times **others = calloc(facts->nr + 1, sizeof(*others));
	int result = has_row && others ? 0 : -ENOMEM;
	size_t nr = 0;
	if (!result)
		mark_rows(threads, rows, has_row);
	for (size_t i = 0; !result && i < facts->nr; i++)
		if (!has_row[i] && pass(&facts->items[i], options))
			others[nr++] = &facts->items[i];
	if (nr)
		qsort(others, nr, sizeof(*others), by_waiting);
	for (size_t i = 0; !result && i < nr; i++)
		result = add_row(rows, others[i]);
	free(has_row);
	free(others);
	return result;
}

/* ---- columns ---- */

void report_threads_fit(struct report_threads *threads, size_t line_cols, size_t taken_cols)
{
	if (!threads->facts.nr)
		return;
	const size_t room = line_cols == 0	     ? SIZE_MAX
			    : line_cols > taken_cols ? line_cols - taken_cols
						     : 0;
	threads->shows_queued = room >= 3 * SECONDS_COLS;
	threads->shows_mostly = room >= 3 * SECONDS_COLS + MOSTLY_COLS;
	threads->cols = 2 * SECONDS_COLS;
	threads->cols += threads->shows_queued ? SECONDS_COLS : 0;
	threads->cols += threads->shows_mostly ? MOSTLY_COLS : 0;
}

void report_threads_add_heading(const struct report_threads *threads, struct text *out)
{
	if (!threads->cols)
		return;
	text_addf(out, "%*s", SECONDS_COLS, "CPU s");
	if (threads->shows_queued)
		text_addf(out, "%*s", SECONDS_COLS, "queued s");
	text_addf(out, "%*s", SECONDS_COLS, "waited s");
	if (threads->shows_mostly)
		text_addf(out, "  %-*s", MOSTLY_COLS - 2, "MOSTLY FOR");
}

/* What most of its waiting was for, as far as that is known. */
static const char *mostly_for(const struct thread_times *times)
{
	int most = WAIT_UNSEEN;
	for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
		if (times->wait_ns[kind] > times->wait_ns[most])
			most = kind;
	return times->wait_ns[most] ? wait_kind_name((enum wait_kind)most) : "";
}

static void add_seconds(uint64_t ns, struct text *out)
{
	text_addf(out, "%*.3f", SECONDS_COLS, (double)ns / (double)NS_PER_SECOND);
}

void report_threads_add_row(const struct report_threads *threads, const struct group *group,
			    struct text *out)
{
	const struct thread_times *times = find(threads, group);
	if (!times) {
		text_addf(out, "%*s", (int)threads->cols, "");
		return;
	}
	add_seconds(times->ns[TIME_RUNNING], out);
	if (threads->shows_queued)
		add_seconds(times->ns[TIME_RUNNABLE], out);
	add_seconds(times->ns[TIME_WAITING], out);
	if (threads->shows_mostly)
		text_addf(out, "  %-*s", MOSTLY_COLS - 2, mostly_for(times));
}
