/* SPDX-License-Identifier: MIT */
#include <ctop/base/sort.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* So many bits of the key at a time, the lowest first. Below so many items qsort() is as fast. */
enum { DIGIT_BITS = 11, NR_DIGITS = 1 << DIGIT_BITS, KEY_BITS = 64, FEW = 512 };

static uint64_t key_of(const void *item)
{
	uint64_t key;
	memcpy(&key, item, sizeof(key));
	return key;
}

static int by_key(const void *a, const void *b)
{
	const uint64_t left = key_of(a), right = key_of(b);
	return (left > right) - (left < right);
}

/* Also finds the bits in which keys differ. */
static bool is_sorted(const char *items, size_t nr, size_t item_bytes, uint64_t *differing)
{
	bool sorted = true;
	const uint64_t first = key_of(items);
	*differing = 0;
	for (size_t i = 1; i < nr; i++) {
		const char *item = items + i * item_bytes;
		*differing |= key_of(item) ^ first;
		sorted = sorted && key_of(item - item_bytes) <= key_of(item);
	}
	return sorted;
}

static size_t digit_of(const void *item, unsigned shift)
{
	return (size_t)(key_of(item) >> shift) % NR_DIGITS;
}

/* All that have a lower digit come before, those of the same digit stay in order. */
static void move(const char *from, char *to, size_t nr, size_t item_bytes, unsigned shift)
{
	size_t next[NR_DIGITS] = {0}, first = 0;
	for (size_t i = 0; i < nr; i++)
		next[digit_of(from + i * item_bytes, shift)]++;
	for (size_t digit = 0; digit < NR_DIGITS; digit++) {
		const size_t count = next[digit];
		next[digit] = first;
		first += count;
	}
	for (size_t i = 0; i < nr; i++) {
		const char *item = from + i * item_bytes;
		memcpy(to + next[digit_of(item, shift)]++ * item_bytes, item, item_bytes);
	}
}

void sort_by_u64(void *items, size_t nr, size_t item_bytes)
{
	uint64_t differing;
	if (nr < 2 || is_sorted(items, nr, item_bytes, &differing))
		return;
	char *copy = nr < FEW ? NULL : reallocarray(NULL, nr, item_bytes);
	if (!copy) {
		qsort(items, nr, item_bytes, by_key);
		return;
	}
	char *from = items, *to = copy;
	for (unsigned shift = 0; shift < KEY_BITS && differing >> shift; shift += DIGIT_BITS) {
		if (!(differing >> shift & (NR_DIGITS - 1)))
			continue;
		move(from, to, nr, item_bytes, shift);
		char *moved = to;
		to = from;
		from = moved;
	}
	if (from != items)
		memcpy(items, from, nr * item_bytes);
	free(copy);
}
