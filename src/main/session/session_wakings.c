/* SPDX-License-Identifier: MIT */
/* Who is woken, where the kernel tells it: the run queue from waking on. What that may cost, and of which threads it is recorded. */
#include "session_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <ctop/base/clock.h>
#include <ctop/system/thread_now.h>

#include <ctop/time/wakers.h>

int session_follow_with(struct session *session,
			int (*follow)(struct sampler *sampler,
				      const struct sampler_threads *threads))
{
	const struct session_time *time = &session->time;
	const struct sampler_threads all = {.youngest = 1};
	if (session->sampling.follows_all)
		return follow(session->sampler, &all);
	const size_t most = time_account_nr_live(time->account);
	int32_t *tids = calloc(most + 1, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	const struct sampler_threads threads = {tids, time_account_tids(time->account, tids, most),
						time->youngest.tid};
	const int result = follow(session->sampler, &threads);
	free(tids);
	return result;
}

void session_begin_wakings(struct session *session)
{
	struct session_time *time = &session->time;
	if (time->source != TIME_FROM_SWITCHES)
		return;
	time->wakers = wakers_new();
	if (!time->wakers || session_follow_with(session, sampler_follow_wakings))
		return;
	time->source = TIME_FROM_WAKINGS;
	time->wakings.since_ns = clock_now_ns();
	if (!session->sampling.follows_all)
		session_begin_wakeups(session);
}

/* Of one of the target's threads its account has the name; others are looked at once, and may have ended. */
static void name_waker(const struct session_time *time, struct waking_sum *sum)
{
	const char *known = sum->nr == 1 ? time_account_last_name(time->account, sum->waker_tid)
					 : time_account_name(time->account, sum->waker_tid);
	if (known)
		snprintf(sum->waker_name, sizeof(sum->waker_name), "%.15s", known);
	else if (sum->nr == 1)
		thread_now_name(sum->waker_pid, sum->waker_tid, sum->waker_name);
}

static void note_pair(struct session_time *time, const struct record *record,
		      const struct waking_sum *pair, const struct wait_ended *ended)
{
	struct waking_sum *sum = wakers_of(time->wakers, pair);
	sum->nr++;
	sum->ns += ended->ns;
	if (sum->tid) {
		snprintf(sum->name, sizeof(sum->name), "%.15s", ended->name);
		if (!waker_kind(sum->waker_tid))
			name_waker(time, sum);
	}
	session_tell_wakeup(time, record, sum->tid ? sum : pair, ended);
}

/* What is recorded once more, with a copy, is none of those that are counted. */
static void count(struct session_time *time, const struct record *record)
{
	const bool is_other = !time_account_name(time->account, record->waking.tid);
	time->wakings.nr++;
	time->wakings.nr_others += is_other;
	time->wakeups.nr += !is_other && !record->waking.by_interrupt &&
			    time_account_has(time->account, record->pid, record->tid);
}

void session_note_waking(struct session_time *time, const struct record *record)
{
	struct wait_ended ended;
	if (session_is_waking_copy(record))
		time->wakeups.nr_copies++;
	else
		count(time, record);
	if (!time_account_wake(time->account, record, &ended) || !time_account_is_on(time->account))
		return;
	const bool by_interrupt = record->waking.by_interrupt;
	const struct waking_sum pair = {
		.pid = ended.pid,
		.tid = record->waking.tid,
		.waker_pid = by_interrupt ? 0 : record->pid,
		.waker_tid = by_interrupt ? WAKER_INTERRUPT : record->tid,
	};
	note_pair(time, record, &pair, &ended);
}

/*
 * Seen on Linux 6.18 in a virtual machine: perf's tracepoints are silent on one CPU while that idles, those of tracefs are not, and
 * nothing counts that as lost.
 */
void session_note_untold_waking(struct session_time *time, const struct record *record)
{
	struct wait_ended ended;
	if (time->source != TIME_FROM_WAKINGS ||
	    !time_account_ends_unwoken(time->account, record, time->wakings.since_ns, &ended) ||
	    !time_account_is_on(time->account))
		return;
	const struct waking_sum pair = {
		.pid = ended.pid, .tid = record->tid, .waker_tid = WAKER_UNTOLD};
	time->wakings.nr_untold++;
	note_pair(time, record, &pair, &ended);
}

const struct waking_sum *session_waking_sums(struct session *session, size_t *nr)
{
	*nr = 0;
	return session->time.wakers ? wakers_sums(session->time.wakers, nr) : NULL;
}

size_t session_wakers_of(const struct session *session, int32_t tid, struct waking_sum *sums,
			 size_t most)
{
	const struct wakers *wakers = session->time.wakers;
	return wakers ? wakers_of_thread(wakers, tid, sums, most) : 0;
}

static void give_up(struct session *session)
{
	struct session_time *time = &session->time;
	sampler_end_wakings(session->sampler);
	time->source = TIME_FROM_SOME_WAKINGS;
	if (!session->notice[0])
		snprintf(
			session->notice, sizeof(session->notice),
			"run-queue: no longer from waking on, as records of wakings cost more than "
			"--max-overhead or --budget allows");
}

/* A number that was not foreseen: they began again, or it was attached late. */
static bool covers_all(const struct session *session)
{
	const struct time_account *account = session->time.account;
	if (session->sampling.follows_all)
		return true;
	const size_t most = time_account_nr_live(account);
	int32_t *tids = calloc(most + 1, sizeof(*tids));
	const size_t nr = tids ? time_account_tids(account, tids, most) : 0;
	size_t i = 0;
	while (i < nr && sampler_wakings_cover(session->sampler, tids[i]))
		i++;
	free(tids);
	return i == nr;
}

void session_guard_wakings(struct session *session, bool is_too_much)
{
	struct session_time *time = &session->time;
	struct session_wakings *wakings = &time->wakings;
	const uint64_t nr_threads = time_account_nr_threads(time->account);
	if (time->source != TIME_FROM_WAKINGS)
		return;
	const bool are_others = wakings->nr_others > wakings->nr / 2 && !wakings->was_renewed;
	const bool is_missed = nr_threads != wakings->nr_threads && !covers_all(session);
	/* Of threads that are younger not all are known yet. */
	const bool is_known = session_knows_youngest(time);
	bool was_renewed = false;
	if (is_too_much && session_give_up_copies(session))
		is_too_much = false; /* maybe: the next turn says */
	else if (is_too_much && !(are_others && is_known))
		give_up(session);
	else if ((is_too_much || is_missed) && is_known) {
		was_renewed = !session_follow_with(session, sampler_follow_wakings);
		if (was_renewed)
			session_renew_wakeups(session);
		else
			give_up(session);
	}
	wakings->was_renewed = is_too_much;
	if (!is_missed || was_renewed)
		wakings->nr_threads = nr_threads;
}
