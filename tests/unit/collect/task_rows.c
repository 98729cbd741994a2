/* SPDX-License-Identifier: MIT */
/* A sample is of its thread as it is called by then, however often that was looked up before. */
#include "fake_main.h"

enum { PID = 100, TID = 101, ID = 1 };

static struct fake_main fake;

static void write_name(const char *name, bool exec, uint64_t time_ns)
{
	struct {
		struct perf_event_header header;
		int32_t pid, tid;
		char name[16];
		int32_t sampled_pid, sampled_tid;
		uint64_t sampled_ns;
		uint32_t cpu, reserved;
		uint64_t id;
	} record = {
		.header = {PERF_RECORD_COMM, exec ? PERF_RECORD_MISC_COMM_EXEC : 0, sizeof(record)},
		.pid = PID,
		.tid = TID,
		.sampled_pid = PID,
		.sampled_tid = TID,
		.sampled_ns = fake.base_ns + time_ns,
		.id = ID,
	};
	snprintf(record.name, sizeof(record.name), "%s", name);
	fake_write(&fake, 0, &record, sizeof(record));
}

static void write_sample(uint64_t time_ns)
{
	const struct fake_sample sample = {ID, PID, TID, time_ns};
	fake_write_sample(&fake, 0, &sample);
}

static const char *name_of(size_t number)
{
	static struct tables_reader reader;
	struct task_row row;
	tables_reader_init(&reader, &fake.tables);
	tables_reader_refresh(&reader);
	CHECK(tables_task(&reader, fake.samples[number].task, &row));
	CHECK_EQ(row.tid, TID);
	return tables_string(&reader, row.comm);
}

static void every_sample_has_the_name_of_its_time(void)
{
	static const char *const names[] = {"first", "first", "second", "second",
					    "third", "first", "first"};
	const struct fake_sample end = {ID, PID, TID, 65}, again = {ID, PID, TID, 67};
	fake_main_init(&fake);
	fake_add_id(&fake, ID, 0, TID, 0);
	fake_main_start(&fake);
	write_name("first", false, 5);
	write_sample(10);
	write_sample(20);
	write_name("second", false, 25);
	write_sample(30);
	write_sample(40);
	write_name("third", true, 45);
	write_sample(50);
	fake_write_task(&fake, 0, PERF_RECORD_EXIT, &end, TID);
	fake_write_task(&fake, 0, PERF_RECORD_FORK, &again, PID);
	write_name("first", false, 68);
	write_sample(70);
	write_sample(80);
	fake_main_go(&fake);
	fake_wait_samples(&fake, sizeof(names) / sizeof(*names));
	fake_main_finish(&fake);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		CHECK_STR(name_of(i), names[i]);
	fake_main_release(&fake);
}

int main(void)
{
	RUN(every_sample_has_the_name_of_its_time);
	return test_done();
}
