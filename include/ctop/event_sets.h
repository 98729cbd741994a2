/* SPDX-License-Identifier: MIT */
#ifndef CTOP_EVENT_SETS_H
#define CTOP_EVENT_SETS_H

/* How many events are sampled at most, and in which variants: main opens them, the collector says which has room. */

#include <stdint.h>

enum { SAMPLER_MAX_EVENTS = 64, SAMPLER_MAX_SETS = 5 };

/*
 * The same events, each opened again with smaller copies of the stack or fewer samples: when a machine is busier than
 * foreseen, ctop switches from one set to another, which reaches inherited events as well. Of each event one set is enabled at a
 * time. Sets are in the order of what they cost, the most expensive first.
 *
 * Events whose rate ctop keeps itself, as the kernel does not keep it well (sampler_opened.paced), have sets of their own, with
 * a fixed period each, and are switched one by one; all others are switched together.
 */
struct sampler_set {
	uint32_t dump_bytes;
	uint32_t
		fewer; /* one sample for so many of the first set: 1 or more. Of paced events: the period */
	uint32_t crowded_percent; /* of a ring that is filled: time for a cheaper one */
};
struct sampler_sets {
	uint32_t nr; /* 0: there are no such events */
	struct sampler_set items[SAMPLER_MAX_SETS];
};

#endif
