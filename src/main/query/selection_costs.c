/* SPDX-License-Identifier: MIT */
/*
 * What paths and keys cost. Counts that changed are noted where stacks end and carried up once for all: paths come
 * after their parents, so that one pass from the last row to the first, over those that have something to carry,
 * meets each of them once.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

/*
 * Nothing is pending between refreshes, up to the capacity. New memory comes as zeros, of which those pages alone are touched that get something: to clear all of 600,000 paths took
 * 40 ms where it was new.
 */
static int reserve_pending(struct selection *selection, size_t nr)
{
	const size_t twice = 2 * selection->pending.capacity, capacity = nr > twice ? nr : twice;
	if (nr <= selection->pending.capacity)
		return 0;
	struct stack_count *items = calloc(capacity, sizeof(*items));
	if (!items)
		return -ENOMEM;
	free(selection->pending.items);
	selection->pending.items = items;
	selection->pending.capacity = capacity;
	return 0;
}

int selection_begin_differences(struct selection *selection)
{
	const size_t nr = selection->paths.nr;
	const size_t words = nr / 64 + 1, known_words = selection->dirty.nr;
	if (reserve_pending(selection, nr) || vec_reserve(&selection->dirty, words))
		return -ENOMEM;
	if (words > known_words)
		memset(selection->dirty.items + known_words, 0,
		       (words - known_words) * sizeof(*selection->dirty.items));
	selection->pending.nr = nr;
	selection->dirty.nr = words;
	return 0;
}

static void add_pending(struct selection *selection, uint32_t path, uint64_t samples,
			uint64_t weight)
{
	selection->pending.items[path].samples += samples;
	selection->pending.items[path].weight += weight;
	selection->dirty.items[path / 64] |= UINT64_C(1) << path % 64;
}

static void add_total(struct selection *selection, uint32_t path, uint64_t samples, uint64_t weight)
{
	selection->paths.items[path].total += samples;
	selection->paths.items[path].weight += weight;
}

void selection_note(struct selection *selection, const struct stack_state *stack, uint64_t samples,
		    uint64_t weight, bool is_difference)
{
	struct selection_cost *cost = &selection->keys.items[stack->key].cost;
	cost->self += samples;
	cost->self_weight += weight;
	(is_difference ? add_pending : add_total)(selection, stack->path, samples, weight);
}

static void add_to_key(struct selection *selection, const struct path *path, uint64_t samples,
		       uint64_t weight)
{
	struct selection_cost *cost = &selection->keys.items[path->key].cost;
	if (!selection_is_outermost(selection, path))
		return;
	cost->total += samples;
	cost->total_weight += weight;
}

void selection_carry(struct selection *selection)
{
	for (size_t row = selection->paths.nr; row-- > 0;) {
		const struct path *path = &selection->paths.items[row];
		if (!path->total && !path->weight)
			continue;
		add_to_key(selection, path, path->total, path->weight);
		if (row != 0 && row != selection->root)
			add_total(selection, path->parent, path->total, path->weight);
	}
}

static void carry_difference(struct selection *selection, uint32_t row)
{
	const struct path *path = &selection->paths.items[row];
	const struct stack_count change = selection->pending.items[row];
	selection->pending.items[row] = (struct stack_count){0};
	add_total(selection, row, change.samples, change.weight);
	add_to_key(selection, path, change.samples, change.weight);
	if (row != selection->root)
		add_pending(selection, path->parent, change.samples, change.weight);
}

/* Words of dirty bits that the memory is asked for before they are carried. */
enum { FAR_AHEAD = 4, AHEAD = 1 };

/* Most of the time would go into waiting for memory: paths are many, and those dirty are anywhere. */
static void prefetch(const struct selection *selection, size_t word)
{
	if (word >= FAR_AHEAD)
		for (uint64_t bits = selection->dirty.items[word - FAR_AHEAD]; bits;
		     bits &= bits - 1) {
			size_t row = (word - FAR_AHEAD) * 64 + (size_t)__builtin_ctzll(bits);
			__builtin_prefetch(&selection->paths.items[row], 1);
			__builtin_prefetch(&selection->pending.items[row], 1);
		}
	if (word >= AHEAD)
		for (uint64_t bits = selection->dirty.items[word - AHEAD]; bits; bits &= bits - 1) {
			size_t row = (word - AHEAD) * 64 + (size_t)__builtin_ctzll(bits);
			uint32_t parent = selection->paths.items[row].parent;
			__builtin_prefetch(&selection->pending.items[parent], 1);
		}
}

void selection_carry_differences(struct selection *selection)
{
	for (size_t i = selection->dirty.nr; i-- > 0;) {
		prefetch(selection, i);
		while (selection->dirty.items[i]) {
			uint32_t bit = 63 - (uint32_t)__builtin_clzll(selection->dirty.items[i]);
			selection->dirty.items[i] &= ~(UINT64_C(1) << bit);
			carry_difference(selection, (uint32_t)i * 64 + bit);
		}
	}
}

void selection_clear_costs(struct selection *selection)
{
	for (size_t i = 0; i < selection->paths.nr; i++)
		selection->paths.items[i].total = selection->paths.items[i].weight = 0;
	for (size_t i = 0; i < selection->keys.nr; i++)
		selection->keys.items[i].cost = (struct selection_cost){0};
}
