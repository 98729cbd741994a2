/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_WOKEN_FACTS_H
#define CTOP_METADATA_WOKEN_FACTS_H

/* Who woke whom in a run, as a recording keeps it: docs/recording-format.md, `woken.N`. */

#include <stddef.h>

#include <ctop/history/history.h>
#include <ctop/metadata/metadata.h>
#include <ctop/time/waking_sums.h>

/* How keys of them begin. */
#define WOKEN_FACTS_KEY "woken."

/* 0 or -errno. */
int woken_facts_add(const struct waking_sum *sums, size_t nr, const struct metadata_sink *sink);
/* How many there are, as they stand there; what makes no sense is left out. Names are untrusted. */
size_t woken_facts_read(const struct history *history, struct waking_sum sums[WAKING_SUMS_TOLD]);

#endif
