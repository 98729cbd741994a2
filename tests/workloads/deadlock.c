/* SPDX-License-Identifier: MIT */
/*
 * A deadlock: the threads "deadlock-ab" and "deadlock-ba" each hold the mutex that the other one wants; more threads,
 * "deadlock-wait", want the first. main waits for them. Nobody uses the CPU any more.
 *
 *     deadlock [SECONDS [WAITING]]
 */
#include <pthread.h>

#include "workload.h"

static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both_hold_one;

static FRAME void *take_ab(void *unused)
{
	pthread_setname_np(pthread_self(), "deadlock-ab");
	pthread_mutex_lock(&first);
	pthread_barrier_wait(&both_hold_one);
	pthread_mutex_lock(&second);
	return unused;
}

static FRAME void *take_ba(void *unused)
{
	pthread_setname_np(pthread_self(), "deadlock-ba");
	pthread_mutex_lock(&second);
	pthread_barrier_wait(&both_hold_one);
	pthread_mutex_lock(&first);
	return unused;
}

static FRAME void *take_first(void *unused)
{
	pthread_mutex_lock(&first);
	return unused;
}

int main(int argc, char **argv)
{
	const int nr_waiting = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t ab, ba, waiting;
	pthread_attr_t small;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, 64 * 1024);
	pthread_barrier_init(&both_hold_one, NULL, 3);
	if (pthread_create(&ab, &small, take_ab, NULL) ||
	    pthread_create(&ba, &small, take_ba, NULL))
		return 1;
	pthread_barrier_wait(&both_hold_one);
	for (int i = 0; i < nr_waiting; i++) {
		if (pthread_create(&waiting, &small, take_first, NULL))
			return 1;
		pthread_setname_np(waiting, "deadlock-wait");
	}
	workload_start(argc, argv);
	workload_ready();
	pthread_join(ab, NULL);
	return 1;
}
