/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILE_KIND_H
#define CTOP_FILE_KIND_H

/* What a file with samples is, by its first bytes (at least 8): main looks at these alone, jailed children read the rest. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

extern const uint8_t recording_magic[8];
/* A recording of ctop's. */
bool recording_is(const void *head, size_t size);
/* A perf.data file of any sort, also of those that perfdata_open() refuses. */
bool perfdata_is(const void *head, size_t size);
/* The same where there may be too few bytes to tell: true if one may begin so. */
bool perfdata_may_begin(const void *head, size_t size);
/* Files of perf record --threads: one per CPU. */
enum { PERFDATA_MAX_PARTS = 512 };

#endif
