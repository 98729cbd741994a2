/* SPDX-License-Identifier: MIT */
/*
 * What a recording says of what its threads did when: the values of `timeline.0`, `timeline.1`, ..., a zero byte between two; those behind a 'w' are of
 * `timeline.wait.0`, ..., behind an 'e' of `timeline.events.0`, ..., behind a 'c' of `timeline.cgroups.0`, ..., behind an 's' of `timeline.calls.0`, ...; behind an 'm' how far the times of the next one of several recordings
 * are moved, whose strings follow. Whatever it says, memory stays within its bound, and what is asked of it makes sense; written again it is no more than what a recording takes.
 */
#include <ctop/base/text.h>
#include <ctop/metadata/timeline_facts.h>

#include "fuzz.h"

enum {
	ROWS_MAX = 8,
	ROW_BYTES = 8192,
	WAIT_BYTES = 128,
	EVENT_BYTES = 1 << 18,
	CALL_BYTES = 1 << 18,
	CGROUP_BYTES = (1 << 17) + 2 * 8192,
	CELLS = 100
};
#define HISTORY_BYTES (UINT64_C(8) << 20)

static size_t written;

static int count(void *context, const char *key, const char *value)
{
	(void)context;
	(void)key;
	written += strlen(value);
	return 0;
}

static void check(struct timeline *timeline, size_t row)
{
	const struct timeline_thread *thread = timeline_thread(timeline, row);
	struct timeline_cell cells[CELLS];
	struct timeline_seen seen;
	REQUIRE(thread->pid >= 0 && thread->tid >= 0);
	REQUIRE(thread->began_ns <= thread->until_ns);
	REQUIRE(!thread->cgroup || timeline_cgroup(timeline, thread->cgroup)[0]);
	REQUIRE(strnlen(thread->name, sizeof(thread->name)) < sizeof(thread->name));
	timeline_cells(timeline, &row, 1, thread->began_ns,
		       (thread->until_ns - thread->began_ns) / CELLS + 1, NULL, 0, cells, CELLS);
	for (int i = 0; i < CELLS; i++)
		REQUIRE(cells[i].wait < NR_WAIT_KINDS);
	REQUIRE(!timeline_stack_at(timeline, row, thread->began_ns, 1, &seen));
	REQUIRE(!thread->started_ns ||
		(thread->started_ns >= thread->began_ns && thread->started_ns <= thread->until_ns));
	uint64_t last_ns = 0;
	for (size_t i = 0; i < timeline_nr_marks(timeline, row); i++) {
		const struct timeline_events mark = timeline_mark_at(timeline, row, i);
		REQUIRE(mark.time_ns > last_ns && mark.time_ns <= thread->until_ns);
		REQUIRE(mark.time_ns >= thread->began_ns);
		REQUIRE(mark.nr_preemptions + mark.nr_migrations > 0);
		last_ns = mark.time_ns;
	}
	last_ns = thread->began_ns;
	for (size_t i = 0; i < timeline_nr_calls(timeline, row); i++) {
		const struct timeline_call call = timeline_call_at(timeline, row, i);
		REQUIRE(call.from_ns >= last_ns && call.to_ns > call.from_ns);
		REQUIRE(call.to_ns <= thread->until_ns && call.name[0]);
		last_ns = call.to_ns;
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
	const struct metadata_sink sink = {NULL, count};
	struct timeline_moment waits[TIMELINE_WAITS];
	struct history *history = history_new();
	char row[ROW_BYTES + 1], key[64], prefix[16] = "", number[16];
	REQUIRE(history);
	history_set_limit(history, HISTORY_BYTES);
	REQUIRE(history_keep_timeline(history) == 0);
	for (unsigned i = 0, nr = 0, nr_waits = 0, nr_events = 0, nr_cgroups = 0, nr_calls = 0,
		      nr_sources = 0;
	     i < ROWS_MAX && size; i++) {
		const size_t most = size < ROW_BYTES ? size : ROW_BYTES;
		const size_t length = strnlen((const char *)bytes, most);
		memcpy(row, bytes, length);
		row[length] = '\0';
		if (row[0] == 'm') {
			snprintf(number, sizeof(number), "%u", ++nr_sources);
			snprintf(prefix, sizeof(prefix), "source.%u.", nr_sources);
			REQUIRE(history_set_info(history, "sources", number) == 0);
			nr = nr_waits = nr_events = nr_cgroups = nr_calls = 0;
		}
		if (row[0] == 'm')
			snprintf(key, sizeof(key), "%sshift_ns", prefix);
		else if (row[0] == 'w')
			snprintf(key, sizeof(key), "%s" TIMELINE_FACTS_KEY "wait.%u", prefix,
				 nr_waits++);
		else if (row[0] == 'e')
			snprintf(key, sizeof(key), "%s" TIMELINE_FACTS_KEY "events.%u", prefix,
				 nr_events++);
		else if (row[0] == 'c')
			snprintf(key, sizeof(key), "%s" TIMELINE_FACTS_KEY "cgroups.%u", prefix,
				 nr_cgroups++);
		else if (row[0] == 's')
			snprintf(key, sizeof(key), "%s" TIMELINE_FACTS_KEY "calls.%u", prefix,
				 nr_calls++);
		else
			snprintf(key, sizeof(key), "%s" TIMELINE_FACTS_KEY "%u", prefix, nr++);
		const bool has_letter = row[0] && strchr("wecsm", row[0]);
		REQUIRE(history_set_info(history, key, row + has_letter) == 0);
		bytes += length + (length < size);
		size -= length + (length < size);
	}
	REQUIRE(timeline_facts_read(history) == 0);
	struct timeline *timeline = history_timeline(history);
	REQUIRE(timeline_bytes(timeline) <= HISTORY_BYTES / 4);
	REQUIRE(timeline_nr_threads(timeline) <= ROWS_MAX);
	for (size_t i = 0; i < timeline_nr_threads(timeline); i++)
		check(timeline, i);
	const size_t nr_waits = timeline_longest_waits(timeline, waits);
	for (size_t i = 0; i < nr_waits; i++) {
		REQUIRE(waits[i].row < timeline_nr_threads(timeline));
		REQUIRE(waits[i].time_ns < waits[i].to_ns);
		REQUIRE(waits[i].wait < NR_WAIT_KINDS);
	}
	written = 0;
	REQUIRE(timeline_facts_add(timeline, 1, &sink) == 0);
	REQUIRE(written <= TIMELINE_FACTS_BYTES + EVENT_BYTES + CALL_BYTES + 3 * ROW_BYTES +
				   TIMELINE_WAITS * WAIT_BYTES + CGROUP_BYTES);
	history_free(history);
	return 0;
}
