/* SPDX-License-Identifier: MIT */
/*
 * A round reads the clock, then all heads, takes what is 5 ms old in the order of time, and leaves the rest:
 * a record that another CPU is still writing may be older than one that is there. One that comes later
 * than that is taken all the same, and counted.
 */
#include "fake_main.h"

enum { PID = 100 };

static struct fake_main fake;

static void start(void)
{
	fake_main_init(&fake);
	for (int32_t cpu = 0; cpu < FAKE_RINGS; cpu++)
		fake_add_id(&fake, 1 + (uint64_t)cpu, 0, PID, cpu);
	fake_main_start(&fake);
}

static void sample(size_t ring, uint64_t time_ns)
{
	fake_write_sample(&fake, ring, &(struct fake_sample){1 + ring, PID, PID, time_ns});
}

static void check_sorted(size_t from)
{
	for (size_t i = from + 1; i < fake.nr_samples; i++)
		CHECK(fake.samples[i - 1].time_ns <= fake.samples[i].time_ns);
}

static void rings_are_merged_by_time(void)
{
	start();
	for (uint64_t i = 0; i < 300; i++)
		sample(i % 3 == 0, i * 1000);
	fake_main_go(&fake);
	fake_main_finish(&fake);
	CHECK_EQ(fake.nr_samples, 300);
	check_sorted(0);
	CHECK_EQ(fake.status->late, 0);
	fake_main_release(&fake);
}

static void what_is_young_is_left(void)
{
	start();
	uint64_t future_ns = NS_PER_SECOND + 3600 * NS_PER_SECOND;
	sample(0, 1000);
	sample(0, future_ns);
	sample(1, 2000);
	fake_main_go(&fake);
	fake_wait_samples(&fake, 2);
	/* Behind a young record nothing is taken, on another CPU it is. */
	sample(1, 3000);
	fake_wait_samples(&fake, 3);
	CHECK_EQ(fake.status->drained, 3);
	fake_main_finish(&fake); /* at the end everything */
	CHECK_EQ(fake.nr_samples, 4);
	CHECK_EQ(fake.samples[3].time_ns, fake.base_ns + future_ns);
	CHECK_EQ(fake.status->late, 0);
	fake_main_release(&fake);
}

static void what_comes_late_is_taken_and_counted(void)
{
	start();
	for (uint64_t i = 10; i < 20; i++)
		sample(0, i * 1000);
	fake_main_go(&fake);
	fake_wait_samples(&fake, 10);
	sample(1, 1000);
	sample(1, 2000);
	sample(1, 30000); /* in order again */
	fake_wait_samples(&fake, 13);
	fake_main_finish(&fake);
	CHECK_EQ(fake.nr_samples, 13);
	check_sorted(10);
	CHECK_EQ(fake.status->late, 2);
	CHECK_EQ(fake.status->drained, 13);
	fake_main_release(&fake);
}

static void every_offset_of_the_rings_end_is_crossed(void)
{
	enum { BATCH = 100, BATCHES = 80 };
	const size_t size = 64; /* of a sample's record, which does not divide what is before it */
	start();
	const struct perf_event_header odd = {.type = 99, .size = 8};
	fake_main_go(&fake);
	for (uint64_t batch = 0; batch < BATCHES; batch++) {
		fake_write(&fake, 0, &odd, sizeof(odd));
		for (uint64_t i = 0; i < BATCH; i++)
			sample(0, (batch * BATCH + i) * 1000);
		fake_wait_samples(&fake, (batch + 1) * BATCH);
	}
	CHECK(BATCHES * BATCH * size > 7 * fake_ring_bytes());
	fake_main_finish(&fake);
	for (size_t i = 0; i < fake.nr_samples; i++)
		CHECK_EQ(fake.samples[i].time_ns, fake.base_ns + i * 1000);
	CHECK_EQ(fake.status->damaged, 0);
	fake_main_release(&fake);
}

int main(void)
{
	RUN(rings_are_merged_by_time);
	RUN(what_is_young_is_left);
	RUN(what_comes_late_is_taken_and_counted);
	RUN(every_offset_of_the_rings_end_is_crossed);
	return test_done();
}
