/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_VEC_H
#define CTOP_BASE_VEC_H

/*
 * A growable array of any item type. Declare one as
 *
 *     struct { struct map *items; size_t nr, capacity; } maps;
 *
 * and make room before adding: if (vec_reserve(&maps, maps.nr + 1)) return -ENOMEM;
 * The owner frees items.
 */

#include <stddef.h>

/* Doubles capacity until it holds wanted items; 0 or -ENOMEM (then unchanged). */
int vec_grow(void **items, size_t *capacity, size_t wanted, size_t item_bytes);

/* Gives back what is not needed for nr items. If that fails, nothing changes. */
void vec_trim(void **items, size_t *capacity, size_t nr, size_t item_bytes);

#define vec_reserve(vec, wanted)                                                                   \
	vec_grow((void **)&(vec)->items, &(vec)->capacity, (wanted), sizeof(*(vec)->items))

#define vec_give_back(vec)                                                                         \
	vec_trim((void **)&(vec)->items, &(vec)->capacity, (vec)->nr, sizeof(*(vec)->items))

/* What it takes, used or not. */
#define vec_bytes(vec) ((vec)->capacity * sizeof(*(vec)->items))

#endif
