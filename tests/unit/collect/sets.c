/* SPDX-License-Identifier: MIT */
/*
 * Events in two sets, one of which is enabled. What the collector makes of both, and when it asks for the other:
 *
 *   a moment in both        what the old set samples behind the new one's first sample is a double, event by event
 *   a hit in both           the new set's first sample is one if it shows the machine as the old one's before it did, at once
 *   no attached thread      is reported as attached twice for that
 *   rings that fill         ask for the cheaper set, and no other ones do
 *   an event that we pace   asks for its own: a sample of it weighs as much as its set says
 */
#include <stddef.h>

#include <ctop/weight_unit.h>

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

/* Each by the switch before it, however many there were until it is read. */
static void what_is_read_two_switches_later(void)
{
	start(PID);
	use(1, 1000, 2000);
	use(0, 5000, 6000);
	sample(0, OLD, PID, 500);
	for (uint64_t time_ns = 1500; time_ns < 1510; time_ns++)
		sample(0, NEW, PID, time_ns);
	sample(0, OLD, PID, 1600);
	sample(0, OLD, PID, 5500);
	sample(0, NEW, PID, 5600);
	finish(12, 2);
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

/* What a sample has of the machine: the leaf, a register, what lies on the stack. */
struct state {
	uint64_t ip, reg, stack;
};

static void hit(uint64_t id, uint64_t time_ns, struct state state)
{
	const uint64_t stack_bytes = id < NEW ? 2048 : 1024;
	struct {
		struct perf_event_header header;
		uint64_t id, ip;
		int32_t pid, tid;
		uint64_t time_ns;
		uint32_t cpu, reserved;
		uint64_t period;
		uint64_t abi, reg;
		uint64_t stack_bytes, stack[2048 / 8 + 1];
	} record = {
		.header = {PERF_RECORD_SAMPLE, PERF_RECORD_MISC_KERNEL, 0},
		.id = id,
		.ip = 0xffffffff81000000 + state.ip,
		.pid = PID,
		.tid = PID,
		.time_ns = fake.base_ns + time_ns,
		.period = 1,
		.abi = PERF_SAMPLE_REGS_ABI_64,
		.reg = state.reg,
		.stack_bytes = stack_bytes,
	};
	record.stack[50] = state.stack;
	record.stack[stack_bytes / 8 - 1] +=
		id; /* which the other set has not copied, or not reached */
	record.stack[stack_bytes / 8] =
		id < NEW ? stack_bytes : stack_bytes - 8; /* so much of it is there */
	record.header.size = (uint16_t)(offsetof(__typeof__(record), stack) + stack_bytes + 8);
	fake_write(&fake, 0, &record, record.header.size);
}

static void start_with_states(uint32_t unit, uint32_t fewer)
{
	fake_main_init(&fake);
	fake.unit = unit;
	fake.config.format.sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	fake.config.format.regs_user = 1;
	fake.config.sets[false] = (struct sampler_sets){2, {{2048, 1, 50}, {1024, fewer, 50}}};
	for (uint32_t set = 0; set < 2; set++)
		for (uint32_t event = 0; event < NR_EVENTS; event++) {
			const uint32_t at = fake.ids.nr;
			fake_add_id(&fake, 1 + at, event, -1, 0);
			fake.ids.ids[at].set = set;
		}
	fake_main_start(&fake);
	use(1, 5000, 900000);
}

/* Two hits before, then one that both sets see, and the next one in both. */
static void hit_in_both(struct state of_new, uint64_t new_ns)
{
	const struct state state = {1, 2, 3};
	hit(OLD, 10000, state);
	hit(OLD, 20000, state);
	hit(NEW, new_ns, of_new);
	hit(OLD, new_ns + 9000, state);
	hit(NEW, new_ns + 10000, state);
}

static void check_hit_in_both(uint32_t unit, uint32_t fewer, struct state of_new, uint64_t new_ns,
			      bool is_double)
{
	start_with_states(unit, fewer);
	hit_in_both(of_new, new_ns);
	finish(is_double ? 3 : 4, is_double ? 2 : 1);
}

static void a_hit_in_both_sets_is_one(void)
{
	check_hit_in_both(WEIGHT_HITS, 1, (struct state){1, 2, 3}, 21000, true);
	check_hit_in_both(WEIGHT_ACCESSES, 1, (struct state){1, 2, 3}, 21000, true);
}

static void hits_that_differ_are_two(void)
{
	check_hit_in_both(WEIGHT_HITS, 1, (struct state){4, 2, 3}, 21000, false);
	check_hit_in_both(WEIGHT_HITS, 1, (struct state){1, 4, 3}, 21000, false);
	check_hit_in_both(WEIGHT_HITS, 1, (struct state){1, 2, 4}, 21000, false);
}

/* A loop may leave no trace of its rounds: what comes as late as the last one is the next. */
static void a_loops_next_hit_is_another(void)
{
	check_hit_in_both(WEIGHT_HITS, 1, (struct state){1, 2, 3}, 29500, false);
}

static void ticks_of_a_clock_are_no_hits(void)
{
	check_hit_in_both(WEIGHT_NS, 1, (struct state){1, 2, 3}, 21000, false);
}

/* One stands for several hits, the other for one: they are not the same. */
static void samples_of_other_weights_are_no_hits(void)
{
	check_hit_in_both(WEIGHT_HITS, 4, (struct state){1, 2, 3}, 21000, false);
}

static void a_hit_after_the_switch_is_counted(void)
{
	const struct state state = {1, 2, 3};
	start_with_states(WEIGHT_HITS, 1);
	hit(OLD, 1000, state);
	hit(NEW, 950000, state);
	finish(2, 0);
	start_with_states(WEIGHT_HITS, 1);
	hit(OLD, 20000, state);
	hit(NEW, 500000, state);
	finish(2, 0);
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
	RUN(what_is_read_two_switches_later);
	RUN(twins_of_a_switch_are_no_thread_attached_twice);
	RUN(a_hit_in_both_sets_is_one);
	RUN(hits_that_differ_are_two);
	RUN(a_loops_next_hit_is_another);
	RUN(ticks_of_a_clock_are_no_hits);
	RUN(samples_of_other_weights_are_no_hits);
	RUN(a_hit_after_the_switch_is_counted);
	RUN(an_id_of_a_set_that_nobody_announced_is_counted);
	RUN(rings_that_fill_want_a_cheaper_set);
	RUN(a_paced_events_samples_weigh_what_their_set_says);
	RUN(who_fills_the_rings_becomes_cheaper_and_no_other);
	return test_done();
}
