/* SPDX-License-Identifier: MIT */
/*
 * Two threads that never wait:
 *
 *     main > spin_main > spin_loop                  50 % when there are two CPUs
 *     (thread start) > spin_thread > spin_loop      50 %, thread "spinner"
 */
#include <pthread.h>

#include "workload.h"

static FRAME void spin_loop(void)
{
	work(1000);
}

static FRAME void *spin_thread(void *unused)
{
	pthread_setname_np(pthread_self(), "spinner");
	for (;;)
		spin_loop();
	return unused;
}

static FRAME void spin_main(void)
{
	for (;;)
		spin_loop();
}

int main(int argc, char **argv)
{
	pthread_t thread;
	workload_start(argc, argv);
	if (pthread_create(&thread, NULL, spin_thread, NULL))
		return 1;
	workload_ready();
	spin_main();
}
