/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_WAKING_SUMS_H
#define CTOP_TIME_WAKING_SUMS_H

/* Who woke whom: how often, and how long had been waited. */

#include <stdint.h>

#include <ctop/base/waker.h>

struct waking_sum {
	int32_t pid, tid;	       /* who was woken; tid 0: others, that were too many */
	int32_t waker_pid, waker_tid;  /* pid 0: not a thread */
	char name[16], waker_name[16]; /* untrusted; "": not known */
	uint64_t nr;		       /* waits that this ended */
	uint64_t ns;		       /* of those, how long they were while they were observed */
};

/* Told of a run: those that ended most waiting. */
enum { WAKING_SUMS_TOLD = 256 };

#endif
