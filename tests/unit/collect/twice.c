/* SPDX-License-Identifier: MIT */
/*
 * "A tid that shows up under two ids was attached twice: close one", and nothing counts twice until
 * it is closed. What is proved of it, on records as the kernel writes them:
 *
 *   twins                   two samples of a task in a row with one id and one time are one (kernel 6.18
 *                           writes the first event's id and time into both records of a page fault)
 *   ids                     clocks and counters: a thread sampled by somebody else's event and by its own
 *   inherited from both     a thread whose maker was attached twice shows it, though its maker sleeps
 *   and nothing else        neighbours that differ in any of the three, other events, reused tids
 */
#include "fake_main.h"

enum { PID = 100, MAKER = 100, MADE = 101, CHILD = 102 };
/* Ids of the first event, then of the second. */
enum { MAKERS = 1, MADES, MAKERS_SECOND, MADES_SECOND };

static struct fake_main fake;

/* MAKER was attached first; then MADE, which it had made meanwhile. */
static void start(void)
{
	fake_main_init(&fake);
	fake_add_id(&fake, MAKERS, 0, MAKER);
	fake_add_id(&fake, MAKERS_SECOND, 1, MAKER);
	fake_add_id(&fake, MADES, 0, MADE);
	fake_add_id(&fake, MADES_SECOND, 1, MADE);
	fake_main_start(&fake);
}

static void sample(size_t ring, uint64_t id, int32_t tid, uint64_t time_ns)
{
	fake_write_sample(&fake, ring, &(struct fake_sample){id, PID, tid, time_ns});
}

/* All is written: the collector reads it. What is not a sample was counted as one of two. */
static void finish(size_t nr_samples, uint64_t nr_twice)
{
	fake_main_go(&fake);
	fake_main_finish(&fake);
	CHECK_EQ(fake.nr_samples, nr_samples);
	CHECK_EQ(fake.status->twice, nr_twice);
}

static void twins_of_its_own_event_are_one(void)
{
	start();
	for (uint64_t i = 0; i < 100; i++) {
		sample(i % 2, MADES, MADE, i * 1000);
		sample(i % 2, MADES, MADE, i * 1000);
	}
	finish(100, 100);
	CHECK_EQ(fake.nr_doubles, 1);
	CHECK_EQ(fake.doubles[0], MADE);
	fake_main_release(&fake);
}

static void twins_of_an_inherited_event_are_one(void)
{
	start();
	for (uint64_t i = 0; i < 100; i++) {
		sample(0, MAKERS, MADE, i * 1000);
		sample(0, MAKERS, MADE, i * 1000);
	}
	finish(100, 100);
	CHECK_EQ(fake.nr_doubles, 1);
	CHECK_EQ(fake.doubles[0], MADE);
	fake_main_release(&fake);
}

/* Its own events are closed now, or soon: each moment counts once before, meanwhile and after. */
static void twins_end_when_one_is_closed(void)
{
	start();
	sample(0, MADES, MADE, 1000);
	sample(0, MADES, MADE, 1000);
	sample(0, MADES, CHILD, 2000); /* inherited twice, in flight when it was closed */
	sample(0, MADES, CHILD, 2000);
	sample(0, MAKERS, MADE, 3000);
	sample(0, MAKERS, CHILD, 4000);
	finish(4, 2);
	CHECK_EQ(fake.nr_doubles, 1);
	fake_main_release(&fake);
}

/* Inherited from both: there is no event of its own to close. */
static void twins_of_a_thread_that_was_not_attached_are_one(void)
{
	start();
	for (uint64_t i = 0; i < 10; i++) {
		sample(0, MAKERS, CHILD, i * 1000);
		sample(0, MAKERS, CHILD, i * 1000);
		sample(0, MAKERS, CHILD, i * 1000); /* thrice, even */
	}
	finish(10, 20);
	CHECK_EQ(fake.nr_doubles, 0);
	fake_main_release(&fake);
}

/* What may come between the two: an interrupt's sample of another event, a record of another kind. */
static void twins_need_not_be_side_by_side(void)
{
	start();
	sample(0, MADES, MADE, 1000);
	sample(0, MADES_SECOND, MADE, 1500);
	fake_write_task(&fake, 0, PERF_RECORD_FORK, &(struct fake_sample){MAKERS, PID, CHILD, 1600},
			MAKER);
	sample(0, MADES, MADE, 1000);
	finish(2, 1);
	CHECK_EQ(fake.doubles[0], MADE);
	fake_main_release(&fake);
}

static void only_equal_id_task_and_time_make_twins(void)
{
	start();
	sample(0, MAKERS, MAKER, 1000);
	sample(0, MAKERS, CHILD, 1000);	       /* another task */
	sample(0, MAKERS, CHILD, 1001);	       /* another time */
	sample(0, MAKERS_SECOND, CHILD, 1001); /* another event */
	sample(1, MAKERS, CHILD, 1001);	       /* another CPU: a task is on one at a time */
	finish(5, 0);
	CHECK_EQ(fake.nr_doubles, 0);
	fake_main_release(&fake);
}

/* Clocks tick on their own: each event's sample has its own id. */
static void own_samples_of_a_thread_attached_twice_are_dropped(void)
{
	start();
	sample(0, MADES, MADE, 500); /* nothing says yet that there is another */
	for (uint64_t i = 1; i <= 100; i++) {
		sample(0, MAKERS, MADE, i * 1000);
		sample(0, MADES, MADE, i * 1000 + 400);
	}
	finish(101, 100);
	CHECK_EQ(fake.nr_doubles, 1);
	CHECK_EQ(fake.doubles[0], MADE);
	fake_main_release(&fake);
}

/* Twins of one event say nothing about the ids of another. */
static void clock_beside_twins_goes_by_its_ids(void)
{
	start();
	sample(0, MADES, MADE, 1000);
	sample(0, MADES, MADE, 1000);
	sample(0, MADES_SECOND, MADE, 1500);
	sample(0, MAKERS_SECOND, MADE, 1600);
	finish(2, 2);
	fake_main_release(&fake);
}

/* MADE sleeps; what it made before anybody knew that it was attached twice inherited both. */
static void made_by_a_thread_attached_twice(void)
{
	start();
	sample(0, MAKERS, CHILD, 1000);
	sample(0, MADES, CHILD, 1100);
	for (uint64_t i = 2; i <= 100; i++) {
		sample(i % 2, MAKERS, CHILD, i * 1000);
		sample(i % 2, MADES, CHILD, i * 1000 + 100);
	}
	finish(101, 99);
	CHECK_EQ(fake.nr_doubles, 1);
	CHECK_EQ(fake.doubles[0], MADE); /* the one attached later: it has inherited */
	fake_main_release(&fake);
}

/* Two lives under one tid, of different makers: neither was attached twice. */
static void reused_tid_is_not_attached_twice(void)
{
	start();
	for (uint64_t i = 0; i < 40; i++) {
		const struct fake_sample task = {MAKERS, PID, CHILD, i * 1000};
		int32_t maker = i % 2 ? MADE : MAKER;
		fake_write_task(&fake, 0, PERF_RECORD_FORK, &task, maker);
		sample(0, i % 2 ? MADES : MAKERS, CHILD, i * 1000 + 100);
		sample(0, i % 2 ? MADES : MAKERS, CHILD, i * 1000 + 200);
	}
	finish(80, 0);
	CHECK_EQ(fake.nr_doubles, 0);
	fake_main_release(&fake);
}

int main(void)
{
	RUN(twins_of_its_own_event_are_one);
	RUN(twins_of_an_inherited_event_are_one);
	RUN(twins_end_when_one_is_closed);
	RUN(twins_of_a_thread_that_was_not_attached_are_one);
	RUN(twins_need_not_be_side_by_side);
	RUN(only_equal_id_task_and_time_make_twins);
	RUN(own_samples_of_a_thread_attached_twice_are_dropped);
	RUN(clock_beside_twins_goes_by_its_ids);
	RUN(made_by_a_thread_attached_twice);
	RUN(reused_tid_is_not_attached_twice);
	return test_done();
}
