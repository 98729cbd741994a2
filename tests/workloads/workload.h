/* SPDX-License-Identifier: MIT */
#ifndef CTOP_WORKLOAD_H
#define CTOP_WORKLOAD_H

/*
 * What every workload shares: a start, an end, and work whose cost is known.
 *
 *     NAME [SECONDS]     runs until killed, or for SECONDS (fractions allowed), then exits with 0
 *
 * Prints "ready PID" once it does what it is for. The end comes by SIGALRM, so
 * that no workload asks for the time on the paths that tests look at.
 */

#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/* A function with a frame and a name of its own, whatever the optimizer would like. */
#if defined(__has_attribute) && __has_attribute(noipa)
#define FRAME __attribute__((noipa))
#else
#define FRAME __attribute__((noinline))
#endif

/*
 * One unit is 10,000 dependent multiplications, about 10 us. No function, not even an inlined one, so that its
 * time is the self time of the function that it stands in.
 */
#define work(units)                                                                                \
	do {                                                                                       \
		uint64_t work_value = (units);                                                     \
		for (unsigned long work_left = (units)*10000ul; work_left; work_left--) {          \
			work_value = work_value * 6364136223846793005u + 1;                        \
			__asm__ volatile("" : "+r"(work_value));                                   \
		}                                                                                  \
	} while (0)

/* CPU time that this thread has used. */
static inline double cpu_ms(void)
{
	struct timespec now;
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
	return (double)now.tv_sec * 1e3 + (double)now.tv_nsec / 1e6;
}

/*
 * Works until this thread's CPU time reaches until_ms. For shares that hold when
 * others use the machine too and a unit costs now more, now less. Reading the
 * clock every 100 us takes less than 1 %.
 */
#define work_until(until_ms)                                                                       \
	do {                                                                                       \
		const double work_end = (until_ms);                                                \
		while (cpu_ms() < work_end)                                                        \
			work(10);                                                                  \
	} while (0)

static void workload_end(int signal)
{
	(void)signal;
	_exit(0);
}

static inline void workload_start(int argc, char **argv)
{
	double seconds = argc > 1 ? atof(argv[1]) : 0;
	if (seconds > 0) {
		struct itimerval timer = {};
		timer.it_value.tv_sec = (time_t)seconds;
		timer.it_value.tv_usec = (suseconds_t)((seconds - (double)(time_t)seconds) * 1e6);
		if (timer.it_value.tv_sec == 0 && timer.it_value.tv_usec == 0)
			timer.it_value.tv_usec = 1;
		signal(SIGALRM, workload_end);
		setitimer(ITIMER_REAL, &timer, NULL);
	}
}

static inline void workload_ready(void)
{
	printf("ready %d\n", (int)getpid());
	fflush(stdout);
}

#endif
