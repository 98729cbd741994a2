/* SPDX-License-Identifier: MIT */
#include <ctop/base/clock.h>

#include <time.h>

static uint64_t read_clock(clockid_t clock)
{
	struct timespec now = {0};
	clock_gettime(clock, &now);
	return (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec;
}

uint64_t clock_now_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t clock_wall_ns(void)
{
	return (int64_t)read_clock(CLOCK_REALTIME);
}

uint64_t clock_cpu_ns(void)
{
	return read_clock(CLOCK_PROCESS_CPUTIME_ID);
}
