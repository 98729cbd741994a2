/* SPDX-License-Identifier: MIT */
/* Who is woken, where the kernel tells it: the run queue from waking on. What that may cost, and of which threads it is recorded. */
#include "session_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <ctop/base/clock.h>

/* In their place others are recorded from now on. 0 or -errno. */
static int follow(struct session *session, int32_t youngest)
{
	const struct session_time *time = &session->time;
	const size_t most = time_account_nr_live(time->account);
	int32_t *tids = calloc(most + 1, sizeof(*tids));
	if (!tids)
		return -ENOMEM;
	const size_t nr = time_account_tids(time->account, tids, most);
	const int result = sampler_follow_wakings(session->sampler, tids, nr, youngest);
	free(tids);
	return result;
}

void session_begin_wakings(struct session *session, int32_t youngest)
{
	struct session_time *time = &session->time;
	if (time->source != TIME_FROM_SWITCHES || follow(session, youngest))
		return;
	time->source = TIME_FROM_WAKINGS;
	time->wakings.youngest = youngest;
	time->wakings.youngest_ns = clock_now_ns();
}

void session_note_waking(struct session_time *time, const struct record *record)
{
	time->wakings.nr++;
	time->wakings.nr_others += !time_account_knows(time->account, record->waking.tid);
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
			"--max-overhead");
}

/* A number that was not foreseen: they began again, or it was attached late. */
static bool covers_all(const struct session *session)
{
	const struct time_account *account = session->time.account;
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
	const bool is_known = time->read_until_ns > wakings->youngest_ns;
	if (is_too_much && !(are_others && is_known))
		give_up(session);
	else if ((is_too_much || is_missed) && is_known && follow(session, wakings->youngest))
		give_up(session);
	wakings->was_renewed = is_too_much;
	wakings->nr_threads = nr_threads;
	if (is_known) {
		wakings->youngest = sampler_youngest_thread();
		wakings->youngest_ns = clock_now_ns();
	}
}
