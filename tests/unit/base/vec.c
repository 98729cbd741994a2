/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdint.h>

#include <ctop/base/vec.h>

#include "test.h"

/* A sanitizer's allocator must answer an impossible size with NULL, as libc's does. */
const char *__asan_default_options(void);
const char *__asan_default_options(void)
{
	return "allocator_may_return_null=1";
}

struct point {
	uint64_t x;
	uint32_t y;
};

struct points {
	struct point *items;
	size_t nr, capacity;
};

static void items_survive_growth(void)
{
	struct points points = {0};
	for (uint32_t i = 0; i < 10000; i++) {
		CHECK_EQ(vec_reserve(&points, points.nr + 1), 0);
		points.items[points.nr++] = (struct point){.x = i, .y = ~i};
	}
	for (uint32_t i = 0; i < 10000; i++) {
		CHECK_EQ(points.items[i].x, i);
		CHECK_EQ(points.items[i].y, ~i);
	}
	CHECK(points.capacity >= points.nr);
	free(points.items);
}

static void enough_room_is_left_alone(void)
{
	struct points points = {0};
	CHECK_EQ(vec_reserve(&points, 100), 0);
	const struct point *items = points.items;
	size_t capacity = points.capacity;
	CHECK(capacity >= 100);
	CHECK_EQ(vec_reserve(&points, 0), 0);
	CHECK_EQ(vec_reserve(&points, capacity), 0);
	CHECK(points.items == items);
	CHECK_EQ(points.capacity, capacity);
	free(points.items);
}

static void growth_is_geometric(void)
{
	struct points points = {0};
	unsigned grown = 0;
	size_t before = 0;
	for (size_t wanted = 1; wanted <= 1 << 16; wanted++) {
		CHECK_EQ(vec_reserve(&points, wanted), 0);
		grown += points.capacity != before;
		before = points.capacity;
	}
	CHECK(grown <= 16);
	free(points.items);
}

static void impossible_sizes_change_nothing(void)
{
	struct points points = {0};
	CHECK_EQ(vec_reserve(&points, 3), 0);
	points.items[0].x = 77;
	const struct points before = points;
	static const size_t impossible[] = {SIZE_MAX, SIZE_MAX / 2 + 2, SIZE_MAX / 16,
					    SIZE_MAX / sizeof(struct point) + 1};
	for (size_t i = 0; i < sizeof(impossible) / sizeof(*impossible); i++) {
		CHECK_EQ(vec_reserve(&points, impossible[i]), -ENOMEM);
		CHECK(points.items == before.items);
		CHECK_EQ(points.capacity, before.capacity);
		CHECK_EQ(points.items[0].x, 77);
	}
	free(points.items);
}

static void trimmed_it_holds_what_is_left(void)
{
	struct points points = {0};
	CHECK_EQ(vec_reserve(&points, 1000), 0);
	for (uint64_t i = 0; i < 3; i++)
		points.items[i].x = 7 + i;
	vec_trim((void **)&points.items, &points.capacity, 3, sizeof(*points.items));
	CHECK_EQ(points.capacity, 3);
	vec_trim((void **)&points.items, &points.capacity, 5, sizeof(*points.items));
	CHECK_EQ(points.capacity, 3); /* nothing is made room for */
	CHECK_EQ(vec_reserve(&points, 4), 0);
	for (uint64_t i = 0; i < 3; i++)
		CHECK_EQ(points.items[i].x, 7 + i);
	vec_trim((void **)&points.items, &points.capacity, 0, sizeof(*points.items));
	CHECK_EQ(points.capacity, 1);
	free(points.items);
}

int main(void)
{
	RUN(items_survive_growth);
	RUN(enough_room_is_left_alone);
	RUN(growth_is_geometric);
	RUN(impossible_sizes_change_nothing);
	RUN(trimmed_it_holds_what_is_left);
	return test_done();
}
