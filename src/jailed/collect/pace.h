/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_PACE_H
#define CTOP_COLLECT_PACE_H

/*
 * A rate kept by fixed periods: which set of an event's is right for what came of the one in use. Knows figures only. While
 * all goes well, samples come at most twice as often as was asked for; less often than a tenth of it only where events do.
 */

#include <stdint.h>

#include <ctop/event_sets.h>

struct pace_seen {
	double asked_hz;  /* on each CPU */
	uint64_t nr, ns;  /* samples of the set in use on the busiest CPU, in that time */
	uint64_t calm_ns; /* nothing becomes dearer on a shorter look */
	double fill;	  /* of the fullest ring, where these samples are what fills it; else 0 */
};

/* How long to look at one set's samples before the count restarts. */
uint64_t pace_window_ns(double asked_hz);

/* The one in use, a cheaper one or the one before. */
uint32_t pace_next(const struct sampler_sets *sets, uint32_t set, const struct pace_seen *seen);

#endif
