/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SCREEN_LOSSES_H
#define CTOP_SCREEN_LOSSES_H

/*
 * What was lost, second by second: losses have no time of their own, but that at which the host first told
 * of them. As long as the longest window, so that a window's header can tell of that window.
 */

#include <stdint.h>

enum { LOSSES_SECONDS = 320 };

/* Counts since the start. */
struct losses_count {
	uint64_t lost, dropped, samples;
	uint64_t throttled; /* times that the kernel held sampling back */
};

struct losses {
	/* A ring: what had been counted by the end of a second. Seconds without news are not in it. */
	struct {
		uint64_t second;
		struct losses_count count;
	} items[LOSSES_SECONDS];
	uint32_t nr, first;
	struct losses_count before; /* by the end of all that the ring has given up */
};

/* The counts are these by now. now_s: seconds of the clock, not before the last ones told. */
void losses_note(struct losses *losses, uint64_t now_s, struct losses_count count);
/* What came in the seconds from_s to to_s, both included. from_s 0: since the start. */
struct losses_count losses_between(const struct losses *losses, uint64_t from_s, uint64_t to_s);

#endif
