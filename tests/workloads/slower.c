/* SPDX-License-Identifier: MIT */
/*
 * The same work in each run, but for one function that takes a given share longer: what a comparison is to find.
 *
 *     slower MS [PERCENT]    so many ms of CPU time, and what hot() takes more; then exits
 *
 *     main > round > hot   8 of 10
 *                  > warm  1.5
 *                  > cool  0.5
 */
#include "workload.h"

/* Slices of chance's length: no clock that samples keeps step with them. */
static unsigned slice(unsigned units)
{
	return (unsigned)((unsigned long)rand() % (2ul * units));
}

static FRAME void hot(unsigned units)
{
	work(units);
}

static FRAME void warm(unsigned units)
{
	work(units);
}

static FRAME void cool(unsigned units)
{
	work(units);
}

static FRAME void one_round(unsigned percent)
{
	hot(slice(80 * (100 + percent) / 100));
	warm(slice(15));
	cool(slice(5));
}

int main(int argc, char **argv)
{
	const unsigned long ms = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
	const unsigned percent = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 0;
	srand((unsigned)getpid());
	for (unsigned long i = 0; i < ms; i++) /* of 1 ms each, when nobody disturbs */
		one_round(percent);
	return 0;
}
