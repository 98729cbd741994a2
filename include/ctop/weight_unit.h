/* SPDX-License-Identifier: MIT */
#ifndef CTOP_WEIGHT_UNIT_H
#define CTOP_WEIGHT_UNIT_H

/*
 * What the weights of an event's samples count: a closed list. Found once, where the event's type and number are known
 * (perf/event.h), and carried to every view. Numbers are part of the recording's format: never renumber, only add before the
 * NR_. Words are in src/shared/base/weight_unit.c.
 */

#include <stdbool.h>
#include <stdint.h>

enum weight_unit {
	WEIGHT_EVENTS, /* no better word is known */
	WEIGHT_NS,     /* of the clocks: time, not a number of anything */
	WEIGHT_FAULTS,
	WEIGHT_SWITCHES,
	WEIGHT_MIGRATIONS,
	WEIGHT_CYCLES,
	WEIGHT_INSTRUCTIONS,
	WEIGHT_BRANCHES,
	WEIGHT_MISSES,
	WEIGHT_ACCESSES,
	WEIGHT_HITS, /* of a tracepoint or a probe */
	NR_WEIGHT_UNITS
};

/* "fault" of one, "faults" of others; "event", "events" when out of range. Static strings. */
const char *weight_unit_name(uint32_t unit, uint64_t nr);

#endif
