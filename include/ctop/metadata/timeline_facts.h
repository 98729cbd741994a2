/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_TIMELINE_FACTS_H
#define CTOP_METADATA_TIMELINE_FACTS_H

/* What each thread of a run did when, as a recording keeps it: docs/recording-format.md, `timeline.N`. */

#include <ctop/history/timeline.h>
#include <ctop/metadata/metadata.h>

/* How keys of them begin, and how many bytes all of them take at most. */
#define TIMELINE_FACTS_KEY "timeline."
enum { TIMELINE_FACTS_BYTES = 1 << 19 };

/* Makes tiles longer until all fit in. 0 or -errno. */
int timeline_facts_add(struct timeline *timeline, const struct metadata_sink *sink);
/* Into the history's own timeline; what makes no sense is left out. 0 or -ENOMEM. */
int timeline_facts_read(struct history *history);

#endif
