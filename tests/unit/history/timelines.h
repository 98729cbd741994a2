/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_HISTORY_TIMELINES_H
#define TESTS_UNIT_HISTORY_TIMELINES_H

/* A timeline from made-up stretches, of one process; ms since START_NS. */

#include <ctop/history/timeline.h>

#include "test.h"

enum { PID = 7, TID = 8, MS = 1000000 };
#define START_NS UINT64_C(5000000000)
#define BYTES	 (UINT64_C(4) << 20)

static struct timeline *timeline;

static inline void begin(uint64_t bytes)
{
	timeline = timeline_new(bytes);
	CHECK(timeline != NULL);
	timeline_expect_stretches(timeline);
}

static inline void end(void)
{
	timeline_free(timeline);
	timeline = NULL;
}

static inline void add_ns(int32_t tid, enum thread_state state, enum wait_kind wait,
			  uint64_t from_ns, uint64_t to_ns)
{
	const struct thread_stretch stretch = {.pid = PID,
					       .tid = tid,
					       .name = "worker",
					       .from_ns = from_ns,
					       .to_ns = to_ns,
					       .state = state,
					       .wait = wait};
	CHECK_EQ(timeline_add(timeline, &stretch), 0);
}

static inline void add(int32_t tid, enum thread_state state, uint64_t from_ms, uint64_t to_ms)
{
	add_ns(tid, state, state == THREAD_WAITS ? WAIT_LOCK : WAIT_UNSEEN, START_NS + from_ms * MS,
	       START_NS + to_ms * MS);
}

#endif
