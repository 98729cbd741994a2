/* SPDX-License-Identifier: MIT */
#include "wait_shares.h"

#include <ctop/base/clock.h>

/* Up to where waits are of the first class. */
#define SHORTEST_NS (NS_PER_MS / 4)

static unsigned class_of(uint64_t ns)
{
	unsigned nr = 0;
	for (uint64_t most = SHORTEST_NS; ns > most && nr < WAIT_CLASSES - 1; most *= 4)
		nr++;
	return nr;
}

/* News up to then: it is known whether the last look was at the wait that it tells of. */
static bool settle(struct wait_shares *shares, uint64_t until)
{
	const bool is_settled = shares->is_unsettled && shares->looked_at <= until;
	if (is_settled)
		shares->is_unsettled = false;
	return is_settled;
}

static uint64_t *given(struct wait_shares *shares)
{
	return shares->is_unsettled ? &shares->at_before : &shares->at_last;
}

static void move(uint64_t *from, uint64_t *to)
{
	*to += *from;
	*from = 0;
}

void wait_shares_add(struct wait_shares *shares, uint64_t from, uint64_t until)
{
	if (settle(shares, until))
		shares->is_looked_at = from <= shares->looked_at;
	shares->unseen += until - from;
	if (shares->is_looked_at)
		move(&shares->unseen, given(shares));
}

void wait_shares_pass(struct wait_shares *shares, uint64_t until)
{
	if (settle(shares, until))
		shares->is_looked_at = false;
}

void wait_shares_begin(struct wait_shares *shares, uint64_t at)
{
	shares->began = at;
	shares->is_looked_at = false;
}

static void give_estimate(struct wait_shares *shares, uint64_t *from)
{
	shares->estimated += *from;
	move(from, given(shares));
}

void wait_shares_end(struct wait_shares *shares, uint64_t at)
{
	const unsigned nr = class_of(at - shares->began);
	uint64_t *alike = &shares->pool[nr];
	if (shares->is_looked_at) {
		give_estimate(shares, alike);
		shares->last_class = nr;
	} else {
		move(&shares->unseen, alike);
	}
	shares->is_looked_at = false;
}

void wait_shares_break(struct wait_shares *shares)
{
	shares->is_looked_at = shares->is_unsettled = false;
}

void wait_shares_look(struct wait_shares *shares, uint64_t at, uint64_t nr_runs)
{
	shares->looked_at = at;
	shares->is_unsettled = true;
	shares->nr_runs = nr_runs;
	shares->has_stack = true;
	shares->wants_again = false;
}

void wait_shares_give_unseen(struct wait_shares *shares)
{
	shares->estimated += shares->unseen;
	move(&shares->unseen, &shares->at_last);
}

uint64_t wait_shares_close(struct wait_shares *shares, uint64_t at)
{
	uint64_t ns = 0;
	wait_shares_end(shares, at);
	if (shares->has_stack && !shares->is_unsettled)
		give_estimate(shares, &shares->pool[shares->last_class]);
	for (int nr = 0; nr < WAIT_CLASSES; nr++)
		move(&shares->pool[nr], &ns);
	return ns;
}
