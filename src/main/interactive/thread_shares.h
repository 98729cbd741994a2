/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_THREAD_SHARES_H
#define CTOP_INTERACTIVE_THREAD_SHARES_H

/*
 * What each thread did lately: differences of the session's account between two moments. It keeps a few of these, some MiB of a target
 * with thousands of threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/session/session.h>
#include <ctop/ui/ui.h>

enum { THREAD_SHARES_MOMENTS = 10 };

struct thread_shares_moment {
	uint64_t ns;
	struct thread_sum *items; /* in the order of pid and tid */
	size_t nr, capacity;
};
/* All zero at first. */
struct thread_shares {
	struct thread_shares_moment moments[THREAD_SHARES_MOMENTS]; /* the oldest first */
	size_t nr;
	uint64_t due_ns; /* where there are very many threads it takes a while */
};

/* A moment, as the screen is of it; of a window of so many seconds, 0: of all. Without memory there is none. */
void thread_shares_mark(struct thread_shares *shares, struct session *session, uint32_t seconds);
/* The same of times that were read at that moment. */
void thread_shares_add(struct thread_shares *shares, const struct thread_times *times, size_t nr,
		       uint64_t now_ns, uint32_t seconds);
/* Up to the last moment, over about so many seconds, as far as they are known; 0: since the start. tid -1: all of the process's. False: not known. */
bool thread_shares_tell(const struct thread_shares *shares, int32_t pid, int32_t tid,
			uint32_t seconds, struct ui_times *times);
void thread_shares_release(struct thread_shares *shares);

#endif
