/* SPDX-License-Identifier: MIT */
#include <ctop/base/index.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SLOTS = 64 };

void index_release(struct index *index)
{
	free(index->slots);
	*index = (struct index){0};
}

void index_clear(struct index *index)
{
	if (index->slots)
		memset(index->slots, 0, ((size_t)index->mask + 1) * sizeof(*index->slots));
	index->nr = 0;
}

static void place(struct index *index, struct index_slot slot)
{
	uint32_t at = slot.hash & index->mask;
	while (index->slots[at].row_plus_1)
		at = (at + 1) & index->mask;
	index->slots[at] = slot;
}

/* Moves all rows to so many slots. */
static int move(struct index *index, size_t nr_slots)
{
	if (nr_slots > (size_t)UINT32_MAX)
		return -ENOMEM;
	struct index_slot *slots = calloc(nr_slots, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	struct index old = *index;
	index->slots = slots;
	index->mask = (uint32_t)(nr_slots - 1);
	for (size_t i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].row_plus_1)
			place(index, old.slots[i]);
	free(old.slots);
	return 0;
}

/* Linear probing stays short while at most 3/4 of the slots are taken. */
static size_t most_rows(size_t nr)
{
	return nr / 4 * 3;
}

static size_t slots_for(size_t nr_rows)
{
	size_t nr_slots = FIRST_SLOTS;
	while (nr_rows > most_rows(nr_slots))
		nr_slots *= 2;
	return nr_slots;
}

static size_t nr_slots(const struct index *index)
{
	return index->slots ? (size_t)index->mask + 1 : 0;
}

size_t index_bytes(const struct index *index)
{
	return nr_slots(index) * sizeof(*index->slots);
}

int index_reserve_rows(struct index *index, size_t nr)
{
	return nr <= most_rows(nr_slots(index)) ? 0 : move(index, slots_for(nr));
}

int index_reserve(struct index *index)
{
	return index_reserve_rows(index, (size_t)index->nr + 1);
}

void index_trim(struct index *index)
{
	/* Room for one more, as before it is added. */
	size_t wanted = slots_for((size_t)index->nr + 1);
	if (wanted < nr_slots(index))
		move(index, wanted);
}

void index_add(struct index *index, uint64_t hash, uint32_t row)
{
	assert(index->slots && row < UINT32_MAX);
	place(index, (struct index_slot){.row_plus_1 = row + 1, .hash = (uint32_t)hash});
	index->nr++;
}

struct index_probe index_find(const struct index *index, uint64_t hash)
{
	return (struct index_probe){.hash = (uint32_t)hash, .slot = (uint32_t)hash & index->mask};
}

bool index_next(const struct index *index, struct index_probe *probe, uint32_t *row)
{
	if (!index->slots)
		return false;
	for (;;) {
		const struct index_slot *slot = &index->slots[probe->slot];
		if (!slot->row_plus_1)
			return false;
		probe->slot = (probe->slot + 1) & index->mask;
		if (slot->hash == probe->hash) {
			*row = slot->row_plus_1 - 1;
			return true;
		}
	}
}
