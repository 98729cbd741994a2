/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOLIZER_HOT_FRAMES_H
#define CTOP_SYMBOLIZER_HOT_FRAMES_H

/*
 * Frames of an epoch in the order in which they are worth some work: those first that most samples have in their stacks, as far
 * as they have been seen: nobody waits for this look at the samples. Tables are input; ids are checked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/store/tables.h>

struct hot_frames {
	const struct tables *tables; /* NULL: no epoch */
	uint64_t position;	     /* in the ring of samples */
	uint32_t *
		counts; /* samples: by frame, of which it is the leaf; by node, whose stack it ends */
	uint64_t *below; /* scratch: by node */
	bool *done;	 /* by frame: it is not given out again */
	size_t nr_done;	 /* of the frames from 1 on */
	uint32_t *order; /* the next ones, the hottest first */
	size_t at, nr;
};

/* Starts again, of these. 0 or -ENOMEM. */
int hot_frames_begin(struct hot_frames *hot, const struct tables *tables);
void hot_frames_release(struct hot_frames *hot);

/* Chooses the next frames to be given out, of those published. How many there are. */
size_t hot_frames_choose(struct hot_frames *hot, const struct tables_reader *reader);
/* The next one of those chosen; 0: that was the last. */
uint32_t hot_frames_next(struct hot_frames *hot);
/* It needs no work any more. */
void hot_frames_finish(struct hot_frames *hot, uint32_t frame);
/* True when that was said of every frame published. */
bool hot_frames_are_done(const struct hot_frames *hot, const struct tables_reader *reader);

#endif
