/* SPDX-License-Identifier: MIT */
/* Records of everybody: who is left out, whom those create, and who had their numbers before. */
#include "accounts.h"

static void fork_by(struct time_account *account, int32_t parent, int32_t tid, uint64_t ms)
{
	const struct record record = {.type = PERF_RECORD_FORK,
				      .pid = tid,
				      .tid = tid,
				      .time_ns = ms * MS,
				      .fork = {.parent_pid = parent, .parent_tid = parent}};
	CHECK_EQ(time_account_take(account, &record, 0), 0);
}

static struct time_account *begin_with_all(void)
{
	struct time_account *account = begin();
	CHECK_EQ(time_account_leave_out(account, 0), 0);
	CHECK_EQ(time_account_leave_out(account, 2), 0);
	CHECK_EQ(time_account_leave_out(account, 2), 0);
	time_account_switch(account, true, 100 * MS);
	return account;
}

static void who_is_left_out_creates_others_that_are(void)
{
	struct time_account *account = begin_with_all();
	switch_to(account, 0, 101, false, false);
	switch_to(account, 2, 102, true, false);
	fork_by(account, 2, 300, 103);
	fork_by(account, 300, 301, 104);
	switch_to(account, 301, 105, false, false);
	CHECK_EQ(time_account_nr_live(account), 0);
	CHECK_EQ(time_account_nr_threads(account), 0);
	time_account_free(account);
}

static void a_number_that_is_used_again(void)
{
	struct time_account *account = begin_with_all();
	fork_by(account, 2, 300, 103);
	CHECK_EQ(take(account, PERF_RECORD_EXIT, 300, 104), 0);
	fork_by(account, TID, 300, 105);
	CHECK_EQ(time_account_nr_live(account), 1);
	/* Its end was not read. */
	fork_by(account, 2, 301, 106);
	fork_by(account, TID, 301, 107);
	CHECK_EQ(time_account_nr_live(account), 2);
	time_account_free(account);
}

static void who_has_ended_goes_off_the_cpu_once_more(void)
{
	struct time_account *account = begin_with_all();
	fork_by(account, TID, 300, 105);
	switch_to(account, 300, 106, false, false);
	CHECK_EQ(take(account, PERF_RECORD_EXIT, 300, 108), 0);
	switch_to(account, 300, 109, true, true);
	switch_to(account, 300, 110, false, false);
	switch_to(account, 300, 111, true, false);
	CHECK_EQ(time_account_nr_live(account), 0);
	CHECK_EQ(time_account_nr_threads(account), 1);
	const struct thread_times sum = time_account_sum(account, 500 * MS);
	CHECK_EQ(sum.ns[TIME_RUNNING], 2 * MS);
	CHECK_EQ(sum.observed_ns, 3 * MS);
	time_account_free(account);
}

int main(void)
{
	RUN(who_is_left_out_creates_others_that_are);
	RUN(a_number_that_is_used_again);
	RUN(who_has_ended_goes_off_the_cpu_once_more);
	return test_done();
}
