/* SPDX-License-Identifier: MIT */
#ifndef METADATA_TIMELINE_CALL_FACTS_H
#define METADATA_TIMELINE_CALL_FACTS_H

/* Which system calls threads waited in: docs/recording-format.md, `timeline.calls.N`. Part of timeline_facts.c. */

#include <ctop/history/timeline.h>
#include <ctop/metadata/metadata.h>

#include "rows.h"

/* So much those of all sources together take at most, and one string more of each: the shortest are left out. 0 or -errno. */
enum { TIMELINE_CALL_FACTS_BYTES = 1 << 18 };
int timeline_call_facts_add(struct timeline *timeline, unsigned nr_sources,
			    const struct metadata_sink *sink);
/* Into a timeline whose threads are there already; of others they are left out. */
void timeline_call_facts_read(const struct rows_source *source);

#endif
