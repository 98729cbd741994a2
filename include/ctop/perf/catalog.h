/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_CATALOG_H
#define CTOP_PERF_CATALOG_H

/*
 * Every event that has a name on this machine, and whether this user can sample it now. Main only.
 */

#include <stdbool.h>

#include <ctop/perf/event.h>

enum event_kind {
	EVENT_HARDWARE,
	EVENT_CACHE,
	EVENT_SOFTWARE,
	EVENT_CLOCK,
	EVENT_PMU,   /* described by sysfs */
	EVENT_PROBE, /* how a probe is written */
	EVENT_CPU,   /* known to libpfm4 for this CPU */
	EVENT_TRACEPOINT,
	NR_EVENT_KINDS
};

struct catalog_reader {
	void *context;
	void (*event)(void *context, enum event_kind kind, const char *name,
		      const char *description);
};

/* Tells of every name. 0; -errno when the tracepoints could not be listed: -ENODEV, tracefs is not mounted; -EACCES. */
int catalog_read(const struct catalog_reader *reader);
/* What such a code means, and what helps: static strings. */
const char *catalog_tracefs_cause(int code);
const char *catalog_tracefs_remedy(int code);

/*
 * Opens the event on ctop itself as a sampler does, disabled, and closes it. 0 or -errno. *user_only: the user's
 * part is all that this user may see of it. Of a probe it tells whether one may be set, wherever.
 */
int catalog_try(const struct event *event, bool *user_only);

#endif
