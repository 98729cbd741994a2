/* SPDX-License-Identifier: MIT */
/* Which of a thread's waiting belongs to which stack. */
#include <main/time/wait_shares.h>

#include <ctop/base/clock.h>

#include "test.h"

#define MS NS_PER_MS

static void wait(struct wait_shares *shares, uint64_t from_ms, uint64_t until_ms)
{
	wait_shares_begin(shares, from_ms * MS);
	wait_shares_add(shares, from_ms * MS, until_ms * MS);
	wait_shares_end(shares, until_ms * MS);
	wait_shares_pass(shares, until_ms * MS);
}

static void what_was_looked_at_has_its_own_time(void)
{
	struct wait_shares shares = {0};
	wait_shares_look(&shares, 150 * MS, 1);
	wait(&shares, 100, 300);
	CHECK_EQ(shares.at_last, 200 * MS);
	CHECK_EQ(shares.at_before + shares.estimated, 0);
	CHECK_EQ(wait_shares_close(&shares, 300 * MS), 0);
}

/* Records come later than looks: the tail of a wait is told behind the look at the next one. */
static void the_tail_of_the_wait_before(void)
{
	struct wait_shares shares = {0};
	wait_shares_look(&shares, 120 * MS, 1);
	wait_shares_begin(&shares, 100 * MS);
	wait_shares_add(&shares, 100 * MS, 150 * MS);
	CHECK_EQ(shares.at_last, 50 * MS);
	shares.at_last = 0; /* given */
	wait_shares_look(&shares, 250 * MS, 2);
	wait_shares_add(&shares, 150 * MS, 200 * MS);
	wait_shares_end(&shares, 200 * MS);
	CHECK_EQ(shares.at_before, 50 * MS);
	CHECK_EQ(shares.at_last, 0);
	wait(&shares, 210, 400);
	CHECK_EQ(shares.at_before, 50 * MS);
	CHECK_EQ(shares.at_last, 190 * MS);
	CHECK_EQ(shares.estimated, 0);
}

/* What was told of a wait before it was looked at is that wait's all the same. */
static void looked_at_late(void)
{
	struct wait_shares shares = {0};
	wait_shares_begin(&shares, 100 * MS);
	wait_shares_add(&shares, 100 * MS, 200 * MS);
	wait_shares_look(&shares, 250 * MS, 1);
	wait_shares_add(&shares, 200 * MS, 300 * MS);
	CHECK_EQ(shares.at_last, 200 * MS);
	CHECK_EQ(shares.estimated, 0);
}

/* A look whose wait was over when it is told of: the thread ran by then. */
static void a_look_at_nothing(void)
{
	struct wait_shares shares = {0};
	wait_shares_look(&shares, 150 * MS, 1);
	wait_shares_pass(&shares, 160 * MS);
	wait(&shares, 160, 200);
	CHECK_EQ(shares.at_last + shares.at_before, 0);
	CHECK_EQ(wait_shares_close(&shares, 200 * MS), 40 * MS);
}

static void the_unseen_goes_to_those_that_took_as_long(void)
{
	struct wait_shares shares = {0};
	for (uint64_t at = 0; at < 10; at++)
		wait(&shares, 10 * at, 10 * at + 2);
	wait(&shares, 1000, 1200);
	wait_shares_look(&shares, 2050 * MS, 1);
	wait(&shares, 2000, 2200);
	CHECK_EQ(shares.at_last, 400 * MS);
	CHECK_EQ(shares.estimated, 200 * MS);
	shares.at_last = shares.estimated = 0; /* given */
	wait_shares_look(&shares, 3001 * MS, 2);
	wait(&shares, 3000, 3002);
	CHECK_EQ(shares.at_last, 22 * MS);
	CHECK_EQ(shares.estimated, 20 * MS);
	shares.at_last = 0; /* given */
	/* In the end those alike go to the last one, and no others. */
	wait(&shares, 4000, 4002);
	wait(&shares, 5000, 5200);
	CHECK_EQ(wait_shares_close(&shares, 5200 * MS), 200 * MS);
	CHECK_EQ(shares.at_last, 2 * MS);
}

static void sampled_wait(struct wait_shares *shares, uint64_t period, uint64_t from_ms,
			 uint64_t until_ms)
{
	wait_shares_sample(shares, period);
	wait_shares_pass(shares, from_ms * MS); /* it ran until then */
	wait(shares, from_ms, until_ms);
}

static void what_was_sampled_has_its_own_time(void)
{
	struct wait_shares shares = {0};
	sampled_wait(&shares, 1, 100, 300);
	CHECK_EQ(shares.at_last, 200 * MS);
	CHECK_EQ(shares.at_before + shares.estimated, 0);
	/* The next one was not. */
	wait(&shares, 400, 410);
	CHECK_EQ(shares.at_last, 200 * MS);
	/* Nor is one that turned out to be none. */
	wait_shares_sample(&shares, 1);
	wait_shares_drop_sample(&shares);
	wait(&shares, 500, 510);
	CHECK_EQ(shares.at_last, 200 * MS);
	CHECK_EQ(wait_shares_close(&shares, 510 * MS), 20 * MS);
}

/* Records come later than looks: a wait that was sampled before the last look is told behind it. */
static void sampled_before_a_look_that_is_not_settled(void)
{
	struct wait_shares shares = {0};
	wait_shares_look(&shares, 500 * MS, 1);
	sampled_wait(&shares, 1, 100, 300);
	CHECK_EQ(shares.at_before, 200 * MS);
	wait(&shares, 450, 550);
	CHECK_EQ(shares.at_before, 200 * MS);
	CHECK_EQ(shares.at_last, 100 * MS);
	CHECK_EQ(shares.estimated, 0);
}

/* As many samples of either of two that are alike: who takes longer has more of what nobody saw. */
static void samples_share_out_by_length(void)
{
	enum { ROUNDS = 2000, PERIOD = 9, SHORT = 20, LONG = 60 };
	struct wait_shares shares = {0};
	uint64_t at = 0, given[2] = {0};
	for (unsigned i = 0; i < ROUNDS; i++) {
		const uint64_t ms = i % 2 ? LONG : SHORT;
		if (i % PERIOD == 0)
			sampled_wait(&shares, PERIOD, at, at + ms);
		else
			wait(&shares, at, at + ms);
		given[i % 2] += shares.at_last;
		shares.at_last = 0;
		at += ms;
	}
	const double share = (double)given[1] / (double)(given[0] + given[1]);
	CHECK(share > 0.73 && share < 0.77);
	CHECK(given[0] + given[1] > (uint64_t)ROUNDS / 2 * (SHORT + LONG) * MS / 100 * 98);
	CHECK(shares.estimated < given[0] + given[1]);
}

static void nobody_ever_looked(void)
{
	struct wait_shares shares = {0};
	wait(&shares, 0, 2);
	wait(&shares, 10, 500);
	wait_shares_begin(&shares, 600 * MS);
	wait_shares_add(&shares, 600 * MS, 650 * MS);
	CHECK_EQ(wait_shares_close(&shares, 650 * MS), 542 * MS);
	CHECK_EQ(shares.at_last + shares.at_before + shares.estimated, 0);
}

static void behind_a_loss(void)
{
	struct wait_shares shares = {0};
	wait_shares_look(&shares, 10 * MS, 1);
	wait_shares_break(&shares);
	wait_shares_add(&shares, 5 * MS, 100 * MS);
	CHECK_EQ(shares.at_last, 0);
	wait_shares_give_unseen(&shares);
	CHECK_EQ(shares.at_last, 95 * MS);
	CHECK_EQ(shares.estimated, 95 * MS);
}

int main(void)
{
	RUN(what_was_looked_at_has_its_own_time);
	RUN(the_tail_of_the_wait_before);
	RUN(looked_at_late);
	RUN(a_look_at_nothing);
	RUN(the_unseen_goes_to_those_that_took_as_long);
	RUN(what_was_sampled_has_its_own_time);
	RUN(sampled_before_a_look_that_is_not_settled);
	RUN(samples_share_out_by_length);
	RUN(nobody_ever_looked);
	RUN(behind_a_loss);
	return test_done();
}
