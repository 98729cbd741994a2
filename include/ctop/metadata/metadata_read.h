/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_METADATA_READ_H
#define CTOP_METADATA_METADATA_READ_H

/* What a history's metadata say. They may come from a file that anybody wrote: input. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/history/history.h>
#include <ctop/system/cpu_times.h>

/* 0 when the key is not there or its value is no number. */
uint64_t metadata_number(const struct history *history, const char *key);
/* The values of KEY.0, KEY.1, ..., at most max. How many. */
size_t metadata_list(const struct history *history, const char *key, const char **values,
		     size_t max);
/* "stats.NAME.EVENT": what an event came to. 0: not known. */
uint64_t metadata_event_number(const struct history *history, const char *name, size_t event);
/* Of the time, how much of it an event had a counter; 0: not known. */
double metadata_share(const struct history *history, size_t event);
/* What the sampled CPUs did meanwhile; all 0: not known. */
struct cpu_times metadata_cpu_times(const struct history *history);
/* Below, events took turns on the counters; what starting and stopping costs is above. */
#define METADATA_SHARED_BELOW 0.95
/* More than anybody reads. */
enum { UNREADABLE_MAX = 64 };
/* True when the metadata event.* are about this event: they describe the first. NULL stands for it. */
bool metadata_describe_event(const struct history *history, const char *event);

#endif
