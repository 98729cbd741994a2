/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_PMU_H
#define CTOP_PERF_PMU_H

/*
 * Counters as sysfs describes them: NAME/type is the number for perf_event_open(2), NAME/format/TERM the bits
 * that a term fills, NAME/events/EVENT the terms that an event stands for (sysfs-bus-event_source-devices-format
 * and -events in the kernel's Documentation/ABI/testing).
 */

#include <stddef.h>

#include <ctop/perf/event.h>

#define PMU_DEVICES "/sys/bus/event_source/devices"

/*
 * Reads event->name, "pmu/term=value,.../" with modifiers behind it, into the event; modifiers are taken off the
 * name. 0, or -EINVAL with the cause, its place marked. devices: PMU_DEVICES but for tests.
 */
int pmu_parse(const char *devices, struct event *event, struct error *error);
/* Of an event that is no PMU's, the terms between its slashes: period, freq, name. 0, or -EINVAL with the place marked. */
int pmu_parse_terms(struct event *event, struct error *error);

/* The type of a counter by its name; -errno when it is not there. */
int pmu_type(const char *devices, const char *name);
/* The bits of a term of it, "config:0": -errno when there is none. *which: 0 for config, 1, 2. */
struct pmu_bits {
	unsigned which; /* config, config1, config2 */
	uint64_t mask;
};
int pmu_term(const char *devices, const char *name, const char *term, struct pmu_bits *bits);

/* Calls event(context, "msr/tsc/") for every event with a name. 0 or -errno. */
int pmu_each_event(const char *devices, void (*event)(void *context, const char *name),
		   void *context);

#endif
