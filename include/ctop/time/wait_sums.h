/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_WAIT_SUMS_H
#define CTOP_TIME_WAIT_SUMS_H

/* How long threads waited for one thing: a file, a futex, a process. */

#include <stdint.h>

#include <ctop/system/wait_object.h>

struct wait_sum {
	struct wait_object object; /* WAIT_ON_UNKNOWN: others, that were too many */
	uint64_t ns;
	uint64_t nr_threads; /* of those that were seen waiting, how many did so there last */
};

/* Told of a run: those that were waited for longest. */
enum { WAIT_SUMS_TOLD = 256 };

#endif
