/* SPDX-License-Identifier: MIT */
#include <ctop/history/slices.h>

#include <errno.h>
#include <stdlib.h>

#include "test.h"

enum { NR_STACKS = 5000 };

static struct slices slices;

/* Stacks are of two events in turn. */
static void add(uint64_t time_ns, uint32_t stack, uint64_t weight)
{
	const struct slice_sample sample = {time_ns, weight, stack, stack % 2};
	CHECK_EQ(slices_add(&slices, &sample), 0);
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
	slices_release(&slices);
	add(1000, 0, 7);
	add(1000 + (1 << 20), 1, 9);
	add(1001 + (1 << 20), 1, 9);
	add(1000 + (5 << 20), 2, 8);
	add(1000, 0, 7); /* late */
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
	slices_release(&slices);
	expected = (struct sums){0};
	for (uint64_t i = 0; i < 300000; i++) {
		random ^= random << 13, random ^= random >> 7, random ^= random << 17;
		const uint32_t stack = (uint32_t)(random % NR_STACKS);
		const uint64_t weight = random % 3 ? 1000 : random >> 20;
		expected.samples[stack]++;
		expected.weights[stack] += weight;
		add(5 + i * 100000, stack, weight);
	}
	CHECK_EQ(slices_end(&slices), 0);
	CHECK(slices.sizes.nr > SLICES_MOST / 4 && slices.sizes.nr <= SLICES_MOST);
	CHECK(!memcmp(read_back(0, SIZE_MAX), &expected, sizeof(expected)));
}

static void bytes_are_bounded(void)
{
	slices_release(&slices);
	for (uint64_t i = 0; i < 4000000; i++)
		add(i << 12, (uint32_t)(i * 7919 % NR_STACKS), 1 + i);
	CHECK(slices.coded.size <= SLICES_BYTES_MOST + (1 << 20));
	CHECK_EQ(slices_end(&slices), 0);
	CHECK(slices.coded.size <= SLICES_BYTES_MOST);
	CHECK_EQ(read_back(0, SIZE_MAX)->samples[0], 4000000 / NR_STACKS);
}

static void impossible_times_take_no_memory(void)
{
	slices_release(&slices);
	add(1, 0, 1);
	add(UINT64_MAX, 1, 1);
	add(1, 0, 1);
	CHECK_EQ(slices_end(&slices), 0);
	CHECK(slices.sizes.nr >= 1 && slices.sizes.nr <= SLICES_MOST);
	CHECK_EQ(read_back(0, SIZE_MAX)->samples[0], 2);
	slices_release(&slices);
}

static int note_cell(void *context, const struct slice_cell *cell)
{
	struct sums *sums = context;
	sums->samples[cell->stack] += cell->samples;
	sums->weights[cell->stack] += cell->weight;
	return cell->stack == 9 ? -EPIPE : 0;
}

/* Two become one where they meet in a slice, and nothing else changes. */
static void stacks_get_other_numbers(void)
{
	static const uint32_t numbers[] = {3, UINT32_MAX, 1, 2, 1, 0};
	struct sums sums = {0};
	slices_release(&slices);
	for (uint64_t slice = 0; slice < 3; slice++)
		for (uint32_t stack = 0; stack < 6; stack += stack ? 1 : 2)
			add(slice << 20, stack, stack == 4 && slice ? 11 : 7);
	CHECK_EQ(slices_end(&slices), 0);
	CHECK_EQ(slices_renumber(&slices, numbers, 4), 0);
	CHECK_EQ(slices.sizes.nr, 3);
	CHECK_EQ(read_back(0, 1)->samples[1], 2);
	CHECK_EQ(read_back(0, 1)->weights[1], 14);
	CHECK_EQ(read_back(1, 3)->samples[1], 4);
	CHECK_EQ(read_back(1, 3)->weights[1], 36);
	CHECK_EQ(read_back(0, 3)->samples[0], 3);
	CHECK_EQ(slices_each(&slices, note_cell, &sums), 0);
	CHECK(!memcmp(&sums, read_back(0, SIZE_MAX), sizeof(sums)));
	slices_release(&slices);
	add(1, 9, 1);
	add(1, 8, 1);
	CHECK_EQ(slices_end(&slices), 0);
	CHECK_EQ(slices_each(&slices, note_cell, &sums), -EPIPE);
	CHECK_EQ(sums.samples[8], 0);
	slices_release(&slices);
}

int main(void)
{
	RUN(samples_are_in_their_slices);
	RUN(many_slices_become_fewer_and_lose_nothing);
	RUN(bytes_are_bounded);
	RUN(impossible_times_take_no_memory);
	RUN(stacks_get_other_numbers);
	return test_done();
}
