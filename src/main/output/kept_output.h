/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OUTPUT_KEPT_OUTPUT_H
#define CTOP_OUTPUT_KEPT_OUTPUT_H

/* The beginning and the end of a stream of bytes, in bounded memory; what lies between is counted. */

#include <stddef.h>
#include <stdint.h>

struct kept_output {
	char *head, *tail; /* size bytes each; tail is a ring */
	size_t size;
	size_t nr_head, nr_tail, tail_end; /* tail_end: where the next byte goes */
	uint64_t nr_left_out;
};

int kept_output_init(struct kept_output *kept, size_t size); /* 0 or -ENOMEM */
void kept_output_release(struct kept_output *kept);
void kept_output_add(struct kept_output *kept, const char *bytes, size_t size);

/*
 * Hands everything over, in order, with a line between where something was left out; then it is empty. Stops at the
 * first nonzero answer, which it returns.
 */
int kept_output_give(struct kept_output *kept,
		     int (*take)(void *context, const char *bytes, size_t size), void *context);

#endif
