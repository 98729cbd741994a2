/* SPDX-License-Identifier: MIT */
/*
 * Events in two sets, one of which is enabled. What the collector makes of both, and when it asks for the other:
 *
 *   a moment in both        what the old set samples behind the new one's first sample is a double, event by event
 *   no attached thread      is told to be attached twice for that
 *   rings that fill         ask for the cheaper set, and no other ones do
 */
#include "fake_main.h"

enum { PID = 100, NR_EVENTS = 2 };
/* Ids on CPU 0 of the first event and the second, in both sets; those of CPU 1 are as much higher. */
enum { OLD = 1, OLD_SECOND, NEW, NEW_SECOND, CPU_1 };
enum { SAMPLE_BYTES = 64 };

static struct fake_main fake;

static void start(int32_t tid)
{
	fake_main_init(&fake);
	fake.config.nr_sets = 2;
	for (uint32_t set = 0; set < 2; set++)
		fake.config.sets[set] = (struct sampler_set){
			.dump_bytes = 0, .fewer = 1 + 3 * set, .crowded_percent = 50};
	for (int32_t cpu = 0; cpu < FAKE_RINGS; cpu++)
		for (uint32_t set = 0; set < 2; set++)
			for (uint32_t event = 0; event < NR_EVENTS; event++) {
				const uint32_t at = fake.ids.nr;
				fake_add_id(&fake, 1 + at, event, tid, cpu);
				fake.ids.ids[at].set = set;
			}
	fake_main_start(&fake);
}

static void sample(size_t ring, uint64_t id, int32_t tid, uint64_t time_ns)
{
	id += ring ? CPU_1 - 1 : 0;
	fake_write_sample(&fake, ring, &(struct fake_sample){id, PID, tid, time_ns});
}

static void use(uint32_t set, uint64_t since_ns, uint64_t until_ns)
{
	const struct message message = {
		.kind = MESSAGE_SET,
		.set = {set, fake.base_ns + since_ns, fake.base_ns + until_ns},
	};
	fake_tell(&fake, &message, -1);
}

static void finish(size_t nr_samples, uint64_t nr_doubles)
{
	fake_main_go(&fake);
	fake_main_finish(&fake);
	CHECK_EQ(fake.nr_samples, nr_samples);
	CHECK_EQ(fake.status->twice, nr_doubles);
	CHECK_EQ(fake.nr_doubles, 0);
	fake_main_release(&fake);
}

static void what_the_old_set_repeats_is_dropped(int32_t tid)
{
	start(tid);
	use(1, 5000, 9000);
	sample(0, OLD, PID, 1000);
	sample(0, OLD, PID, 6000); /* before it is on */
	sample(0, NEW, PID, 6100);
	sample(0, OLD, PID, 6200);
	sample(0, NEW, PID, 7000);
	sample(0, OLD, PID, 7100);
	/* The other event, and the other CPU, are switched by themselves. */
	sample(0, OLD_SECOND, PID, 7200);
	sample(1, OLD, PID, 7300);
	sample(1, NEW, PID, 7400);
	sample(1, OLD, PID, 20000); /* of one forked meanwhile */
	finish(7, 3);
}

static void a_moment_in_both_sets(void)
{
	what_the_old_set_repeats_is_dropped(PID);
}

static void a_moment_in_both_sets_of_whole_cpus(void)
{
	what_the_old_set_repeats_is_dropped(-1);
}

static void and_back_again(void)
{
	start(PID);
	use(1, 1000, 2000);
	use(0, 5000, 6000);
	sample(0, NEW, PID, 4000);
	sample(0, OLD, PID, 5100);
	sample(0, NEW, PID, 5200);
	sample(0, OLD, PID, 5300);
	finish(3, 1);
}

/* Kernel 6.18 writes the first event's id and time into the records of all that hit at one moment. */
static void twins_of_a_switch_are_no_thread_attached_twice(void)
{
	start(PID);
	use(1, 5000, 9000);
	for (uint64_t time_ns = 6000; time_ns < 6010; time_ns++) {
		sample(0, NEW, PID, time_ns);
		sample(0, NEW, PID, time_ns);
	}
	finish(10, 10);
}

static void an_id_of_a_set_that_nobody_announced_is_counted(void)
{
	start(PID);
	for (uint64_t i = 0; i < 10; i++)
		sample(0, NEW, PID, i * 1000);
	finish(10, 0);
}

static uint32_t wanted_with(size_t filled_percent)
{
	start(PID);
	const size_t nr = fake_ring_bytes() * filled_percent / 100 / SAMPLE_BYTES;
	for (size_t i = 0; i < nr; i++)
		sample(0, OLD, PID, i * 1000);
	fake_main_go(&fake);
	fake_wait_samples(&fake, nr);
	const uint32_t wanted = atomic_load(&fake.status->wanted_set);
	fake_main_finish(&fake);
	fake_main_release(&fake);
	return wanted;
}

static void rings_that_fill_want_a_cheaper_set(void)
{
	CHECK_EQ(wanted_with(40), 0);
	CHECK_EQ(wanted_with(60), 1);
	CHECK_EQ(wanted_with(95), 1);
}

int main(void)
{
	RUN(a_moment_in_both_sets);
	RUN(a_moment_in_both_sets_of_whole_cpus);
	RUN(and_back_again);
	RUN(twins_of_a_switch_are_no_thread_attached_twice);
	RUN(an_id_of_a_set_that_nobody_announced_is_counted);
	RUN(rings_that_fill_want_a_cheaper_set);
	return test_done();
}
