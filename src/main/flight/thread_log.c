/* SPDX-License-Identifier: MIT */
#include <ctop/flight/thread_log.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/hash.h> /* which uthash uses */
#include <uthash.h>

#include "call_names.h"

enum { CAPACITY_LEAST = 1024 };

/* Of the fields that each state or event has some are used. */
struct kept {
	uint64_t from_ns, to_ns;
	int32_t pid, tid;
	union {
		int32_t waker_tid;
		struct {
			uint16_t from, to;
		} cpu;
	};
	uint16_t call; /* call_names.h: held */
	uint16_t state : 3, wait : 5, event : 4;
	uint16_t is_woken : 1, begins : 1, ends : 1, lacks_events : 1;
};
_Static_assert(sizeof(struct kept) == 32, "many");
_Static_assert(NR_THREAD_STATES <= 8 && NR_WAIT_KINDS <= 32 && NR_THREAD_EVENTS <= 16, "in bits");

/* What a thread does now. */
struct doing {
	int32_t tid;
	struct kept kept;
	UT_hash_handle hh;
};

/* Those that are over, in that order, from items[first] on and around; capacity is a power of two. */
struct ring {
	uint64_t bytes_most;
	uint64_t gave_up_ns; /* the end of what there was no room for; 0: all is there */
	struct kept *items;
	size_t first, nr, capacity;
};

struct thread_log {
	struct ring states, calls; /* calls: those that were told from begin to end */
	struct doing *doing;
	struct call_names *names;
};

struct thread_log *thread_log_new(uint64_t bytes_most, uint64_t calls_bytes_most)
{
	struct thread_log *log = calloc(1, sizeof(*log));
	if (!log)
		return NULL;
	log->states.bytes_most = bytes_most;
	log->calls.bytes_most = calls_bytes_most;
	log->names = call_names_new();
	if (!log->names) {
		free(log);
		return NULL;
	}
	return log;
}

void thread_log_free(struct thread_log *log)
{
	struct doing *doing, *next;
	if (!log)
		return;
	HASH_ITER (hh, log->doing, doing, next) {
		HASH_DEL(log->doing, doing);
		free(doing);
	}
	free(log->states.items);
	free(log->calls.items);
	call_names_free(log->names);
	free(log);
}

/* ---- those that are over ---- */

static const struct kept *kept_at(const struct ring *ring, size_t i)
{
	return &ring->items[(ring->first + i) & (ring->capacity - 1)];
}

static void drop_first(struct thread_log *log, struct ring *ring)
{
	call_names_let_go(log->names, kept_at(ring, 0)->call);
	ring->first = (ring->first + 1) & (ring->capacity - 1);
	ring->nr--;
}

static int grow(struct ring *ring)
{
	const size_t capacity = ring->capacity ? ring->capacity * 2 : CAPACITY_LEAST;
	struct kept *items = reallocarray(NULL, capacity, sizeof(*items));
	if (!items)
		return -ENOMEM;
	for (size_t i = 0; i < ring->nr; i++)
		items[i] = *kept_at(ring, i);
	free(ring->items);
	ring->items = items;
	ring->first = 0;
	ring->capacity = capacity;
	return 0;
}

static int append(struct thread_log *log, struct ring *ring, const struct kept *kept)
{
	const bool may_grow =
		!ring->capacity || ring->capacity * 2 * sizeof(*kept) <= ring->bytes_most;
	if (ring->nr == ring->capacity && may_grow) {
		if (grow(ring))
			return -ENOMEM;
	} else if (ring->nr == ring->capacity) {
		const uint64_t to_ns = kept_at(ring, 0)->to_ns;
		ring->gave_up_ns = to_ns > ring->gave_up_ns ? to_ns : ring->gave_up_ns;
		drop_first(log, ring);
	}
	ring->items[(ring->first + ring->nr++) & (ring->capacity - 1)] = *kept;
	return 0;
}

static void forget(struct thread_log *log, struct ring *ring, uint64_t before_ns)
{
	while (ring->nr && kept_at(ring, 0)->to_ns < before_ns)
		drop_first(log, ring);
}

void thread_log_forget(struct thread_log *log, uint64_t before_ns)
{
	forget(log, &log->states, before_ns);
	forget(log, &log->calls, before_ns);
}

uint64_t thread_log_since_ns(const struct thread_log *log)
{
	return log->states.gave_up_ns;
}

uint64_t thread_log_calls_since_ns(const struct thread_log *log)
{
	return log->calls.gave_up_ns;
}

uint64_t thread_log_bytes(const struct thread_log *log)
{
	return (log->states.capacity + log->calls.capacity) * sizeof(struct kept) +
	       HASH_COUNT(log->doing) * sizeof(struct doing) + call_names_bytes(log->names);
}

/* ---- what comes ---- */

static uint16_t number_of_cpu(uint32_t cpu)
{
	return (uint16_t)(cpu < UINT16_MAX ? cpu : UINT16_MAX);
}

/* Its call's name is held. */
static struct kept kept_of(struct thread_log *log, const struct thread_stretch *stretch)
{
	struct kept kept = {
		.from_ns = stretch->from_ns,
		.to_ns = stretch->to_ns,
		.pid = stretch->pid,
		.tid = stretch->tid,
		.call = call_names_hold(log->names, stretch->call),
		.state = stretch->state & 7,
		.wait = stretch->wait & 31,
		.event = stretch->event & 15,
		.is_woken = stretch->is_woken,
		.begins = stretch->begins,
		.ends = stretch->ends,
		.lacks_events = stretch->lacks_events,
	};
	if (stretch->event == THREAD_MIGRATED) {
		kept.cpu.from = number_of_cpu(stretch->from_cpu);
		kept.cpu.to = number_of_cpu(stretch->to_cpu);
	} else {
		kept.waker_tid = stretch->waker_tid;
	}
	return kept;
}

/* A part of what the thread did before. */
static bool goes_on(const struct kept *before, const struct kept *kept)
{
	return before->pid == kept->pid && before->to_ns == kept->from_ns &&
	       before->state == kept->state && before->wait == kept->wait && !before->is_woken &&
	       before->lacks_events == kept->lacks_events && !kept->begins;
}

static void end_doing(struct thread_log *log, struct doing *doing)
{
	HASH_DEL(log->doing, doing);
	free(doing);
}

static int begin_doing(struct thread_log *log, const struct kept *kept)
{
	struct doing *doing = calloc(1, sizeof(*doing));
	if (!doing)
		return -ENOMEM;
	*doing = (struct doing){.tid = kept->tid, .kept = *kept};
	HASH_ADD(hh, log->doing, tid, sizeof(doing->tid), doing);
	if (doing->hh.tbl)
		return 0;
	free(doing); /* uthash had no memory */
	return -ENOMEM;
}

/* In which call it waits may be known only later. */
static void go_on(struct thread_log *log, struct kept *doing, const struct kept *kept)
{
	doing->to_ns = kept->to_ns;
	doing->is_woken = kept->is_woken;
	doing->waker_tid = kept->waker_tid;
	if (kept->call) {
		call_names_let_go(log->names, doing->call);
		doing->call = kept->call;
	}
}

/* Names of calls go along: whoever had it lets go of it. */
static int add_state(struct thread_log *log, const struct kept *kept)
{
	const bool is_moment = kept->from_ns >= kept->to_ns;
	struct doing *doing;
	HASH_FIND(hh, log->doing, &kept->tid, sizeof(kept->tid), doing);
	if (doing && !is_moment && goes_on(&doing->kept, kept)) {
		go_on(log, &doing->kept, kept);
		return 0;
	}
	int result = doing ? append(log, &log->states, &doing->kept) : 0;
	if (!result && doing && !is_moment)
		doing->kept = *kept;
	else if (doing)
		end_doing(log, doing);
	else if (!result && !is_moment)
		result = begin_doing(log, kept);
	return result || !is_moment ? result : append(log, &log->states, kept);
}

int thread_log_add(struct thread_log *log, const struct thread_stretch *stretch)
{
	const struct kept kept = kept_of(log, stretch);
	return kept.event == THREAD_CALLED ? append(log, &log->calls, &kept)
					   : add_state(log, &kept);
}

/* ---- a part of it ---- */

struct filling {
	const struct call_names *names;
	struct timeline *lives, *timeline;
	uint64_t from_ns, to_ns;
	uint64_t known_ns; /* from when on all is there */
};

static const struct timeline_thread *life_of(const struct filling *filling, const struct kept *kept)
{
	const size_t row = timeline_find_thread(filling->lives, kept->pid, kept->tid, kept->to_ns);
	return row == SIZE_MAX ? NULL : timeline_thread(filling->lives, row);
}

/* It lived before what is there of it, and nobody knows how. */
static int fill_unknown(const struct filling *filling, const struct thread_stretch *first,
			const struct timeline_thread *life)
{
	struct thread_stretch unknown = {
		.pid = first->pid,
		.tid = first->tid,
		.from_ns = life && life->began_ns > filling->from_ns ? life->began_ns
								     : filling->from_ns,
		.to_ns = filling->known_ns,
		.state = THREAD_UNKNOWN,
		.lacks_events = true,
	};
	const bool is_first = timeline_find_thread(filling->timeline, first->pid, first->tid,
						   first->from_ns) == SIZE_MAX;
	return is_first && !first->begins && unknown.from_ns < unknown.to_ns
		       ? timeline_add(filling->timeline, &unknown)
		       : 0;
}

static int fill(const struct filling *filling, const struct kept *kept)
{
	if (kept->to_ns <= filling->known_ns || kept->from_ns > filling->to_ns)
		return 0;
	const struct timeline_thread *life = life_of(filling, kept);
	const bool is_cut = kept->to_ns > filling->to_ns;
	const bool is_migration = kept->event == THREAD_MIGRATED;
	const struct thread_stretch stretch = {
		.pid = kept->pid,
		.tid = kept->tid,
		.name = life ? life->name : NULL,
		.from_ns = kept->from_ns > filling->known_ns ? kept->from_ns : filling->known_ns,
		.to_ns = is_cut ? filling->to_ns : kept->to_ns,
		.state = (enum thread_state)kept->state,
		.wait = (enum wait_kind)kept->wait,
		.is_woken = kept->is_woken && !is_cut,
		.waker_tid = is_migration ? 0 : kept->waker_tid,
		.begins = kept->begins,
		.ends = kept->ends,
		.lacks_events = kept->lacks_events,
		.event = (enum thread_event)kept->event,
		.creator_pid = life ? life->creator_pid : 0,
		.creator_tid = life ? life->creator_tid : 0,
		.from_cpu = is_migration ? kept->cpu.from : 0,
		.to_cpu = is_migration ? kept->cpu.to : 0,
	};
	const int result = fill_unknown(filling, &stretch, life);
	return result ? result : timeline_add(filling->timeline, &stretch);
}

static void set_cgroups(const struct filling *filling)
{
	for (size_t i = 0; i < timeline_nr_threads(filling->timeline); i++) {
		const struct timeline_thread *thread = timeline_thread(filling->timeline, i);
		const size_t row = timeline_find_thread(filling->lives, thread->pid, thread->tid,
							thread->until_ns);
		const uint32_t cgroup =
			row == SIZE_MAX ? 0 : timeline_thread(filling->lives, row)->cgroup;
		if (cgroup)
			timeline_set_cgroup(filling->timeline, i,
					    timeline_cgroup(filling->lives, cgroup));
	}
}

static void fill_call(const struct filling *filling, const struct kept *kept)
{
	const bool is_whole = kept->event == THREAD_CALLED;
	const uint64_t since_ns = is_whole ? filling->from_ns : filling->known_ns;
	const size_t row =
		timeline_find_thread(filling->timeline, kept->pid, kept->tid, kept->to_ns);
	if (row == SIZE_MAX || kept->to_ns <= since_ns || kept->from_ns > filling->to_ns)
		return;
	const struct timeline_call call = {
		.from_ns = kept->from_ns > since_ns ? kept->from_ns : since_ns,
		.to_ns = kept->to_ns < filling->to_ns ? kept->to_ns : filling->to_ns,
		.is_whole = is_whole,
		.name = call_names_text(filling->names, kept->call),
	};
	timeline_put_call(filling->timeline, row, &call);
	if (is_whole)
		timeline_count_calls(filling->timeline, row,
				     timeline_thread(filling->timeline, row)->nr_calls + 1);
}

/* As they were over: a whole call takes the waits in it, which are there before. */
static int compare_ends(const void *a, const void *b)
{
	const struct kept *one = *(const struct kept *const *)a;
	const struct kept *other = *(const struct kept *const *)b;
	if (one->to_ns != other->to_ns)
		return one->to_ns < other->to_ns ? -1 : 1;
	return (one->event == THREAD_CALLED) - (other->event == THREAD_CALLED);
}

static size_t list_calls(const struct ring *ring, const struct kept **list)
{
	size_t nr = 0;
	for (size_t i = 0; i < ring->nr; i++)
		if (kept_at(ring, i)->call)
			list[nr++] = kept_at(ring, i);
	return nr;
}

static int fill_calls(const struct filling *filling, const struct thread_log *log)
{
	const size_t most = log->states.nr + log->calls.nr + HASH_COUNT(log->doing);
	const struct kept **list = calloc(most + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	size_t nr = list_calls(&log->states, list);
	nr += list_calls(&log->calls, list + nr);
	for (const struct doing *doing = log->doing; doing; doing = doing->hh.next)
		if (doing->kept.call)
			list[nr++] = &doing->kept;
	qsort(list, nr, sizeof(*list), compare_ends);
	for (size_t i = 0; i < nr; i++)
		fill_call(filling, list[i]);
	free(list);
	return 0;
}

int thread_log_fill(const struct thread_log *log, struct timeline *lives, uint64_t from_ns,
		    uint64_t to_ns, struct timeline *timeline)
{
	const struct filling filling = {
		.names = log->names,
		.lives = lives,
		.timeline = timeline,
		.from_ns = from_ns,
		.to_ns = to_ns,
		.known_ns = log->states.gave_up_ns > from_ns ? log->states.gave_up_ns : from_ns,
	};
	int result = 0;
	for (size_t i = 0; !result && i < log->states.nr; i++)
		result = fill(&filling, kept_at(&log->states, i));
	for (const struct doing *doing = log->doing; !result && doing; doing = doing->hh.next)
		result = fill(&filling, &doing->kept);
	if (!result)
		result = fill_calls(&filling, log);
	if (!result)
		set_cgroups(&filling);
	return result;
}
