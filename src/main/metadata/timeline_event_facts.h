/* SPDX-License-Identifier: MIT */
#ifndef METADATA_TIMELINE_EVENT_FACTS_H
#define METADATA_TIMELINE_EVENT_FACTS_H

/* Who created each thread, and what happened to it when: docs/recording-format.md, `timeline.events.N`. Part of timeline_facts.c. */

#include <ctop/history/timeline.h>
#include <ctop/metadata/metadata.h>

#include "rows.h"

/* So much those of all sources together take at most: events are told less finely until it fits in. 0 or -errno. */
enum { TIMELINE_EVENT_FACTS_BYTES = 1 << 18 };
int timeline_event_facts_add(struct timeline *timeline, unsigned nr_sources,
			     const struct metadata_sink *sink);
/* Into a timeline whose threads are there already; of others they are left out. */
void timeline_event_facts_read(const struct rows_source *source);

#endif
