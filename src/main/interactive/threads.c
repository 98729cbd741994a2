/* SPDX-License-Identifier: MIT */
#include "threads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/privilege.h>
#include <ctop/base/vec.h>
#include <ctop/system/budget.h>
#include <ctop/system/proc_text.h>

/* In one refresh; a listing of 10,000 takes some 20 ms. More than the most of all are not listed. */
enum { THREADS_A_STEP = 2048, THREADS_MOST = 100000, PROCESSES_MOST = 16384 };
/* A listing comes again when it has been left alone for so many times what it took of a CPU. */
enum { PAUSE_TIMES = 50 };

static void close_dir(struct threads *threads)
{
	if (threads->dir)
		closedir(threads->dir);
	threads->dir = NULL;
}

static void forget(struct threads *threads)
{
	close_dir(threads);
	threads->listed.nr = threads->listing.nr = threads->pids.nr = threads->at = 0;
	threads->complete = threads->begun = false;
	threads->due_ns = threads->cost_ns = 0;
}

void threads_release(struct threads *threads)
{
	close_dir(threads);
	free(threads->listed.items);
	free(threads->listing.items);
	free(threads->pids.items);
	*threads = (struct threads){0};
}

/* ---- one listing ---- */

static int begin(struct threads *threads, const struct session *session)
{
	if (vec_reserve(&threads->pids, PROCESSES_MOST))
		return -ENOMEM;
	threads->pids.nr = 1;
	threads->pids.items[0] = threads->only_pid;
	if (!threads->only_pid)
		threads->pids.nr = session_processes(session, threads->pids.items, PROCESSES_MOST);
	threads->at = threads->listing.nr = 0;
	threads->cost_ns = 0;
	threads->begun = true;
	return 0;
}

static int add(struct thread_rows *rows, int32_t pid, int32_t tid)
{
	if (vec_reserve(rows, rows->nr + 1))
		return -ENOMEM;
	rows->items[rows->nr++] = (struct ui_thread){pid, tid};
	return 0;
}

/* The next process, if it is one of the profile's still. */
static void open_next(struct threads *threads, const struct session *session)
{
	char path[64];
	const int32_t pid = threads->pids.items[threads->at];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	if (session_has_process(session, pid))
		threads->dir = proc_opendir(path);
	if (!threads->dir)
		threads->at++;
}

/* 0 or -ENOMEM. */
static int step(struct threads *threads, const struct session *session, struct budget *budget)
{
	int result = 0;
	/* Once for all of them. */
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	while (!result && threads->at < threads->pids.nr && threads->listing.nr < THREADS_MOST &&
	       budget_take(budget)) {
		if (!threads->dir) {
			open_next(threads, session);
			continue;
		}
		const struct dirent *entry = readdir(threads->dir);
		const int32_t tid = entry ? atoi(entry->d_name) : 0;
		if (tid > 0)
			result = add(&threads->listing, threads->pids.items[threads->at], tid);
		if (!entry) {
			close_dir(threads);
			threads->at++;
		}
	}
	privilege_restore(&before);
	return result;
}

static bool is_done(const struct threads *threads)
{
	return threads->at >= threads->pids.nr || threads->listing.nr >= THREADS_MOST;
}

static int compare(const void *a, const void *b)
{
	const struct ui_thread *left = a, *right = b;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

static void sort(struct thread_rows *rows)
{
	if (rows->nr)
		qsort(rows->items, rows->nr, sizeof(*rows->items), compare);
}

static void take_over(struct threads *threads)
{
	const struct thread_rows before = threads->listed;
	close_dir(threads);
	sort(&threads->listing);
	threads->listed = threads->listing;
	threads->listing = before;
	threads->listing.nr = 0;
	threads->complete = true;
	threads->begun = false;
	const uint64_t pause_ns = PAUSE_TIMES * threads->cost_ns;
	threads->due_ns = clock_now_ns() + (pause_ns > NS_PER_SECOND ? pause_ns : NS_PER_SECOND);
}

/* -t: those alone. */
static int list_given(struct threads *threads, const struct options *options)
{
	threads->listed.nr = 0;
	for (size_t i = 0; i < options->tids.nr; i++) {
		const int32_t tid = options->tids.items[i], pid = proc_of_thread(tid);
		if (pid && add(&threads->listed, pid, tid))
			return -ENOMEM;
	}
	sort(&threads->listed);
	return 0;
}

static int go_on(struct threads *threads, const struct session *session)
{
	const uint64_t begin_cpu_ns = clock_cpu_ns();
	struct budget budget = budget_of(THREADS_A_STEP);
	int result = threads->begun ? 0 : begin(threads, session);
	if (!result)
		result = step(threads, session, &budget);
	threads->cost_ns += clock_cpu_ns() - begin_cpu_ns;
	if (!result && is_done(threads))
		take_over(threads);
	return result;
}

/* The first listing is shown as far as it has come. */
static const struct thread_rows *shown(struct threads *threads)
{
	if (threads->complete || !threads->begun)
		return &threads->listed;
	sort(&threads->listing);
	return &threads->listing;
}

int threads_list(struct threads *threads, const struct session *session,
		 const struct options *options, int32_t only_pid, const struct ui_thread **out,
		 size_t *nr)
{
	int result = 0;
	if (threads->only_pid != only_pid)
		forget(threads);
	threads->only_pid = only_pid;
	if (options->tids.nr)
		result = list_given(threads, options);
	else if (threads->begun || clock_now_ns() >= threads->due_ns)
		result = go_on(threads, session);
	const struct thread_rows *rows = shown(threads);
	*out = rows->items;
	*nr = rows->nr;
	return result;
}
