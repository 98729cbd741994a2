/* SPDX-License-Identifier: MIT */
#include "space.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

struct space *space_new(void)
{
	struct space *space = calloc(1, sizeof(*space));
	if (space)
		space->nr_users = 1;
	return space;
}

struct space *space_share(struct space *space)
{
	space->nr_users++;
	return space;
}

void space_leave(struct space *space)
{
	if (!space || --space->nr_users)
		return;
	free(space->items);
	free(space);
}

int space_own(struct space **space)
{
	if ((*space)->nr_users == 1)
		return 0;
	struct space *copy = space_new();
	if (!copy)
		return -ENOMEM;
	if (vec_reserve(copy, (*space)->nr)) {
		space_leave(copy);
		return -ENOMEM;
	}
	if ((*space)->nr)
		memcpy(copy->items, (*space)->items, (*space)->nr * sizeof(*copy->items));
	copy->nr = (*space)->nr;
	space_leave(*space);
	*space = copy;
	return 0;
}

/* The first map that ends above the address; nr when there is none. */
static size_t first_above(const struct space *space, uint64_t address)
{
	size_t low = 0, high = space->nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (space->items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct mapping *space_at(const struct space *space, uint64_t address)
{
	size_t at = first_above(space, address);
	return at < space->nr && space->items[at].start <= address ? &space->items[at] : NULL;
}

static int insert(struct space *space, size_t at, const struct mapping *map)
{
	if (vec_reserve(space, space->nr + 1))
		return -ENOMEM;
	memmove(&space->items[at + 1], &space->items[at], (space->nr - at) * sizeof(*space->items));
	space->items[at] = *map;
	space->nr++;
	return 0;
}

/* The part of a map from an address on. */
static struct mapping tail_of(const struct mapping *map, uint64_t from)
{
	struct mapping tail = *map;
	tail.file_offset += from - map->start;
	tail.start = from;
	return tail;
}

bool space_has_any(const struct space *space, uint64_t start, uint64_t end)
{
	size_t at = first_above(space, start);
	return at < space->nr && space->items[at].start < end;
}

int space_cut(struct space *space, uint64_t start, uint64_t end)
{
	size_t at = first_above(space, start);
	if (at < space->nr && space->items[at].start < start) {
		struct mapping *map = &space->items[at];
		if (map->end > end) {
			/* A hole in its middle: two maps remain. */
			const struct mapping tail = tail_of(map, end);
			map->end = start;
			return insert(space, at + 1, &tail);
		}
		map->end = start;
		at++;
	}
	size_t covered = at;
	while (covered < space->nr && space->items[covered].end <= end)
		covered++;
	if (covered < space->nr && space->items[covered].start < end)
		space->items[covered] = tail_of(&space->items[covered], end);
	if (covered == at)
		return 0;
	memmove(&space->items[at], &space->items[covered],
		(space->nr - covered) * sizeof(*space->items));
	space->nr -= covered - at;
	return 0;
}

int space_add(struct space *space, const struct mapping *map)
{
	int result = space_cut(space, map->start, map->end);
	return result ? result : insert(space, first_above(space, map->start), map);
}
