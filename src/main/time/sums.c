/* SPDX-License-Identifier: MIT */
/* What is asked of the account: who its threads are, and their times. */
#include "account_internal.h"

#include <stdlib.h>

/* ---- sums ---- */

/* By looks at any time, each kind is seen as often as it takes of the time. Rounding goes to the last. */
static void share_out(struct thread_times *times, const struct thread *thread)
{
	const uint64_t waiting_ns = times->ns[TIME_WAITING];
	uint64_t left_ns = waiting_ns;
	int last = WAIT_UNSEEN;
	for (int kind = 0; kind < NR_WAIT_KINDS && thread->nr_looks_all; kind++) {
		const double share = (double)thread->nr_looks[kind] / thread->nr_looks_all;
		const uint64_t ns = (uint64_t)((double)waiting_ns * share);
		times->wait_ns[kind] = ns < left_ns ? ns : left_ns;
		left_ns -= times->wait_ns[kind];
		last = thread->nr_looks[kind] ? kind : last;
	}
	times->wait_ns[last] += left_ns;
}

void account_add_times(struct thread_times *sum, const struct thread_times *times)
{
	sum->observed_ns += times->observed_ns;
	for (int kind = 0; kind < NR_TIME_KINDS; kind++)
		sum->ns[kind] += times->ns[kind];
	for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
		sum->wait_ns[kind] += times->wait_ns[kind];
}

struct thread_times account_times_at(const struct thread *thread, enum time_kind last, uint64_t at)
{
	struct thread so_far = *thread;
	account_charge_silently(&so_far, last, at);
	so_far.times.observed_ns = so_far.since - so_far.began;
	share_out(&so_far.times, &so_far);
	return so_far.times;
}

/* ---- threads ---- */

size_t time_account_tids(const struct time_account *account, int32_t *tids, size_t most)
{
	size_t nr = 0;
	for (const struct thread *thread = account->live; thread && nr < most;
	     thread = thread->hh.next)
		tids[nr++] = thread->times.tid;
	return nr;
}

const char *time_account_name(const struct time_account *account, int32_t tid)
{
	const struct thread *thread = account_find(account, tid);
	return thread ? thread->times.name : NULL;
}

const char *time_account_last_name(const struct time_account *account, int32_t tid)
{
	const char *name = time_account_name(account, tid);
	for (size_t i = account->ended.nr; !name && i-- > 0;)
		if (account->ended.items[i].tid == tid)
			name = account->ended.items[i].name;
	return name;
}

bool time_account_has(const struct time_account *account, int32_t pid, int32_t tid)
{
	const struct thread *thread = account_find(account, tid);
	return thread && thread->times.pid == pid;
}

size_t time_account_long_waits(const struct time_account *account, uint64_t least_ns,
			       uint64_t now_ns, int32_t *tids, size_t most)
{
	const uint64_t now = account_clock(account, now_ns);
	uint64_t began[UINT8_MAX];
	size_t nr = 0;
	most = most < UINT8_MAX ? most : UINT8_MAX;
	for (const struct thread *thread = account->live; thread; thread = thread->hh.next) {
		const uint64_t since = thread->shares.began;
		const bool waits = thread->doing == WAITS || thread->doing == SEEN_OFF;
		if (!waits || since + least_ns > now || (nr == most && since <= began[nr - 1]))
			continue;
		size_t at = nr < most ? nr++ : nr - 1;
		for (; at && since > began[at - 1]; at--) {
			began[at] = began[at - 1];
			tids[at] = tids[at - 1];
		}
		began[at] = since;
		tids[at] = thread->times.tid;
	}
	return nr;
}

size_t time_account_nr_live(const struct time_account *account)
{
	return HASH_COUNT(account->live);
}

uint64_t time_account_nr_left_out(const struct time_account *account)
{
	return account->nr_left_out;
}

uint64_t time_account_nr_threads(const struct time_account *account)
{
	return HASH_COUNT(account->live) + account->ended.nr + account->nr_others;
}

/* ---- their times ---- */

static struct thread_times live_times(const struct time_account *account,
				      const struct thread *thread, uint64_t at)
{
	/* What the next look will tell of is left until then. */
	return account_times_at(thread, account_kind_of(thread->doing),
				account->by_looks && thread->doing == UNKNOWN ? thread->since : at);
}

struct thread_times time_account_sum(const struct time_account *account, uint64_t ns)
{
	const uint64_t at = account_clock(account, ns);
	struct thread_times sum = account->others;
	struct thread *thread, *next;
	for (size_t i = 0; i < account->ended.nr; i++)
		account_add_times(&sum, &account->ended.items[i]);
	HASH_ITER (hh, account->live, thread, next) {
		const struct thread_times times = live_times(account, thread, at);
		account_add_times(&sum, &times);
	}
	return sum;
}

static int compare(const void *a, const void *b)
{
	const struct thread_times *left = a, *right = b;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

/* One row more, or, where all are taken, to the others. */
static void tell(struct thread_times *threads, size_t most, size_t *nr, struct thread_times *others,
		 const struct thread_times *times)
{
	if (*nr < most)
		threads[(*nr)++] = *times;
	else
		account_add_times(others, times);
}

size_t time_account_threads(const struct time_account *account, uint64_t ns,
			    struct thread_times *threads, size_t most)
{
	const uint64_t at = account_clock(account, ns);
	struct thread_times others = account->others;
	struct thread *thread, *next;
	size_t nr = 0;
	HASH_ITER (hh, account->live, thread, next) {
		const struct thread_times times = live_times(account, thread, at);
		tell(threads, most, &nr, &others, &times);
	}
	/* Of very many the brief ones are the others. */
	for (size_t i = 0; i < account->ended.nr; i++)
		tell(threads, most, &nr, &others, &account->ended.items[i]);
	qsort(threads, nr, sizeof(*threads), compare);
	if (others.observed_ns)
		threads[nr++] = others;
	return nr;
}
