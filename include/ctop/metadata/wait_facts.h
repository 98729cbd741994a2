/* SPDX-License-Identifier: MIT */
#ifndef CTOP_METADATA_WAIT_FACTS_H
#define CTOP_METADATA_WAIT_FACTS_H

/* What a run's threads waited for, one by one, as a recording keeps it: docs/recording-format.md, `waited.N`. */

#include <stddef.h>

#include <ctop/history/history.h>
#include <ctop/metadata/metadata.h>
#include <ctop/time/wait_sums.h>

/* How keys of them begin. */
#define WAIT_FACTS_KEY "waited."

/* 0 or -errno. */
int wait_facts_add(const struct wait_sum *sums, size_t nr, const struct metadata_sink *sink);
/* How many there are, as they stand there; what makes no sense is left out. Texts are untrusted. */
size_t wait_facts_read(const struct history *history, struct wait_sum sums[WAIT_SUMS_TOLD]);

#endif
