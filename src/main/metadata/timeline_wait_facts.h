/* SPDX-License-Identifier: MIT */
#ifndef METADATA_TIMELINE_WAIT_FACTS_H
#define METADATA_TIMELINE_WAIT_FACTS_H

/* The longest waits, to the nanosecond, and who ended them: docs/recording-format.md, `timeline.wait.N`. Part of timeline_facts.c. */

#include <ctop/history/timeline.h>
#include <ctop/metadata/metadata.h>

#include "rows.h"

/* As many as of several sources together are those of one. 0 or -errno. */
int timeline_wait_facts_add(const struct timeline *timeline, unsigned nr_sources,
			    const struct metadata_sink *sink);
/* Into a timeline whose threads are there already, and whose own waits were forgotten; of others they are left out. */
void timeline_wait_facts_read(const struct rows_source *source);
bool timeline_wait_facts_are_there(const struct rows_source *source);

#endif
