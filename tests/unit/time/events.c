/* SPDX-License-Identifier: MIT */
/* What happens to threads, as the account of their time tells who follows it. */
#include <sys/syscall.h>

#include "accounts.h"

/* What it tells, in the order in which it does. */
struct told {
	enum { TOLD_MOST = 32 } most;
	struct thread_stretch items[TOLD_MOST];
	size_t nr;
};

static void keep(void *context, const struct thread_stretch *stretch)
{
	struct told *told = context;
	CHECK(told->nr < TOLD_MOST);
	told->items[told->nr++] = *stretch;
}

/* The first event, the second, ...; behind the last it is none. */
static struct thread_stretch event(const struct told *told, size_t wanted)
{
	for (size_t i = 0; i < told->nr; i++)
		if (told->items[i].event != THREAD_NO_EVENT && !wanted--)
			return told->items[i];
	return (struct thread_stretch){0};
}

static void fork_by(struct time_account *account, int32_t tid, int32_t creator, uint64_t ms)
{
	const struct record record = {.type = PERF_RECORD_FORK,
				      .pid = PID,
				      .tid = tid,
				      .time_ns = ms * MS,
				      .fork = {PID, creator}};
	CHECK_EQ(time_account_take(account, &record, 0), 0);
}

static void what_happens_to_a_thread_is_told(void)
{
	struct time_account *account = begin();
	struct told told = {0};
	time_account_follow(account, keep, &told);
	time_account_switch(account, true, 100 * MS);
	fork_by(account, TID, OTHER, 110);
	switch_on(account, TID, 3, 113, false, false); /* on its first CPU it comes from nowhere */
	switch_on(account, TID, 3, 120, true, true);
	switch_on(account, TID, 3, 121, false, false);
	switch_on(account, TID, 3, 130, true, false);
	switch_on(account, TID, 1, 140, false, false);
	switch_on(account, TID, 1, 140, false, false); /* attached twice */
	CHECK_EQ(take(account, PERF_RECORD_EXIT, TID, 150), 0);
	struct thread_stretch at = event(&told, 0);
	CHECK(at.begins && at.event == THREAD_CREATED);
	CHECK(at.creator_pid == PID && at.creator_tid == OTHER);
	CHECK(at.from_ns == 110 * MS && at.to_ns == 110 * MS);
	at = event(&told, 1);
	CHECK(at.event == THREAD_PREEMPTED && at.to_ns == 120 * MS && !at.begins);
	at = event(&told, 2);
	CHECK(at.event == THREAD_MIGRATED && at.to_ns == 140 * MS);
	CHECK(at.from_cpu == 3 && at.to_cpu == 1);
	CHECK_EQ(event(&told, 3).event, THREAD_NO_EVENT);
	for (size_t i = 0; i < told.nr; i++)
		CHECK(!told.items[i].lacks_events && told.items[i].begins == !i);
	CHECK(told.items[told.nr - 1].ends);
	time_account_free(account);
}

static void events_that_nobody_saw_are_not_told(void)
{
	struct time_account *account = begin();
	struct told told = {0};
	time_account_follow(account, keep, &told);
	fork_by(account, TID, OTHER, 50); /* nothing is observed yet */
	time_account_switch(account, true, 100 * MS);
	switch_on(account, TID, 0, 110, false, false);
	lose(account, 120, 130);
	switch_on(account, TID, 1, 140, false, false); /* who knows how often it came and went */
	CHECK_EQ(event(&told, 0).event, THREAD_NO_EVENT);
	CHECK(told.nr == 3 && told.items[2].lacks_events && !told.items[1].lacks_events);
	time_account_use_looks(account);
	look(account, TID, 'S', 200, 10, 10);
	CHECK(told.items[told.nr - 1].lacks_events);
	fork_by(account, TID + 1, TID, 210); /* others still tell of these */
	CHECK_EQ(event(&told, 0).event, THREAD_CREATED);
	time_account_free(account);
}

/* The call that a look saw belongs to that wait alone, and is said again as long as it lasts. */
static void calls_are_of_the_wait_that_was_looked_at(void)
{
	struct time_account *account = begin();
	struct told told = {0};
	struct thread_look seen = {.pid = PID,
				   .tid = TID,
				   .name = "looked",
				   .state = 'S',
				   .waits_for = WAIT_IO,
				   .sched = {.is_known = true},
				   .call = "read, pipe:[1]"};
	time_account_follow(account, keep, &told);
	time_account_switch(account, true, 100 * MS);
	switch_on(account, TID, 0, 100, false, false);
	switch_on(account, TID, 0, 110, true, false);
	CHECK_EQ(time_account_look(account, &seen, 120 * MS), 0);
	time_account_tell(account, 125 * MS, false);
	CHECK(told.items[told.nr - 1].state == THREAD_WAITS);
	CHECK_STR(told.items[told.nr - 1].call, "read, pipe:[1]");
	seen.call = NULL; /* the same wait still */
	CHECK_EQ(time_account_look(account, &seen, 130 * MS), 0);
	time_account_tell(account, 135 * MS, false);
	CHECK_STR(told.items[told.nr - 1].call, "read, pipe:[1]");
	switch_on(account, TID, 0, 140, false, false);
	switch_on(account, TID, 0, 150, true, false);
	CHECK(told.items[told.nr - 1].state == THREAD_COMPUTES && !told.items[told.nr - 1].call);
	time_account_tell(account, 155 * MS, false);
	CHECK(told.items[told.nr - 1].state == THREAD_WAITS && !told.items[told.nr - 1].call);
	seen.call = "";
	CHECK_EQ(time_account_look(account, &seen, 160 * MS), 0);
	time_account_tell(account, 165 * MS, false);
	CHECK(told.items[told.nr - 1].wait == WAIT_IO && !told.items[told.nr - 1].call);
	time_account_free(account);
}

static void call(struct time_account *account, int64_t number, uint64_t ms, bool is_over)
{
	const struct record record = {.type = RECORD_SYSTEM_CALL,
				      .pid = PID,
				      .tid = TID,
				      .time_ns = ms * MS,
				      .call = {number, is_over}};
	CHECK(time_account_call(account, &record));
}

/* Those that are known from their begin to their end. */
static void system_calls_are_told_when_they_are_over(void)
{
	struct time_account *account = begin();
	struct told told = {0};
	const struct record other = {.type = RECORD_SYSTEM_CALL, .tid = OTHER, .time_ns = 100 * MS};
	time_account_follow(account, keep, &told);
	time_account_switch(account, true, 100 * MS);
	fork_by(account, TID, OTHER, 105);
	const size_t before = told.nr;
	call(account, SYS_read, 110, true); /* began unseen */
	call(account, SYS_read, 111, false);
	CHECK_EQ(told.nr, before);
	call(account, SYS_read, 115, true);
	CHECK_EQ(told.nr, before + 1);
	const struct thread_stretch *at = &told.items[before];
	CHECK(at->event == THREAD_CALLED && at->from_ns == 111 * MS && at->to_ns == 115 * MS);
	CHECK_STR(at->call, "read");
	call(account, SYS_read, 120, false);
	call(account, SYS_write, 121, true); /* between them something was lost */
	call(account, SYS_write, 122, false);
	time_account_forget_calls(account);
	call(account, SYS_write, 123, true);
	CHECK_EQ(told.nr, before + 1);
	CHECK(!time_account_call(account, &other));
	time_account_free(account);
}

int main(void)
{
	RUN(system_calls_are_told_when_they_are_over);
	RUN(calls_are_of_the_wait_that_was_looked_at);
	RUN(what_happens_to_a_thread_is_told);
	RUN(events_that_nobody_saw_are_not_told);
	return test_done();
}
