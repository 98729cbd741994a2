/* SPDX-License-Identifier: MIT */
#ifndef CTOP_EVENT_SETS_H
#define CTOP_EVENT_SETS_H

/* How many events are sampled at most, and in which variants: main opens them, the collector says which has room. */

#include <stdint.h>

enum { SAMPLER_MAX_EVENTS = 64, SAMPLER_MAX_SETS = 3 };

/*
 * The same events, each of them opened once more with smaller copies of the stack or fewer samples: a machine that is
 * busier than foreseen is met by switching from one set to another, which reaches inherited events as well. One set is
 * enabled at a time. Sets are in the order of what they cost, the dearest first.
 */
struct sampler_set {
	uint32_t dump_bytes;
	uint32_t fewer;		  /* a sample where the first set has so many: 1 or more */
	uint32_t crowded_percent; /* of a ring that is filled: time for a cheaper one */
};

#endif
