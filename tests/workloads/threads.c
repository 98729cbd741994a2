/* SPDX-License-Identifier: MIT */
/*
 * Four threads with a root each, and the share of CPU time in their names:
 *
 *     (thread start) > root_40 > spend_40 > work_40       40 %, thread "share-40"
 *     ...              root_30, root_20, root_10          30, 20, 10 %
 *
 * A round gives each thread that many milliseconds of its own CPU time, run in
 * parallel as the CPUs allow; a barrier ends it. Shares are of CPU time, not of
 * work done: two threads of one core slow each other down. Reading the clock (below
 * work_NN) and waiting at the barrier (below root_NN) cost about 1 %. main only joins.
 * With SECONDS it prints each thread's CPU time at its end: "share-40 MILLISECONDS".
 */
#include <pthread.h>

#include "workload.h"

static pthread_barrier_t round_end;

/* The time given out grows from round to round, so that what one overspends it saves in the next. */
#define THREAD(share)                                                                              \
	static FRAME void work_##share(double until_ms)                                            \
	{                                                                                          \
		work_until(until_ms);                                                              \
	}                                                                                          \
	static FRAME void spend_##share(double until_ms)                                           \
	{                                                                                          \
		work_##share(until_ms);                                                            \
	}                                                                                          \
	static FRAME void *root_##share(void *unused)                                              \
	{                                                                                          \
		pthread_setname_np(pthread_self(), "share-" #share);                               \
		pthread_barrier_wait(&round_end);                                                  \
		for (double given_ms = share;; given_ms += share) {                                \
			spend_##share(given_ms);                                                   \
			pthread_barrier_wait(&round_end);                                          \
		}                                                                                  \
		return unused;                                                                     \
	}

THREAD(40)
THREAD(30)
THREAD(20)
THREAD(10)

enum { NR = 4 };
static void *(*const roots[NR])(void *) = {root_40, root_30, root_20, root_10};
static pthread_t threads[NR];

static void tell_and_end(int number)
{
	(void)number;
	for (int i = 0; i < NR; i++) {
		clockid_t clock;
		struct timespec used;
		if (!pthread_getcpuclockid(threads[i], &clock) && !clock_gettime(clock, &used))
			dprintf(STDOUT_FILENO, "share-%d %.3f\n", 40 - 10 * i,
				(double)used.tv_sec * 1e3 + (double)used.tv_nsec / 1e6);
	}
	_exit(0);
}

int main(int argc, char **argv)
{
	workload_start(argc, argv);
	pthread_barrier_init(&round_end, NULL, NR);
	for (int i = 0; i < NR; i++)
		if (pthread_create(&threads[i], NULL, roots[i], NULL))
			return 1;
	if (argc > 1)
		signal(SIGALRM, tell_and_end); /* there are threads to tell of */
	workload_ready();
	for (int i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
}
