/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_SPENDING_H
#define CTOP_SESSION_SPENDING_H

/*
 * What --budget allows, what was spent of it, and which set of the events holds it. Knows figures only: whoever measures says once a second
 * what it came to. Times are of CPUs, in ns; the machine has as many of them as CPUs are online.
 *
 * A balance is kept: what was not spent pays for a burst later, up to 10 s of it, and what was spent too much, up to a minute's, is paid back. Debts are
 * mostly of what a lower rate does not change, as names that are read: to pay them, samples have a quarter of the budget left for a minute.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/event_sets.h>

struct spending {
	double share; /* of all CPUs' time, up to 1; 0: there is no budget */
	uint32_t nr_cpus;
	uint64_t ns, own_ns,
		kernel_ns; /* of the clock, of ctop's processes, of the kernel for it: since it began */
	double balance_ns;	      /* below 0: a debt */
	uint64_t debt_ns;	      /* of the clock: so long there has been one */
	double fixed_ns, varying_ns;  /* a second, smoothed */
	uint64_t settled_ns, calm_ns; /* since the last change; nothing becomes dearer before */
	bool was_dearer;	      /* the last change was to a dearer set */
};

/* What a stretch of time came to. */
struct spent {
	uint64_t ns; /* of the clock */
	uint64_t own_ns, kernel_ns;
	uint64_t varying_ns; /* of both: what goes with the number of samples */
};

/* What each set costs, in any unit: a sample's cost by its rate. The most expensive first. */
struct set_costs {
	uint32_t nr;
	double items[SAMPLER_MAX_SETS];
};

void spending_begin(struct spending *spending, double share, uint32_t nr_cpus);
/* The set to take: the one in use, a cheaper one, or the one before. */
uint32_t spending_next(struct spending *spending, const struct set_costs *costs, uint32_t set,
		       const struct spent *spent);
/* It has been spent too much for 10 s, or less before all is over. */
bool spending_is_over(const struct spending *spending, bool is_last);
/* What may be spent of a stretch of the clock's time. */
double spending_allowed_ns(const struct spending *spending, uint64_t ns);
/*
 * How long looks that took so much CPU time stand for: at least ns, and so long that looks take a quarter of the budget, in debt a sixteenth; for that a
 * minute at most.
 */
uint64_t spending_pause_ns(const struct spending *spending, uint64_t cpu_ns, uint64_t ns);

#endif
