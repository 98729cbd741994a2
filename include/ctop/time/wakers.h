/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TIME_WAKERS_H
#define CTOP_TIME_WAKERS_H

/* Who woke whom, pair by pair, of 4,096 pairs; the others in sum. It knows no descriptors. */

#include <stddef.h>
#include <stdint.h>

#include <ctop/time/waking_sums.h>

struct wakers;

struct wakers *wakers_new(void); /* NULL: out of memory */
void wakers_free(struct wakers *wakers);

/* The sum of that pair, by its numbers, to be added to; where there is no room that of the others. Borrowed until the next call. */
struct waking_sum *wakers_of(struct wakers *wakers, const struct waking_sum *pair);
/* Those that ended most waiting first, WAKING_SUMS_TOLD at most. Borrowed until the next call. */
const struct waking_sum *wakers_sums(struct wakers *wakers, size_t *nr);
/* The same of who woke one thread: at most so many; how many. */
size_t wakers_of_thread(const struct wakers *wakers, int32_t tid, struct waking_sum *sums,
			size_t most);

#endif
