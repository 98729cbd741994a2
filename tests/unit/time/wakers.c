/* SPDX-License-Identifier: MIT */
/* Who woke whom, pair by pair. */
#include <ctop/time/wakers.h>

#include "test.h"

enum { PID = 7, PAIRS_MOST = 4096 };

static struct waking_sum *of(struct wakers *wakers, int32_t tid, int32_t waker_tid)
{
	const struct waking_sum pair = {
		.pid = PID, .tid = tid, .waker_pid = waker_tid ? PID : 0, .waker_tid = waker_tid};
	return wakers_of(wakers, &pair);
}

static void wake(struct wakers *wakers, int32_t tid, int32_t waker_tid, uint64_t ns)
{
	struct waking_sum *sum = of(wakers, tid, waker_tid);
	sum->nr++;
	sum->ns += ns;
}

static void pairs_are_told_apart(void)
{
	struct wakers *wakers = wakers_new();
	struct waking_sum sums[3];
	size_t nr;
	CHECK(wakers != NULL);
	wakers_sums(wakers, &nr);
	CHECK_EQ(nr, 0);
	wake(wakers, 8, 9, 5);
	wake(wakers, 9, 8, 50);
	wake(wakers, 8, 0, 7);
	wake(wakers, 8, 9, 1);
	wake(wakers, 8, 10, 6);
	const struct waking_sum *told = wakers_sums(wakers, &nr);
	CHECK_EQ(nr, 4);
	CHECK(told[0].tid == 9 && told[0].waker_tid == 8 && told[0].ns == 50 && told[0].nr == 1);
	CHECK(told[1].tid == 8 && told[1].waker_pid == 0 && told[1].ns == 7);
	/* Of as much, who did it more often. */
	CHECK(told[2].waker_tid == 9 && told[2].nr == 2 && told[2].ns == 6);
	CHECK_EQ(wakers_of_thread(wakers, 8, sums, 3), 3);
	CHECK(sums[0].waker_tid == 0 && sums[1].waker_tid == 9 && sums[2].waker_tid == 10);
	CHECK_EQ(wakers_of_thread(wakers, 8, sums, 2), 2);
	CHECK(sums[0].waker_tid == 0 && sums[1].waker_tid == 9);
	CHECK_EQ(wakers_of_thread(wakers, 8, sums, 0), 0);
	CHECK_EQ(wakers_of_thread(wakers, 11, sums, 3), 0);
	wakers_free(wakers);
	wakers_free(NULL);
}

static void those_beyond_are_others(void)
{
	struct wakers *wakers = wakers_new();
	size_t nr;
	for (int32_t i = 1; i <= PAIRS_MOST + 100; i++)
		wake(wakers, i, 5, 1);
	wake(wakers, 1, 5, 1000);
	const struct waking_sum *told = wakers_sums(wakers, &nr);
	CHECK_EQ(nr, WAKING_SUMS_TOLD);
	CHECK(told[0].tid == 1 && told[0].ns == 1001);
	CHECK(told[1].tid == 0 && told[1].nr == 100 && told[1].ns == 100);
	CHECK_EQ(told[2].ns, 1);
	wakers_free(wakers);
}

int main(void)
{
	RUN(pairs_are_told_apart);
	RUN(those_beyond_are_others);
	return test_done();
}
