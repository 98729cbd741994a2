/* SPDX-License-Identifier: MIT */
/* Records of getting a CPU that come later than the scheduler has it: how much later is found out, and taken back. */
#include "accounts.h"

enum { US = 1000, CYCLE_US = 200 };

/*
 * A thread that is woken at the beginning of each cycle, has a CPU from 10 us later on, of which the record comes late_us after that, and gives it away at 100 us.
 * Wakings are told or not. Each 50 cycles it is looked at as it waits.
 */
struct cycles {
	struct time_account *account;
	uint64_t late_us;
	bool tells_wakings;
	uint64_t nr, run_us;
};

static void record(struct cycles *cycles, uint32_t type, uint64_t us, bool out)
{
	struct record record = {.type = type, .pid = PID, .tid = TID, .time_ns = us * US};
	struct wait_ended ended;
	if (type == PERF_RECORD_SWITCH)
		record.switched.out = out;
	else
		record.waking.tid = TID;
	if (type == PERF_RECORD_SWITCH)
		CHECK_EQ(time_account_take(cycles->account, &record, 0), 0);
	else
		CHECK(time_account_wake(cycles->account, &record, &ended));
}

static void look_at(struct cycles *cycles, uint64_t us)
{
	const struct thread_look seen = {
		.pid = PID,
		.tid = TID,
		.name = "looked",
		.state = 'S',
		.sched = {.is_known = true, .run_ns = cycles->run_us * US, .nr_runs = cycles->nr},
	};
	CHECK_EQ(time_account_look(cycles->account, &seen, us * US), 0);
}

static void go_on(struct cycles *cycles, uint64_t nr)
{
	for (uint64_t end = cycles->nr + nr; cycles->nr < end;) {
		const uint64_t us = (cycles->nr + 1) * CYCLE_US;
		if (cycles->tells_wakings)
			record(cycles, RECORD_WAKING, us, false);
		record(cycles, PERF_RECORD_SWITCH, us + 10 + cycles->late_us, false);
		record(cycles, PERF_RECORD_SWITCH, us + 100, true);
		cycles->nr++;
		cycles->run_us += 90;
		if (cycles->nr % 50 == 0)
			look_at(cycles, us + 150);
	}
}

static struct cycles begin_cycles(uint64_t late_us, bool tells_wakings)
{
	struct cycles cycles = {begin(), late_us, tells_wakings, 0, 0};
	time_account_switch(cycles.account, true, CYCLE_US * US / 2);
	look_at(&cycles, CYCLE_US / 2);
	return cycles;
}

/* Of so many cycles more. */
static struct thread_times times_of(struct cycles *cycles, uint64_t nr)
{
	struct thread_times before, after;
	before = time_account_sum(cycles->account, (cycles->nr * CYCLE_US + 150) * US);
	go_on(cycles, nr);
	after = time_account_sum(cycles->account, (cycles->nr * CYCLE_US + 150) * US);
	CHECK_EQ(after.observed_ns - before.observed_ns, nr * CYCLE_US * US);
	for (int kind = 0; kind < NR_TIME_KINDS; kind++)
		after.ns[kind] -= before.ns[kind];
	return after;
}

static void it_becomes_computing(void)
{
	for (int tells = 0; tells < 2; tells++) {
		struct cycles cycles = begin_cycles(15, tells);
		go_on(&cycles, 600);
		CHECK_EQ(time_account_switch_cost_ns(cycles.account), 15 * US);
		const struct thread_times times = times_of(&cycles, 1000);
		CHECK_EQ(times.ns[TIME_RUNNING], 1000 * 90 * US);
		CHECK_EQ(times.ns[TIME_RUNNABLE], tells ? 1000 * 10 * US : 0);
		CHECK_EQ(times.ns[TIME_WAITING], 1000 * (tells ? 100 : 110) * US);
		time_account_free(cycles.account);
	}
}

static void it_may_change(void)
{
	struct cycles cycles = begin_cycles(40, true);
	go_on(&cycles, 600);
	cycles.late_us = 5;
	go_on(&cycles, 600);
	CHECK_EQ(time_account_switch_cost_ns(cycles.account), 5 * US);
	time_account_free(cycles.account);
}

/* Nothing is taken back that was not there: it waited for a CPU no longer than that. */
static void it_is_no_more_than_there_was(void)
{
	struct cycles cycles = begin_cycles(60, true);
	go_on(&cycles, 600);
	cycles.late_us = 0;
	record(&cycles, RECORD_WAKING, 700 * CYCLE_US, false);
	record(&cycles, PERF_RECORD_SWITCH, 700 * CYCLE_US + 10, false);
	const struct thread_times times =
		time_account_sum(cycles.account, (700 * CYCLE_US + 10) * US);
	CHECK(times.ns[TIME_RUNNING] <= 600 * 90 * US + 10 * US);
	CHECK_EQ(times.observed_ns, (700 * CYCLE_US + 10 - CYCLE_US / 2) * US);
	time_account_free(cycles.account);
}

/* The scheduler's count may be of another clock, or damaged: nothing is, or as much as can be. */
static void what_makes_no_sense_costs_nothing(void)
{
	struct cycles cycles = begin_cycles(0, true);
	for (int i = 0; i < 600; i++) {
		go_on(&cycles, 1);
		cycles.run_us -= 30; /* less than records tell */
	}
	CHECK_EQ(time_account_switch_cost_ns(cycles.account), 0);
	cycles.run_us = 0;
	go_on(&cycles, 600);
	cycles.run_us += UINT64_MAX / US / 2;
	go_on(&cycles, 300);
	CHECK(time_account_switch_cost_ns(cycles.account) <= 200 * US);
	time_account_free(cycles.account);
}

/* Runs without records are no cost of those that have some. */
static void lost_records_are_no_cost(void)
{
	struct cycles cycles = begin_cycles(0, true);
	for (int i = 0; i < 30; i++) {
		go_on(&cycles, 49);
		cycles.nr += 11; /* unseen */
		cycles.run_us += 11 * 90;
		go_on(&cycles, 40);
	}
	CHECK_EQ(time_account_switch_cost_ns(cycles.account), 0);
	time_account_free(cycles.account);
}

/* At each comparison from now on the cost is what it was. */
static void check_stays(struct cycles *cycles, uint64_t us)
{
	for (int i = 0; i < 20; i++) {
		go_on(cycles, 50);
		CHECK_EQ(time_account_switch_cost_ns(cycles->account), us * US);
	}
}

/* One long run whose beginning was lost is no cost of 200 switches. */
static void a_lost_run_is_no_cost(void)
{
	struct cycles cycles = begin_cycles(10, true);
	go_on(&cycles, 600);
	cycles.nr++; /* unseen */
	cycles.run_us += 50000;
	check_stays(&cycles, 10);
	time_account_free(cycles.account);
}

/* What it ran behind a loss is unknown, and not compared. */
static void what_is_unknown_is_no_cost(void)
{
	struct cycles cycles = begin_cycles(10, false);
	go_on(&cycles, 620);
	const uint64_t us = cycles.nr * CYCLE_US + 150;
	const struct record lost = {.type = PERF_RECORD_LOST, .time_ns = us * US, .lost = 1};
	CHECK_EQ(time_account_take(cycles.account, &lost, us * US), 0);
	cycles.run_us += 300;
	check_stays(&cycles, 10);
	time_account_free(cycles.account);
}

int main(void)
{
	RUN(it_becomes_computing);
	RUN(it_may_change);
	RUN(it_is_no_more_than_there_was);
	RUN(what_makes_no_sense_costs_nothing);
	RUN(lost_records_are_no_cost);
	RUN(a_lost_run_is_no_cost);
	RUN(what_is_unknown_is_no_cost);
	return test_done();
}
