/* SPDX-License-Identifier: MIT */
/*
 * A stack 60 calls deep below main:
 *
 *     main > even > odd > even > odd ... (60 frames in all, the last is odd) > bottom
 *
 * All time is bottom's own. tests/workloads/workload.h says how to run it.
 */
#include "workload.h"

static void odd(unsigned below);

static FRAME void bottom(void)
{
	work(100);
}

static FRAME void even(unsigned below)
{
	if (below)
		odd(below - 1);
	else
		bottom();
}

static FRAME void odd(unsigned below)
{
	if (below)
		even(below - 1);
	else
		bottom();
}

int main(int argc, char **argv)
{
	workload_start(argc, argv);
	workload_ready();
	for (;;)
		even(59);
}
