/* SPDX-License-Identifier: MIT */
#include "wait_shares.h"

/* News up to then: it is known whether the last look was at the wait that it tells of. */
static bool settle(struct wait_shares *shares, uint64_t until)
{
	const bool is_settled = shares->is_unsettled && shares->looked_at <= until;
	if (is_settled)
		shares->is_unsettled = false;
	return is_settled;
}

void wait_shares_add(struct wait_shares *shares, uint64_t from, uint64_t until)
{
	if (settle(shares, until))
		shares->is_looked_at = from <= shares->looked_at;
	if (!shares->is_looked_at)
		shares->pool += until - from;
	else if (shares->is_unsettled)
		shares->at_before += until - from;
	else
		shares->at_last += until - from;
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

static void give_pool(struct wait_shares *shares, uint64_t *to)
{
	*to += shares->pool;
	shares->estimated += shares->pool;
	shares->pool = 0;
}

void wait_shares_end(struct wait_shares *shares, uint64_t at, uint64_t short_ns)
{
	if (shares->is_looked_at && at - shares->began < short_ns)
		give_pool(shares, shares->is_unsettled ? &shares->at_before : &shares->at_last);
	shares->is_looked_at = false;
}

void wait_shares_look(struct wait_shares *shares, uint64_t at, uint64_t nr_runs)
{
	shares->looked_at = at;
	shares->is_unsettled = true;
	shares->nr_runs = nr_runs;
	shares->has_stack = true;
	shares->wants_again = false;
}

void wait_shares_give_pool(struct wait_shares *shares)
{
	if (shares->has_stack)
		give_pool(shares, &shares->at_last);
}
