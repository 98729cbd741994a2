/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_WAKER_H
#define CTOP_BASE_WAKER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Wakers that are no threads: an interrupt, as a timer's or a device's, and what follows on it; and whoever it was, where the
 * kernel has not told that somebody was woken.
 */
enum { WAKER_INTERRUPT = 0, WAKER_UNTOLD = -1 };
/* NULL: it is a thread. */
static inline const char *waker_kind(int32_t waker_tid)
{
	return waker_tid == WAKER_INTERRUPT ? "an interrupt"
	       : waker_tid == WAKER_UNTOLD  ? "unknown"
					    : NULL;
}

#endif
