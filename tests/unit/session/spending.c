/* SPDX-License-Identifier: MIT */
/*
 * What a budget of 1 % of two CPUs, 20 ms a second, makes of what was measured in a second: five sets, of which each costs a quarter of the one before, the second
 * half of the first.
 */
#include "main/session/spending.h"

#include <ctop/base/clock.h>

#include "test.h"

#define MS NS_PER_MS
#define S  NS_PER_SECOND

static const struct set_costs costs = {.nr = 5, .items = {32, 16, 4, 1, 0.25}};

static uint32_t second(struct spending *spending, uint32_t set, uint64_t fixed_ns,
		       uint64_t varying_ns)
{
	const struct spent spent = {.ns = S,
				    .own_ns = fixed_ns + varying_ns / 2,
				    .kernel_ns = varying_ns - varying_ns / 2,
				    .varying_ns = varying_ns};
	return spending_next(spending, &costs, set, &spent);
}

static struct spending one_percent(void)
{
	struct spending spending;
	spending_begin(&spending, 0.01, 2);
	return spending;
}

static void what_is_allowed(void)
{
	const struct spending spending = one_percent();
	CHECK_EQ(spending_allowed_ns(&spending, S), 20 * MS);
	/* Looks have 5 ms a second. */
	CHECK_EQ(spending_pause_ns(&spending, MS, 100 * MS), 200 * MS);
	CHECK_EQ(spending_pause_ns(&spending, MS, 300 * MS), 300 * MS);
	CHECK_EQ(spending_pause_ns(&spending, S, 0), 60 * S);
	CHECK_EQ(spending_pause_ns(&spending, S, 99 * S), 99 * S);
	struct spending none;
	spending_begin(&none, 0, 2);
	CHECK_EQ(spending_pause_ns(&none, S, 7), 7);
	CHECK(!spending_is_over(&none, true));
}

static void what_holds_stays(void)
{
	struct spending spending = one_percent();
	for (int i = 0; i < 100; i++)
		CHECK_EQ(second(&spending, 2, 4 * MS, 12 * MS), 2);
	CHECK_EQ(spending.ns, 100 * S);
	CHECK_EQ(spending.own_ns, 1000 * MS);
	CHECK_EQ(spending.kernel_ns, 600 * MS);
	CHECK(!spending_is_over(&spending, true));
}

static void too_much_becomes_what_fits_at_once(void)
{
	struct spending spending = one_percent();
	/* 300 ms, in the mean a half: of the third set 19 ms, of the fourth 4.7, and a quarter of the budget is 5. */
	CHECK_EQ(second(&spending, 0, 0, 300 * MS), 3);
	/* A debt is paid back; but samples have a quarter of the budget left. */
	CHECK(spending.balance_ns < 0);
	CHECK_EQ(second(&spending, 3, 0, 5 * MS), 3);
}

/* The set that a machine whose samples cost so much a second with the first set is led to. */
static uint32_t led_to(struct spending *spending, uint32_t set, double most_ms, double fixed_ms,
		       int seconds)
{
	for (int i = 0; i < seconds; i++)
		set = second(spending, set, (uint64_t)(fixed_ms * 1e6),
			     (uint64_t)(most_ms * costs.items[set] / costs.items[0] * 1e6));
	return set;
}

static void it_is_led_to_the_dearest_that_fits(void)
{
	static const struct {
		double most_ms;
		uint32_t set;
	} all[] = {{0, 0}, {10, 0}, {30, 1}, {100, 2}, {400, 3}, {1500, 4}, {100000, 4}};
	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		for (uint32_t from = 0; from < costs.nr; from++) {
			struct spending spending = one_percent();
			CHECK_EQ(led_to(&spending, from, all[i].most_ms, 1, 300), all[i].set);
			const double spent = (double)(spending.own_ns + spending.kernel_ns);
			if (from == costs.nr - 1 && all[i].most_ms <= 1500)
				CHECK(spent <= spending_allowed_ns(&spending, spending.ns));
		}
	}
}

static void nothing_becomes_dearer_without_calm(void)
{
	struct spending spending = one_percent();
	CHECK_EQ(second(&spending, 3, MS, MS / 10), 3);
	CHECK_EQ(second(&spending, 3, MS, MS / 10), 3);
	CHECK_EQ(second(&spending, 3, MS, MS / 10), 2);
	CHECK_EQ(second(&spending, 2, MS, MS / 10), 2);
	/* It did not hold: the next time it takes twice as long. */
	CHECK_EQ(second(&spending, 2, MS, 100 * MS), 3);
	CHECK_EQ(spending.calm_ns, 6 * S);
}

static void a_burst_is_paid_back(void)
{
	struct spending spending = one_percent();
	uint32_t set = led_to(&spending, 1, 12, 1, 20);
	CHECK_EQ(set, 0);
	/* Half a second for names: 200 ms of it had been saved. */
	set = second(&spending, set, 500 * MS, 12 * MS);
	CHECK(set > 0 && spending.balance_ns < -250.0 * (double)MS);
	set = led_to(&spending, set, 12, 1, 60);
	CHECK_EQ(set, 0);
	CHECK(spending.balance_ns >= 0 && !spending_is_over(&spending, true));
}

static void what_cannot_be_held_is_known(void)
{
	struct spending spending = one_percent();
	uint32_t set = 0;
	for (int i = 0; i < 200; i++)
		set = second(&spending, set, 30 * MS, set == 4 ? MS / 10 : 10 * MS);
	CHECK_EQ(set, 4);
	CHECK(spending_is_over(&spending, false) && spending_is_over(&spending, true));
	CHECK_EQ(spending_pause_ns(&spending, MS, 0), 800 * MS);
	/* A debt is a minute's at most. */
	CHECK_EQ(spending.balance_ns, -60.0 * 20 * MS);
}

static void a_set_that_is_none_stays(void)
{
	struct spending spending = one_percent();
	const struct spent spent = {.ns = S, .own_ns = S};
	CHECK_EQ(spending_next(&spending, &costs, 7, &spent), 7);
	const struct spent nothing = {0};
	CHECK_EQ(spending_next(&spending, &costs, 1, &nothing), 1);
	const struct set_costs single = {.nr = 1, .items = {5}};
	CHECK_EQ(spending_next(&spending, &single, 0, &spent), 0);
}

int main(void)
{
	RUN(what_is_allowed);
	RUN(what_holds_stays);
	RUN(too_much_becomes_what_fits_at_once);
	RUN(it_is_led_to_the_dearest_that_fits);
	RUN(nothing_becomes_dearer_without_calm);
	RUN(a_burst_is_paid_back);
	RUN(what_cannot_be_held_is_known);
	RUN(a_set_that_is_none_stays);
	return test_done();
}
