/* SPDX-License-Identifier: MIT */
#ifndef METADATA_TIMELINE_EVENT_FACTS_H
#define METADATA_TIMELINE_EVENT_FACTS_H

/* Who created each thread, and what happened to it when: docs/recording-format.md, `timeline.events.N`. Part of timeline_facts.c. */

#include <ctop/history/timeline.h>
#include <ctop/metadata/metadata.h>

/* So much all of it takes at most: events are told less finely until it fits in. 0 or -errno. */
enum { TIMELINE_EVENT_FACTS_BYTES = 1 << 18 };
int timeline_event_facts_add(struct timeline *timeline, const struct metadata_sink *sink);
/* Into the history's own timeline, whose threads are there already; of others they are left out. */
void timeline_event_facts_read(struct history *history);

#endif
