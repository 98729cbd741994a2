/* SPDX-License-Identifier: MIT */
/* The timeline's threads: whose a stretch or a mark is, and their sums. */
#include "timeline_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

/* Tiles of about a millisecond at first. What claims to be later than centuries is damage. */
enum { FIRST_SHIFT = 20, FIRST_EVENTS_SHIFT = 20, ROWS_SHARE = 4, ROWS_LEAST = 64 };
#define LATEST_NS (UINT64_C(1) << 62)
/* Without records a thread that has not been seen for so long may have ended. */
#define QUIET_NS UINT64_C(10000000000)

struct timeline *timeline_new(uint64_t bytes)
{
	struct timeline *timeline = calloc(1, sizeof(*timeline));
	if (timeline)
		*timeline = (struct timeline){.bytes_most = bytes,
					      .shift = FIRST_SHIFT,
					      .events_shift = FIRST_EVENTS_SHIFT};
	return timeline;
}

static void free_row(struct timeline *timeline, struct timeline_row *row)
{
	timeline_free_tiles(timeline, row);
	timeline_free_marks(timeline, row);
	timeline_free_calls(timeline, row);
}

static void forget_cgroups(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->cgroups.nr; i++)
		free(timeline->cgroups.items[i]);
	free(timeline->cgroups.items);
	timeline->cgroups.items = NULL;
	timeline->cgroups.nr = timeline->cgroups.capacity = 0;
	timeline->cgroup_bytes = timeline->asked_ns = 0;
	timeline->nr_asked = 0;
}

void timeline_clear(struct timeline *timeline)
{
	for (size_t i = 0; i < timeline->rows.nr; i++)
		free_row(timeline, &timeline->rows.items[i]);
	timeline->rows.nr = timeline->waits.nr = 0;
	index_clear(&timeline->by_ids);
	forget_cgroups(timeline);
	timeline_forget_call_names(timeline);
	timeline->calls_shift = 0;
	timeline->shift = FIRST_SHIFT;
	timeline->events_shift = FIRST_EVENTS_SHIFT;
	timeline->nr_coarser = 0;
	timeline->first_ns = timeline->last_ns = timeline->nr_forgotten = 0;
}

void timeline_free(struct timeline *timeline)
{
	if (!timeline)
		return;
	timeline_clear(timeline);
	free(timeline->rows.items);
	free(timeline->waits.items);
	free(timeline->call_names.items);
	index_release(&timeline->by_ids);
	index_release(&timeline->by_call_name);
	free(timeline);
}

/* ---- rows ---- */

static uint64_t hash_ids(int32_t pid, int32_t tid)
{
	return hash_u64((uint64_t)(uint32_t)pid << 32 | (uint32_t)tid);
}

static bool has_ids(const struct timeline *timeline, const struct timeline_row *row, int32_t pid,
		    int32_t tid)
{
	return row->thread.tid == tid && row->thread.pid == pid && row->thread.run == timeline->run;
}

void timeline_set_run(struct timeline *timeline, uint32_t run)
{
	timeline->run = run;
}

static int index_rows(struct timeline *timeline)
{
	index_clear(&timeline->by_ids);
	for (size_t i = 0; i < timeline->rows.nr; i++) {
		if (index_reserve(&timeline->by_ids))
			return -ENOMEM;
		const struct timeline_thread *thread = &timeline->rows.items[i].thread;
		index_add(&timeline->by_ids, hash_ids(thread->pid, thread->tid), (uint32_t)i);
	}
	return 0;
}

static uint32_t *recent_of(struct timeline *timeline, int32_t tid)
{
	return &timeline->recent[(uint32_t)tid % TIMELINE_RECENT];
}

/* The thread of these numbers that began last, and not behind a moment; NULL: there is none. */
static struct timeline_row *find_row(struct timeline *timeline, int32_t pid, int32_t tid,
				     uint64_t time_ns)
{
	struct timeline_row *found = NULL;
	uint32_t *recent = recent_of(timeline, tid), at;
	if (*recent && *recent <= timeline->rows.nr) {
		struct timeline_row *last = &timeline->rows.items[*recent - 1];
		if (has_ids(timeline, last, pid, tid) && !last->thread.has_ended &&
		    last->thread.began_ns <= time_ns)
			return last;
	}
	struct index_probe probe = index_find(&timeline->by_ids, hash_ids(pid, tid));
	while (index_next(&timeline->by_ids, &probe, &at)) {
		struct timeline_row *row = &timeline->rows.items[at];
		if (!has_ids(timeline, row, pid, tid))
			continue;
		/* Of the first one it may not have been known when it began. */
		const bool is_better =
			!found || (found->thread.began_ns > time_ns
					   ? row->thread.began_ns < found->thread.began_ns
					   : row->thread.began_ns <= time_ns &&
						     row->thread.serial > found->thread.serial);
		if (is_better)
			found = row;
	}
	if (found)
		*recent = (uint32_t)(found - timeline->rows.items) + 1;
	return found;
}

size_t timeline_find_thread(struct timeline *timeline, int32_t pid, int32_t tid, uint64_t time_ns)
{
	const struct timeline_row *row = find_row(timeline, pid, tid, time_ns);
	return row ? (size_t)(row - timeline->rows.items) : SIZE_MAX;
}

static bool may_have_ended(const struct timeline *timeline, const struct timeline_row *row)
{
	return row->thread.has_ended ||
	       (!row->thread.has_stretches && row->thread.until_ns + QUIET_NS < timeline->last_ns);
}

static int compare_times(const void *a, const void *b)
{
	const uint64_t left = *(const uint64_t *)a, right = *(const uint64_t *)b;
	return (left > right) - (left < right);
}

/* Half of the threads that have ended, those that did so first. -ENOSPC: none has. */
static int forget_ended(struct timeline *timeline)
{
	uint64_t *ends = calloc(timeline->rows.nr + 1, sizeof(*ends));
	size_t nr = 0, kept = 0;
	if (!ends)
		return -ENOMEM;
	for (size_t i = 0; i < timeline->rows.nr; i++)
		if (may_have_ended(timeline, &timeline->rows.items[i]))
			ends[nr++] = timeline->rows.items[i].thread.until_ns;
	qsort(ends, nr, sizeof(*ends), compare_times);
	const uint64_t until_ns = nr ? ends[nr / 2] : 0;
	free(ends);
	if (!nr)
		return -ENOSPC;
	for (size_t i = 0; i < timeline->rows.nr; i++) {
		struct timeline_row *row = &timeline->rows.items[i];
		if (may_have_ended(timeline, row) && row->thread.until_ns <= until_ns) {
			free_row(timeline, row);
			timeline->nr_forgotten++;
		} else {
			timeline->rows.items[kept++] = *row;
		}
	}
	timeline->rows.nr = kept;
	timeline->nr_asked = 0; /* those that are known are passed over */
	memset(timeline->recent, 0, sizeof(timeline->recent));
	return index_rows(timeline);
}

static size_t rows_most(const struct timeline *timeline)
{
	const uint64_t most = timeline->bytes_most / ROWS_SHARE / sizeof(struct timeline_row);
	return most > ROWS_LEAST ? (size_t)most : ROWS_LEAST;
}

static void set_name(struct timeline_thread *thread, const char *name)
{
	if (name && name[0] && strncmp(thread->name, name, sizeof(thread->name) - 1))
		snprintf(thread->name, sizeof(thread->name), "%.15s", name);
}

/* 0; -ENOSPC: there is no room for one more; -ENOMEM. */
static int add_row(struct timeline *timeline, int32_t pid, int32_t tid, uint64_t began_ns,
		   struct timeline_row **added)
{
	if (timeline->rows.nr >= rows_most(timeline)) {
		const int result = forget_ended(timeline);
		if (result)
			return result;
	}
	if (vec_reserve(&timeline->rows, timeline->rows.nr + 1) || index_reserve(&timeline->by_ids))
		return -ENOMEM;
	index_add(&timeline->by_ids, hash_ids(pid, tid), (uint32_t)timeline->rows.nr);
	*added = &timeline->rows.items[timeline->rows.nr++];
	*recent_of(timeline, tid) = (uint32_t)timeline->rows.nr;
	**added = (struct timeline_row){.thread = {.pid = pid,
						   .tid = tid,
						   .run = timeline->run,
						   .serial = ++timeline->nr_made,
						   .began_ns = began_ns,
						   .until_ns = began_ns}};
	return 0;
}

/* A thread that is new, or was known by its samples alone. */
static int begin_row(struct timeline *timeline, int32_t pid, int32_t tid, uint64_t began_ns,
		     struct timeline_row **row)
{
	*row = find_row(timeline, pid, tid, UINT64_MAX);
	if (*row && !(*row)->thread.has_stretches && !(*row)->thread.has_ended)
		return 0;
	return add_row(timeline, pid, tid, began_ns, row);
}

static void span(struct timeline *timeline, struct timeline_thread *thread, uint64_t from_ns,
		 uint64_t to_ns)
{
	if (from_ns < thread->began_ns)
		thread->began_ns = from_ns;
	if (to_ns > thread->until_ns)
		thread->until_ns = to_ns;
	if (!timeline->first_ns || from_ns < timeline->first_ns)
		timeline->first_ns = from_ns;
	if (to_ns > timeline->last_ns)
		timeline->last_ns = to_ns;
}

/* ---- filling ---- */

void timeline_expect_stretches(struct timeline *timeline)
{
	timeline->expects_stretches = true;
}

static int fill(struct timeline *timeline, struct timeline_row *row,
		const struct thread_stretch *stretch)
{
	struct timeline_thread *thread = &row->thread;
	const uint64_t ns = stretch->to_ns - stretch->from_ns;
	thread->ns[stretch->state] += ns;
	if (stretch->state == THREAD_WAITS)
		thread->wait_ns[stretch->wait] += ns;
	if (thread->is_created && !thread->started_ns && stretch->state == THREAD_COMPUTES)
		thread->started_ns = stretch->from_ns;
	timeline_follow_wait(timeline, row, stretch);
	return timeline_fill(timeline, row, stretch->state, stretch->wait, stretch->from_ns,
			     stretch->to_ns);
}

int timeline_add(struct timeline *timeline, const struct thread_stretch *stretch)
{
	struct timeline_row *row;
	int result = 0;
	if (stretch->to_ns > LATEST_NS || stretch->from_ns > stretch->to_ns ||
	    stretch->state >= NR_THREAD_STATES || stretch->wait >= NR_WAIT_KINDS)
		return 0;
	row = stretch->begins ? NULL
			      : find_row(timeline, stretch->pid, stretch->tid, stretch->from_ns);
	if (!row || row->thread.has_ended)
		result = begin_row(timeline, stretch->pid, stretch->tid, stretch->from_ns, &row);
	if (result)
		return result == -ENOSPC ? 0 : result;
	row->thread.has_stretches = true;
	set_name(&row->thread, stretch->name);
	row->thread.lacks_events |= stretch->lacks_events;
	span(timeline, &row->thread, stretch->from_ns, stretch->to_ns);
	if (stretch->from_ns < stretch->to_ns && stretch->event != THREAD_CALLED)
		result = fill(timeline, row, stretch);
	timeline_note_event(timeline, row, stretch);
	row->thread.has_ended |= stretch->ends;
	return result;
}

/* Where marks are all there is: what each tells of counts once. */
static int fill_by_mark(struct timeline *timeline, struct timeline_row *row,
			const struct timeline_mark *mark, uint64_t from_ns)
{
	const struct thread_stretch stretch = {
		.from_ns = from_ns > row->marked_ns ? from_ns : row->marked_ns,
		.to_ns = mark->time_ns,
		.state = mark->state,
		.wait = mark->wait,
	};
	if (stretch.from_ns >= stretch.to_ns)
		return 0;
	row->marked_ns = stretch.to_ns;
	span(timeline, &row->thread, stretch.from_ns, stretch.to_ns);
	return fill(timeline, row, &stretch);
}

int timeline_mark(struct timeline *timeline, const struct timeline_mark *mark)
{
	if (mark->time_ns > LATEST_NS || mark->stack == UINT32_MAX)
		return 0;
	struct timeline_row *row = find_row(timeline, mark->pid, mark->tid, mark->time_ns);
	const uint64_t from_ns =
		mark->time_ns > mark->length_ns ? mark->time_ns - mark->length_ns : 0;
	int result = !row ? add_row(timeline, mark->pid, mark->tid, mark->time_ns, &row) : 0;
	if (result)
		return result == -ENOSPC ? 0 : result;
	set_name(&row->thread, mark->name);
	if (!timeline->expects_stretches && !row->thread.has_stretches) {
		span(timeline, &row->thread, mark->time_ns, mark->time_ns);
		result = fill_by_mark(timeline, row, mark, from_ns);
	}
	if (result)
		return result;
	/* No wait began before its thread did. */
	const bool waits = mark->state != THREAD_COMPUTES;
	const uint64_t since_ns = !waits			   ? mark->time_ns
				  : from_ns > row->thread.began_ns ? from_ns
								   : row->thread.began_ns;
	return timeline_fill_stack(timeline, row, mark->stack, waits,
				   since_ns < mark->time_ns ? since_ns : mark->time_ns,
				   mark->time_ns);
}

int timeline_begin_recorded(struct timeline *timeline, int32_t pid, int32_t tid, const char *name,
			    uint64_t began_ns)
{
	struct timeline_row *row;
	const int result = begin_row(timeline, pid, tid, began_ns, &row);
	if (result)
		return result == -ENOSPC ? 0 : result;
	timeline_forget_states(row);
	memset(row->thread.ns, 0, sizeof(row->thread.ns));
	memset(row->thread.wait_ns, 0, sizeof(row->thread.wait_ns));
	row->thread.has_stretches = row->thread.lacks_events = true;
	row->waits = false;
	row->thread.began_ns = began_ns;
	set_name(&row->thread, name);
	return 0;
}

void timeline_set_sums(struct timeline *timeline, int32_t pid, int32_t tid,
		       const uint64_t ns[NR_THREAD_STATES], const uint64_t wait_ns[NR_WAIT_KINDS])
{
	struct timeline_row *row = find_row(timeline, pid, tid, UINT64_MAX);
	if (!row)
		return;
	memcpy(row->thread.ns, ns, sizeof(row->thread.ns));
	memcpy(row->thread.wait_ns, wait_ns, sizeof(row->thread.wait_ns));
}

void timeline_set_life(struct timeline *timeline, size_t row, const struct timeline_thread *life)
{
	struct timeline_thread *thread = &timeline->rows.items[row].thread;
	thread->nr_preemptions = life->nr_preemptions;
	thread->nr_migrations = life->nr_migrations;
	thread->lacks_events = life->lacks_events;
	thread->is_created = life->is_created;
	thread->creator_pid = life->creator_pid;
	thread->creator_tid = life->creator_tid;
	thread->started_ns = life->started_ns;
}

void timeline_end_recorded(struct timeline *timeline)
{
	timeline->first_ns = 0;
	for (size_t i = 0; i < timeline->rows.nr; i++) {
		struct timeline_row *row = &timeline->rows.items[i];
		if (row->thread.has_stretches)
			timeline_cut_tiles(timeline, row, row->thread.began_ns);
		if (!timeline->first_ns || row->thread.began_ns < timeline->first_ns)
			timeline->first_ns = row->thread.began_ns;
	}
}

void timeline_miss_threads(struct timeline *timeline, uint64_t nr)
{
	timeline->nr_forgotten += nr;
}

void timeline_move_stacks(struct timeline *timeline, const uint32_t *stacks)
{
	for (size_t i = 0; i < timeline->rows.nr; i++) {
		struct timeline_row *row = &timeline->rows.items[i];
		for (uint32_t at = 0; at < row->nr; at++)
			if (row->tiles[at].stack)
				row->tiles[at].stack = stacks[row->tiles[at].stack - 1] + 1;
	}
}
