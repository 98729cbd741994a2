/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOLIZER_HOT_FUNCTIONS_H
#define CTOP_SYMBOLIZER_HOT_FUNCTIONS_H

/*
 * Functions of an epoch in the order of the samples in their own code, as far as these have been seen: nobody waits for this look at
 * the samples. A function is known from when a frame of it has a name, or a start. Tables are input; ids are checked.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/index.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

struct hot_function {
	uint64_t start; /* as frames have it */
	uint64_t samples;
	uint32_t module;
	uint32_t frame; /* one of it */
	uint32_t
		name; /* string of the symbols; 0: none. Where code is made, several begin at one address */
	bool is_done; /* it is not given out again */
};

/* All zero: no epoch. */
struct hot_functions {
	const struct tables *tables;
	uint64_t position; /* in the ring of samples */
	uint64_t samples;  /* that were seen */
	uint32_t *counts;  /* by frame: samples of which it is the leaf */
	uint32_t *of;	   /* by frame: 1 + row of its function; 0: not known yet */
	struct {
		struct hot_function *items;
		size_t nr, capacity;
	} functions;
	struct index index;
	uint32_t *order; /* rows, the hottest first */
	size_t at, nr;
};

/* Starts again, of these. 0 or -ENOMEM. */
int hot_functions_begin(struct hot_functions *hot, const struct tables *tables);
void hot_functions_release(struct hot_functions *hot);

/* Looks at the samples that came, and orders what is not done. 0 or -ENOMEM. */
int hot_functions_choose(struct hot_functions *hot, const struct tables_reader *reader,
			 const struct symbols *symbols);
/* The next one of these, until it is chosen again. NULL: that was the last. */
struct hot_function *hot_functions_next(struct hot_functions *hot);

#endif
