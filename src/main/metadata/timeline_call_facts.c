/* SPDX-License-Identifier: MIT */
#include "timeline_call_facts.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/metadata/timeline_facts.h>

enum { ROW_BYTES = 4000, ROWS_MOST = 512, LONGEST_SHIFT = 62 };
#define NAME TIMELINE_FACTS_KEY "calls"

/* ---- written ---- */

static bool is_full(const struct rows_writer *rows, unsigned nr_sources)
{
	return rows->bytes > TIMELINE_CALL_FACTS_BYTES / nr_sources || rows->nr >= ROWS_MOST;
}

/* A thread's head, and as many of its calls as there is room for; returns the next one. */
static size_t add_calls(const struct timeline *timeline, size_t thread, size_t call,
			struct text *row)
{
	const struct timeline_thread *of = timeline_thread(timeline, thread);
	uint64_t after_ns = of->began_ns;
	text_addf(row, "%" PRId32 " %" PRId32 " %" PRIu64 " %" PRIu64 " \n", of->pid, of->tid,
		  of->began_ns, of->nr_calls);
	for (; call < timeline_nr_calls(timeline, thread) && row->size < ROW_BYTES; call++) {
		const struct timeline_call at = timeline_call_at(timeline, thread, call);
		text_addf(row, "%" PRIu64 " %" PRIu64 " %d %s\n", at.from_ns - after_ns,
			  at.to_ns - at.from_ns, at.is_whole, at.name);
		after_ns = at.to_ns;
	}
	return call;
}

/* One whose calls were all too short has its head alone. */
static int add_thread(const struct timeline *timeline, size_t thread, unsigned nr_sources,
		      struct rows_writer *rows)
{
	const size_t nr = timeline_nr_calls(timeline, thread);
	size_t call = 0;
	int result = 0;
	if (!nr && !timeline_thread(timeline, thread)->nr_calls)
		return 0;
	do {
		call = add_calls(timeline, thread, call, &rows->row);
		result = rows_end(rows);
	} while (!result && call < nr && !is_full(rows, nr_sources));
	return result;
}

static int encode(const struct timeline *timeline, unsigned nr_sources,
		  const struct metadata_sink *sink, bool *is_whole)
{
	struct rows_writer rows = {.name = NAME, .sink = sink};
	int result = 0;
	for (size_t i = 0;
	     !result && i < timeline_nr_threads(timeline) && !is_full(&rows, nr_sources); i++)
		result = add_thread(timeline, i, nr_sources, &rows);
	*is_whole = !is_full(&rows, nr_sources);
	text_release(&rows.row);
	return result;
}

int timeline_call_facts_add(struct timeline *timeline, unsigned nr_sources,
			    const struct metadata_sink *sink)
{
	bool is_whole;
	int result = encode(timeline, nr_sources, NULL, &is_whole);
	while (!result && !is_whole && timeline_calls_ns(timeline) < UINT64_C(1) << LONGEST_SHIFT) {
		timeline_forget_short_calls(timeline);
		result = encode(timeline, nr_sources, NULL, &is_whole);
	}
	return result ? result : encode(timeline, nr_sources, sink, &is_whole);
}

/* ---- read ---- */

/* SIZE_MAX: it is none of the recording's. */
static size_t take_thread(const struct rows_source *source, const char **at, uint64_t *nr_calls)
{
	struct timeline *timeline = source->timeline;
	int32_t pid, tid;
	uint64_t began_ns;
	if (!take_id(at, &pid) || !take_id(at, &tid) || !take_number(at, UINT64_MAX, &began_ns) ||
	    !take_number(at, UINT64_MAX, nr_calls) || **at != '\n' ||
	    !rows_shift(source, &began_ns))
		return SIZE_MAX;
	++*at;
	const size_t row = timeline_find_thread(timeline, pid, tid, began_ns);
	const struct timeline_thread *thread =
		row == SIZE_MAX ? NULL : timeline_thread(timeline, row);
	return thread && thread->began_ns == began_ns && thread->has_stretches ? row : SIZE_MAX;
}

/* Until the end, or what makes no sense. */
static void read_row(const struct rows_source *source, const char *at)
{
	struct timeline *timeline = source->timeline;
	struct text name = {0};
	uint64_t after_ns, ns, is_whole, nr_calls;
	const size_t row = take_thread(source, &at, &nr_calls);
	if (row == SIZE_MAX)
		return;
	timeline_count_calls(timeline, row, nr_calls);
	uint64_t at_ns = timeline_thread(timeline, row)->began_ns;
	const uint64_t until_ns = timeline_thread(timeline, row)->until_ns;
	while (*at && take_number(&at, until_ns - at_ns, &after_ns) &&
	       take_number(&at, until_ns - at_ns - after_ns, &ns) &&
	       take_number(&at, 1, &is_whole)) {
		const size_t bytes = strcspn(at, "\n");
		text_clear(&name);
		text_add_bytes(&name, at, bytes);
		at += bytes + (at[bytes] == '\n');
		at_ns += after_ns + ns;
		const struct timeline_call call = {at_ns - ns, at_ns, is_whole != 0,
						   text_string(&name)};
		if (!name.failed && bytes)
			timeline_put_call(timeline, row, &call);
	}
	text_release(&name);
}

void timeline_call_facts_read(const struct rows_source *source)
{
	const char *at;
	for (size_t i = 0; i < ROWS_MOST && (at = rows_of_source(source, NAME, i)); i++)
		read_row(source, at);
}
