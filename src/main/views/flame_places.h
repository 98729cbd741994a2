/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_FLAME_PLACES_H
#define CTOP_VIEWS_FLAME_PLACES_H

/*
 * Where a flame graph's boxes are drawn: each on its level; one below the other without branching, as one; those that
 * are too narrow to be boxes together with their neighbours. The callers of a box that fills the width are above it, as
 * wide as it is.
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/screen/model.h>

enum { FLAME_BOX_COLS_LEAST = 3 };

struct flame_place {
	size_t head; /* the box that stands for it: itself, or the first of its chain */
	size_t last; /* of a head: the last of the chain */
	uint32_t nr; /* of a head: boxes in the chain */
	uint32_t nr_children, level;
	int from, to;	/* columns */
	bool is_sliver; /* or below one: not drawn by itself */
};

struct flame_places {
	struct flame_place *items; /* one for each box */
	size_t nr, capacity;
};

/*
 * Of boxes as selection_flame() gives them, on so many columns, behind `root` callers of their first one, outermost
 * first. These take at most so many rows: the outermost are drawn as one. Where there are callers, the chain that begins
 * below them is not drawn as one. 0 or -ENOMEM.
 */
int flame_places_set(struct flame_places *places, const struct model *model,
		     const struct selection_boxes *boxes, size_t root, size_t caller_rows,
		     int cols);
void flame_places_release(struct flame_places *places);
/* A box that is drawn, and can be chosen. */
bool flame_is_shown(const struct flame_places *places, size_t box);

#endif
