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
	time_account_take_all(account);
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

/* Whoever ran as it was written, an idle CPU or one that is left out: of all nothing is known behind it. */
static void lost_records_are_of_all(void)
{
	for (int32_t tid = 0; tid <= 2; tid += 2) {
		struct time_account *account = begin_with_all();
		fork_by(account, TID, 300, 105);
		switch_to(account, 300, 106, false, false);
		const struct record record = {.type = PERF_RECORD_LOST,
					      .tid = tid,
					      .time_ns = 120 * (uint64_t)MS,
					      .lost = 5};
		CHECK_EQ(time_account_take(account, &record, 110 * (uint64_t)MS), 0);
		switch_to(account, 300, 130, true, false);
		const struct thread_times sum = time_account_sum(account, 130 * (uint64_t)MS);
		CHECK_EQ(sum.ns[TIME_RUNNING], 4 * MS);
		CHECK_EQ(sum.ns[TIME_UNKNOWN], 20 * MS);
		time_account_free(account);
	}
}

/* Those that are outside of our pid namespace have the number 0; whom they send in is one of ours. */
static void who_comes_from_outside(void)
{
	struct time_account *account = begin_with_all();
	fork_by(account, 0, 0, 103);
	CHECK_EQ(take(account, PERF_RECORD_EXIT, 0, 104), 0);
	fork_by(account, 0, 0, 105);
	switch_to(account, 0, 106, false, false);
	CHECK_EQ(time_account_nr_live(account), 0);
	fork_by(account, 0, 300, 107);
	fork_by(account, 300, 301, 108);
	CHECK_EQ(time_account_nr_live(account), 2);
	time_account_free(account);
}

int main(void)
{
	RUN(lost_records_are_of_all);
	RUN(who_comes_from_outside);
	RUN(who_is_left_out_creates_others_that_are);
	RUN(a_number_that_is_used_again);
	RUN(who_has_ended_goes_off_the_cpu_once_more);
	return test_done();
}
