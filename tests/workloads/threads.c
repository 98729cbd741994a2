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

int main(int argc, char **argv)
{
	void *(*const roots[])(void *) = {root_40, root_30, root_20, root_10};
	enum { NR = sizeof(roots) / sizeof(*roots) };
	pthread_t threads[NR];
	workload_start(argc, argv);
	pthread_barrier_init(&round_end, NULL, NR);
	for (int i = 0; i < NR; i++)
		if (pthread_create(&threads[i], NULL, roots[i], NULL))
			return 1;
	workload_ready();
	for (int i = 0; i < NR; i++)
		pthread_join(threads[i], NULL);
}
