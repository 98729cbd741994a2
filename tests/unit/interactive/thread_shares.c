/* SPDX-License-Identifier: MIT */
/* What threads did lately: differences of the account's sums between moments of the window. */
#include "main/interactive/thread_shares.h"

#include <ctop/base/clock.h>

#include "test.h"

static struct thread_times thread(int32_t pid, int32_t tid, uint64_t running_s, uint64_t queued_s,
				  uint64_t waiting_s)
{
	return (struct thread_times){
		.pid = pid,
		.tid = tid,
		.observed_ns = (running_s + queued_s + waiting_s) * NS_PER_SECOND,
		.ns = {[TIME_RUNNING] = running_s * NS_PER_SECOND,
		       [TIME_RUNNABLE] = queued_s * NS_PER_SECOND,
		       [TIME_WAITING] = waiting_s * NS_PER_SECOND},
	};
}

static void add(struct thread_shares *shares, uint64_t at_s, struct thread_times one,
		struct thread_times other)
{
	const struct thread_times times[] = {one, other};
	thread_shares_add(shares, times, 2, at_s * NS_PER_SECOND, 10);
}

static const char *told(const struct thread_shares *shares, int32_t tid, uint32_t seconds)
{
	static char text[64];
	struct ui_times times;
	if (!thread_shares_tell(shares, 7, tid, seconds, &times))
		return "not known";
	snprintf(text, sizeof(text), "%.0f: %.0f %.0f %.0f", times.cpu_percent,
		 times.running_percent, times.runnable_percent, times.waiting_percent);
	return text;
}

static void a_window_is_between_two_moments(void)
{
	struct thread_shares shares = {0};
	CHECK_STR(told(&shares, 7, 10), "not known");
	add(&shares, 100, thread(7, 7, 0, 0, 20), thread(7, 8, 10, 0, 0));
	/* Nothing else is known yet. */
	CHECK_STR(told(&shares, 7, 10), "0: 0 0 100");
	CHECK_STR(told(&shares, 9, 10), "not known");
	add(&shares, 102, thread(7, 7, 0, 1, 21), thread(7, 8, 10, 0, 2));
	add(&shares, 104, thread(7, 7, 2, 1, 21), thread(7, 8, 12, 0, 2));
	CHECK_STR(told(&shares, 7, 10), "50: 50 25 25");
	CHECK_STR(told(&shares, 7, 2), "100: 100 0 0");
	CHECK_STR(told(&shares, 8, 10), "50: 50 0 50");
	CHECK_STR(told(&shares, 8, 0), "86: 86 0 14");
	/* Of the CPU both, of the rest their share. */
	CHECK_STR(told(&shares, -1, 2), "200: 100 0 0");
	thread_shares_release(&shares);
}

/* Twice a second is more often than there is room for: the last one is the screen's, and of the others each is apart. */
static void moments_stand_apart_and_the_oldest_go(void)
{
	struct thread_shares shares = {0};
	for (uint64_t i = 0; i < 200; i++) {
		const struct thread_times times[] = {
			thread(7, 7, i < 100 ? i : 100, 0, i < 100 ? 0 : i - 100)};
		thread_shares_add(&shares, times, 1, i * NS_PER_SECOND / 2, 10);
		CHECK(shares.nr <= THREAD_SHARES_MOMENTS);
	}
	/* All of the last 10 s it waited; since the start it ran half of the time. */
	CHECK_STR(told(&shares, 7, 10), "0: 0 0 100");
	CHECK_STR(told(&shares, 7, 0), "50: 50 0 50");
	const uint64_t last_ns = shares.moments[shares.nr - 1].ns;
	CHECK(last_ns - shares.moments[0].ns >= 8 * NS_PER_SECOND);
	CHECK_EQ(last_ns, 199 * NS_PER_SECOND / 2);
	thread_shares_release(&shares);
}

/* Of one that came later, of its own time; a number that came again is one row. */
static void threads_that_come_and_go(void)
{
	struct thread_shares shares = {0};
	add(&shares, 100, thread(7, 7, 0, 0, 10), thread(7, 8, 1, 0, 0));
	const struct thread_times times[] = {thread(7, 7, 0, 0, 14), thread(7, 8, 1, 0, 0),
					     thread(7, 8, 0, 0, 3), thread(7, 9, 1, 1, 0)};
	thread_shares_add(&shares, times, 4, 104 * NS_PER_SECOND, 10);
	CHECK_STR(told(&shares, 8, 10), "0: 0 0 100");
	CHECK_STR(told(&shares, 9, 10), "50: 50 50 0");
	add(&shares, 106, thread(7, 7, 0, 0, 16), thread(7, 9, 1, 1, 0));
	CHECK_STR(told(&shares, 8, 10), "not known");
	CHECK_STR(told(&shares, 9, 2), "not known"); /* it has ended before */
	thread_shares_release(&shares);
}

int main(void)
{
	RUN(a_window_is_between_two_moments);
	RUN(moments_stand_apart_and_the_oldest_go);
	RUN(threads_that_come_and_go);
	return test_done();
}
