/* SPDX-License-Identifier: MIT */
/* What threads did between two moments. */
#include <ctop/history/timeline.h>

#include "test.h"

enum { PID = 7, MS = 1 << 20 }; /* a tile */
#define START_NS (UINT64_C(5000) * MS)

static void add(struct timeline *timeline, int32_t tid, enum thread_state state, uint64_t from_ms,
		uint64_t to_ms)
{
	const struct thread_stretch stretch = {.pid = PID,
					       .tid = tid,
					       .name = "worker",
					       .from_ns = START_NS + from_ms * MS,
					       .to_ns = START_NS + to_ms * MS,
					       .state = state};
	CHECK_EQ(timeline_add(timeline, &stretch), 0);
}

static struct timeline_states states;

static bool in(struct timeline *timeline, int32_t pid, int32_t tid, uint64_t from_ms,
	       uint64_t to_ms)
{
	return timeline_states_in(timeline, pid, tid, START_NS + from_ms * MS,
				  START_NS + to_ms * MS, &states);
}

static bool is_about(uint64_t ns, uint64_t ms)
{
	return ns + MS / 64 > ms * MS && ns < ms * MS + MS / 64;
}

static void of_a_thread_and_of_its_process(void)
{
	struct timeline *timeline = timeline_new(4 << 20);
	CHECK(timeline != NULL);
	timeline_expect_stretches(timeline);
	add(timeline, 8, THREAD_COMPUTES, 0, 10);
	add(timeline, 8, THREAD_WAITS, 10, 40);
	add(timeline, 8, THREAD_QUEUES, 40, 44);
	add(timeline, 8, THREAD_UNKNOWN, 44, 50);
	add(timeline, 9, THREAD_COMPUTES, 20, 30);
	CHECK(in(timeline, PID, 8, 0, 50));
	CHECK(is_about(states.ns[THREAD_COMPUTES], 10) && is_about(states.ns[THREAD_WAITS], 30) &&
	      is_about(states.ns[THREAD_QUEUES], 4) && is_about(states.ns[THREAD_UNKNOWN], 6));
	CHECK_EQ(states.lived_ns, (uint64_t)50 * MS);
	CHECK(in(timeline, PID, 8, 5, 15));
	CHECK(is_about(states.ns[THREAD_COMPUTES], 5) && is_about(states.ns[THREAD_WAITS], 5));
	CHECK_EQ(states.lived_ns, (uint64_t)10 * MS);
	CHECK(in(timeline, PID, -1, 15, 25));
	CHECK(is_about(states.ns[THREAD_COMPUTES], 5) && is_about(states.ns[THREAD_WAITS], 10));
	CHECK_EQ(states.lived_ns, (uint64_t)15 * MS);
	CHECK(!in(timeline, PID, 9, 0, 20));
	CHECK(!in(timeline, PID, 9, 31, 60));
	CHECK(!in(timeline, PID + 1, 8, 0, 50));
	timeline_free(timeline);
}

/* All of that is from a recording. */
static void odd_moments(void)
{
	struct timeline *timeline = timeline_new(4 << 20);
	CHECK(timeline != NULL);
	CHECK(!in(timeline, PID, -1, 0, 50));
	timeline_expect_stretches(timeline);
	add(timeline, 8, THREAD_COMPUTES, 0, 10);
	CHECK(timeline_states_in(timeline, PID, 8, 0, UINT64_MAX, &states));
	CHECK(is_about(states.ns[THREAD_COMPUTES], 10));
	CHECK(!timeline_states_in(timeline, PID, 8, UINT64_MAX, 0, &states));
	CHECK(!timeline_states_in(timeline, PID, 8, UINT64_MAX - 1, UINT64_MAX, &states));
	timeline_free(timeline);
}

int main(void)
{
	RUN(of_a_thread_and_of_its_process);
	RUN(odd_moments);
	return test_done();
}
