/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_RATE_REASON_H
#define CTOP_REPORT_RATE_REASON_H

/* Why fewer samples came than were asked for. Knows figures only, not where they are from. */

#include <ctop/base/text.h>

#include <ctop/system/cpu_times.h>

struct rate_facts {
	double asked_hz;   /* by the user, of a CPU that is used all the time; 0: he did not */
	double opened_hz;  /* the same, of the kernel; 0: not known */
	double reached_hz; /* samples per second that came */
	double used_share; /* of one CPU's time that a target of threads used, 1 per CPU; negative: not known */
	uint64_t nr_cpus;      /* of whole CPUs: how many; else 0 */
	struct cpu_times cpus; /* of all that were sampled; all 0: not known */
	uint64_t
		fewer_ns; /* of the time, how much was sampled less often, as the rings filled or, */
	bool has_budget;  /* with --budget, that was spent */
	uint64_t throttled; /* times that the kernel held sampling back */
};

/* Adds each reason there is, with "; " before it; nothing where the rate was reached. */
void rate_reason_add(const struct rate_facts *facts, struct text *text);

#endif
