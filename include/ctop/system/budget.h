/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_BUDGET_H
#define CTOP_SYSTEM_BUDGET_H

/*
 * How much main does of one thing before it looks around: signals, the terminal, the other children. What asks for
 * more, however much that is, gets the same again in the next turn. Main only.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/clock.h>

/* A turn has a handful of these: together well below what a user notices, 100 ms. */
#define BUDGET_NS (10 * NS_PER_MS)

struct budget {
	uint64_t until_ns;
	unsigned nr_left;
};

/* So many pieces of work, none of which takes long, and BUDGET_NS. */
static inline struct budget budget_of(unsigned nr_pieces)
{
	return (struct budget){.until_ns = clock_now_ns() + BUDGET_NS, .nr_left = nr_pieces};
}

/* True when there may be one more piece of work. */
static inline bool budget_take(struct budget *budget)
{
	if (!budget->nr_left || clock_now_ns() >= budget->until_ns)
		return false;
	budget->nr_left--;
	return true;
}

#endif
