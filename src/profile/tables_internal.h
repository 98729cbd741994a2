/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PROFILE_TABLES_INTERNAL_H
#define CTOP_PROFILE_TABLES_INTERNAL_H

#include <stdatomic.h>

#include <ctop/profile/tables.h>

/* The first page of a region. Lengths and positions only; sizes are everybody's own. */
struct tables_header {
	uint64_t magic;
	uint64_t reserved;
	_Atomic uint32_t nr[NR_TABLES]; /* published rows; pairs: release by the writer, acquire by readers */
	_Atomic uint32_t closed;
	_Atomic uint64_t head; /* samples written so far */
	_Atomic uint64_t tail; /* samples read so far */
};

enum { REGION_PAGE_BYTES = 4096, STRING_UNIT_BYTES = 4 };

/*
 * Slots of the ring that a reader may trust. The writer shows its head every
 * SHOW_EVERY samples: so many of the oldest slots may be in the making.
 */
enum { SHOW_EVERY = 64 };
static inline uint32_t tables_trusted_slots(const struct tables *tables)
{
	uint32_t capacity = tables->capacity.nr_samples;
	return capacity > 2 * SHOW_EVERY ? capacity - SHOW_EVERY : capacity;
}

size_t tables_row_bytes(enum table_kind kind);

#endif
