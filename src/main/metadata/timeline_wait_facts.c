/* SPDX-License-Identifier: MIT */
#include "timeline_wait_facts.h"

#include <inttypes.h>
#include <stdio.h>

#include <ctop/metadata/timeline_facts.h>

enum { ROW_BYTES = 128 };
#define NAME TIMELINE_FACTS_KEY "wait"

int timeline_wait_facts_add(const struct timeline *timeline, const struct metadata_sink *sink)
{
	struct timeline_moment waits[TIMELINE_WAITS];
	const size_t nr = timeline_longest_waits(timeline, waits);
	char key[ROWS_KEY_BYTES], row[ROW_BYTES];
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		const struct timeline_thread *thread = timeline_thread(timeline, waits[i].row);
		const int bytes = snprintf(
			row, sizeof(row), "%" PRId32 " %" PRIu64 " %" PRIu64 " %u ", thread->tid,
			waits[i].time_ns, waits[i].to_ns, number_of_wait(waits[i].wait));
		if (waits[i].is_woken)
			snprintf(row + bytes, sizeof(row) - (size_t)bytes, "%" PRId32 " ",
				 waits[i].waker_tid);
		result = sink->add(sink->context, rows_key(key, NAME, i), row);
	}
	return result;
}

static bool parse(const struct rows_source *source, const char *row, struct timeline_moment *wait)
{
	int32_t tid;
	uint64_t kind;
	*wait = (struct timeline_moment){0};
	if (!take_id(&row, &tid) || !take_number(&row, UINT64_MAX, &wait->time_ns) ||
	    !take_number(&row, UINT64_MAX, &wait->to_ns) ||
	    !take_number(&row, NR_WAIT_KINDS - 1, &kind) || !rows_shift(source, &wait->time_ns) ||
	    !rows_shift(source, &wait->to_ns) || wait->time_ns >= wait->to_ns)
		return false;
	wait->wait = wait_order[kind];
	wait->is_woken = take_id(&row, &wait->waker_tid);
	wait->row = timeline_row_then(source->timeline, source->run, tid, wait->time_ns);
	return wait->row != SIZE_MAX &&
	       wait->to_ns <= timeline_thread(source->timeline, wait->row)->until_ns;
}

bool timeline_wait_facts_are_there(const struct rows_source *source)
{
	return rows_of_source(source, NAME, 0) != NULL;
}

void timeline_wait_facts_read(const struct rows_source *source)
{
	struct timeline_moment wait;
	const char *row;
	for (size_t i = 0; i < TIMELINE_WAITS && (row = rows_of_source(source, NAME, i)); i++)
		if (parse(source, row, &wait))
			timeline_put_wait(source->timeline, &wait);
}
