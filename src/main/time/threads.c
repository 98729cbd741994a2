/* SPDX-License-Identifier: MIT */
#include "account_internal.h"

#include <errno.h>
#include <stdlib.h>

enum { LIVE_MOST = 65536 };

/* News may be late: of the stretch before it was switched off it is still taken; what is older counts as of the last switch. */
uint64_t account_clock(const struct time_account *account, uint64_t ns)
{
	if (account->is_on)
		return account->on_ns + (ns > account->since_ns ? ns - account->since_ns : 0);
	const uint64_t ago_ns = ns < account->since_ns ? account->since_ns - ns : 0;
	return account->on_ns - (ago_ns < account->last_on_ns ? ago_ns : account->last_on_ns);
}

uint64_t account_time(const struct time_account *account, uint64_t at)
{
	if (account->is_on)
		return account->since_ns + (at > account->on_ns ? at - account->on_ns : 0);
	return account->since_ns - (at < account->on_ns ? account->on_ns - at : 0);
}

struct thread *account_find(const struct time_account *account, int32_t tid)
{
	struct thread **recent = &account->recent[account_recent_at(tid)];
	struct thread *thread = *recent;
	if (thread && thread->times.tid == tid)
		return thread;
	HASH_FIND(hh, account->live, &tid, sizeof(tid), thread);
	if (thread)
		*recent = thread;
	return thread;
}

int account_add(struct time_account *account, int32_t pid, int32_t tid, uint64_t at,
		struct thread **added)
{
	*added = NULL;
	if (HASH_COUNT(account->live) >= LIVE_MOST) {
		account->nr_left_out++;
		return 0;
	}
	struct thread *thread = calloc(1, sizeof(*thread));
	if (!thread)
		return -ENOMEM;
	*thread = (struct thread){.times = {.pid = pid, .tid = tid}, .began = at, .since = at};
	thread->doing = UNKNOWN;
	thread->cpu = NO_CPU;
	thread->entered = -1;
	HASH_ADD(hh, account->live, times.tid, sizeof(thread->times.tid), thread);
	if (!thread->hh.tbl) { /* uthash had no memory */
		free(thread);
		return -ENOMEM;
	}
	*added = thread;
	return 0;
}

/* ---- what is told ---- */

static enum thread_state state_of(enum time_kind kind)
{
	static const enum thread_state states[] = {
		[TIME_RUNNING] = THREAD_COMPUTES,
		[TIME_RUNNABLE] = THREAD_QUEUES,
		[TIME_WAITING] = THREAD_WAITS,
		[TIME_UNKNOWN] = THREAD_UNKNOWN,
	};
	return states[kind];
}

/* A look tells of the wait that it was at alone. */
static bool is_looked_at(const struct thread *thread)
{
	return thread->waited && thread->waited_at >= thread->shares.began;
}

/* waker_tid: who ends the wait, which this is; NULL: nobody that is known. */
static void tell(const struct time_account *account, struct thread *thread, enum time_kind kind,
		 uint64_t until, const int32_t *waker_tid)
{
	const uint64_t from = thread->told > thread->since ? thread->told : thread->since;
	if (!account->follow || until <= from)
		return;
	const bool is_seen = kind == TIME_WAITING && is_looked_at(thread);
	const struct thread_stretch stretch = {
		.pid = thread->times.pid,
		.tid = thread->times.tid,
		.name = thread->times.name,
		.from_ns = account_time(account, from),
		.to_ns = account_time(account, until),
		.state = state_of(kind),
		.wait = is_seen ? thread->waited_for : WAIT_UNSEEN,
		.call = is_seen ? thread->call : NULL,
		.is_woken = waker_tid != NULL,
		.waker_tid = waker_tid ? *waker_tid : 0,
		.begins = !thread->is_told,
		.lacks_events = account->by_looks || kind == TIME_UNKNOWN,
	};
	thread->told = until;
	thread->is_told = true;
	account->follow(account->follow_context, &stretch);
}

void account_tell(const struct time_account *account, struct thread *thread, enum time_kind kind,
		  uint64_t until)
{
	tell(account, thread, kind, until, NULL);
}

void account_tell_woken(const struct time_account *account, struct thread *thread, uint64_t until,
			int32_t waker_tid)
{
	tell(account, thread, TIME_WAITING, until, &waker_tid);
}

void account_tell_event(const struct time_account *account, struct thread *thread, uint64_t at,
			struct thread_stretch event)
{
	if (!account->follow)
		return;
	event.pid = thread->times.pid;
	event.tid = thread->times.tid;
	event.name = thread->times.name;
	event.from_ns = event.to_ns = account_time(account, at);
	event.state = THREAD_UNKNOWN;
	event.begins = !thread->is_told;
	thread->is_told = true;
	account->follow(account->follow_context, &event);
}

void account_tell_end(const struct time_account *account, const struct thread *thread)
{
	const uint64_t at_ns = account_time(account, thread->since);
	const struct thread_stretch stretch = {
		.pid = thread->times.pid,
		.tid = thread->times.tid,
		.from_ns = at_ns,
		.to_ns = at_ns,
		.state = THREAD_UNKNOWN,
		.ends = true,
	};
	if (account->follow && thread->is_told)
		account->follow(account->follow_context, &stretch);
}

/* ---- what is kept ---- */

void account_charge(const struct time_account *account, struct thread *thread, enum time_kind kind,
		    uint64_t until)
{
	account_tell(account, thread, kind, until);
	account_charge_silently(thread, kind, until);
}

void account_charge_silently(struct thread *thread, enum time_kind kind, uint64_t until)
{
	if (until <= thread->since)
		return;
	thread->times.ns[kind] += until - thread->since;
	if (kind == TIME_WAITING)
		wait_shares_add(&thread->shares, thread->since, until);
	else
		wait_shares_pass(&thread->shares, until);
	if (kind == TIME_RUNNABLE)
		thread->shares.for_cpu += until - thread->since;
	thread->since = until;
}

enum time_kind account_kind_of(enum doing doing)
{
	static const enum time_kind kinds[] = {
		[RUNS] = TIME_RUNNING,	     [QUEUES] = TIME_RUNNABLE,	[WAITS] = TIME_WAITING,
		[SEEN_READY] = TIME_RUNNING, [SEEN_OFF] = TIME_WAITING, [UNKNOWN] = TIME_UNKNOWN,
	};
	return kinds[doing];
}
