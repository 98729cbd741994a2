/* SPDX-License-Identifier: MIT */
#include "pace.h"

#include <stdbool.h>

#include <ctop/base/clock.h>

/* So many samples make a rate. */
enum { WINDOW_SAMPLES = 20 };
#define WINDOW_NS (50 * NS_PER_MS)
/* A set is too dear from so many times the rate asked for on, and not chosen from so many on: switching costs, too. */
#define WELL_ABOVE 2.0
#define NOT_ABOVE  1.5
/* There is no time to go step by step. */
enum { FULL_PERCENT = 75 };

uint64_t pace_window_ns(double asked_hz)
{
	const double ns = asked_hz > 0 ? WINDOW_SAMPLES / asked_hz * (double)NS_PER_SECOND : 0;
	const double most_ns = 60.0 * (double)NS_PER_SECOND;
	return ns < (double)WINDOW_NS ? WINDOW_NS : (uint64_t)(ns < most_ns ? ns : most_ns);
}

/* How many samples so many of one set would be with another. */
static double in_set(const struct sampler_sets *sets, uint32_t set, uint32_t other, uint64_t nr)
{
	const uint32_t fewer = sets->items[other].fewer;
	return (double)nr * sets->items[set].fewer / (fewer ? fewer : 1);
}

uint32_t pace_next(const struct sampler_sets *sets, uint32_t set, const struct pace_seen *seen)
{
	if (set >= sets->nr)
		return set;
	const uint32_t last = sets->nr - 1;
	const uint64_t window_ns = pace_window_ns(seen->asked_hz);
	/* A short look shows bursts, which are let pass. */
	const uint64_t ns = seen->ns > window_ns ? seen->ns : window_ns;
	const double asked = seen->asked_hz * (double)seen->ns / (double)NS_PER_SECOND;
	const double most = WELL_ABOVE * seen->asked_hz * (double)ns / (double)NS_PER_SECOND;
	const double percent = 100 * seen->fill;
	if (percent > sets->items[set].crowded_percent || (double)seen->nr > most) {
		uint32_t next = set < last ? set + 1 : last;
		/* A burst that is over soon would be gone before the next sample of a long period: of what came it has some. */
		const bool is_lasting = seen->ns >= window_ns / 2;
		while ((is_lasting || percent > FULL_PERCENT) && next < last &&
		       in_set(sets, set, next, seen->nr) > asked &&
		       in_set(sets, set, next + 1, seen->nr) >= WINDOW_SAMPLES)
			next++;
		return next;
	}
	/* One more: it may be about to come. */
	if (set && seen->ns >= seen->calm_ns &&
	    in_set(sets, set, set - 1, seen->nr + 1) <= NOT_ABOVE * asked)
		return set - 1;
	return set;
}
