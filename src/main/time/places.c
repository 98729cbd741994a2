/* SPDX-License-Identifier: MIT */
/* Which of the account's waiting is given to which stack, and when: wait_shares.h. */
#include "account_internal.h"

#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>

/* Waits that go on are given in parts: an eighth of what they have been, within these. */
#define PART_LEAST_NS (100 * NS_PER_MS)
#define PART_MOST_NS  (2 * NS_PER_SECOND)

/* Without memory it is left for the next time. */
static void give(struct time_account *account, const struct thread *thread, enum wait_place place,
		 uint64_t *ns)
{
	if (!*ns || vec_reserve(&account->shares, account->shares.nr + 1))
		return;
	struct wait_share *share = &account->shares.items[account->shares.nr++];
	*share = (struct wait_share){
		.pid = thread->times.pid,
		.tid = thread->times.tid,
		.place = place,
		.ns = *ns,
		.until_ns = account_time(account, thread->since),
	};
	memcpy(share->name, thread->times.name, sizeof(share->name));
	*ns = 0;
}

static void give_all(struct time_account *account, struct thread *thread)
{
	struct wait_shares *shares = &thread->shares;
	give(account, thread, WAIT_AT_BEFORE, &shares->at_before);
	give(account, thread, shares->is_unsettled ? WAIT_AT_BEFORE : WAIT_AT_LAST,
	     &shares->at_last);
	if (shares->for_cpu >= PART_LEAST_NS)
		give(account, thread, WAIT_FOR_CPU, &shares->for_cpu);
	account->estimated_ns += shares->estimated;
	shares->estimated = 0;
}

void account_close_shares(struct time_account *account, struct thread *thread)
{
	if (!account->places_waits)
		return;
	uint64_t unplaced = wait_shares_close(&thread->shares, thread->since);
	give_all(account, thread);
	give(account, thread, WAIT_UNPLACED, &unplaced);
	give(account, thread, WAIT_FOR_CPU, &thread->shares.for_cpu);
}

void time_account_place_waits(struct time_account *account)
{
	account->places_waits = true;
}

/* Of a wait that goes on: a part of it as soon as that shows, of long ones less often. */
static bool is_worth_giving(const struct thread *thread)
{
	const struct wait_shares *shares = &thread->shares;
	const uint64_t so_far = thread->since - shares->began;
	const uint64_t least = so_far / 8 < PART_LEAST_NS  ? PART_LEAST_NS
			       : so_far / 8 > PART_MOST_NS ? PART_MOST_NS
							   : so_far / 8;
	return shares->at_last >= least || shares->at_before;
}

/* Where the kernel does not count it may be another one each time. */
static bool is_wait_of_last_look(const struct wait_shares *shares, const struct sched_stat *now)
{
	return shares->has_stack && now->is_known && shares->nr_runs == now->nr_runs;
}

enum wait_news time_account_wait_news(struct time_account *account, int32_t tid,
				      const struct sched_stat *now, uint64_t known_ns)
{
	struct thread *thread = account_find(account, tid);
	if (!thread)
		return WAIT_IS_EARLY;
	struct wait_shares *shares = &thread->shares;
	if (!account->by_looks && (thread->doing == WAITS || thread->doing == SEEN_OFF))
		account_charge(account, thread, TIME_WAITING, account_clock(account, known_ns));
	if (is_wait_of_last_look(shares, now)) {
		/* What there is to give waits until whoever keeps the stacks has this one again. */
		if (shares->wants_again)
			return WAIT_IS_LOST;
		if (is_worth_giving(thread))
			give_all(account, thread);
		return WAIT_IS_KNOWN;
	}
	if (shares->is_unsettled)
		return WAIT_IS_EARLY;
	give_all(account, thread);
	return WAIT_IS_NEW;
}

bool time_account_has_place(const struct time_account *account, int32_t tid,
			    const struct sched_stat *now)
{
	const struct thread *thread = account_find(account, tid);
	return thread && is_wait_of_last_look(&thread->shares, now) && !thread->shares.wants_again;
}

void time_account_placed(struct time_account *account, int32_t tid, const struct sched_stat *now,
			 enum wait_news news, uint64_t ns)
{
	struct thread *thread = account_find(account, tid);
	if (thread && news == WAIT_IS_LOST)
		thread->shares.wants_again = false;
	else if (thread)
		wait_shares_look(&thread->shares, account_clock(account, ns), now->nr_runs);
	if (thread && account->by_looks)
		wait_shares_give_unseen(&thread->shares);
}

bool time_account_may_sample(struct time_account *account, int32_t tid, enum wait_place *place)
{
	struct thread *thread = account_find(account, tid);
	if (!thread || account->by_looks || !account->is_on || !account->places_waits ||
	    thread->doing == QUEUES || thread->doing == WAITS || thread->doing == SEEN_OFF ||
	    thread->shares.sampled_of) /* some come twice */
		return false;
	give_all(account, thread);
	*place = thread->shares.is_unsettled ? WAIT_AT_BEFORE : WAIT_AT_LAST;
	return true;
}

void time_account_sampled(struct time_account *account, int32_t tid, uint64_t period)
{
	struct thread *thread = account_find(account, tid);
	if (thread)
		wait_shares_sample(&thread->shares, period);
}

bool time_account_is_sampled(const struct time_account *account, int32_t tid)
{
	const struct thread *thread = account_find(account, tid);
	return thread && thread->doing == WAITS && thread->shares.sampled_of;
}

void time_account_forget_places(struct time_account *account)
{
	struct thread *thread, *next;
	HASH_ITER (hh, account->live, thread, next)
		thread->shares.wants_again = true;
}

void time_account_close_places(struct time_account *account, uint64_t ns)
{
	const uint64_t at = account_clock(account, ns);
	struct thread *thread, *next;
	HASH_ITER (hh, account->live, thread, next) {
		if (!account->by_looks || thread->doing != UNKNOWN)
			account_charge(account, thread, account_kind_of(thread->doing), at);
		account_close_shares(account, thread);
	}
}

size_t time_account_take_shares(struct time_account *account, struct wait_share *shares,
				size_t most)
{
	const size_t nr = account->shares.nr < most ? account->shares.nr : most;
	if (!nr)
		return 0;
	memcpy(shares, account->shares.items, nr * sizeof(*shares));
	account->shares.nr -= nr;
	memmove(account->shares.items, account->shares.items + nr,
		account->shares.nr * sizeof(*shares));
	return nr;
}

uint64_t time_account_estimated_ns(const struct time_account *account)
{
	return account->estimated_ns;
}
