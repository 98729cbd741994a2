/* SPDX-License-Identifier: MIT */
#ifndef CTOP_PERF_ATTACH_INTERNAL_H
#define CTOP_PERF_ATTACH_INTERNAL_H

/* Between attach.c, which finds the threads of a target, and attach_thread.c, which opens the events of one. */

#include "sampler_internal.h"

/* Threads attached so far, while a process is listed again and again. */
struct attaching {
	struct sampler *sampler;
	uint64_t late_until_ns; /* only threads that started before, since boot; 0: all */
	bool is_running;	/* the collector knows of the sets */
	size_t begins;		/* the first row of fds of the process in hand */
	struct index seen;
	struct {
		int32_t *items;
		size_t nr, capacity;
	} tids;
	uint32_t event;	      /* the one tried last */
	size_t nr_refused;    /* descendants that are not this user's */
	bool left_others;     /* sets to change to */
	bool lacks_registers; /* a breakpoint takes one of each CPU in each set, and x86 has 4 */
};

/* ---- attach_thread.c ---- */

/*
 * Every event of one thread (or of the whole CPUs, tid -1) on every CPU, in every set. 0 or -errno; what was opened until
 * then stays.
 */
int attach_thread(struct attaching *attaching, int32_t tid);
/* Closes what was attached from a row of fds on. */
void detach_from(struct sampler *sampler, size_t row);
/* There are too few descriptors or breakpoint registers for more than the set in use: closes the others. */
void leave_other_sets(struct attaching *attaching);

#endif
