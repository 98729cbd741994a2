/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HISTORY_SLICES_H
#define CTOP_HISTORY_SLICES_H

/*
 * Which stack was sampled when: samples counted by stack in slices of time, coded as they come. Slices are equally long. They grow
 * whenever there are too many of them or they take too many bytes, so that memory grows with distinct stacks and not
 * with samples.
 *
 * A slice is a list of stacks in the order of their first sample there: the number of each as put_signed() of the difference to the one
 * before, then samples * 2 + 1 and the weight, or samples * 2 where each weighs what the event's first sample weighed.
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/recording/varint.h>

enum { SLICES_MOST = 4096, SLICES_BYTES_MOST = 16 << 20, SLICES_WAITING_MOST = 64 };

/* All zero is empty. */
struct slices {
	/* Stacks lie anywhere in memory: samples wait until theirs have come from there. */
	struct slice_sample {
		uint64_t time_ns, weight;
		uint32_t stack;
		uint8_t event; /* the stack's: the same each time */
	} waiting[SLICES_WAITING_MOST];
	size_t nr_waiting;
	uint64_t start_ns;
	unsigned shift; /* a slice is 2^shift ns long */
	struct buffer coded;
	struct {
		size_t *items; /* bytes of each slice that is over, in the order of time */
		size_t nr, capacity;
	} sizes;
	struct {
		struct slice_stack {
			uint64_t weight; /* in the slice that goes on */
			uint64_t samples : 56, event : 8;
		} * items; /* by number */
		size_t nr, capacity;
	} stacks;
	struct {
		uint32_t *items; /* those that the slice has */
		size_t nr, capacity;
	} used;
	struct {
		uint64_t *items; /* by event: what a sample weighs as a rule; 0: none came */
		size_t nr, capacity;
	} usual;
};

/* Samples in the order of time; one that comes late counts in the slice that goes on. 0 or -ENOMEM, as the others. */
int slices_add(struct slices *slices, const struct slice_sample *sample);
/* Once all have come. */
int slices_end(struct slices *slices);
void slices_release(struct slices *slices);
uint64_t slices_bytes(const struct slices *slices); /* heap in use */

/* ---- of slices that have ended ---- */

struct slice_cell {
	uint32_t stack;
	uint64_t samples, weight;
};
/* What each slice has of each of its stacks, one slice after the other; stops at the first nonzero, which it returns. */
int slices_each(const struct slices *slices,
		int (*each)(void *context, const struct slice_cell *cell), void *context);
/*
 * The same slices, of nr stacks with other numbers: numbers[] by those that they had, UINT32_MAX of stacks that no slice has. Several may
 * become one, of one event.
 */
int slices_renumber(struct slices *slices, const uint32_t *numbers, size_t nr);

#endif
