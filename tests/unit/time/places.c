/* SPDX-License-Identifier: MIT */
/* Which stacks an account's waiting is given to, and when, from made-up records and looks. */
#include "accounts.h"

static size_t shares_of(struct time_account *account, struct wait_share *shares)
{
	return time_account_take_shares(account, shares, 4);
}

/* Whoever keeps the stacks has lost them: nothing is given to one before it has been told again. */
static void a_stack_that_is_lost(void)
{
	const struct sched_stat same = {.is_known = true, .nr_runs = 2};
	struct time_account *account = begin();
	struct wait_share shares[4];
	time_account_place_waits(account);
	time_account_switch(account, true, 0);
	look_at_wait(account, WAIT_POLL, 0, 2);
	CHECK_EQ(time_account_wait_news(account, TID, &same, 0), WAIT_IS_NEW);
	time_account_placed(account, TID, &same, WAIT_IS_NEW, 0);
	CHECK_EQ(time_account_wait_news(account, TID, &same, 500 * MS), WAIT_IS_KNOWN);
	CHECK_EQ(shares_of(account, shares), 1);
	CHECK_EQ(shares[0].ns, 500 * MS);
	CHECK_EQ(shares[0].place, WAIT_AT_LAST);
	time_account_forget_places(account);
	CHECK_EQ(time_account_wait_news(account, TID, &same, 800 * MS), WAIT_IS_LOST);
	CHECK_EQ(shares_of(account, shares), 0);
	time_account_placed(account, TID, &same, WAIT_IS_LOST, 800 * MS);
	CHECK_EQ(time_account_wait_news(account, TID, &same, 900 * MS), WAIT_IS_KNOWN);
	CHECK_EQ(shares_of(account, shares), 1);
	CHECK_EQ(shares[0].ns, 400 * MS);
	CHECK_EQ(shares[0].place, WAIT_AT_LAST);
	time_account_free(account);
}

/* Without the scheduler's counts it may be another wait each time. */
static void a_kernel_that_does_not_count(void)
{
	const struct sched_stat unknown = {0};
	struct time_account *account = begin();
	time_account_place_waits(account);
	time_account_switch(account, true, 0);
	look_at_wait(account, WAIT_POLL, 0, 0);
	CHECK_EQ(time_account_wait_news(account, TID, &unknown, 0), WAIT_IS_NEW);
	time_account_placed(account, TID, &unknown, WAIT_IS_NEW, 0);
	CHECK(!time_account_has_place(account, TID, &unknown));
	CHECK_EQ(time_account_wait_news(account, TID, &unknown, 500 * MS), WAIT_IS_NEW);
	time_account_free(account);
}

/* What a thread waited before it called exec, which gave it its process's number, has the number from before. */
static void waits_before_an_exec(void)
{
	const struct sched_stat same = {.is_known = true, .nr_runs = 2};
	struct time_account *account = begin();
	struct wait_share shares[4];
	time_account_place_waits(account);
	look(account, TID, 'S', 0, 0, 0);
	time_account_switch(account, true, 0);
	look_at_wait(account, WAIT_POLL, 0, 2);
	CHECK_EQ(time_account_wait_news(account, TID, &same, 0), WAIT_IS_NEW);
	time_account_placed(account, TID, &same, WAIT_IS_NEW, 0);
	switch_to(account, TID, 50, false, false);
	struct record exec = {.type = PERF_RECORD_COMM, .pid = PID, .tid = PID, .time_ns = 60 * MS};
	exec.comm.name = "after";
	exec.comm.exec = true;
	CHECK_EQ(time_account_take(account, &exec, 0), 0);
	CHECK_EQ(shares_of(account, shares), 1);
	CHECK_EQ(shares[0].tid, TID);
	CHECK_EQ(shares[0].ns, 50 * MS);
	CHECK_EQ(shares[0].place, WAIT_AT_LAST);
	CHECK(!time_account_has_place(account, PID, &same));
	time_account_free(account);
}

/* All of a sampled wait goes to its stack, what was before it to those before. */
static void a_wait_that_is_sampled(void)
{
	struct time_account *account = begin();
	struct wait_share shares[4];
	enum wait_place place;
	time_account_place_waits(account);
	look(account, TID, 'S', 0, 0, 0);
	CHECK(!time_account_may_sample(account, TID, &place)); /* it waits, and is not on */
	time_account_switch(account, true, 0);
	switch_to(account, TID, 10, false, false);
	CHECK(!time_account_may_sample(account, OTHER, &place));
	CHECK(time_account_may_sample(account, TID, &place));
	CHECK_EQ(place, WAIT_AT_LAST);
	time_account_sampled(account, TID, 2);
	switch_to(account, TID, 20, true, false);
	CHECK(!time_account_may_sample(account, TID, &place)); /* it waits already */
	switch_to(account, TID, 50, false, false);
	CHECK(time_account_may_sample(account, TID, &place));
	CHECK_EQ(shares_of(account, shares), 1);
	CHECK_EQ(shares[0].ns, 30 * MS);
	CHECK_EQ(shares[0].place, WAIT_AT_LAST);
	CHECK_EQ(shares[0].until_ns, 50 * MS);
	/* Then it is preempted, and waits later, which nobody saw: a look that is not settled yet does not change that. */
	time_account_sampled(account, TID, 2);
	switch_to(account, TID, 60, true, true);
	switch_to(account, TID, 70, false, false);
	switch_to(account, TID, 80, true, false);
	switch_to(account, TID, 95, false, false);
	const struct sched_stat now = {.is_known = true, .nr_runs = 5};
	look_at_wait(account, WAIT_LOCK, 300, 5);
	CHECK_EQ(time_account_wait_news(account, TID, &now, 95 * MS), WAIT_IS_NEW);
	time_account_placed(account, TID, &now, WAIT_IS_NEW, 300 * MS);
	CHECK_EQ(shares_of(account, shares), 0);
	CHECK(time_account_may_sample(account, TID, &place));
	CHECK_EQ(place, WAIT_AT_BEFORE);
	time_account_sampled(account, TID, 2);
	switch_to(account, TID, 100, true, false);
	switch_to(account, TID, 115, false, false);
	CHECK(time_account_may_sample(account, TID, &place));
	CHECK_EQ(shares_of(account, shares), 1);
	CHECK_EQ(shares[0].place, WAIT_AT_BEFORE);
	/* One of two: of what nobody saw, which took as long, it takes as much as itself. */
	CHECK_EQ(shares[0].ns, 2 * 15 * MS);
	time_account_free(account);
}

int main(void)
{
	RUN(a_stack_that_is_lost);
	RUN(a_kernel_that_does_not_count);
	RUN(waits_before_an_exec);
	RUN(a_wait_that_is_sampled);
	return test_done();
}
