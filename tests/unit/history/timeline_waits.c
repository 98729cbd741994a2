/* SPDX-License-Identifier: MIT */
/* The longest waits of a timeline, and who ended them. */
#include "timelines.h"

static void the_longest_waits_come_first(void)
{
	struct timeline_moment waits[TIMELINE_WAITS];
	begin(BYTES);
	add(TID, THREAD_WAITS, 0, 30);
	add(TID, THREAD_COMPUTES, 30, 31);
	add(TID, THREAD_WAITS, 31, 100); /* told in parts, and still going on */
	add(TID, THREAD_WAITS, 100, 200);
	add(TID + 1, THREAD_WAITS, 0, 50);
	add(TID + 1, THREAD_COMPUTES, 50, 60);
	CHECK_EQ(timeline_longest_waits(timeline, waits), 3);
	CHECK_EQ(waits[0].to_ns - waits[0].time_ns, 169 * MS);
	CHECK_EQ(waits[1].row, 1);
	CHECK_EQ(waits[2].to_ns - waits[2].time_ns, 30 * MS);
	CHECK_EQ(waits[0].wait, WAIT_LOCK);
	end();
}

static void of_many_waits_the_longest_stay(void)
{
	enum { NR = 3000, SMALL = 256 << 10 };
	struct timeline_moment waits[TIMELINE_WAITS];
	for (int is_small = 0; is_small < 2; is_small++) {
		begin(is_small ? SMALL : BYTES);
		for (uint64_t i = 0, at_ms = 0; i < NR; i++) {
			/* Each length once. */
			const uint64_t ms = 1 + i * 7 % NR;
			add(TID, THREAD_WAITS, at_ms, at_ms + ms);
			add(TID, THREAD_COMPUTES, at_ms + ms, at_ms + ms + 1);
			at_ms += ms + 1;
		}
		const size_t nr = timeline_longest_waits(timeline, waits);
		CHECK(is_small ? nr >= 64 && nr < TIMELINE_WAITS : nr == TIMELINE_WAITS);
		for (size_t i = 0; i < nr; i++)
			CHECK_EQ(waits[i].to_ns - waits[i].time_ns, (NR - i) * MS);
		end();
	}
}

static void who_ended_a_wait_is_kept(void)
{
	struct timeline_moment waits[TIMELINE_WAITS];
	begin(BYTES);
	add(TID, THREAD_WAITS, 0, 30);
	struct thread_stretch stretch = {
		.pid = PID,
		.tid = TID,
		.from_ns = START_NS + 30 * MS,
		.to_ns = START_NS + 40 * MS,
		.state = THREAD_WAITS,
		.is_woken = true,
		.waker_tid = TID + 1,
	};
	CHECK_EQ(timeline_add(timeline, &stretch), 0);
	add(TID, THREAD_QUEUES, 40, 41);
	add(TID + 1, THREAD_WAITS, 10, 40);
	CHECK_EQ(timeline_longest_waits(timeline, waits), 2);
	CHECK(waits[0].is_woken && waits[0].waker_tid == TID + 1);
	CHECK_EQ(waits[0].to_ns - waits[0].time_ns, 40 * MS);
	CHECK(!waits[1].is_woken);
	CHECK_EQ(timeline_row_then(timeline, 0, TID + 1, START_NS + 40 * MS), 1);
	CHECK_EQ(timeline_row_then(timeline, 0, TID + 1, START_NS + 9 * MS), SIZE_MAX);
	CHECK_EQ(timeline_row_then(timeline, 0, TID + 2, START_NS + 40 * MS), SIZE_MAX);
	/* It ends, and its number is somebody else's later. */
	stretch = (struct thread_stretch){.pid = PID,
					  .tid = TID + 1,
					  .from_ns = START_NS + 40 * MS,
					  .to_ns = START_NS + 40 * MS,
					  .state = THREAD_UNKNOWN,
					  .ends = true};
	CHECK_EQ(timeline_add(timeline, &stretch), 0);
	CHECK_EQ(timeline_row_then(timeline, 0, TID + 1, START_NS + 41 * MS), 1);
	CHECK_EQ(timeline_row_then(timeline, 0, TID + 1, START_NS + 2000 * MS), SIZE_MAX);
	/* A recording knows better. */
	timeline_forget_waits(timeline);
	CHECK_EQ(timeline_longest_waits(timeline, waits), 0);
	waits[0] = (struct timeline_moment){.row = 1, .time_ns = 5, .to_ns = 6, .is_woken = true};
	timeline_put_wait(timeline, waits);
	CHECK_EQ(timeline_longest_waits(timeline, waits), 1);
	CHECK(waits[0].row == 1 && waits[0].is_woken && waits[0].waker_tid == WAKER_INTERRUPT);
	end();
}

int main(void)
{
	RUN(the_longest_waits_come_first);
	RUN(of_many_waits_the_longest_stay);
	RUN(who_ended_a_wait_is_kept);
	return test_done();
}
