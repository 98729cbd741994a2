/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_TIMELINE_FACTS_H
#define CTOP_METADATA_TIMELINE_FACTS_H

/* What each thread of a run did when, as a recording keeps it: docs/recording-format.md, `timeline.N`. */

#include <ctop/history/timeline.h>
#include <ctop/metadata/metadata.h>

/* How keys of them begin, and how many bytes all of them take at most. */
#define TIMELINE_FACTS_KEY "timeline."
enum { TIMELINE_FACTS_BYTES = 1 << 19 };

/* Makes tiles longer until all fit in, beside those of so many recordings in all that are merged; 1: it is alone. 0 or -errno. */
int timeline_facts_add(struct timeline *timeline, unsigned nr_sources,
		       const struct metadata_sink *sink);
/* Into the history's own timeline, of all its sources; what makes no sense is left out. 0 or -ENOMEM. */
int timeline_facts_read(struct history *history);

#endif
