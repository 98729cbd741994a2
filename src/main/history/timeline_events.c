/* SPDX-License-Identifier: MIT */
/*
 * What happened to threads when: where one lost its CPU to others, or came onto another. Each has its moment until there are too many; from then on those of one
 * stretch of time are one mark, at the moment of the first. Threads' sums count all of them.
 */
#include "timeline_internal.h"

#include <stdlib.h>

enum { COUNT_MOST = UINT16_MAX };

static struct timeline_lists lists_of(struct timeline *timeline)
{
	return (struct timeline_lists){
		.item_bytes = sizeof(struct event_mark),
		.bytes = &timeline->event_bytes,
		.bytes_most = timeline->bytes_most / TIMELINE_EVENTS_SHARE,
		.shift = &timeline->events_shift,
		.thin_out = timeline_coarsen_events,
	};
}

/* ---- marks ---- */

static void add_count(uint16_t *count, uint16_t more)
{
	*count = (uint16_t)(more < COUNT_MOST - *count ? *count + more : COUNT_MOST);
}

/* The later one becomes a part of the other. */
static void join(struct event_mark *mark, const struct event_mark *later)
{
	if (!mark->nr_migrations)
		mark->from_cpu = later->from_cpu;
	if (later->nr_migrations)
		mark->to_cpu = later->to_cpu;
	add_count(&mark->nr_preemptions, later->nr_preemptions);
	add_count(&mark->nr_migrations, later->nr_migrations);
}

static bool are_one(const struct timeline *timeline, const struct event_mark *mark,
		    const struct event_mark *later)
{
	return mark->time_ns >> timeline->events_shift == later->time_ns >> timeline->events_shift;
}

static void coarsen_row(struct timeline *timeline, struct timeline_row *row)
{
	const struct timeline_lists lists = lists_of(timeline);
	struct event_mark *marks = row->marks.items;
	uint32_t nr = 0;
	for (uint32_t i = 0; i < row->marks.nr; i++) {
		if (nr && are_one(timeline, &marks[nr - 1], &marks[i]))
			join(&marks[nr - 1], &marks[i]);
		else
			marks[nr++] = marks[i];
	}
	row->marks.nr = nr;
	timeline_list_trim(&lists, &row->marks);
}

void timeline_coarsen_events(struct timeline *timeline)
{
	timeline->events_shift++;
	for (size_t i = 0; i < timeline->rows.nr; i++)
		coarsen_row(timeline, &timeline->rows.items[i]);
}

void timeline_put_mark(struct timeline *timeline, struct timeline_row *row,
		       const struct event_mark *mark)
{
	const struct timeline_lists lists = lists_of(timeline);
	struct event_mark *marks = row->marks.items;
	struct event_mark *last = row->marks.nr ? &marks[row->marks.nr - 1] : NULL;
	if (last && (mark->time_ns <= last->time_ns || are_one(timeline, last, mark)))
		join(last, mark);
	else if (timeline_list_make_room(&lists, timeline, &row->marks))
		((struct event_mark *)row->marks.items)[row->marks.nr++] = *mark;
}

void timeline_free_marks(struct timeline *timeline, struct timeline_row *row)
{
	const struct timeline_lists lists = lists_of(timeline);
	timeline_list_free(&lists, &row->marks);
}

/* ---- what is told ---- */

static uint16_t number_of_cpu(uint32_t cpu)
{
	return (uint16_t)(cpu < UINT16_MAX ? cpu : UINT16_MAX);
}

void timeline_note_event(struct timeline *timeline, struct timeline_row *row,
			 const struct thread_stretch *stretch)
{
	struct timeline_thread *thread = &row->thread;
	const bool is_migration = stretch->event == THREAD_MIGRATED;
	struct event_mark mark = {.time_ns = stretch->to_ns};
	switch (stretch->event) {
	case THREAD_CREATED:
		thread->is_created = true;
		thread->creator_pid = stretch->creator_pid;
		thread->creator_tid = stretch->creator_tid;
		return;
	case THREAD_PREEMPTED:
	case THREAD_MIGRATED:
		thread->nr_preemptions += !is_migration;
		thread->nr_migrations += is_migration;
		mark.nr_preemptions = !is_migration;
		mark.nr_migrations = is_migration;
		mark.from_cpu = number_of_cpu(stretch->from_cpu);
		mark.to_cpu = number_of_cpu(stretch->to_cpu);
		timeline_put_mark(timeline, row, &mark);
		return;
	case THREAD_CALLED:
		if (!stretch->call)
			return;
		thread->nr_calls++;
		timeline_note_call(timeline, row,
				   &(struct timeline_call){stretch->from_ns, stretch->to_ns, true,
							   stretch->call});
		return;
	case THREAD_NO_EVENT:
	case NR_THREAD_EVENTS:
	default:
		return;
	}
}

void timeline_add_mark(struct timeline *timeline, size_t row, const struct timeline_events *events)
{
	const struct event_mark mark = {
		.time_ns = events->time_ns,
		.nr_preemptions = (uint16_t)events->nr_preemptions,
		.nr_migrations = (uint16_t)events->nr_migrations,
		.from_cpu = (uint16_t)events->from_cpu,
		.to_cpu = (uint16_t)events->to_cpu,
	};
	timeline_put_mark(timeline, &timeline->rows.items[row], &mark);
}

/* ---- asking ---- */

uint64_t timeline_events_ns(const struct timeline *timeline)
{
	return UINT64_C(1) << timeline->events_shift;
}

size_t timeline_nr_marks(const struct timeline *timeline, size_t row)
{
	return timeline->rows.items[row].marks.nr;
}

struct timeline_events timeline_mark_at(const struct timeline *timeline, size_t row, size_t mark)
{
	const struct event_mark *marks = timeline->rows.items[row].marks.items;
	const struct event_mark *at = &marks[mark];
	return (struct timeline_events){
		.time_ns = at->time_ns,
		.nr_preemptions = at->nr_preemptions,
		.nr_migrations = at->nr_migrations,
		.from_cpu = at->from_cpu,
		.to_cpu = at->to_cpu,
	};
}

/* The first one that is not before a moment. */
static size_t first_mark(const struct timeline_row *row, uint64_t from_ns)
{
	const struct event_mark *marks = row->marks.items;
	size_t low = 0, high = row->marks.nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (marks[middle].time_ns < from_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct timeline_events timeline_events_in(const struct timeline *timeline, size_t row,
					  uint64_t from_ns, uint64_t to_ns)
{
	const struct timeline_row *of = &timeline->rows.items[row];
	struct timeline_events sum = {0};
	for (size_t i = first_mark(of, from_ns); i < of->marks.nr; i++) {
		const struct timeline_events mark = timeline_mark_at(timeline, row, i);
		if (mark.time_ns >= to_ns)
			break;
		if (!sum.time_ns)
			sum.time_ns = mark.time_ns;
		if (!sum.nr_migrations)
			sum.from_cpu = mark.from_cpu;
		if (mark.nr_migrations)
			sum.to_cpu = mark.to_cpu;
		sum.nr_preemptions += mark.nr_preemptions;
		sum.nr_migrations += mark.nr_migrations;
	}
	return sum;
}
