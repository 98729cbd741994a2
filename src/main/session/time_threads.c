/* SPDX-License-Identifier: MIT */
#include "time_account_internal.h"

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
	struct thread *thread;
	HASH_FIND(hh, account->live, &tid, sizeof(tid), thread);
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
	HASH_ADD(hh, account->live, times.tid, sizeof(thread->times.tid), thread);
	if (!thread->hh.tbl) { /* uthash had no memory */
		free(thread);
		return -ENOMEM;
	}
	*added = thread;
	return 0;
}

void account_charge(struct thread *thread, enum time_kind kind, uint64_t until)
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
