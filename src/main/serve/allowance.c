/* SPDX-License-Identifier: MIT */
#include "allowance.h"

#include <ctop/base/clock.h>

enum { SAVED_SECONDS = 60 };

static double a_second_ns(const struct allowance *allowance)
{
	return allowance->share * allowance->nr_cpus * (double)NS_PER_SECOND;
}

void allowance_begin(struct allowance *allowance, double share, uint32_t nr_cpus, uint64_t now_ns,
		     uint64_t spent_ns)
{
	*allowance = (struct allowance){.share = share,
					.nr_cpus = nr_cpus,
					.began_ns = now_ns,
					.at_ns = now_ns,
					.spent_ns = spent_ns,
					.before_ns = spent_ns};
}

void allowance_look(struct allowance *allowance, uint64_t now_ns, uint64_t spent_ns,
		    bool of_capture)
{
	const bool was_paid = allowance->balance_ns >= 0;
	const double most_ns = SAVED_SECONDS * a_second_ns(allowance);
	if (now_ns > allowance->at_ns) {
		allowance->balance_ns += a_second_ns(allowance) *
					 (double)(now_ns - allowance->at_ns) /
					 (double)NS_PER_SECOND;
		allowance->at_ns = now_ns;
	}
	if (spent_ns > allowance->spent_ns) {
		allowance->balance_ns -= (double)(spent_ns - allowance->spent_ns);
		allowance->spent_ns = spent_ns;
	}
	if (!of_capture && was_paid && allowance->balance_ns < 0)
		allowance->balance_ns = 0;
	if (allowance->balance_ns > most_ns)
		allowance->balance_ns = most_ns;
}

uint64_t allowance_wait_ns(const struct allowance *allowance)
{
	if (!(allowance->share > 0) || allowance->balance_ns >= 0)
		return 0;
	const double ns = -allowance->balance_ns / a_second_ns(allowance) * (double)NS_PER_SECOND;
	return ns < (double)UINT32_MAX * (double)NS_PER_SECOND ? (uint64_t)ns + 1
							       : UINT32_MAX * NS_PER_SECOND;
}

double allowance_spent_share(const struct allowance *allowance)
{
	const double all_ns = (double)(allowance->at_ns - allowance->began_ns) * allowance->nr_cpus;
	return all_ns > 0 ? (double)(allowance->spent_ns - allowance->before_ns) / all_ns : 0;
}
