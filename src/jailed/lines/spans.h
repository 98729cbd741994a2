/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_SPANS_H
#define CTOP_LINES_SPANS_H

/* What covers an address, of ranges that may lie in each other. */

#include <stddef.h>
#include <stdint.h>

struct span {
	uint64_t start, end;
	uint64_t at; /* a unit's number; where a function's entry is */
};

/* A vec (base/vec.h): the owner adds items, sorts them when all are there, and frees them. */
struct spans {
	struct span *items;
	size_t nr, capacity;
};

void spans_sort(struct spans *spans);
/* As spans_find(). *end, an address behind that, is lowered to where this changes. */
const struct span *spans_find_until(const struct spans *spans, uint64_t address, uint64_t *end);
/* The last one that begins before an address and covers it; NULL: none does. */
const struct span *spans_find(const struct spans *spans, uint64_t address);

#endif
