/* SPDX-License-Identifier: MIT */
/* Threads that do nothing but wake: `wakers NUMBER PERIOD_US`. Prints a line once all are there, and goes on for ever. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { STACK_BYTES = 64 << 10, NS_PER_US = 1000, APART_US = 200 };

static void *wake(void *period)
{
	for (;;)
		nanosleep(period, NULL);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_attr_t small;
	pthread_t thread;
	if (argc != 3)
		return 2;
	static struct timespec period;
	period.tv_nsec = atol(argv[2]) * NS_PER_US;
	pthread_attr_init(&small);
	pthread_attr_setstacksize(&small, STACK_BYTES);
	for (int i = 0; i < atoi(argv[1]); i++) {
		if (pthread_create(&thread, &small, wake, &period))
			return 1;
		usleep(APART_US); /* they do not all wake at once */
	}
	puts("ready");
	fflush(stdout);
	pause();
	return 0;
}
