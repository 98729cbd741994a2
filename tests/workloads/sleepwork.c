/* SPDX-License-Identifier: MIT */
/*
 * Works for about 20 ms, sleeps for 20 ms, in turn:
 *
 *     main > work_phase > busy       nearly all CPU time
 *     main > sleep_phase > nanosleep (libc, then the kernel)
 */
#include "workload.h"

static FRAME void busy(void)
{
	work(500);
}

static FRAME void work_phase(void)
{
	for (int i = 0; i < 4; i++)
		busy();
}

static FRAME void sleep_phase(void)
{
	const struct timespec pause = {.tv_nsec = 20 * 1000 * 1000};
	nanosleep(&pause, NULL);
}

int main(int argc, char **argv)
{
	workload_start(argc, argv);
	workload_ready();
	for (;;) {
		work_phase();
		sleep_phase();
	}
}
