/* SPDX-License-Identifier: MIT */
/*
 * Says how fast it gets on: one line "round SECONDS CPU_SECONDS" for every round of the same work, about 50 ms
 * of it when nobody disturbs. What a profiler costs its target shows here: interrupts in both times, a CPU that
 * the profiler takes away in the first.
 */
#include "workload.h"

static FRAME void one_round(void)
{
	work(5000);
}

static double now_seconds(void)
{
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int argc, char **argv)
{
	workload_start(argc, argv);
	workload_ready();
	for (;;) {
		double start = now_seconds(), cpu_start = cpu_ms();
		one_round();
		printf("round %.6f %.6f\n", now_seconds() - start, (cpu_ms() - cpu_start) / 1e3);
		fflush(stdout);
	}
}
