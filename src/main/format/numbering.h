/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_NUMBERING_H
#define CTOP_FORMAT_NUMBERING_H

/* Functions or modules in the order of their first use, for formats whose tables refer to each other by place. */

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

/* All zero is empty. */
struct numbering {
	struct {
		uint32_t *items; /* by the history's index: 1 + the number; 0: none yet */
		size_t nr, capacity;
	} plus_1;
	struct {
		uint32_t *items; /* by number: the frame that it was first used by */
		size_t nr, capacity;
	} frames;
};

/* Gives the index the next number, unless it has one. 0 or -ENOMEM. */
static inline int numbering_add(struct numbering *numbering, uint32_t index, uint32_t frame)
{
	if (vec_reserve(&numbering->plus_1, (size_t)index + 1) ||
	    vec_reserve(&numbering->frames, numbering->frames.nr + 1))
		return -ENOMEM;
	for (; numbering->plus_1.nr <= index; numbering->plus_1.nr++)
		numbering->plus_1.items[numbering->plus_1.nr] = 0;
	if (numbering->plus_1.items[index])
		return 0;
	numbering->frames.items[numbering->frames.nr++] = frame;
	numbering->plus_1.items[index] = (uint32_t)numbering->frames.nr;
	return 0;
}

/* Of an index that was added. */
static inline uint32_t numbering_of(const struct numbering *numbering, uint32_t index)
{
	return numbering->plus_1.items[index] - 1;
}

static inline void numbering_release(struct numbering *numbering)
{
	free(numbering->plus_1.items);
	free(numbering->frames.items);
	*numbering = (struct numbering){0};
}

#endif
