/* SPDX-License-Identifier: MIT */
/*
 * The record that a collector died on is passed over by its successor: a sample is counted as lost with its
 * process, a task's or a mapping's record is no sample.
 */
#include "fake_main.h"

enum { TID = 100, ID = 1 };

static struct fake_main fake;

/* A record of each kind in the first ring, and a predecessor that died on the one at skip_position. */
static void start_behind(uint64_t skip_position)
{
	const struct fake_sample task = {ID, TID, TID + 1, 10},
				 samples[] = {{ID, TID, TID, 20}, {ID, TID, TID, 30}};
	fake_main_init(&fake);
	fake.config.skip_cpu = 0;
	fake.config.skip_position = skip_position;
	fake_add_id(&fake, ID, 0, TID, 0);
	fake_main_start(&fake);
	fake_write_task(&fake, 0, PERF_RECORD_FORK, &task, TID);
	for (size_t i = 0; i < 2; i++)
		fake_write_sample(&fake, 0, &samples[i]);
	fake_main_go(&fake);
}

static uint64_t task_bytes(void)
{
	const struct perf_event_header *first =
		(const void *)((const uint8_t *)fake.rings[0] + sysconf(_SC_PAGESIZE));
	return first->size;
}

static void a_task_passed_over_is_no_sample(void)
{
	start_behind(0);
	fake_wait_samples(&fake, 2);
	fake_main_finish(&fake);
	CHECK_EQ(atomic_load(&fake.status->skipped), 0);
	CHECK_EQ(atomic_load(&fake.status->drained), 2);
	fake_main_release(&fake);
}

static void a_sample_passed_over_is_counted(void)
{
	start_behind(0);
	const uint64_t first_sample = task_bytes();
	fake_main_finish(&fake);
	fake_main_release(&fake);

	start_behind(first_sample);
	fake_wait_samples(&fake, 1);
	fake_main_finish(&fake);
	CHECK_EQ(atomic_load(&fake.status->skipped), 1);
	CHECK_EQ(atomic_load(&fake.status->drained), 2);
	fake_main_release(&fake);
}

int main(void)
{
	RUN(a_task_passed_over_is_no_sample);
	RUN(a_sample_passed_over_is_counted);
	return test_done();
}
