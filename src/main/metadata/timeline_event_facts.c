/* SPDX-License-Identifier: MIT */
#include "timeline_event_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/text.h>
#include <ctop/metadata/timeline_facts.h>

enum { ROW_BYTES = 4000, ROWS_MOST = 256 };
enum { LONGEST_SHIFT = 62 };
#define NAME TIMELINE_FACTS_KEY "events"

/* ---- written ---- */

struct writing {
	const struct timeline *timeline;
	struct rows_writer rows;
	size_t most;
	int result;
};

static bool is_full(const struct writing *writing)
{
	return writing->rows.bytes > writing->most;
}

static void add_head(const struct timeline *timeline, const struct timeline_thread *thread,
		     struct text *row)
{
	text_addf(row,
		  "%" PRId32 " %" PRId32 " %" PRIu64 " %d %" PRId32 " %" PRId32 " %" PRIu64
		  " %" PRIu64 " %" PRIu64 " %d %d ",
		  thread->pid, thread->tid, thread->began_ns, thread->is_created,
		  thread->creator_pid, thread->creator_tid, thread->started_ns,
		  thread->nr_preemptions, thread->nr_migrations, thread->lacks_events,
		  __builtin_ctzll(timeline_events_ns(timeline)));
}

static void add_mark(const struct timeline_events *mark, uint64_t after_ns, struct text *row)
{
	text_addf(row, "%" PRIu64 " %" PRIu64 " %" PRIu64 " ", mark->time_ns - after_ns,
		  mark->nr_preemptions, mark->nr_migrations);
	if (mark->nr_migrations)
		text_addf(row, "%" PRIu32 " %" PRIu32 " ", mark->from_cpu, mark->to_cpu);
}

/* Lines of a thread begin alike, and each has the marks that there is room for. */
static void add_thread(struct writing *writing, size_t thread)
{
	const struct timeline_thread *of = timeline_thread(writing->timeline, thread);
	const size_t nr = timeline_nr_marks(writing->timeline, thread);
	size_t mark = 0;
	do {
		uint64_t after_ns = of->began_ns;
		add_head(writing->timeline, of, &writing->rows.row);
		for (; mark < nr && writing->rows.row.size < ROW_BYTES; mark++) {
			const struct timeline_events at =
				timeline_mark_at(writing->timeline, thread, mark);
			add_mark(&at, after_ns, &writing->rows.row);
			after_ns = at.time_ns;
		}
		text_add(&writing->rows.row, "\n");
		if (writing->rows.row.size >= ROW_BYTES)
			writing->result = rows_end(&writing->rows);
	} while (mark < nr && !is_full(writing) && !writing->result);
}

/* What a thread of samples alone did nobody saw. */
static int encode(const struct timeline *timeline, size_t most, const struct metadata_sink *sink,
		  bool *is_whole)
{
	struct writing writing = {
		.timeline = timeline, .rows = {.name = NAME, .sink = sink}, .most = most};
	for (size_t i = 0; i < timeline_nr_threads(timeline); i++) {
		const struct timeline_thread *thread = timeline_thread(timeline, i);
		const bool says_something = !thread->lacks_events || thread->is_created ||
					    timeline_nr_marks(timeline, i);
		if (writing.result || is_full(&writing))
			break;
		if (thread->has_stretches && says_something)
			add_thread(&writing, i);
	}
	if (!writing.result)
		writing.result = rows_end(&writing.rows);
	*is_whole = !is_full(&writing);
	text_release(&writing.rows.row);
	return writing.result;
}

int timeline_event_facts_add(struct timeline *timeline, unsigned nr_sources,
			     const struct metadata_sink *sink)
{
	const size_t most = TIMELINE_EVENT_FACTS_BYTES / nr_sources;
	bool is_whole;
	int result = encode(timeline, most, NULL, &is_whole);
	/* Of very many threads the heads alone are too much: what the last of these did is not told. */
	while (!result && !is_whole &&
	       timeline_events_ns(timeline) < UINT64_C(1) << LONGEST_SHIFT) {
		timeline_coarsen_events(timeline);
		result = encode(timeline, most, NULL, &is_whole);
	}
	return result ? result : encode(timeline, most, sink, &is_whole);
}

/* ---- read ---- */

static bool take_bool(const char **at, bool *is)
{
	uint64_t number;
	if (!take_number(at, 1, &number))
		return false;
	*is = number;
	return true;
}

static bool take_head(const char **at, struct timeline_thread *life, uint64_t *shift)
{
	return take_id(at, &life->pid) && take_id(at, &life->tid) &&
	       take_number(at, UINT64_MAX, &life->began_ns) && take_bool(at, &life->is_created) &&
	       take_id(at, &life->creator_pid) && take_id(at, &life->creator_tid) &&
	       take_number(at, UINT64_MAX, &life->started_ns) &&
	       take_number(at, UINT64_MAX, &life->nr_preemptions) &&
	       take_number(at, UINT64_MAX, &life->nr_migrations) &&
	       take_bool(at, &life->lacks_events) && take_number(at, LONGEST_SHIFT, shift);
}

/* Until the end of the line, or what makes no sense. */
static void read_marks(struct timeline *timeline, size_t row, const char *at)
{
	const struct timeline_thread *thread = timeline_thread(timeline, row);
	struct timeline_events mark = {.time_ns = thread->began_ns};
	uint64_t after_ns, from_cpu, to_cpu;
	while (*at && *at != '\n' && mark.time_ns <= thread->until_ns &&
	       take_number(&at, thread->until_ns - mark.time_ns, &after_ns) &&
	       take_number(&at, UINT16_MAX, &mark.nr_preemptions) &&
	       take_number(&at, UINT16_MAX, &mark.nr_migrations)) {
		from_cpu = to_cpu = 0;
		if (mark.nr_migrations && !(take_number(&at, UINT16_MAX, &from_cpu) &&
					    take_number(&at, UINT16_MAX, &to_cpu)))
			return;
		mark.time_ns += after_ns;
		mark.from_cpu = (uint32_t)from_cpu;
		mark.to_cpu = (uint32_t)to_cpu;
		if (mark.nr_preemptions || mark.nr_migrations)
			timeline_add_mark(timeline, row, &mark);
	}
}

static void read_line(const struct rows_source *source, const char *at)
{
	struct timeline *timeline = source->timeline;
	struct timeline_thread life = {0};
	uint64_t shift;
	if (!take_head(&at, &life, &shift) || !rows_shift(source, &life.began_ns) ||
	    (life.started_ns && !rows_shift(source, &life.started_ns)))
		return;
	const size_t row = timeline_find_thread(timeline, life.pid, life.tid, life.began_ns);
	const struct timeline_thread *thread =
		row == SIZE_MAX ? NULL : timeline_thread(timeline, row);
	if (!thread || thread->began_ns != life.began_ns || !thread->has_stretches ||
	    (life.started_ns &&
	     (life.started_ns < thread->began_ns || life.started_ns > thread->until_ns)))
		return;
	while (timeline_events_ns(timeline) < UINT64_C(1) << shift)
		timeline_coarsen_events(timeline);
	timeline_set_life(timeline, row, &life);
	read_marks(timeline, row, at);
}

void timeline_event_facts_read(const struct rows_source *source)
{
	const char *at;
	for (size_t i = 0; i < ROWS_MOST && (at = rows_of_source(source, NAME, i)); i++)
		for (; *at; at += strcspn(at, "\n"), at += *at == '\n')
			read_line(source, at);
}
