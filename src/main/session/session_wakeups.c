/* SPDX-License-Identifier: MIT */
/* Who ended long waits, and where those were then: to the collector. Of which wakings the waker's stack is copied, as copies cost it. */
#include "session_internal.h"

#include <stdio.h>
#include <string.h>

#include <ctop/base/clock.h>

/* Waits that were shorter have no wakeup. */
#define LEAST_NS NS_PER_MS
/* Where copies of all are too many: of threads that have waited so long. */
#define LONG_NS	 (10 * NS_PER_MS)
#define RENEW_NS (50 * NS_PER_MS)
#define TURN_NS	 (NS_PER_SECOND / 4)
/* In a turn; so many come to a third of a percent of a CPU. */
enum { COPIED_A_TURN = 250 };
/* Of main's time, for events that take the place of others. */
enum { RENEWALS_SHARE = 200 };

bool session_is_waking_copy(const struct record *record)
{
	return record->sample.stack_asked || record->sample.regs_abi;
}

/* ---- of which wakings ---- */

static void end_copies(struct session *session, enum waking_copies copies)
{
	sampler_end_waking_copies(session->sampler);
	session->time.wakeups.copies = copies;
	session->time.wakeups.nr_long = 0;
}

static void copy_all(struct session *session)
{
	struct session_wakeups *wakeups = &session->time.wakeups;
	const int result = sampler_copy_wakings(session->sampler, NULL, 0);
	wakeups->copies = result ? COPIES_NONE : COPIES_OF_ALL;
	wakeups->nr_long = 0;
}

void session_begin_wakeups(struct session *session)
{
	struct session_wakeups *wakeups = &session->time.wakeups;
	wakeups->turn_ns = clock_now_ns();
	/* Without call graphs there is nothing that a copy would be good for. */
	if (session_places_waits(session) && session->sampling.call_graph != CALL_GRAPH_NO)
		copy_all(session);
}

void session_renew_wakeups(struct session *session)
{
	struct session_wakeups *wakeups = &session->time.wakeups;
	if (wakeups->copies == COPIES_OF_ALL)
		copy_all(session);
	else
		wakeups->nr_long = SIZE_MAX; /* those of before: they are opened again, too */
	wakeups->renew_ns = 0;
}

/* Other threads wait long now than when they were asked for. */
static void follow_long_waits(struct session *session, uint64_t now_ns)
{
	struct session_wakeups *wakeups = &session->time.wakeups;
	int32_t tids[SAMPLER_COPIED_MOST];
	const uint64_t before_ns = clock_cpu_ns();
	const size_t nr = time_account_long_waits(session->time.account, LONG_NS, now_ns, tids,
						  SAMPLER_COPIED_MOST);
	if (nr != wakeups->nr_long || memcmp(tids, wakeups->tids, nr * sizeof(*tids)) != 0) {
		memcpy(wakeups->tids, tids, nr * sizeof(*tids));
		wakeups->nr_long = nr;
		if (!nr)
			sampler_end_waking_copies(session->sampler);
		else if (sampler_copy_wakings(session->sampler, tids, nr))
			wakeups->copies = COPIES_NONE;
	}
	const uint64_t pause_ns = (clock_cpu_ns() - before_ns) * RENEWALS_SHARE;
	wakeups->renew_ns = now_ns + (pause_ns > RENEW_NS ? pause_ns : RENEW_NS);
}

/* How many wakings there are the records without copies say, of which none is lost. */
void session_serve_wakeups(struct session *session, uint64_t now_ns)
{
	struct session_wakeups *wakeups = &session->time.wakeups;
	if (wakeups->copies == COPIES_NONE || session->time.source != TIME_FROM_WAKINGS)
		return;
	if (wakeups->copies == COPIES_OF_ALL && wakeups->nr > COPIED_A_TURN)
		end_copies(session, COPIES_OF_LONG);
	if (now_ns >= wakeups->turn_ns + TURN_NS) {
		if (wakeups->copies == COPIES_OF_LONG && wakeups->nr <= COPIED_A_TURN)
			copy_all(session);
		wakeups->nr = 0;
		wakeups->turn_ns = now_ns;
	}
	if (wakeups->copies == COPIES_OF_LONG && now_ns >= wakeups->renew_ns)
		follow_long_waits(session, now_ns);
}

bool session_give_up_copies(struct session *session)
{
	struct session_wakeups *wakeups = &session->time.wakeups;
	if (wakeups->copies == COPIES_NONE ||
	    wakeups->nr_copies * SESSION_RECORDS_A_COPY < session->time.nr_records / 4)
		return false;
	end_copies(session, COPIES_NONE);
	wakeups->was_given_up = true;
	return true;
}

/* ---- what is told ---- */

static void name_waker(struct wait_record *wakeup, const struct waking_sum *pair)
{
	const char *kind = waker_kind(pair->waker_tid);
	const char *name = kind ? kind : pair->waker_name[0] ? pair->waker_name : "another";
	snprintf(wakeup->reason, sizeof(wakeup->reason), "woken by %.15s", name);
}

/* A thread may have ended when it wakes who waits for that. */
static bool is_of_target(const struct time_account *account, const struct waking_sum *pair,
			 const struct wait_ended *ended)
{
	return pair->waker_tid > 0 && (pair->waker_pid == ended->pid ||
				       time_account_has(account, pair->waker_pid, pair->waker_tid));
}

void session_tell_wakeup(struct session_time *time, const struct record *record,
			 const struct waking_sum *pair, const struct wait_ended *ended)
{
	const uint8_t *stack = NULL;
	struct wait_record wakeup = {
		.header = {.type = WAIT_RECORD_WAKEUP},
		.time_ns = clock_now_ns(),
		.pid = ended->pid,
		.tid = pair->tid,
		.ns = ended->ns,
		.until_ns = record->time_ns,
	};
	if (!time->ring.page || ended->ns < LEAST_NS)
		return;
	snprintf(wakeup.name, sizeof(wakeup.name), "%.15s", ended->name);
	name_waker(&wakeup, pair);
	if (is_of_target(time->account, pair, ended)) {
		wakeup.waker_pid = pair->waker_pid;
		wakeup.waker_tid = pair->waker_tid;
		const bool is_seen = session_is_waking_copy(record) &&
				     wait_record_take_sample(&wakeup, &record->sample, &stack);
		if (is_seen && wait_ring_put(&time->ring, &wakeup, stack))
			return;
		time->wakeups.nr_unseen++;
		wakeup.sp = wakeup.pc = wakeup.regs_mask = wakeup.stack_bytes = 0;
	}
	if (!wait_ring_put(&time->ring, &wakeup, NULL))
		time->wakeups.untold_ns += ended->ns;
}
