/* SPDX-License-Identifier: MIT */
/* Where waits are recorded, a process that has ended is known for a while. */
#include <stdlib.h>

#include <linux/perf_event.h>

#include <ctop/base/clock.h>

#include "../test.h"
#include "jailed/collect/follow.h"
#include "jailed/collect/internal.h"

#define MS NS_PER_MS

static struct collector *collector;

static void begin(uint32_t wait_pages)
{
	collector = calloc(1, sizeof(*collector));
	CHECK(collector != NULL);
	collector->config.wait_pages = wait_pages;
	collector->following.processes = process_table_new();
	collector->unwinding.stitching = stitching_new();
	CHECK(collector->following.processes && collector->unwinding.stitching);
}

static void end(void)
{
	process_table_free(collector->following.processes);
	stitching_free(collector->unwinding.stitching);
	free(collector);
}

static void follow(const struct record *record)
{
	CHECK_EQ(follow_record(collector, record), 0);
}

static void fork_at(uint64_t ms, int32_t pid, int32_t tid)
{
	follow(&(struct record){.type = PERF_RECORD_FORK,
				.pid = pid,
				.tid = tid,
				.time_ns = ms * MS,
				.fork = {.parent_pid = 1, .parent_tid = 1}});
}

static void exit_at(uint64_t ms, int32_t pid, int32_t tid)
{
	follow(&(struct record){
		.type = PERF_RECORD_EXIT, .pid = pid, .tid = tid, .time_ns = ms * MS});
}

static void exec_at(uint64_t ms, int32_t pid)
{
	follow(&(struct record){.type = PERF_RECORD_COMM,
				.pid = pid,
				.tid = pid,
				.time_ns = ms * MS,
				.comm = {.name = "other", .exec = true}});
}

static bool is_known(int32_t pid)
{
	return process_table_find(collector->following.processes, pid) != NULL;
}

static void it_is_known_for_a_while(void)
{
	begin(1);
	fork_at(0, 10, 10);
	exit_at(5, 10, 10);
	CHECK(is_known(10));
	fork_at(204, 20, 20);
	CHECK(is_known(10));
	fork_at(205, 30, 30);
	CHECK(!is_known(10));
	end();
}

static void without_waits_it_goes_at_once(void)
{
	begin(0);
	fork_at(0, 10, 10);
	exit_at(5, 10, 10);
	CHECK(!is_known(10));
	end();
}

static void who_gets_its_number_is_another(void)
{
	begin(1);
	fork_at(0, 10, 10);
	exec_at(1, 10);
	exit_at(5, 10, 10);
	fork_at(6, 10, 10);
	CHECK(is_known(10));
	CHECK_STR(process_table_comm_of(collector->following.processes, 10, 10), "");
	fork_at(1000, 20, 20);
	CHECK(is_known(10));
	/* A thread of another process, under its number. */
	exit_at(1005, 10, 10);
	fork_at(1006, 20, 10);
	CHECK(!is_known(10));
	exit_at(1007, 20, 20);
	fork_at(2000, 30, 30);
	CHECK(is_known(20));
	end();
}

/* A thread that executes goes on as the leader, whose exit comes before. */
static void who_executes_goes_on(void)
{
	begin(1);
	fork_at(0, 10, 10);
	fork_at(1, 10, 11);
	exit_at(5, 10, 10);
	exec_at(6, 10);
	fork_at(1000, 20, 20);
	CHECK(is_known(10));
	exit_at(1005, 10, 10);
	fork_at(2000, 30, 30);
	CHECK(!is_known(10));
	end();
}

static void of_very_many_the_oldest_go(void)
{
	begin(1);
	for (int32_t i = 0; i < LATE_EXITS_MOST + 3; i++) {
		fork_at(1, 100 + i, 100 + i);
		exit_at(1, 100 + i, 100 + i);
	}
	CHECK(!is_known(100) && !is_known(102) && is_known(103));
	CHECK(is_known(100 + LATE_EXITS_MOST + 2));
	end();
}

int main(void)
{
	RUN(it_is_known_for_a_while);
	RUN(without_waits_it_goes_at_once);
	RUN(who_gets_its_number_is_another);
	RUN(who_executes_goes_on);
	RUN(of_very_many_the_oldest_go);
	return test_done();
}
