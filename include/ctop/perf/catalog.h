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
	EVENT_PMU, /* described by sysfs */
	EVENT_CPU, /* known to libpfm4 for this CPU */
	EVENT_TRACEPOINT,
	NR_EVENT_KINDS
};

struct catalog_reader {
	void *context;
	void (*event)(void *context, enum event_kind kind, const char *name,
		      const char *description);
};

/* Tells of every name. 0; -errno when the tracepoints could not be listed: -ENOENT, tracefs is not mounted; -EACCES. */
int catalog_read(const struct catalog_reader *reader);

/*
 * Opens the event on ctop itself as a sampler does, disabled, and closes it. 0 or -errno. *user_only: the user's
 * part is all that this user may see of it.
 */
int catalog_try(const struct event *event, bool *user_only);

#endif
