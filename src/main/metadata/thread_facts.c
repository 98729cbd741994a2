/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/thread_facts.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/base/vec.h>

#include "rows.h"

/* A string of a recording has room for so many. */
enum { A_ROW = 24, THREADS_MOST = 1 << 16, KEY_BYTES = 32 };

/* In the order of the format, which stays when the lists of kinds change. */
static const enum time_kind time_order[] = {TIME_RUNNING, TIME_RUNNABLE, TIME_WAITING,
					    TIME_UNKNOWN};
_Static_assert(sizeof(time_order) / sizeof(*time_order) == NR_TIME_KINDS, "each kind");

static void add_line(struct text *row, const struct thread_times *thread)
{
	char name[sizeof(thread->name)];
	snprintf(name, sizeof(name), "%.15s", thread->name);
	for (char *at = name; (at = strchr(at, '\n')); at++)
		*at = '?'; /* it ends a line here */
	text_addf(row, "%" PRId32 " %" PRId32, thread->pid, thread->tid);
	for (size_t i = 0; i < NR_TIME_KINDS; i++)
		text_addf(row, " %" PRIu64, thread->ns[time_order[i]]);
	for (size_t i = 0; i < NR_WAIT_KINDS; i++)
		text_addf(row, " %" PRIu64, thread->wait_ns[wait_order[i]]);
	text_addf(row, " %s\n", name);
}

int thread_facts_add(const struct thread_times *threads, size_t nr,
		     const struct metadata_sink *sink)
{
	struct text row = {0};
	char key[KEY_BYTES];
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		add_line(&row, &threads[i]);
		if ((i + 1) % A_ROW && i + 1 < nr)
			continue;
		snprintf(key, sizeof(key), THREAD_FACTS_KEY "%zu", i / A_ROW);
		result = row.failed ? -ENOMEM : sink->add(sink->context, key, text_string(&row));
		text_clear(&row);
	}
	text_release(&row);
	return result;
}

/* ---- read ---- */

static uint64_t sum_of(uint64_t a, uint64_t b)
{
	return b < UINT64_MAX - a ? a + b : UINT64_MAX;
}

void thread_facts_sum(struct thread_times *sum, const struct thread_times *times)
{
	sum->observed_ns = sum_of(sum->observed_ns, times->observed_ns);
	for (int kind = 0; kind < NR_TIME_KINDS; kind++)
		sum->ns[kind] = sum_of(sum->ns[kind], times->ns[kind]);
	for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
		sum->wait_ns[kind] = sum_of(sum->wait_ns[kind], times->wait_ns[kind]);
}

static bool parse(const char *line, size_t size, struct thread_times *thread)
{
	const char *at = line;
	bool is_good = take_id(&at, &thread->pid) && take_id(&at, &thread->tid);
	for (size_t i = 0; is_good && i < NR_TIME_KINDS; i++) {
		is_good = take_number(&at, UINT64_MAX, &thread->ns[time_order[i]]);
		thread->observed_ns = sum_of(thread->observed_ns, thread->ns[time_order[i]]);
	}
	for (size_t i = 0; is_good && i < NR_WAIT_KINDS; i++)
		is_good = take_number(&at, UINT64_MAX, &thread->wait_ns[wait_order[i]]);
	if (!is_good || at > line + size)
		return false;
	snprintf(thread->name, sizeof(thread->name), "%.*s", (int)(line + size - at), at);
	return true;
}

static int read_row(const char *row, struct thread_facts *facts)
{
	for (const char *line = row; *line;) {
		const size_t size = strcspn(line, "\n");
		struct thread_times thread = {0};
		if (parse(line, size, &thread) && facts->nr < THREADS_MOST) {
			if (vec_reserve(facts, facts->nr + 1))
				return -ENOMEM;
			facts->items[facts->nr++] = thread;
		}
		line += size + (line[size] == '\n');
	}
	return 0;
}

int thread_facts_read(const struct history *history, struct thread_facts *facts)
{
	char key[KEY_BYTES];
	int result = 0;
	facts->nr = 0;
	for (size_t i = 0; !result && i < THREADS_MOST; i++) {
		snprintf(key, sizeof(key), THREAD_FACTS_KEY "%zu", i);
		const char *row = history_info(history, key);
		if (!row)
			break;
		result = read_row(row, facts);
	}
	return result;
}

static int compare(const void *a, const void *b)
{
	const struct thread_times *left = a, *right = b;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

void thread_facts_sort(struct thread_facts *facts)
{
	if (facts->nr)
		qsort(facts->items, facts->nr, sizeof(*facts->items), compare);
}

void thread_facts_release(struct thread_facts *facts)
{
	free(facts->items);
	*facts = (struct thread_facts){0};
}
