/* SPDX-License-Identifier: MIT */
#include <ctop/base/index.h>

#include "test.h"

enum { MANY = 100000 };

static void add(struct index *index, uint64_t hash, uint32_t row)
{
	CHECK_EQ(index_reserve(index), 0);
	index_add(index, hash, row);
}

/* How often row comes up under hash. */
static unsigned times_found(const struct index *index, uint64_t hash, uint32_t row)
{
	struct index_probe probe = index_find(index, hash);
	unsigned times = 0;
	uint32_t found;
	while (index_next(index, &probe, &found))
		times += found == row;
	return times;
}

static void an_empty_index_finds_nothing(void)
{
	struct index index = {0};
	uint32_t row;
	struct index_probe probe = index_find(&index, 123);
	CHECK(!index_next(&index, &probe, &row));
	CHECK_EQ(index_reserve(&index), 0); /* slots, but no rows */
	probe = index_find(&index, 0);
	CHECK(!index_next(&index, &probe, &row));
	index_release(&index);
	index_release(&index); /* as good as new */
	index_clear(&index);
}

static void every_row_is_found_once_after_growth(void)
{
	struct index index = {0};
	for (uint32_t row = 0; row < MANY; row++)
		add(&index, hash_u64(row), row);
	CHECK_EQ(index.nr, MANY);
	for (uint32_t row = 0; row < MANY; row++)
		CHECK_EQ(times_found(&index, hash_u64(row), row), 1);
	CHECK(index.mask + 1 >= MANY);
	index_release(&index);
}

static void rows_of_one_hash_all_come_up(void)
{
	struct index index = {0};
	enum { SAME = 1000 };
	for (uint32_t row = 0; row < SAME; row++)
		add(&index, 7, row);
	add(&index, 8, SAME); /* its neighbour, pushed out of place */
	for (uint32_t row = 0; row < SAME; row++)
		CHECK_EQ(times_found(&index, 7, row), 1);
	CHECK_EQ(times_found(&index, 8, SAME), 1);
	CHECK_EQ(times_found(&index, 7, SAME), 0);
	CHECK_EQ(times_found(&index, 9, SAME), 0);
	index_release(&index);
}

static void probes_wrap_around_the_end(void)
{
	struct index index = {0};
	CHECK_EQ(index_reserve(&index), 0);
	uint64_t last = index.mask;
	for (uint32_t row = 0; row < 5; row++)
		add(&index, last, row);
	for (uint32_t row = 0; row < 5; row++)
		CHECK_EQ(times_found(&index, last, row), 1);
	CHECK_EQ(times_found(&index, 0, 1), 0); /* in slot 0 now, but under another hash */
	index_release(&index);
}

static void hashes_that_share_a_slot_are_told_apart(void)
{
	struct index index = {0};
	add(&index, 5, 1);
	add(&index, 5 + (UINT64_C(1) << 31), 2);
	CHECK_EQ(times_found(&index, 5, 1), 1);
	CHECK_EQ(times_found(&index, 5, 2), 0);
	CHECK_EQ(times_found(&index, 5 + (UINT64_C(1) << 31), 2), 1);
	index_release(&index);
}

static void extreme_rows_fit(void)
{
	struct index index = {0};
	add(&index, 0, 0);
	add(&index, UINT64_MAX, UINT32_MAX - 1);
	CHECK_EQ(times_found(&index, 0, 0), 1);
	CHECK_EQ(times_found(&index, UINT64_MAX, UINT32_MAX - 1), 1);
	index_release(&index);
}

static void clear_forgets_and_keeps_the_memory(void)
{
	struct index index = {0};
	for (uint32_t row = 0; row < 1000; row++)
		add(&index, hash_u64(row), row);
	uint32_t mask = index.mask;
	index_clear(&index);
	CHECK_EQ(index.nr, 0);
	CHECK_EQ(index.mask, mask);
	CHECK_EQ(times_found(&index, hash_u64(5), 5), 0);
	add(&index, hash_u64(5), 9);
	CHECK_EQ(times_found(&index, hash_u64(5), 9), 1);
	index_release(&index);
}

static void trimmed_it_finds_what_is_left(void)
{
	struct index index = {0};
	for (uint32_t row = 0; row < 1000; row++)
		add(&index, hash_u64(row), row);
	uint32_t mask = index.mask;
	index_trim(&index); /* it is as small as can be */
	CHECK_EQ(index.mask, mask);
	index_clear(&index);
	for (uint32_t row = 0; row < 100; row++)
		add(&index, hash_u64(row), row);
	index_trim(&index);
	CHECK(index.mask < mask);
	for (uint32_t row = 0; row < 100; row++)
		CHECK_EQ(times_found(&index, hash_u64(row), row), 1);
	for (uint32_t row = 100; row < 1000; row++)
		add(&index, hash_u64(row), row);
	CHECK_EQ(index.mask, mask);
	for (uint32_t row = 0; row < 1000; row++)
		CHECK_EQ(times_found(&index, hash_u64(row), row), 1);
	index_release(&index);
	index_trim(&index); /* nothing at all */
	CHECK(!index.slots);
}

static void the_low_bits_spread(void)
{
	/* Consecutive ids into 1,024 buckets: about 97.7 each; none may be empty or crowded. */
	unsigned buckets[1024] = {0};
	for (uint64_t i = 0; i < MANY; i++)
		buckets[hash_bytes(&i, sizeof(i)) & 1023]++;
	for (unsigned i = 0; i < 1024; i++)
		CHECK(buckets[i] > 40 && buckets[i] < 170);
}

int main(void)
{
	RUN(an_empty_index_finds_nothing);
	RUN(every_row_is_found_once_after_growth);
	RUN(rows_of_one_hash_all_come_up);
	RUN(probes_wrap_around_the_end);
	RUN(hashes_that_share_a_slot_are_told_apart);
	RUN(extreme_rows_fit);
	RUN(clear_forgets_and_keeps_the_memory);
	RUN(trimmed_it_finds_what_is_left);
	RUN(the_low_bits_spread);
	return test_done();
}
