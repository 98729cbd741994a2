/* SPDX-License-Identifier: MIT */
/*
 * Events in two sets, one of which is enabled. What the collector makes of both, and when it asks for the other:
 *
 *   a moment in both        what the old set samples behind the new one's first sample is a double, event by event
 *   no attached thread      is told to be attached twice for that
 *   rings that fill         ask for the cheaper set, and no other ones do
 *   an event that we pace   asks for its own: a sample of it weighs as much as its set says
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
	struct sampler_sets *sets = &fake.config.sets[false];
	sets->nr = 2;
	for (uint32_t set = 0; set < 2; set++)
		sets->items[set] = (struct sampler_set){
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

static void use(uint8_t set, uint64_t since_ns, uint64_t until_ns)
{
	const struct message message = {
		.kind = MESSAGE_SET,
		.set = {{set, set}, fake.base_ns + since_ns, fake.base_ns + until_ns},
	};
	fake_tell(&fake, &message, -1);
}

static void finish(size_t nr_samples, uint64_t nr_doubles)
{
	fake_main_go(&fake);
	fake_main_finish(&fake);
	CHECK_EQ(fake.nr_samples, nr_samples);
	CHECK_EQ(fake.status->duplicates, nr_doubles);
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
	const uint32_t wanted = atomic_load(&fake.status->wanted_sets[0]);
	CHECK_EQ(atomic_load(&fake.status->wanted_sets[1]), wanted);
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

/* As start(), but the second event is paced. */
static void start_paced(void)
{
	fake_main_init(&fake);
	fake.paced = true;
	fake.config.sets[false] = (struct sampler_sets){2, {{0, 1, 50}, {0, 4, 50}}};
	fake.config.sets[true] = (struct sampler_sets){2, {{0, 1, 25}, {0, 16, 25}}};
	for (uint32_t set = 0; set < 2; set++)
		for (uint32_t event = 0; event < NR_EVENTS; event++) {
			const uint32_t at = fake.ids.nr;
			fake_add_id(&fake, 1 + at, event, PID, 0);
			fake.ids.ids[at].set = set;
		}
	fake_main_start(&fake);
}

static void a_paced_events_samples_weigh_what_their_set_says(void)
{
	start_paced();
	const struct message message = {
		.kind = MESSAGE_SET,
		.set = {{0, 1}, fake.base_ns + 5000, fake.base_ns + 9000},
	};
	fake_tell(&fake, &message, -1);
	sample(0, OLD, PID, 1000);
	sample(0, OLD_SECOND, PID, 2000);
	sample(0, NEW_SECOND, PID, 7000);
	sample(0, OLD_SECOND, PID, 7100); /* in both */
	sample(0, OLD, PID, 8000);	  /* the other one stays where it was */
	sample(0, NEW_SECOND, PID, 9000);
	fake_main_go(&fake);
	fake_main_finish(&fake);
	static const uint64_t weights[] = {1, 1, 16, 1, 16};
	CHECK_EQ(fake.nr_samples, 5);
	for (size_t i = 0; i < 5; i++)
		CHECK_EQ(fake.samples[i].weight, weights[i]);
	CHECK_EQ(fake.status->duplicates, 1);
	fake_main_release(&fake);
}

static void check_wanted(uint64_t id, uint32_t first, uint32_t second)
{
	start_paced();
	const size_t nr = fake_ring_bytes() * 60 / 100 / SAMPLE_BYTES;
	for (size_t i = 0; i < nr; i++)
		sample(0, id, PID, i * 1000);
	fake_main_go(&fake);
	fake_wait_samples(&fake, nr);
	CHECK_EQ(atomic_load(&fake.status->wanted_sets[0]), first);
	CHECK_EQ(atomic_load(&fake.status->wanted_sets[1]), second);
	fake_main_finish(&fake);
	fake_main_release(&fake);
}

static void who_fills_the_rings_becomes_cheaper_and_no_other(void)
{
	check_wanted(OLD, 1, 0);
	check_wanted(OLD_SECOND, 0, 1);
}

int main(void)
{
	RUN(a_moment_in_both_sets);
	RUN(a_moment_in_both_sets_of_whole_cpus);
	RUN(and_back_again);
	RUN(twins_of_a_switch_are_no_thread_attached_twice);
	RUN(an_id_of_a_set_that_nobody_announced_is_counted);
	RUN(rings_that_fill_want_a_cheaper_set);
	RUN(a_paced_events_samples_weigh_what_their_set_says);
	RUN(who_fills_the_rings_becomes_cheaper_and_no_other);
	return test_done();
}
