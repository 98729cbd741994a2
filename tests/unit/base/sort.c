/* SPDX-License-Identifier: MIT */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/sort.h>

#include "test.h"

enum { ITEMS_MAX = 5000 };

struct item {
	uint64_t key;
	uint64_t twice; /* goes with its key */
	uint32_t number;
};

static int by_key(const void *a, const void *b)
{
	const struct item *left = a, *right = b;
	return (left->key > right->key) - (left->key < right->key);
}

/* The same keys in the same order as qsort(), each item whole and there once. */
static void check(const uint64_t *keys, size_t nr)
{
	static struct item items[ITEMS_MAX], expected[ITEMS_MAX];
	static bool seen[ITEMS_MAX];
	memset(seen, 0, sizeof(seen));
	for (size_t i = 0; i < nr; i++)
		items[i] = expected[i] = (struct item){keys[i], 2 * keys[i], (uint32_t)i};
	sort_by_u64(items, nr, sizeof(*items));
	qsort(expected, nr, sizeof(*expected), by_key);
	size_t wrong = 0;
	for (size_t i = 0; i < nr; i++) {
		const uint32_t number = items[i].number;
		wrong += items[i].key != expected[i].key || number >= nr || seen[number] ||
			 keys[number] != items[i].key || items[i].twice != 2 * items[i].key;
		if (number < nr)
			seen[number] = true;
	}
	CHECK_EQ(wrong, 0);
}

static void keys_of_all_sizes_come_in_order(void)
{
	static uint64_t keys[ITEMS_MAX];
	static const size_t counts[] = {0, 1, 2, 511, 512, 513, ITEMS_MAX};
	static const uint64_t masks[] = {
		0, 1, 0x7ff, 0xfff00, 0xffffffff, UINT64_C(0xffe) << 52, UINT64_MAX};
	uint64_t state = 1;
	for (size_t mask = 0; mask < sizeof(masks) / sizeof(masks[0]); mask++)
		for (size_t count = 0; count < sizeof(counts) / sizeof(counts[0]); count++) {
			for (size_t i = 0; i < counts[count]; i++) {
				state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
				keys[i] = (state ^ state >> 29) & masks[mask];
			}
			check(keys, counts[count]);
		}
}

static void what_is_sorted_or_the_other_way_round(void)
{
	static uint64_t keys[ITEMS_MAX];
	for (size_t i = 0; i < ITEMS_MAX; i++)
		keys[i] = UINT64_C(0xffffffff81000000) + 16 * i;
	check(keys, ITEMS_MAX);
	for (size_t i = 0; i < ITEMS_MAX; i++)
		keys[i] = UINT64_MAX - 16 * i;
	check(keys, ITEMS_MAX);
}

int main(void)
{
	RUN(keys_of_all_sizes_come_in_order);
	RUN(what_is_sorted_or_the_other_way_round);
	return test_done();
}
