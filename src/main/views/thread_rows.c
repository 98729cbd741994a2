/* SPDX-License-Identifier: MIT */
#include "thread_rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

/* What the filters leave of the target. */
struct wanted {
	int32_t pid, tid; /* 0: any */
	bool nobody;
};

static struct wanted wanted_of(const struct model *model)
{
	struct wanted wanted = {0};
	for (size_t i = 0; i < model->nr_zooms; i++) {
		const struct selection_criterion *criterion = &model->zooms[i].criterion;
		int32_t *of = criterion->what == SELECTION_PROCESS  ? &wanted.pid
			      : criterion->what == SELECTION_THREAD ? &wanted.tid
								    : NULL;
		if (criterion->what == SELECTION_PROGRAM && !criterion->drop)
			continue; /* whose name a process has that has no samples is not known here */
		if (!of || criterion->drop || (*of && *of != criterion->number))
			wanted.nobody = true;
		else
			*of = criterion->number;
	}
	return wanted;
}

static bool of_program(const struct model *model)
{
	for (size_t i = 0; i < model->nr_zooms; i++)
		if (model->zooms[i].criterion.what == SELECTION_PROGRAM)
			return true;
	return false;
}

/* In the order in which the host lists them. */
static int compare(const void *a, const void *b)
{
	const struct ui_thread *left = a, *right = b;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

/* Of the rows that have samples, sorted. NULL: out of memory. */
static struct ui_thread *known_of(const struct selection_tasks *rows)
{
	struct ui_thread *known = calloc(rows->nr + 1, sizeof(*known));
	for (size_t i = 0; known && i < rows->nr; i++)
		known[i] = (struct ui_thread){rows->items[i].pid, rows->items[i].tid};
	if (known)
		qsort(known, rows->nr, sizeof(*known), compare);
	return known;
}

static int add_thread(struct selection_tasks *rows, const struct ui_thread *thread)
{
	if (vec_reserve(rows, rows->nr + 1))
		return -ENOMEM;
	rows->items[rows->nr++] =
		(struct selection_task){.pid = thread->pid, .tid = thread->tid, .nr_threads = 1};
	return 0;
}

static int add_listed(const struct ui_thread *listed, size_t nr, const struct wanted *wanted,
		      bool processes, struct selection_tasks *rows)
{
	const size_t nr_known = rows->nr;
	struct ui_thread *known = known_of(rows);
	int result = known ? 0 : -ENOMEM;
	for (size_t i = 0; !result && i < nr; i++) {
		const struct ui_thread row = {listed[i].pid, processes ? -1 : listed[i].tid};
		const bool goes_on = processes && i && listed[i - 1].pid == row.pid;
		if ((wanted->pid && row.pid != wanted->pid) ||
		    (wanted->tid && listed[i].tid != wanted->tid) ||
		    bsearch(&row, known, nr_known, sizeof(*known), compare))
			continue;
		if (goes_on)
			rows->items[rows->nr - 1].nr_threads++;
		else
			result = add_thread(rows, &row);
	}
	free(known);
	return result;
}

enum selection_tasks_of thread_rows_default(const struct model *model)
{
	enum selection_tasks_of which =
		model->facts.nr_cpus ? SELECTION_PROGRAMS : SELECTION_THREADS;
	for (size_t i = 0; i < model->nr_zooms; i++) {
		const struct selection_criterion *criterion = &model->zooms[i].criterion;
		if (criterion->drop)
			continue;
		if (criterion->what == SELECTION_PROGRAM && which == SELECTION_PROGRAMS)
			which = SELECTION_PROCESSES;
		if (criterion->what == SELECTION_PROCESS || criterion->what == SELECTION_THREAD)
			which = SELECTION_THREADS;
	}
	return which;
}

int thread_rows_read(struct model *model, enum selection_tasks_of which,
		     struct selection_tasks *rows)
{
	const struct ui_host *host = model->host;
	const struct wanted wanted = wanted_of(model);
	const struct ui_thread *listed;
	size_t nr;
	int result = selection_tasks(model->selection, which, -1, rows);
	if (result || !host->threads || wanted.nobody || model->facts.state != UI_LIVE ||
	    time_is_apart(model->time) || which == SELECTION_PROGRAMS ||
	    (of_program(model) && !wanted.pid))
		return result;
	result = host->threads(host->context, wanted.pid, &listed, &nr);
	return result ? result
		      : add_listed(listed, nr, &wanted, which == SELECTION_PROCESSES, rows);
}
