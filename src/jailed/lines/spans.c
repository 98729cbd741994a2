/* SPDX-License-Identifier: MIT */
#include "spans.h"

#include <stdlib.h>

enum { OVERLAPS_MAX = 16 };

static int compare(const void *a, const void *b)
{
	const struct span *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	/* Of two that begin together the shorter one lies in the other: it comes last. */
	return (left->end < right->end) - (left->end > right->end);
}

void spans_sort(struct spans *spans)
{
	if (spans->nr)
		qsort(spans->items, spans->nr, sizeof(*spans->items), compare);
}

const struct span *spans_find_until(const struct spans *spans, uint64_t address, uint64_t *end)
{
	size_t low = 0, high = spans->nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (spans->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < spans->nr && spans->items[low].start < *end)
		*end = spans->items[low].start;
	for (int i = 0; i < OVERLAPS_MAX && low > 0; i++) {
		if (address >= spans->items[--low].end)
			continue;
		if (spans->items[low].end < *end)
			*end = spans->items[low].end;
		return &spans->items[low];
	}
	return NULL;
}

const struct span *spans_find(const struct spans *spans, uint64_t address)
{
	uint64_t end = UINT64_MAX;
	return spans_find_until(spans, address, &end);
}
