/* SPDX-License-Identifier: MIT */
/* Threads that wait for one another, as the last looks at them have it. */
#include "account_internal.h"

static bool waits_for_lock(const struct thread *thread)
{
	return thread->waited && thread->waited_for == WAIT_LOCK;
}

bool time_account_all_locked(const struct time_account *account)
{
	struct thread *thread, *next;
	HASH_ITER (hh, account->live, thread, next)
		if (!waits_for_lock(thread))
			return false;
	return HASH_COUNT(account->live) > 1;
}

/* The way from a thread to whoever holds what it waits for, and on; how long it is if it leads back there; else 0. */
static size_t follow(const struct time_account *account, const struct thread *from,
		     struct thread_name *threads, size_t most)
{
	const struct thread *thread = from;
	for (size_t nr = 0; nr < most; nr++) {
		if (nr && thread == from)
			return nr;
		if (!thread || !waits_for_lock(thread) || !thread->lock_holder)
			return 0;
		threads[nr] = (struct thread_name){thread->times.pid, thread->times.tid};
		thread = account_find(account, thread->lock_holder);
	}
	return thread == from ? most : 0;
}

void time_account_set_holder(struct time_account *account, int32_t tid, int32_t holder)
{
	struct thread *thread = account_find(account, tid);
	if (thread)
		thread->lock_holder = holder;
}

size_t time_account_find_deadlock(const struct time_account *account, struct thread_name *threads,
				  size_t most)
{
	struct thread *thread, *next;
	HASH_ITER (hh, account->live, thread, next) {
		const size_t nr = follow(account, thread, threads, most);
		if (nr)
			return nr;
	}
	return 0;
}
