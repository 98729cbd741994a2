/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SERVE_ALLOWANCE_H
#define CTOP_SERVE_ALLOWANCE_H

/*
 * What --budget allows ctop serve as a whole, and when the next capture may begin: once what the last ones took is paid back. Up to a minute's
 * allowance is saved. Knows figures only; times are in ns, of the clock or of CPUs.
 */

#include <stdbool.h>
#include <stdint.h>

struct allowance {
	double share; /* of all CPUs' time, up to 1; 0: there is no budget */
	uint32_t nr_cpus;
	uint64_t began_ns, at_ns;
	uint64_t spent_ns;  /* by then, ever */
	uint64_t before_ns; /* of it, before it began */
	double balance_ns;  /* below 0: to be paid back */
};

void allowance_begin(struct allowance *allowance, double share, uint32_t nr_cpus, uint64_t now_ns,
		     uint64_t spent_ns);
/*
 * What was spent by now, ever; less than before is a moment's error. of_capture: a capture has part in it; else it makes no debt, be the budget ever so small: else
 * there would never be a first capture.
 */
void allowance_look(struct allowance *allowance, uint64_t now_ns, uint64_t spent_ns,
		    bool of_capture);
/* Until a capture may begin; 0: now. */
uint64_t allowance_wait_ns(const struct allowance *allowance);
/* The share of all CPUs' time that was spent since it began. */
double allowance_spent_share(const struct allowance *allowance);

#endif
