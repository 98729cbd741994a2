/* SPDX-License-Identifier: MIT */
#include "spending.h"

#include <ctop/base/clock.h>

enum { CREDIT_SECONDS = 10, DEBT_SECONDS = 60, PAID_BACK_SECONDS = 10, OVER_SECONDS = 10 };
/* For samples, while a debt is not older than a minute. */
#define KEPT_FOR_SAMPLES 0.25
/* A dearer set is foreseen to leave so much. */
#define WELL_BELOW   0.8
#define CALM_NS	     (3 * NS_PER_SECOND)
#define CALM_MOST_NS (64 * NS_PER_SECOND)
/* Of a new second in the mean: of samples half, of what comes in bursts less. */
#define OF_VARYING    0.5
#define OF_FIXED      0.25
#define LOOKS	      0.25
#define LOOKS_DEBT    0.0625
#define PAUSE_MOST_NS (60 * NS_PER_SECOND)

void spending_begin(struct spending *spending, double share, uint32_t nr_cpus)
{
	*spending = (struct spending){.share = share, .nr_cpus = nr_cpus, .calm_ns = CALM_NS};
}

double spending_allowed_ns(const struct spending *spending, uint64_t ns)
{
	return spending->share * spending->nr_cpus * (double)ns;
}

uint64_t spending_pause_ns(const struct spending *spending, uint64_t cpu_ns, uint64_t ns)
{
	const double part = spending->balance_ns < 0 ? LOOKS_DEBT : LOOKS;
	const double least_ns =
		spending->share > 0 ? (double)cpu_ns / (part * spending->share * spending->nr_cpus)
				    : 0;
	if (least_ns <= (double)ns)
		return ns;
	return least_ns < (double)PAUSE_MOST_NS ? (uint64_t)least_ns
	       : PAUSE_MOST_NS > ns		? PAUSE_MOST_NS
						: ns;
}

bool spending_is_over(const struct spending *spending, bool is_last)
{
	const double spent_ns = (double)(spending->own_ns + spending->kernel_ns);
	return spending->share > 0 &&
	       (spending->debt_ns >= OVER_SECONDS * NS_PER_SECOND ||
		(is_last && spent_ns > spending_allowed_ns(spending, spending->ns)));
}

static void add_up(struct spending *spending, const struct spent *spent)
{
	const double a_second_ns = spending_allowed_ns(spending, NS_PER_SECOND);
	const double most_ns = CREDIT_SECONDS * a_second_ns, least_ns = -DEBT_SECONDS * a_second_ns;
	spending->ns += spent->ns;
	spending->own_ns += spent->own_ns;
	spending->kernel_ns += spent->kernel_ns;
	spending->balance_ns += spending_allowed_ns(spending, spent->ns) -
				(double)(spent->own_ns + spent->kernel_ns);
	if (spending->balance_ns > most_ns)
		spending->balance_ns = most_ns;
	if (spending->balance_ns < least_ns)
		spending->balance_ns = least_ns;
	spending->debt_ns = spending->balance_ns < 0 ? spending->debt_ns + spent->ns : 0;
	spending->settled_ns += spent->ns;
}

static double mean(double before, double now, double part)
{
	return before + part * (now - before);
}

/* What samples may cost, in a second. */
static double room_ns(const struct spending *spending)
{
	const double allowed_ns = spending_allowed_ns(spending, NS_PER_SECOND);
	const double debt_ns = spending->balance_ns < 0 ? -spending->balance_ns : 0;
	const double kept_ns = spending->debt_ns < DEBT_SECONDS * NS_PER_SECOND
				       ? KEPT_FOR_SAMPLES * allowed_ns
				       : 0;
	const double left_ns = allowed_ns - debt_ns / PAID_BACK_SECONDS - spending->fixed_ns;
	return left_ns > kept_ns ? left_ns : kept_ns;
}

static uint32_t change(struct spending *spending, const struct set_costs *costs, uint32_t set,
		       uint32_t next)
{
	if (next < set) {
		spending->was_dearer = true;
	} else {
		/* What was tried did not hold: it is tried later, and later. */
		if (spending->was_dearer && spending->calm_ns < CALM_MOST_NS)
			spending->calm_ns *= 2;
		spending->was_dearer = false;
	}
	spending->varying_ns *= costs->items[next] / costs->items[set];
	spending->settled_ns = 0;
	return next;
}

uint32_t spending_next(struct spending *spending, const struct set_costs *costs, uint32_t set,
		       const struct spent *spent)
{
	if (!spent->ns || set >= costs->nr)
		return set;
	const double seconds = (double)spent->ns / (double)NS_PER_SECOND;
	const uint64_t all_ns = spent->own_ns + spent->kernel_ns;
	const uint64_t fixed_ns = all_ns > spent->varying_ns ? all_ns - spent->varying_ns : 0;
	add_up(spending, spent);
	spending->fixed_ns = mean(spending->fixed_ns, (double)fixed_ns / seconds, OF_FIXED);
	spending->varying_ns =
		mean(spending->varying_ns, (double)spent->varying_ns / seconds, OF_VARYING);
	const double most_ns = room_ns(spending), varying_ns = spending->varying_ns;
	uint32_t next = set;
	while (next + 1 < costs->nr &&
	       varying_ns * costs->items[next] / costs->items[set] > most_ns)
		next++;
	if (next != set)
		return change(spending, costs, set, next);
	/* Where it has held for long, it may do so again at once. */
	if (spending->settled_ns >= CALM_MOST_NS)
		spending->calm_ns = CALM_NS;
	if (!set || spending->balance_ns < 0 || spending->settled_ns < spending->calm_ns ||
	    varying_ns * costs->items[set - 1] / costs->items[set] > WELL_BELOW * most_ns)
		return set;
	return change(spending, costs, set, set - 1);
}
