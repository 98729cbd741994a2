/* SPDX-License-Identifier: MIT */
#ifndef TESTS_UNIT_SESSION_ACCOUNTS_H
#define TESTS_UNIT_SESSION_ACCOUNTS_H

/* Made-up records and looks for an account of threads' time; ms instead of ns. */

#include <ctop/time/account.h>

#include "test.h"

enum { PID = 7, TID = 8, OTHER = 9, MS = 1000000 };

static inline int take(struct time_account *account, uint32_t type, int32_t tid, uint64_t ms)
{
	const struct record record = {
		.type = type, .pid = PID, .tid = tid, .time_ns = ms * MS, .fork = {PID, PID}};
	return time_account_take(account, &record, 0);
}

static inline void switch_on(struct time_account *account, int32_t tid, uint32_t cpu, uint64_t ms,
			     bool out, bool preempted)
{
	const struct record record = {.type = PERF_RECORD_SWITCH,
				      .pid = PID,
				      .tid = tid,
				      .cpu = cpu,
				      .time_ns = ms * MS,
				      .switched = {out, preempted}};
	CHECK_EQ(time_account_take(account, &record, 0), 0);
}

static inline void switch_to(struct time_account *account, int32_t tid, uint64_t ms, bool out,
			     bool preempted)
{
	switch_on(account, tid, 0, ms, out, preempted);
}

static inline void lose(struct time_account *account, uint64_t from_ms, uint64_t ms)
{
	const struct record record = {.type = PERF_RECORD_LOST, .time_ns = ms * MS, .lost = 5};
	CHECK_EQ(time_account_take(account, &record, from_ms * MS), 0);
}

static inline void look(struct time_account *account, int32_t tid, char state, uint64_t ms,
			uint64_t run_ms, uint64_t queue_ms)
{
	const struct thread_look seen = {
		.pid = PID,
		.tid = tid,
		.name = "looked",
		.state = state,
		.sched = {.is_known = true, .run_ns = run_ms * MS, .queue_ns = queue_ms * MS},
	};
	CHECK_EQ(time_account_look(account, &seen, ms * MS), 0);
}

static inline void look_at_wait(struct time_account *account, enum wait_kind kind, uint64_t ms,
				uint64_t nr_runs)
{
	const struct thread_look seen = {.pid = PID,
					 .tid = TID,
					 .name = "looked",
					 .state = 'S',
					 .waits_for = kind,
					 .sched = {.is_known = true, .nr_runs = nr_runs}};
	CHECK_EQ(time_account_look(account, &seen, ms * MS), 0);
}

static inline struct time_account *begin(void)
{
	struct time_account *account = time_account_new();
	CHECK(account != NULL);
	return account;
}

#endif
