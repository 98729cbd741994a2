/* SPDX-License-Identifier: MIT */
/* What threads did lately: parts of it as timelines, cut to the nanosecond, and what there is no room for. */
#include <ctop/flight/thread_log.h>

#include <stdio.h>
#include <string.h>

#include <ctop/base/clock.h>

#include "test.h"

enum { PID = 7, TID = 8, OTHER = 9 };
#define S	NS_PER_SECOND
#define BYTES	(UINT64_C(1) << 20)
#define ROOM	(UINT64_C(4) << 20)
#define RECORDS (BYTES / 32)

static struct thread_log *log_of;
static struct timeline *lives, *timeline;

static void begin(void)
{
	log_of = thread_log_new(BYTES, BYTES);
	lives = timeline_new(ROOM);
	timeline = timeline_new(ROOM);
	CHECK(log_of && lives && timeline);
}

static void end(void)
{
	thread_log_free(log_of);
	timeline_free(lives);
	timeline_free(timeline);
}

static void tell(const struct thread_stretch *stretch)
{
	struct thread_stretch life = *stretch;
	CHECK_EQ(thread_log_add(log_of, stretch), 0);
	life.to_ns = life.from_ns;
	CHECK_EQ(timeline_add(lives, &life), 0);
}

static struct thread_stretch stretch_of(int32_t tid, enum thread_state state, uint64_t from_ns,
					uint64_t to_ns)
{
	return (struct thread_stretch){
		.pid = PID,
		.tid = tid,
		.name = "worker",
		.from_ns = from_ns,
		.to_ns = to_ns,
		.state = state,
		.wait = state == THREAD_WAITS ? WAIT_SLEEP : WAIT_UNSEEN,
	};
}

static void add(int32_t tid, enum thread_state state, uint64_t from_ns, uint64_t to_ns)
{
	const struct thread_stretch stretch = stretch_of(tid, state, from_ns, to_ns);
	tell(&stretch);
}

static void fill(uint64_t from_ns, uint64_t to_ns)
{
	timeline_clear(timeline);
	CHECK_EQ(thread_log_fill(log_of, lives, from_ns, to_ns, timeline), 0);
}

static const struct timeline_thread *thread_of(int32_t tid)
{
	const size_t row = timeline_find_thread(timeline, PID, tid, UINT64_MAX);
	CHECK(row != SIZE_MAX);
	return timeline_thread(timeline, row);
}

static void a_part_is_cut_to_the_nanosecond(void)
{
	begin();
	add(TID, THREAD_COMPUTES, 1 * S, 2 * S);
	add(TID, THREAD_WAITS, 2 * S, 5 * S);
	add(TID, THREAD_COMPUTES, 5 * S, 9 * S);
	fill(3 * S + 1, 6 * S + 5);
	const struct timeline_thread *thread = thread_of(TID);
	CHECK_EQ(thread->wait_ns[WAIT_SLEEP], 2 * S - 1);
	CHECK_EQ(thread->ns[THREAD_COMPUTES], 1 * S + 5);
	CHECK_EQ(thread->ns[THREAD_UNKNOWN], 0);
	CHECK_EQ(thread->began_ns, 3 * S + 1);
	CHECK_EQ(thread->until_ns, 6 * S + 5);
	CHECK(!strcmp(thread->name, "worker"));
	CHECK(!thread->is_created && !thread->has_ended && !thread->lacks_events);
	end();
}

static void what_goes_on_is_never_given_up(void)
{
	begin();
	add(TID, THREAD_WAITS, 1 * S, 2 * S);
	for (uint64_t i = 0; i < 4 * RECORDS; i++)
		add(OTHER, i % 2 ? THREAD_QUEUES : THREAD_COMPUTES, 2 * S + i, 2 * S + i + 1);
	add(TID, THREAD_WAITS, 2 * S, 3 * S);
	CHECK(thread_log_bytes(log_of) <= BYTES + 4096);
	fill(1 * S, 4 * S);
	CHECK_EQ(thread_of(TID)->ns[THREAD_WAITS] + thread_of(TID)->ns[THREAD_UNKNOWN], 2 * S);
	end();
}

/* It is unknown, of those that lived then. */
static void what_there_was_no_room_for_is_unknown(void)
{
	const uint64_t nr = 2 * RECORDS;
	begin();
	for (uint64_t i = 0; i < nr; i++)
		add(TID, i % 2 ? THREAD_QUEUES : THREAD_COMPUTES, S + i * 10, S + i * 10 + 10);
	CHECK_EQ(thread_log_since_ns(log_of), S + (nr - 1 - RECORDS) * 10);
	struct thread_stretch born =
		stretch_of(OTHER, THREAD_COMPUTES, S + nr * 10, S + nr * 10 + 5);
	born.begins = true;
	tell(&born);
	fill(S, 2 * S);
	const struct timeline_thread *thread = thread_of(TID);
	CHECK_EQ(thread->began_ns, S);
	CHECK_EQ(thread->ns[THREAD_UNKNOWN], thread_log_since_ns(log_of) - S);
	CHECK_EQ(thread->ns[THREAD_UNKNOWN] + thread->ns[THREAD_COMPUTES] +
			 thread->ns[THREAD_QUEUES],
		 nr * 10);
	CHECK(thread->lacks_events);
	CHECK_EQ(thread_of(OTHER)->ns[THREAD_UNKNOWN], 0);
	CHECK(!thread_of(OTHER)->lacks_events);
	end();
}

static void what_is_too_old_goes(void)
{
	begin();
	for (uint64_t i = 1; i < 20; i++)
		add(TID, i % 2 ? THREAD_QUEUES : THREAD_COMPUTES, i * S, (i + 1) * S);
	thread_log_forget(log_of, 10 * S);
	CHECK_EQ(thread_log_since_ns(log_of), 0);
	fill(1 * S, 30 * S);
	CHECK_EQ(thread_of(TID)->began_ns, 9 * S);
	CHECK_EQ(thread_of(TID)->until_ns, 20 * S);
	end();
}

static void events_and_who_wakes_come_along(void)
{
	struct timeline_moment waits[TIMELINE_WAITS];
	struct thread_stretch told = stretch_of(TID, THREAD_UNKNOWN, 1 * S, 1 * S);
	begin();
	told.begins = true;
	told.event = THREAD_CREATED;
	told.creator_pid = PID;
	told.creator_tid = OTHER;
	tell(&told);
	add(TID, THREAD_COMPUTES, 1 * S, 2 * S);
	told = stretch_of(TID, THREAD_WAITS, 2 * S, 3 * S);
	told.is_woken = true;
	told.waker_tid = OTHER;
	tell(&told);
	told = stretch_of(TID, THREAD_UNKNOWN, 3 * S, 3 * S);
	told.event = THREAD_MIGRATED;
	told.from_cpu = 3;
	told.to_cpu = 70000;
	tell(&told);
	add(TID, THREAD_COMPUTES, 3 * S, 4 * S);
	told = stretch_of(TID, THREAD_UNKNOWN, 4 * S, 4 * S);
	told.ends = true;
	tell(&told);
	/* Another one of the same number. */
	told = stretch_of(TID, THREAD_COMPUTES, 5 * S, 6 * S);
	told.begins = true;
	tell(&told);
	fill(S / 2, 10 * S);
	CHECK_EQ(timeline_nr_threads(timeline), 2);
	const struct timeline_thread *thread = timeline_thread(timeline, 0);
	CHECK(thread->is_created && thread->has_ended && thread->creator_tid == OTHER);
	CHECK_EQ(thread->started_ns, 1 * S);
	CHECK_EQ(thread->nr_migrations, 1);
	const struct timeline_events moment = timeline_events_in(timeline, 0, 3 * S, 4 * S);
	CHECK_EQ(moment.from_cpu, 3);
	CHECK_EQ(moment.to_cpu, UINT16_MAX);
	CHECK_EQ(timeline_longest_waits(timeline, waits), 1);
	CHECK(waits[0].is_woken && waits[0].waker_tid == OTHER);
	/* Before it was woken nobody had woken it. */
	fill(S / 2, 2 * S + S / 2);
	CHECK_EQ(timeline_longest_waits(timeline, waits), 1);
	CHECK(!waits[0].is_woken && !thread_of(TID)->has_ended);
	/* Who lives on was not created in the part. */
	fill(2 * S, 10 * S);
	CHECK(!timeline_thread(timeline, 0)->is_created);
	end();
}

static void cgroups_come_along(void)
{
	begin();
	add(TID, THREAD_COMPUTES, 1 * S, 2 * S);
	timeline_set_cgroup(lives, timeline_find_thread(lives, PID, TID, UINT64_MAX), "/some");
	fill(1 * S, 2 * S);
	CHECK(!strcmp(timeline_cgroup(timeline, thread_of(TID)->cgroup), "/some"));
	end();
}

/* ---- system calls ---- */

static void add_call(int32_t tid, const char *call, uint64_t from_ns, uint64_t to_ns)
{
	struct thread_stretch told = stretch_of(tid, THREAD_UNKNOWN, from_ns, to_ns);
	told.event = THREAD_CALLED;
	told.call = call;
	tell(&told);
}

static void add_wait_in(int32_t tid, const char *call, uint64_t from_ns, uint64_t to_ns)
{
	struct thread_stretch told = stretch_of(tid, THREAD_WAITS, from_ns, to_ns);
	told.call = call;
	tell(&told);
}

#define CHECK_CALL(tid, call, from, to, whole, called)                                             \
	do {                                                                                       \
		const struct timeline_call it = timeline_call_at(                                  \
			timeline, timeline_find_thread(timeline, PID, tid, UINT64_MAX), call);     \
		CHECK_EQ(it.from_ns, from);                                                        \
		CHECK_EQ(it.to_ns, to);                                                            \
		CHECK_EQ(it.is_whole, whole);                                                      \
		CHECK(!strcmp(it.name, called));                                                   \
	} while (0)

static size_t nr_calls_of(int32_t tid)
{
	return timeline_nr_calls(timeline, timeline_find_thread(timeline, PID, tid, UINT64_MAX));
}

static void calls_are_cut_like_the_rest(void)
{
	begin();
	add(TID, THREAD_COMPUTES, 1 * S, 9 * S);
	add_call(TID, "getpid", 2 * S, 3 * S);
	add_call(TID, "read", 4 * S, 5 * S);
	add_call(TID, "write", 6 * S, 8 * S);
	fill(4 * S + 5, 7 * S);
	CHECK_EQ(timeline_nr_threads(timeline), 1);
	CHECK_EQ(thread_of(TID)->ns[THREAD_COMPUTES], 3 * S - 5);
	CHECK_EQ(thread_of(TID)->nr_calls, 2);
	CHECK_EQ(nr_calls_of(TID), 2);
	CHECK_CALL(TID, 0, 4 * S + 5, 5 * S, true, "read");
	CHECK_CALL(TID, 1, 6 * S, 7 * S, true, "write");
	end();
}

/* It is told what for by a look, which the call that is over takes; who waits yet has no other. */
static void waits_in_calls_come_along(void)
{
	begin();
	add(TID, THREAD_COMPUTES, 1 * S, 2 * S);
	add(TID, THREAD_WAITS, 2 * S, 3 * S);
	add_wait_in(TID, "read, pipe:[7]", 3 * S, 4 * S); /* the same, known later */
	add(TID, THREAD_COMPUTES, 4 * S, 5 * S);
	add_call(TID, "read", 2 * S - 1, 4 * S + 1);
	add_wait_in(TID, "poll, socket:[8]", 5 * S, 7 * S);
	fill(1 * S, 6 * S);
	CHECK_EQ(thread_of(TID)->nr_calls, 1);
	CHECK_EQ(nr_calls_of(TID), 2);
	CHECK_CALL(TID, 0, 2 * S - 1, 4 * S + 1, true, "read, pipe:[7]");
	CHECK_CALL(TID, 1, 5 * S, 6 * S, false, "poll, socket:[8]");
	end();
}

/* A wait is told when its thread goes on, which may be after others have done so. */
static void waits_that_are_told_late_are_in_their_calls(void)
{
	begin();
	add_wait_in(TID, "read, pipe:[7]", 2 * S, 3 * S);
	add_call(TID, "read", 2 * S - 1, 3 * S + 1);
	add_wait_in(OTHER, "poll, pipe:[8]", 1 * S, 5 * S);
	add(OTHER, THREAD_COMPUTES, 5 * S, 6 * S);
	add(TID, THREAD_COMPUTES, 3 * S, 7 * S);
	fill(1 * S, 8 * S);
	CHECK_EQ(nr_calls_of(TID), 1);
	CHECK_CALL(TID, 0, 2 * S - 1, 3 * S + 1, true, "read, pipe:[7]");
	CHECK_CALL(OTHER, 0, 1 * S, 5 * S, false, "poll, pipe:[8]");
	end();
}

/* Where states were given up calls are there. */
static void calls_outlive_states(void)
{
	begin();
	add_call(TID, "getpid", 1 * S, 1 * S + 5);
	for (uint64_t i = 0; i < 2 * RECORDS; i++)
		add(TID, i % 2 ? THREAD_QUEUES : THREAD_COMPUTES, S + i * 10, S + i * 10 + 10);
	CHECK(thread_log_since_ns(log_of) > S + 5);
	fill(S, 2 * S);
	CHECK_EQ(nr_calls_of(TID), 1);
	CHECK_CALL(TID, 0, 1 * S, 1 * S + 5, true, "getpid");
	end();
}

/* Numbers that are none, as many as there are: each call is counted. */
static void of_ever_new_calls_each_is_told(void)
{
	char name[64];
	begin();
	add(TID, THREAD_COMPUTES, 1 * S, 2 * S);
	for (uint64_t i = 0; i < 100000; i++) {
		snprintf(name, sizeof(name), "call %llu", (unsigned long long)i + 1000);
		add_call(TID, name, 1 * S + i * 10, 1 * S + i * 10 + 5);
	}
	CHECK(thread_log_bytes(log_of) < 5 * BYTES);
	fill(1 * S, 2 * S);
	CHECK_EQ(thread_of(TID)->nr_calls, RECORDS);
	add_call(OTHER, "getpid", 2 * S, 2 * S + 5);
	add(OTHER, THREAD_COMPUTES, 2 * S, 3 * S);
	fill(2 * S, 3 * S);
	CHECK_EQ(thread_of(OTHER)->nr_calls, 1);
	end();
}

/* They go first, and what the threads did stays. */
static void very_many_calls_leave_states_alone(void)
{
	begin();
	add(TID, THREAD_COMPUTES, 1 * S, 2 * S);
	for (uint64_t i = 0; i < 4 * RECORDS; i++)
		add_call(TID, "getpid", 1 * S + i * 10, 1 * S + i * 10 + 5);
	CHECK_EQ(thread_log_since_ns(log_of), 0);
	CHECK_EQ(thread_log_calls_since_ns(log_of), 1 * S + (3 * RECORDS - 1) * 10 + 5);
	CHECK(thread_log_bytes(log_of) <= BYTES + (64 << 10));
	fill(1 * S, 2 * S);
	CHECK_EQ(thread_of(TID)->ns[THREAD_COMPUTES], 1 * S);
	CHECK_EQ(thread_of(TID)->nr_calls, RECORDS);
	end();
}

/* For ever there are others: memory is bounded, and a call has its name. */
static void names_come_and_go(void)
{
	char name[64];
	uint64_t at_most = 0;
	begin();
	for (uint64_t i = 0; i < 200000; i++) {
		snprintf(name, sizeof(name), "read, pipe:[%llu]", (unsigned long long)i);
		add_wait_in(TID, name, S + i * 10, S + i * 10 + 5);
		add(TID, THREAD_COMPUTES, S + i * 10 + 5, S + i * 10 + 10);
		if (i % 1000 == 0)
			thread_log_forget(log_of, S + i * 10);
		if (thread_log_bytes(log_of) > at_most)
			at_most = thread_log_bytes(log_of);
	}
	CHECK(at_most < 2 * BYTES);
	fill(S + 1999990, 2 * S);
	CHECK_CALL(TID, nr_calls_of(TID) - 1, S + 1999990, S + 1999995, false, name);
	end();
}

/* Of more than there is room for the call alone is told. */
static void of_too_many_names_the_call_is_told(void)
{
	char name[512];
	begin();
	for (uint64_t i = 0; i < 8000; i++) {
		snprintf(name, sizeof(name), "openat, %0400llu", (unsigned long long)i);
		add_wait_in(TID, name, S + i * 10, S + i * 10 + 5);
		add(TID, THREAD_COMPUTES, S + i * 10 + 5, S + i * 10 + 10);
	}
	CHECK(thread_log_bytes(log_of) < 3 * BYTES);
	fill(S + 79990, 2 * S);
	CHECK_CALL(TID, nr_calls_of(TID) - 1, S + 79990, S + 79995, false, "openat");
	end();
}

int main(void)
{
	RUN(calls_are_cut_like_the_rest);
	RUN(waits_in_calls_come_along);
	RUN(waits_that_are_told_late_are_in_their_calls);
	RUN(calls_outlive_states);
	RUN(of_ever_new_calls_each_is_told);
	RUN(very_many_calls_leave_states_alone);
	RUN(names_come_and_go);
	RUN(of_too_many_names_the_call_is_told);
	RUN(a_part_is_cut_to_the_nanosecond);
	RUN(what_goes_on_is_never_given_up);
	RUN(what_there_was_no_room_for_is_unknown);
	RUN(what_is_too_old_goes);
	RUN(events_and_who_wakes_come_along);
	RUN(cgroups_come_along);
	return test_done();
}
