/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_INDEX_H
#define CTOP_BASE_INDEX_H

/*
 * A hash index over rows that somebody else stores: hash -> row number.
 * It holds 8 bytes per slot (the row number and 32 bits of the hash), so that
 * millions of stack nodes are interned without a node each on the heap, as
 * uthash would need. Rows are never removed. Row numbers are below UINT32_MAX.
 * Hashes are those of base/hash.h: whoever chooses the keys cannot make probes long.
 *
 *     struct index_probe probe = index_find(&index, hash);
 *     uint32_t row;
 *     while (index_next(&index, &probe, &row))
 *             if (rows[row] equals mine)
 *                     return row;
 *     ... append row ...
 *     index_add(&index, hash, row);
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/hash.h>

struct index_slot {
	uint32_t row_plus_1; /* 0: empty */
	uint32_t hash;
};

/* All zero is empty. */
struct index {
	struct index_slot *slots;
	uint32_t mask; /* number of slots - 1 */
	uint32_t nr;
};

struct index_probe {
	uint32_t hash;
	uint32_t slot;
};

void index_release(struct index *index);
void index_clear(struct index *index); /* forgets every row, keeps the memory */

size_t index_bytes(const struct index *index);

/* Gives back what the rows that are left do not need. If that fails, nothing changes. */
void index_trim(struct index *index);

/* Makes room for one more row: call it before appending. 0 or -ENOMEM. */
int index_reserve(struct index *index);
/* Makes room for so many rows in all. */
int index_reserve_rows(struct index *index, size_t nr);
/* Adds a row that is not there yet; room for it must have been made before. */
void index_add(struct index *index, uint64_t hash, uint32_t row);

/* Asks the memory for the place of a hash that will be needed soon: many rows in turn are added several times as fast. */
static inline void index_prefetch(const struct index *index, uint64_t hash)
{
	if (index->slots)
		__builtin_prefetch(&index->slots[(uint32_t)hash & index->mask], 1);
}

struct index_probe index_find(const struct index *index, uint64_t hash);
bool index_next(const struct index *index, struct index_probe *probe, uint32_t *row);

#endif
