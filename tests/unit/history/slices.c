/* SPDX-License-Identifier: MIT */
#include <ctop/history/slices.h>

#include <stdlib.h>

#include "test.h"

enum { NR_STACKS = 5000 };

static struct slices slices;

static void begin(uint32_t nr_stacks)
{
	slices_release(&slices);
	for (uint32_t i = 0; i < nr_stacks; i++)
		CHECK_EQ(slices_add_stack(&slices, i % 2), 0);
}

struct sums {
	uint64_t samples[NR_STACKS], weights[NR_STACKS];
};

/* What a reader makes of it: all slices, those from one to another. */
static struct sums *read_back(size_t from, size_t to)
{
	static struct sums sums;
	const uint8_t *at = slices.coded.bytes;
	sums = (struct sums){0};
	for (size_t i = 0; i < slices.sizes.nr; i++) {
		struct payload payload = {.at = at, .end = at + slices.sizes.items[i]};
		at = payload.end;
		for (int64_t stack = 0; i >= from && i < to && payload.at < payload.end;) {
			stack += get_signed(&payload);
			CHECK(stack >= 0 && stack < NR_STACKS);
			const uint64_t samples = get_varint(&payload);
			sums.samples[stack] += samples / 2;
			sums.weights[stack] +=
				samples & 1 ? get_varint(&payload)
					    : samples / 2 * slices.usual.items[stack % 2];
			CHECK(!payload.failed);
		}
	}
	CHECK(at == slices.coded.bytes + slices.coded.size);
	return &sums;
}

static void samples_are_in_their_slices(void)
{
	begin(3);
	CHECK_EQ(slices_add(&slices, 1000, 0, 7), 0);
	CHECK_EQ(slices_add(&slices, 1000 + (1 << 20), 1, 9), 0);
	CHECK_EQ(slices_add(&slices, 1001 + (1 << 20), 1, 9), 0);
	CHECK_EQ(slices_add(&slices, 1000 + (5 << 20), 2, 8), 0);
	CHECK_EQ(slices_add(&slices, 1000, 0, 7), 0); /* late */
	CHECK_EQ(slices_end(&slices), 0);
	CHECK_EQ(slices.sizes.nr, 6);
	CHECK_EQ(slices.start_ns, 1000);
	CHECK_EQ(read_back(0, 1)->samples[0], 1);
	CHECK_EQ(read_back(1, 2)->weights[1], 18);
	CHECK_EQ(read_back(2, 5)->samples[1], 0);
	CHECK_EQ(read_back(5, 6)->weights[2], 8);
	CHECK_EQ(read_back(5, 6)->samples[0], 1);
}

static void many_slices_become_fewer_and_lose_nothing(void)
{
	static struct sums expected;
	uint64_t random = 88172645463325252;
	begin(NR_STACKS);
	expected = (struct sums){0};
	for (uint64_t i = 0; i < 300000; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		const uint32_t stack = (uint32_t)(random % NR_STACKS);
		const uint64_t weight = random % 3 ? 1000 : random >> 20;
		expected.samples[stack]++;
		expected.weights[stack] += weight;
		CHECK_EQ(slices_add(&slices, 5 + i * 100000, stack, weight), 0);
	}
	CHECK_EQ(slices_end(&slices), 0);
	CHECK(slices.sizes.nr > SLICES_MOST / 4 && slices.sizes.nr <= SLICES_MOST);
	CHECK(!memcmp(read_back(0, SIZE_MAX), &expected, sizeof(expected)));
}

static void bytes_are_bounded(void)
{
	begin(NR_STACKS);
	for (uint64_t i = 0; i < 4000000; i++)
		CHECK_EQ(slices_add(&slices, i << 12, (uint32_t)(i * 7919 % NR_STACKS), 1 + i), 0);
	CHECK(slices.coded.size <= SLICES_BYTES_MOST + (1 << 20));
	CHECK_EQ(slices_end(&slices), 0);
	CHECK(slices.coded.size <= SLICES_BYTES_MOST);
	CHECK_EQ(read_back(0, SIZE_MAX)->samples[0], 4000000 / NR_STACKS);
}

static void impossible_times_take_no_memory(void)
{
	begin(2);
	CHECK_EQ(slices_add(&slices, 1, 0, 1), 0);
	CHECK_EQ(slices_add(&slices, UINT64_MAX, 1, 1), 0);
	CHECK_EQ(slices_add(&slices, 1, 0, 1), 0);
	CHECK_EQ(slices_end(&slices), 0);
	CHECK(slices.sizes.nr >= 1 && slices.sizes.nr <= SLICES_MOST);
	CHECK_EQ(read_back(0, SIZE_MAX)->samples[0], 2);
	slices_release(&slices);
}

int main(void)
{
	RUN(samples_are_in_their_slices);
	RUN(many_slices_become_fewer_and_lose_nothing);
	RUN(bytes_are_bounded);
	RUN(impossible_times_take_no_memory);
	return test_done();
}
