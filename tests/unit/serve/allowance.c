/* SPDX-License-Identifier: MIT */
/* 1 % of two CPUs, 20 ms a second: when the next capture may begin. */
#include "main/serve/allowance.h"

#include <ctop/base/clock.h>

#include "test.h"

#define MS NS_PER_MS
#define S  NS_PER_SECOND

static struct allowance one_percent(void)
{
	struct allowance allowance;
	allowance_begin(&allowance, 0.01, 2, 100 * S, 5 * S);
	return allowance;
}

static void the_first_begins_at_once_and_is_paid_back(void)
{
	struct allowance allowance = one_percent();
	CHECK_EQ(allowance_wait_ns(&allowance), 0);
	/* 10 s, of which 200 ms were allowed. */
	allowance_look(&allowance, 110 * S, 5 * S + 500 * MS, true);
	CHECK_EQ(allowance_wait_ns(&allowance) / MS, 15000);
	CHECK_EQ(1e6 * allowance_spent_share(&allowance), 25000);
	allowance_look(&allowance, 120 * S, 5 * S + 500 * MS, true);
	CHECK_EQ(allowance_wait_ns(&allowance) / MS, 5000);
	/* It is not idle meanwhile. */
	allowance_look(&allowance, 125 * S, 5 * S + 520 * MS, true);
	CHECK_EQ(allowance_wait_ns(&allowance) / MS, 1000);
	allowance_look(&allowance, 126 * S, 5 * S + 520 * MS, true);
	CHECK_EQ(allowance_wait_ns(&allowance), 0);
	CHECK_EQ(1e6 * allowance_spent_share(&allowance), 10000);
}

static void being_there_makes_no_debt(void)
{
	struct allowance allowance = one_percent();
	allowance_look(&allowance, 101 * S, 6 * S, false);
	CHECK_EQ(allowance_wait_ns(&allowance), 0);
	CHECK_EQ(1e6 * allowance_spent_share(&allowance), 500000);
	/* But it pays none back. */
	allowance_look(&allowance, 101 * S, 6 * S + 20 * MS, true);
	allowance_look(&allowance, 102 * S, 6 * S + 60 * MS, false);
	CHECK_EQ(allowance_wait_ns(&allowance) / MS, 2000);
}

static void a_minutes_is_saved_at_most(void)
{
	struct allowance allowance = one_percent();
	allowance_look(&allowance, 100000 * S, 5 * S, true);
	allowance_look(&allowance, 100000 * S, 6 * S + 200 * MS, true);
	CHECK_EQ(allowance_wait_ns(&allowance), 0);
	allowance_look(&allowance, 100000 * S, 6 * S + 220 * MS, true);
	CHECK_EQ(allowance_wait_ns(&allowance) / MS, 1000);
}

static void what_goes_back_is_an_error_of_a_moment(void)
{
	struct allowance allowance = one_percent();
	allowance_look(&allowance, 101 * S, 6 * S, true);
	const uint64_t wait_ns = allowance_wait_ns(&allowance);
	allowance_look(&allowance, 101 * S, 5 * S, true);
	allowance_look(&allowance, 101 * S, 6 * S, true);
	allowance_look(&allowance, 100 * S, 6 * S, true);
	CHECK_EQ(allowance_wait_ns(&allowance), wait_ns);
}

static void without_one_nothing_waits(void)
{
	struct allowance allowance;
	allowance_begin(&allowance, 0, 2, S, 0);
	allowance_look(&allowance, 2 * S, 100 * S, true);
	CHECK_EQ(allowance_wait_ns(&allowance), 0);
	/* As little as there may be, as much as can be spent. */
	allowance_begin(&allowance, 1e-6, 1, S, 0);
	allowance_look(&allowance, 2 * S, UINT64_MAX, true);
	CHECK_EQ(allowance_wait_ns(&allowance), UINT32_MAX * S);
}

int main(void)
{
	RUN(the_first_begins_at_once_and_is_paid_back);
	RUN(being_there_makes_no_debt);
	RUN(a_minutes_is_saved_at_most);
	RUN(what_goes_back_is_an_error_of_a_moment);
	RUN(without_one_nothing_waits);
	return test_done();
}
