/* SPDX-License-Identifier: MIT */
#include "wait_shares.h"

#include <ctop/base/clock.h>

/* Up to where waits are of the first class. */
#define SHORTEST_NS (NS_PER_MS / 4)

static uint64_t longest_of(unsigned class)
{
	return SHORTEST_NS << class;
}

static unsigned class_of(uint64_t ns)
{
	unsigned nr = 0;
	while (ns > longest_of(nr) && nr < WAIT_CLASSES - 1)
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
	if (settle(shares, until) && from <= shares->looked_at) {
		shares->is_looked_at = true;
		shares->sampled_of = 0;
	}
	shares->unseen += until - from;
	if (shares->is_looked_at)
		move(&shares->unseen, given(shares));
}

void wait_shares_pass(struct wait_shares *shares, uint64_t until)
{
	if (settle(shares, until))
		shares->is_looked_at = false;
}

void wait_shares_sample(struct wait_shares *shares, uint64_t period)
{
	shares->sampled_of = period;
	shares->has_stack = true;
	if (shares->is_unsettled)
		return;
	shares->nr_runs = UINT64_MAX; /* of no look */
	shares->wants_again = false;
}

void wait_shares_drop_sample(struct wait_shares *shares)
{
	shares->sampled_of = 0;
}

void wait_shares_begin(struct wait_shares *shares, uint64_t at)
{
	shares->began = at;
	shares->is_looked_at = shares->sampled_of;
}

static void give_estimate(struct wait_shares *shares, uint64_t *from)
{
	shares->estimated += *from;
	move(from, given(shares));
}

/* What a sample stands for beside itself, as far as it is there. */
static uint64_t part_of(uint64_t pool, uint64_t ns, uint64_t period, uint64_t longest)
{
	const double stands_for = (double)ns * (double)(period - 1);
	const double of_pool = (double)pool * (double)ns / (double)(4 * longest);
	const double part = stands_for > of_pool ? stands_for : of_pool;
	return part < (double)pool ? (uint64_t)part : pool;
}

void wait_shares_end(struct wait_shares *shares, uint64_t at)
{
	const uint64_t ns = at - shares->began;
	const unsigned nr = class_of(ns);
	uint64_t *alike = &shares->pool[nr];
	if (shares->is_looked_at) {
		uint64_t part = *alike;
		if (shares->sampled_of)
			part = part_of(part, ns, shares->sampled_of, longest_of(nr));
		*alike -= part;
		give_estimate(shares, &part);
		shares->last_class = nr;
	} else {
		move(&shares->unseen, alike);
	}
	shares->is_looked_at = false;
	shares->sampled_of = 0;
}

void wait_shares_break(struct wait_shares *shares)
{
	shares->is_looked_at = shares->is_unsettled = false;
	shares->sampled_of = 0;
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
