/* SPDX-License-Identifier: MIT */
#include "flame_places.h"

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

void flame_places_release(struct flame_places *places)
{
	free(places->items);
	*places = (struct flame_places){0};
}

bool flame_is_shown(const struct flame_places *places, size_t box)
{
	return places->items[box].head == box && !places->items[box].is_sliver;
}

static void count_children(struct flame_places *places, const struct selection_boxes *boxes)
{
	for (size_t i = 0; i < boxes->nr; i++)
		places->items[i] = (struct flame_place){.head = i, .last = i, .nr = 1};
	for (size_t i = 1; i < boxes->nr; i++)
		places->items[boxes->items[i].parent].nr_children++;
}

/* Parents come before their children: chains grow downwards. */
static void find_chains(struct flame_places *places, const struct model *model,
			const struct selection_boxes *boxes, size_t root)
{
	size_t opened = root; /* the end of what is only one way from the root */
	for (size_t i = 1; i < boxes->nr; i++) {
		const size_t parent = boxes->items[i].parent;
		struct flame_place *above = &places->items[parent];
		if (i == root || above->nr_children != 1)
			continue;
		if (i > root && parent == opened && (root || parent == 0)) {
			opened = root ? i : opened;
			continue;
		}
		if (!selection_chain_goes_on(model->selection, &boxes->items[above->head].node,
					     &boxes->items[i].node))
			continue;
		struct flame_place *head = &places->items[above->head];
		places->items[i].head = above->head;
		head->last = i;
		head->nr++;
	}
}

/* Short ones stay as they are. */
static void part_short_chains(struct flame_places *places)
{
	for (size_t i = 0; i < places->nr; i++) {
		struct flame_place *place = &places->items[i];
		struct flame_place *head = &places->items[place->head];
		if (head->nr >= SELECTION_CHAIN_LEAST)
			continue;
		if (place != head)
			*place = (struct flame_place){
				.head = i, .last = i, .nr = 1, .nr_children = place->nr_children};
	}
	for (size_t i = 0; i < places->nr; i++)
		if (places->items[i].head == i && places->items[i].nr < SELECTION_CHAIN_LEAST) {
			places->items[i].nr = 1;
			places->items[i].last = i;
		}
}

/* The outermost callers for which there is no row of their own: as one, whatever they pass on. */
static void join_callers(struct flame_places *places, size_t root, size_t rows)
{
	struct flame_place *outermost = &places->items[0];
	size_t nr_rows = 0;
	for (size_t i = 0; i < root; i = places->items[i].last + 1)
		nr_rows++;
	for (; nr_rows > rows; nr_rows--) {
		const size_t from = outermost->last + 1, last = places->items[from].last;
		for (size_t i = from; i <= last; i++)
			places->items[i].head = 0;
		outermost->last = last;
		outermost->nr = (uint32_t)last + 1;
	}
}

static int col_of(const struct selection_box *root, uint64_t weight, int cols)
{
	const uint64_t whole = root->node.cost.total_weight;
	return whole ? (int)((double)weight * (double)cols / (double)whole + 0.5) : 0;
}

static void place(struct flame_places *places, const struct selection_boxes *boxes, size_t root,
		  int cols)
{
	const struct selection_box *widest = &boxes->items[root];
	for (size_t i = 0; i < boxes->nr; i++) {
		const struct selection_box *box = &boxes->items[i];
		struct flame_place *at = &places->items[i];
		const struct flame_place *above = &places->items[box->parent];
		at->from = i > root ? col_of(widest, box->at, cols) : 0;
		at->to = i > root ? col_of(widest, box->at + box->node.cost.total_weight, cols)
				  : cols;
		at->is_sliver =
			i > root && (above->is_sliver || at->to - at->from < FLAME_BOX_COLS_LEAST);
		if (i)
			at->level = at->head == i ? places->items[above->head].level + 1
						  : places->items[at->head].level;
	}
}

int flame_places_set(struct flame_places *places, const struct model *model,
		     const struct selection_boxes *boxes, size_t root, size_t caller_rows, int cols)
{
	places->nr = 0;
	if (vec_reserve(places, boxes->nr))
		return -ENOMEM;
	places->nr = boxes->nr;
	count_children(places, boxes);
	find_chains(places, model, boxes, root);
	part_short_chains(places);
	join_callers(places, root, caller_rows);
	place(places, boxes, root, cols);
	return 0;
}
