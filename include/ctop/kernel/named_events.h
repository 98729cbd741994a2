/* SPDX-License-Identifier: MIT */
#ifndef CTOP_KERNEL_NAMED_EVENTS_H
#define CTOP_KERNEL_NAMED_EVENTS_H

/* The kernel's own events: their names as perf has them, their numbers (perf_event_open(2)), and what they count. */

#include <stddef.h>
#include <stdint.h>

#include <ctop/weight_unit.h>

struct named_event {
	const char *name;
	uint32_t type;
	uint64_t config;
	enum weight_unit unit;
	const char *description; /* NULL: nobody asks for it */
};

/* Of several names of one event its usual one comes first. */
extern const struct named_event named_events[];
extern const size_t nr_named_events;

/* Its usual name; NULL: it has none. */
const char *event_name(uint32_t type, uint64_t config);
/* What the kernel counts. Of a type that is this machine's own (a PMU, a uprobe): WEIGHT_EVENTS. */
enum weight_unit event_unit(uint32_t type, uint64_t config);

#endif
