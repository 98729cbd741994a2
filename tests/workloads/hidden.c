/* SPDX-License-Identifier: MIT */
/*
 * Hides itself from tracers, as programs with secrets do, then sleeps for the given seconds in main and in a thread
 * "napper": nobody but root sees where.
 *
 *     hidden SECONDS [TIMES]     in so many pieces
 */
#include <pthread.h>
#include <sys/prctl.h>

#include "workload.h"

static int times = 1;

static FRAME void *nap(void *seconds)
{
	for (int i = 0; i < times; i++)
		usleep((useconds_t)(atof(seconds) * 1e6 / times));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t napper;
	if (argc > 2)
		times = atoi(argv[2]);
	if (argc < 2 || prctl(PR_SET_DUMPABLE, 0) || pthread_create(&napper, NULL, nap, argv[1]))
		return 1;
	pthread_setname_np(napper, "napper");
	nap(argv[1]);
	return pthread_join(napper, NULL) ? 1 : 0;
}
