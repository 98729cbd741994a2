/* SPDX-License-Identifier: MIT */
/*
 * "A tid that shows up under two ids was attached twice: close one", and nothing counts twice until
 * it is closed. What is proved of it, on records as the kernel writes them:
 *
 *   twins                   two samples of a task in a row with one id and one time are one (kernel 6.18
 *                           writes the first event's id and time into both records of a page fault)
 *   ids                     clocks and counters: a thread sampled by somebody else's event and by its own
 *   inherited from both     a thread whose maker was attached twice shows it, though its maker sleeps
 *   one event on one CPU    a thread made while its maker was being attached inherited some, not all
 *   and nothing else        neighbours that differ in any of the three, other events, reused tids
 */
#include "fake_main.h"

enum { PID = 100, MAKER = 100, MADE = 101, CHILD = 102 };
/* Ids of the first event, then of the second, on CPU 0; those of CPU 1 are as much higher. */
enum { MAKERS = 1, MADES, MAKERS_SECOND, MADES_SECOND, CPU_1 };

static struct fake_main fake;

/* MAKER was attached first; then MADE, which it had made meanwhile. */
static void start(void)
{
	fake_main_init(&fake);
	for (uint32_t of = 0; of < 2; of++)
		for (int32_t cpu = 0; cpu < FAKE_RINGS; cpu++)
			for (uint32_t event = 0; event < 2; event++) {
				uint64_t id = of + (event ? MAKERS_SECOND : MAKERS);
				fake_add_id(&fake, id + (cpu ? CPU_1 : 0), event, of ? MADE : MAKER,
					    cpu);
			}
	fake_main_start(&fake);
}

static void sample(size_t ring, uint64_t id, int32_t tid, uint64_t time_ns)
{
	id += ring ? CPU_1 : 0;
	fake_write_sample(&fake, ring, &(struct fake_sample){id, PID, tid, time_ns});
}

/* The ids that main was told to close. */
static void check_closed(size_t nr, const uint64_t *ids)
{
	CHECK_EQ(fake.nr_doubles, nr);
	for (size_t i = 0; i < nr; i++)
		CHECK_EQ(fake.doubles[i], ids[i]);
}

/* All is written: the collector reads it. What is not a sample was counted as one of two. */
static void finish(size_t nr_samples, uint64_t nr_duplicates)
{
	fake_main_go(&fake);
	fake_main_finish(&fake);
	CHECK_EQ(fake.nr_samples, nr_samples);
	CHECK_EQ(fake.status->duplicates, nr_duplicates);
}

static void twins_of_its_own_event_are_one(void)
{
	start();
	for (uint64_t i = 0; i < 100; i++) {
		sample(i % 2, MADES, MADE, i * 1000);
		sample(i % 2, MADES, MADE, i * 1000);
	}
	finish(100, 100);
	check_closed(2, (const uint64_t[]){MADES, MADES + CPU_1});
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
	check_closed(1, (const uint64_t[]){MADES});
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
	check_closed(1, (const uint64_t[]){MADES});
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
	check_closed(0, NULL);
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
	check_closed(1, (const uint64_t[]){MADES});
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
	check_closed(0, NULL);
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
	check_closed(1, (const uint64_t[]){MADES});
	fake_main_release(&fake);
}

/* Twins of one event say nothing about the ids of another. */
static void clock_beside_twins_goes_by_its_ids(void)
{
	start();
	sample(0, MADES, MADE, 1000);
	sample(0, MADES, MADE, 1000);
	sample(0, MAKERS_SECOND, MADE, 1500);
	sample(0, MADES_SECOND, MADE, 1600);
	finish(2, 2);
	check_closed(2, (const uint64_t[]){MADES, MADES_SECOND});
	fake_main_release(&fake);
}

/* MADE sleeps; what it made before anybody knew that it was attached twice inherited both. */
static void made_by_a_thread_attached_twice(void)
{
	start();
	sample(0, MAKERS, CHILD, 1000);
	sample(0, MADES, CHILD, 1100);
	for (uint64_t i = 2; i <= 100; i++) {
		sample(0, MAKERS, CHILD, i * 1000);
		sample(0, MADES, CHILD, i * 1000 + 100);
	}
	finish(101, 99);
	check_closed(1, (const uint64_t[]){MADES});
	fake_main_release(&fake);
}

/* Made while its maker was being attached: it inherited what there was by then, one CPU's events. */
static void made_in_the_middle_of_attaching(void)
{
	start();
	for (uint64_t i = 0; i < 100; i++) {
		sample(0, MAKERS, MADE, i * 1000);
		sample(0, MADES, MADE, i * 1000 + 100);
		sample(1, MADES, MADE, i * 1000 + 500);
	}
	finish(200, 100);
	check_closed(1, (const uint64_t[]){MADES});
	fake_main_release(&fake);
}

/* The same with events that hit at one moment. */
static void twins_on_one_cpu_only(void)
{
	start();
	for (uint64_t i = 0; i < 100; i++) {
		sample(0, MADES, MADE, i * 1000);
		sample(0, MADES, MADE, i * 1000);
		sample(1, MADES, MADE, i * 1000 + 500);
	}
	finish(200, 100);
	check_closed(1, (const uint64_t[]){MADES});
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
	check_closed(0, NULL);
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
	RUN(made_in_the_middle_of_attaching);
	RUN(twins_on_one_cpu_only);
	RUN(reused_tid_is_not_attached_twice);
	return test_done();
}
