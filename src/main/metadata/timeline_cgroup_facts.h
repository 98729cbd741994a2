/* SPDX-License-Identifier: MIT */
#ifndef METADATA_TIMELINE_CGROUP_FACTS_H
#define METADATA_TIMELINE_CGROUP_FACTS_H

/* Which cgroup each thread is in: docs/recording-format.md, `timeline.cgroups.N`. Part of timeline_facts.c. */

#include <ctop/history/timeline.h>
#include <ctop/metadata/metadata.h>

#include "rows.h"

/* So much that of all sources together takes, and one string more of each at most; of threads behind that it is not told. 0 or -errno. */
enum { TIMELINE_CGROUP_FACTS_BYTES = 1 << 17 };
int timeline_cgroup_facts_add(const struct timeline *timeline, unsigned nr_sources,
			      const struct metadata_sink *sink);
/* Into a timeline whose threads are there already; of others it is left out. */
void timeline_cgroup_facts_read(const struct rows_source *source);

#endif
