/* SPDX-License-Identifier: MIT */
/* The account of threads' time, from made-up records and looks. */
#include <string.h>

#include "accounts.h"

static void check_times(const struct thread_times *times, uint64_t running, uint64_t runnable,
			uint64_t waiting, uint64_t unknown)
{
	CHECK_EQ(times->ns[TIME_RUNNING], running * MS);
	CHECK_EQ(times->ns[TIME_RUNNABLE], runnable * MS);
	CHECK_EQ(times->ns[TIME_WAITING], waiting * MS);
	CHECK_EQ(times->ns[TIME_UNKNOWN], unknown * MS);
	CHECK_EQ(times->observed_ns, (running + runnable + waiting + unknown) * MS);
}

static void check_sum(const struct time_account *account, uint64_t ms, uint64_t running,
		      uint64_t runnable, uint64_t waiting, uint64_t unknown)
{
	const struct thread_times sum = time_account_sum(account, ms * MS);
	check_times(&sum, running, runnable, waiting, unknown);
}

static void a_thread_from_its_fork_to_its_exit(void)
{
	struct time_account *account = begin();
	time_account_switch(account, true, 100 * MS);
	CHECK_EQ(take(account, PERF_RECORD_FORK, TID, 110), 0);
	switch_to(account, TID, 113, false, false);
	switch_to(account, TID, 120, true, false);
	switch_to(account, TID, 150, false, false);
	switch_to(account, TID, 151, true, true);
	check_sum(account, 155, 8, 7, 30, 0);
	switch_to(account, TID, 156, false, false);
	CHECK_EQ(take(account, PERF_RECORD_EXIT, TID, 160), 0);
	CHECK_EQ(take(account, PERF_RECORD_EXIT, TID, 161), 0);
	check_sum(account, 500, 12, 8, 30, 0);
	CHECK_EQ(time_account_nr_live(account), 0);
	CHECK_EQ(time_account_nr_threads(account), 1);
	time_account_free(account);
}

static void wake(struct time_account *account, int32_t tid, uint64_t ms, uint64_t ended_ms)
{
	const struct record record = {.type = RECORD_WAKING,
				      .pid = PID,
				      .tid = OTHER,
				      .time_ns = ms * MS,
				      .waking = {tid, false}};
	struct wait_ended ended;
	const bool has_ended = time_account_wake(account, &record, &ended);
	CHECK_EQ(has_ended ? ended.ns : 0, ended_ms * MS);
	CHECK(!has_ended || (ended.pid == PID && !strcmp(ended.name, "looked")));
}

/* How many ms a wait has taken that ends then without a waking; 0: none. */
static uint64_t unwoken_ms(const struct time_account *account, bool out, uint64_t ms,
			   uint64_t after_ms)
{
	const struct record record = {.type = PERF_RECORD_SWITCH,
				      .pid = PID,
				      .tid = TID,
				      .time_ns = ms * MS,
				      .switched = {.out = out}};
	struct wait_ended ended;
	if (!time_account_ends_unwoken(account, &record, after_ms * MS, &ended))
		return 0;
	CHECK(ended.pid == PID && !strcmp(ended.name, "looked"));
	return ended.ns / MS;
}

static void wakings_that_were_not_told(void)
{
	struct time_account *account = begin();
	look(account, TID, 'S', 90, 5, 5);
	time_account_switch(account, true, 100 * MS);
	CHECK_EQ(unwoken_ms(account, false, 105, 0), 0); /* who knows when that wait began */
	switch_to(account, TID, 105, false, false);
	CHECK_EQ(unwoken_ms(account, true, 110, 0), 0);
	switch_to(account, TID, 110, true, false);
	CHECK_EQ(unwoken_ms(account, false, 117, 110), 7);
	CHECK_EQ(unwoken_ms(account, false, 117, 111), 0);
	wake(account, TID, 117, 7);
	CHECK_EQ(unwoken_ms(account, false, 118, 0), 0);
	switch_to(account, TID, 118, false, false);
	switch_to(account, TID, 120, true, true); /* preempted */
	CHECK_EQ(unwoken_ms(account, false, 125, 0), 0);
	lose(account, 122, 124);
	CHECK_EQ(unwoken_ms(account, false, 125, 0), 0);
	time_account_free(account);
}

static void who_is_woken_wants_a_cpu(void)
{
	struct time_account *account = begin();
	look(account, TID, 'S', 90, 5, 5);
	time_account_switch(account, true, 100 * MS);
	wake(account, OTHER, 101, 0); /* nobody of ours */
	wake(account, TID, 110, 10);
	wake(account, TID, 111, 0); /* it has been told already */
	switch_to(account, TID, 113, false, false);
	wake(account, TID, 115, 0); /* it runs */
	switch_to(account, TID, 120, true, false);
	CHECK(!strcmp(time_account_name(account, TID), "looked") &&
	      !time_account_name(account, OTHER));
	wake(account, TID, 150, 30);
	CHECK_EQ(time_account_waits_since(account, TID), 0);
	check_sum(account, 154, 7, 7, 40, 0);
	switch_to(account, TID, 155, false, false);
	switch_to(account, TID, 156, true, true);
	wake(account, TID, 157, 0); /* it wants one as it is */
	check_sum(account, 160, 8, 12, 40, 0);
	lose(account, 161, 170);
	wake(account, TID, 171, 0); /* nobody knows what it did */
	check_sum(account, 180, 8, 13, 40, 19);
	CHECK_EQ(take(account, PERF_RECORD_EXIT, TID, 181), 0);
	CHECK(!strcmp(time_account_last_name(account, TID), "looked"));
	time_account_free(account);
}

static void what_was_before_the_first_record(void)
{
	static const struct {
		char state;
		bool out;
		uint64_t running, runnable, waiting;
	} cases[] = {{'R', true, 10, 0, 0},  {'R', false, 0, 10, 0},
		     {'S', false, 0, 0, 10}, {'S', true, 10, 0, 0}, /* it was about to wait */
		     {'D', false, 0, 0, 10}, {'T', false, 0, 0, 10}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct time_account *account = begin();
		look(account, TID, cases[i].state, 90, 5, 5);
		time_account_switch(account, true, 100 * MS);
		switch_to(account, TID, 110, cases[i].out, false);
		check_sum(account, 110, cases[i].running, cases[i].runnable, cases[i].waiting, 0);
		time_account_free(account);
	}
}

static void of_a_thread_without_records_the_last_look_tells(void)
{
	for (int runs = 0; runs < 2; runs++) {
		struct time_account *account = begin();
		struct thread_name names[4];
		look(account, TID, 'R', 100, 50, 50);
		look(account, OTHER, 'S', 100, 50, 50);
		time_account_switch(account, true, 100 * MS);
		CHECK_EQ(time_account_list(account, false, names, 4), 1);
		CHECK_EQ(names[0].tid, OTHER); /* what it waits for is looked at */
		time_account_switch(account, false, 200 * MS);
		CHECK_EQ(time_account_list(account, true, names, 4), 1);
		CHECK_EQ(names[0].tid, TID);
		look(account, TID, 'R', 201, runs ? 149 : 51, 60);
		check_sum(account, 300, runs ? 100 : 0, runs ? 0 : 100, 100, 0);
		time_account_free(account);
	}
}

static void time_off_is_not_observed(void)
{
	struct time_account *account = begin();
	look(account, TID, 'S', 100, 0, 0);
	check_sum(account, 200, 0, 0, 0, 0);
	time_account_switch(account, true, 200 * MS);
	time_account_switch(account, true, 205 * MS);
	switch_to(account, TID, 210, false, false);
	time_account_switch(account, false, 220 * MS);
	switch_to(account, TID, 230, true, false);
	time_account_switch(account, true, 300 * MS);
	/* From before it was on again. */
	switch_to(account, TID, 299, false, false);
	check_sum(account, 305, 15, 0, 10, 0);
	time_account_free(account);
}

static void late_news_of_the_stretch_before(void)
{
	struct time_account *account = begin();
	look(account, TID, 'S', 100, 0, 0);
	time_account_switch(account, true, 200 * MS);
	time_account_switch(account, false, 300 * MS);
	switch_to(account, TID, 250, false, false);
	lose(account, 260, 310);
	check_sum(account, 400, 10, 0, 50, 40);
	time_account_free(account);
}

static void a_thread_attached_twice_has_each_record_twice(void)
{
	struct time_account *account = begin();
	time_account_switch(account, true, 0);
	CHECK_EQ(take(account, PERF_RECORD_FORK, TID, 10), 0);
	CHECK_EQ(take(account, PERF_RECORD_FORK, TID, 10), 0);
	switch_to(account, TID, 20, false, false);
	switch_to(account, TID, 21, false, false);
	switch_to(account, TID, 30, true, false);
	switch_to(account, TID, 31, true, true);
	check_sum(account, 40, 10, 10, 10, 0);
	CHECK_EQ(time_account_nr_threads(account), 1);
	time_account_free(account);
}

static void a_thread_that_is_seen_before_its_fork_is_read(void)
{
	struct time_account *account = begin();
	time_account_switch(account, true, 0);
	look(account, TID, 'S', 50, 1, 1);
	CHECK_EQ(take(account, PERF_RECORD_FORK, TID, 10), 0);
	switch_to(account, TID, 12, false, false);
	switch_to(account, TID, 15, true, false);
	check_sum(account, 60, 3, 2, 45, 0);
	time_account_free(account);
}

static void what_lost_records_hide_is_unknown(void)
{
	struct time_account *account = begin();
	struct thread_name names[4];
	look(account, TID, 'S', 0, 0, 0);
	look(account, OTHER, 'S', 0, 0, 0);
	time_account_switch(account, true, 1);
	switch_to(account, TID, 10, false, false);
	lose(account, 20, 30);
	CHECK_EQ(time_account_list(account, false, names, 4), 2);
	switch_to(account, TID, 40, true, false);
	/* The other waits still, or again: from the look on that is known. */
	CHECK_EQ(time_account_list(account, true, names, 4), 1);
	CHECK_EQ(names[0].tid, OTHER);
	look(account, OTHER, 'S', 50, 0, 0);
	/* A loss from before tells nothing of what is known since. */
	lose(account, 35, 45);
	look(account, TID, 'S', 60, 0, 0);
	look(account, OTHER, 'S', 60, 0, 0);
	const struct thread_times sum = time_account_sum(account, 100 * MS);
	CHECK_EQ(sum.ns[TIME_RUNNING], 10 * MS);
	CHECK_EQ(sum.ns[TIME_UNKNOWN], (20 + 20 + 30 + 10) * MS);
	CHECK_EQ(sum.ns[TIME_RUNNING] + sum.ns[TIME_RUNNABLE] + sum.ns[TIME_WAITING] +
			 sum.ns[TIME_UNKNOWN],
		 sum.observed_ns);
	time_account_free(account);
}

static void looks_alone(void)
{
	struct time_account *account = begin();
	time_account_use_looks(account);
	look(account, TID, 'S', 0, 1000, 1000);
	time_account_switch(account, true, 0);
	look(account, TID, 'S', 100, 1010, 1005);
	check_sum(account, 150, 10, 5, 85, 0);
	/* More than fits, and less than before: the scheduler's clock is another one. */
	look(account, TID, 'S', 200, 5000, 5000);
	check_sum(account, 200, 110, 5, 85, 0);
	look(account, TID, 'S', 300, 4000, 5000);
	check_sum(account, 300, 110, 5, 85, 100);
	/* Who is new is known from its fork on; who ends, until it was looked at last. */
	CHECK_EQ(take(account, PERF_RECORD_FORK, OTHER, 300), 0);
	look(account, OTHER, 'R', 400, 60, 40);
	CHECK_EQ(take(account, PERF_RECORD_EXIT, OTHER, 450), 0);
	look(account, TID, 'S', 450, 4000, 5000);
	check_sum(account, 450, 170, 45, 85 + 150, 100 + 50);
	time_account_miss(account, TID, 500 * MS);
	check_sum(account, 500, 170, 45, 85 + 150, 100 + 50 + 50);
	time_account_free(account);
}

static void from_records_to_looks(void)
{
	struct time_account *account = begin();
	look(account, TID, 'S', 0, 0, 0);
	time_account_switch(account, true, 0);
	switch_to(account, TID, 10, false, false);
	time_account_use_looks(account);
	look(account, TID, 'R', 20, 10, 0);
	switch_to(account, TID, 25, true, false); /* says no more */
	look(account, TID, 'S', 120, 30, 30);
	check_sum(account, 120, 30, 30, 60, 0);
	time_account_free(account);
}

static void exec_of_a_thread_that_is_not_the_first(void)
{
	struct time_account *account = begin();
	struct thread_times threads[4];
	look(account, PID, 'S', 0, 0, 0);
	look(account, TID, 'R', 0, 0, 0);
	time_account_switch(account, true, 0);
	CHECK_EQ(take(account, PERF_RECORD_EXIT, PID, 10), 0);
	struct record exec = {.type = PERF_RECORD_COMM, .pid = PID, .tid = PID, .time_ns = 20 * MS};
	exec.comm.name = "a-name-that-is-much-too-long";
	exec.comm.exec = true;
	CHECK_EQ(time_account_take(account, &exec, 0), 0);
	switch_to(account, PID, 30, true, false);
	CHECK_EQ(time_account_threads(account, 40 * MS, threads, 3), 2);
	CHECK_EQ(threads[1].tid, PID);
	check_sum(account, 40, 40, 0, 10, 0);
	CHECK(!strcmp(threads[0].name, "a-name-that-is-") ||
	      !strcmp(threads[1].name, "a-name-that-is-"));
	time_account_free(account);
}

static void waits_are_shared_out_by_what_was_seen(void)
{
	struct time_account *account = begin();
	enum wait_kind kind;
	look_at_wait(account, WAIT_CHILD, 0, 1); /* not on yet: that does not count */
	time_account_switch(account, true, 0);
	for (int i = 0; i < 3; i++)
		look_at_wait(account, WAIT_LOCK, 10, 2);
	look_at_wait(account, WAIT_POLL, 20, 3);
	const struct sched_stat same = {.is_known = true, .nr_runs = 3}, moved = {true, 0, 0, 4},
				unknown = {0};
	CHECK(time_account_still_waits(account, TID, &same, &kind));
	CHECK_EQ(kind, WAIT_POLL);
	CHECK(!time_account_still_waits(account, TID, &moved, &kind));
	CHECK(!time_account_still_waits(account, TID, &unknown, &kind));
	CHECK(!time_account_still_waits(account, OTHER, &same, &kind));
	switch_to(account, TID, 101, false, false);
	const struct thread_times sum = time_account_sum(account, 150 * MS);
	CHECK_EQ(sum.ns[TIME_WAITING], 101 * MS);
	CHECK_EQ(sum.wait_ns[WAIT_LOCK], 101 * MS / 4 * 3);
	CHECK_EQ(sum.wait_ns[WAIT_POLL], 101 * MS / 4);
	CHECK_EQ(sum.wait_ns[WAIT_CHILD] + sum.wait_ns[WAIT_UNSEEN], 0);
	time_account_free(account);
}

/* Whatever the threads waited for before: now it is locks, or it is not. */
static void all_wait_for_locks(void)
{
	struct time_account *account = begin();
	time_account_switch(account, true, 0);
	CHECK(!time_account_all_locked(account));
	for (uint64_t ms = 1; ms < 100; ms++)
		look_at_wait(account, WAIT_POLL, ms, ms);
	look_at_wait(account, WAIT_LOCK, 100, 100);
	CHECK(!time_account_all_locked(account)); /* one alone is no deadlock */
	look(account, OTHER, 'S', 100, 0, 0);
	CHECK(!time_account_all_locked(account));
	struct thread_look other = {.pid = PID,
				    .tid = OTHER,
				    .name = "other",
				    .state = 'S',
				    .waits_for = WAIT_LOCK,
				    .sched = {.is_known = true}};
	CHECK_EQ(time_account_look(account, &other, 110 * MS), 0);
	CHECK(time_account_all_locked(account));
	other.state = 'R';
	CHECK_EQ(time_account_look(account, &other, 120 * MS), 0);
	CHECK(!time_account_all_locked(account));
	time_account_free(account);
}

static void look_at_lock(struct time_account *account, int32_t tid, int32_t holder)
{
	const struct thread_look look = {.pid = PID,
					 .tid = tid,
					 .name = "thread",
					 .state = 'S',
					 .waits_for = WAIT_LOCK,
					 .sched = {.is_known = true},
					 .call = "futex",
					 .lock_holder = holder};
	CHECK_EQ(time_account_look(account, &look, 100 * MS), 0);
}

/* Whoever waits for one of those that do is none of them, nor is who waits for one that runs. */
static void threads_that_wait_for_one_another(void)
{
	struct thread_name threads[3];
	struct time_account *account = begin();
	time_account_switch(account, true, 0);
	CHECK_EQ(time_account_find_deadlock(account, threads, 3), 0);
	look(account, TID, 'R', 90, 0, 0);
	look_at_lock(account, 101, TID);
	look_at_lock(account, 102, 101);
	look_at_lock(account, 103, 999);
	look_at_lock(account, 104, 0);
	CHECK_EQ(time_account_find_deadlock(account, threads, 3), 0);
	look_at_lock(account, 105, 106);
	look_at_lock(account, 106, 107);
	look_at_lock(account, 107, 106);
	CHECK_EQ(time_account_find_deadlock(account, threads, 3), 2);
	CHECK_EQ(threads[0].tid + threads[1].tid, 106 + 107);
	CHECK_EQ(threads[0].pid, PID);
	CHECK_EQ(time_account_find_deadlock(account, threads, 2), 2);
	CHECK_EQ(time_account_find_deadlock(account, threads, 1), 0);
	/* As it was looked at last. */
	const struct thread_look same = {.pid = PID,
					 .tid = 107,
					 .state = 'S',
					 .waits_for = WAIT_LOCK,
					 .sched = {.is_known = true}};
	CHECK_EQ(time_account_look(account, &same, 110 * MS), 0);
	CHECK_EQ(time_account_find_deadlock(account, threads, 3), 2);
	look(account, 107, 'R', 120, 0, 0);
	CHECK_EQ(time_account_find_deadlock(account, threads, 3), 0);
	look_at_lock(account, 107, 106);
	time_account_set_holder(account, 107, 104);
	CHECK_EQ(time_account_find_deadlock(account, threads, 3), 0);
	look_at_lock(account, 108, 108); /* itself */
	CHECK_EQ(time_account_find_deadlock(account, threads, 3), 1);
	CHECK_EQ(threads[0].tid, 108);
	time_account_free(account);
}

/* Where what it is for is known only later, that is when it is found: once. */
static void long_waits_are_found_once(void)
{
	struct time_account *account = begin();
	struct thread_wait wait;
	const unsigned locks = 1u << WAIT_LOCK;
	time_account_switch(account, true, 0);
	switch_to(account, TID, 10, false, false);
	switch_to(account, TID, 20, true, false);
	CHECK(!time_account_find_wait(account, locks, 50 * MS, 60 * MS, 90 * MS, &wait));
	CHECK(!time_account_wait_of(account, TID, &wait));
	look_at_wait(account, WAIT_LOCK, 100, 1);
	CHECK(!time_account_find_wait(account, locks, 50 * MS, 60 * MS, 90 * MS, &wait));
	CHECK(time_account_find_wait(account, locks, 50 * MS, 90 * MS, 110 * MS, &wait));
	CHECK_EQ(wait.tid, TID);
	CHECK_EQ(wait.kind, WAIT_LOCK);
	CHECK(!time_account_find_wait(account, locks, 50 * MS, 110 * MS, 200 * MS, &wait));
	CHECK(!time_account_find_wait(account, 1u << WAIT_POLL, 50 * MS, 0, 200 * MS, &wait));
	/* What is known before it is long is found when it is. */
	CHECK(time_account_find_wait(account, locks, 150 * MS, 110 * MS, 200 * MS, &wait));
	CHECK(time_account_wait_of(account, TID, &wait));
	time_account_free(account);
}

static void waits_that_nobody_saw(void)
{
	struct time_account *account = begin();
	time_account_switch(account, true, 0);
	CHECK_EQ(take(account, PERF_RECORD_FORK, TID, 0), 0);
	switch_to(account, TID, 1, false, false);
	switch_to(account, TID, 2, true, false);
	switch_to(account, TID, 12, false, false);
	const struct thread_times sum = time_account_sum(account, 20 * MS);
	CHECK_EQ(sum.wait_ns[WAIT_UNSEEN], 10 * MS);
	time_account_free(account);
}

static void more_threads_than_are_told_one_by_one(void)
{
	enum { NR = 70000, LIVE_MOST = 65536, TOLD = 5 };
	struct time_account *account = begin();
	struct thread_times threads[TOLD + 1];
	time_account_switch(account, true, 0);
	for (int32_t i = 1; i <= NR; i++)
		CHECK_EQ(take(account, PERF_RECORD_FORK, i, 10), 0);
	CHECK_EQ(time_account_nr_live(account), LIVE_MOST);
	CHECK_EQ(time_account_nr_left_out(account), NR - LIVE_MOST);
	for (int32_t i = 1; i <= NR; i++)
		CHECK_EQ(take(account, PERF_RECORD_EXIT, i, 11), 0);
	CHECK_EQ(time_account_nr_threads(account), LIVE_MOST);
	/* They never ran: new, then gone. */
	const struct thread_times sum = time_account_sum(account, 20 * MS);
	CHECK_EQ(sum.observed_ns, (uint64_t)LIVE_MOST * MS);
	CHECK_EQ(time_account_threads(account, 20 * MS, threads, TOLD), TOLD + 1);
	CHECK_EQ(threads[TOLD].pid, 0);
	CHECK_EQ(threads[TOLD].observed_ns, (uint64_t)(LIVE_MOST - TOLD) * MS);
	time_account_free(account);
}

/* Those that lived longest are among those that are told, whenever they ended. */
static void the_last_to_end_is_told(void)
{
	enum { NR = 10000, LAST = 20000 };
	struct time_account *account = begin();
	static struct thread_times threads[NR];
	bool is_told = false;
	time_account_switch(account, true, 0);
	CHECK_EQ(take(account, PERF_RECORD_FORK, LAST, 1), 0);
	for (int32_t i = 1; i <= NR; i++) {
		CHECK_EQ(take(account, PERF_RECORD_FORK, i, 10), 0);
		CHECK_EQ(take(account, PERF_RECORD_EXIT, i, 11), 0);
	}
	CHECK_EQ(take(account, PERF_RECORD_EXIT, LAST, 500), 0);
	CHECK_EQ(time_account_nr_threads(account), NR + 1);
	const size_t nr = time_account_threads(account, 501 * MS, threads, 4096);
	uint64_t ns = 0;
	for (size_t i = 0; i < nr; i++) {
		is_told |= threads[i].tid == LAST && threads[i].observed_ns == 499 * MS;
		ns += threads[i].observed_ns;
	}
	CHECK(is_told);
	CHECK_EQ(ns, (499 + NR) * (uint64_t)MS);
	time_account_free(account);
}

/* However many have ended. */
static void who_is_there_is_told_first(void)
{
	enum { NR = 1000, THERE = 20000, TOLD = 100 };
	struct time_account *account = begin();
	struct thread_times threads[TOLD + 1];
	bool is_told = false;
	time_account_switch(account, true, 0);
	for (int32_t i = 1; i <= NR; i++) {
		CHECK_EQ(take(account, PERF_RECORD_FORK, i, 10), 0);
		CHECK_EQ(take(account, PERF_RECORD_EXIT, i, 11), 0);
	}
	CHECK_EQ(take(account, PERF_RECORD_FORK, THERE, 12), 0);
	const size_t nr = time_account_threads(account, 20 * MS, threads, TOLD);
	CHECK_EQ(nr, TOLD + 1);
	for (size_t i = 0; i < nr; i++)
		is_told |= threads[i].tid == THERE;
	CHECK(is_told);
	time_account_free(account);
}

static void schedstat_is_parsed(void)
{
	struct sched_stat stat;
	CHECK(sched_stat_parse("12 34 56\n", &stat));
	CHECK_EQ(stat.run_ns, 12);
	CHECK_EQ(stat.queue_ns, 34);
	CHECK_EQ(stat.nr_runs, 56);
	CHECK(!sched_stat_parse("", &stat));
	CHECK(!sched_stat_parse("12 34", &stat));
	CHECK(!stat.is_known && !stat.run_ns);
}

/* Those whose waits began last, not all that may wait for ever. */
static void who_waits_long(void)
{
	enum { NR = 20, MOST = 5 };
	struct time_account *account = begin();
	int32_t tids[NR];
	time_account_switch(account, true, 100 * MS);
	for (int32_t i = 0; i < NR; i++) {
		switch_to(account, 100 + i, 101, false, false);
		switch_to(account, 100 + i, 110 + (uint64_t)(i * 7 % NR), true, false);
	}
	/* It wants a CPU, and waits for nothing. */
	switch_to(account, OTHER, 102, false, false);
	switch_to(account, OTHER, 103, true, true);
	CHECK_EQ(time_account_long_waits(account, 10 * MS, 119 * MS, tids, NR), 0);
	CHECK_EQ(time_account_long_waits(account, 10 * MS, 121 * MS, tids, NR), 2);
	CHECK(tids[0] == 100 + 3 && tids[1] == 100); /* 3 * 7 % 20 is 1 */
	CHECK_EQ(time_account_long_waits(account, 10 * MS, 200 * MS, tids, NR), NR);
	CHECK_EQ(time_account_long_waits(account, 10 * MS, 200 * MS, tids, MOST), MOST);
	for (int32_t i = 0; i < MOST; i++)
		CHECK_EQ((tids[i] - 100) * 7 % NR, NR - 1 - i);
	CHECK(time_account_has(account, PID, 100) && !time_account_has(account, PID + 1, 100) &&
	      !time_account_has(account, PID, 99));
	time_account_free(account);
}

static void since_when_a_thread_waits(void)
{
	struct time_account *account = begin();
	time_account_switch(account, true, 100 * MS);
	look(account, OTHER, 'S', 100, 0, 0);
	CHECK_EQ(take(account, PERF_RECORD_FORK, TID, 110), 0);
	switch_to(account, TID, 113, false, false);
	CHECK_EQ(time_account_waits_since(account, TID), 0);
	switch_to(account, TID, 120, true, false);
	CHECK_EQ(time_account_waits_since(account, TID), 120 * MS);
	/* What looks find goes on with the wait. */
	struct sched_stat stat = {.is_known = true};
	time_account_wait_news(account, TID, &stat, 130 * MS);
	CHECK_EQ(time_account_waits_since(account, TID), 120 * MS);
	/* Nobody saw when that began. */
	CHECK_EQ(time_account_waits_since(account, OTHER), 0);
	switch_to(account, TID, 150, false, false);
	switch_to(account, TID, 151, true, true); /* it wants to go on */
	CHECK_EQ(time_account_waits_since(account, TID), 0);
	switch_to(account, TID, 152, false, false);
	switch_to(account, TID, 153, true, false);
	CHECK_EQ(time_account_waits_since(account, TID), 153 * MS);
	/* Who sleeps while it is off is not known to. */
	time_account_switch(account, false, 160 * MS);
	CHECK_EQ(time_account_waits_since(account, TID), 0);
	time_account_switch(account, true, 170 * MS);
	CHECK_EQ(time_account_waits_since(account, TID), 0);
	switch_to(account, TID, 180, false, false);
	switch_to(account, TID, 181, true, false);
	CHECK_EQ(time_account_waits_since(account, TID), 181 * MS);
	lose(account, 182, 190);
	CHECK_EQ(time_account_waits_since(account, TID), 0);
	time_account_free(account);
}

int main(void)
{
	RUN(a_thread_from_its_fork_to_its_exit);
	RUN(who_is_woken_wants_a_cpu);
	RUN(wakings_that_were_not_told);
	RUN(what_was_before_the_first_record);
	RUN(of_a_thread_without_records_the_last_look_tells);
	RUN(time_off_is_not_observed);
	RUN(late_news_of_the_stretch_before);
	RUN(a_thread_attached_twice_has_each_record_twice);
	RUN(a_thread_that_is_seen_before_its_fork_is_read);
	RUN(what_lost_records_hide_is_unknown);
	RUN(looks_alone);
	RUN(from_records_to_looks);
	RUN(exec_of_a_thread_that_is_not_the_first);
	RUN(waits_are_shared_out_by_what_was_seen);
	RUN(all_wait_for_locks);
	RUN(threads_that_wait_for_one_another);
	RUN(long_waits_are_found_once);
	RUN(waits_that_nobody_saw);
	RUN(more_threads_than_are_told_one_by_one);
	RUN(the_last_to_end_is_told);
	RUN(who_is_there_is_told_first);
	RUN(since_when_a_thread_waits);
	RUN(who_waits_long);
	RUN(schedstat_is_parsed);
	return test_done();
}
