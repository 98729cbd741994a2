/* SPDX-License-Identifier: MIT */
/* Ways to come to an end, and not to. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "faults.h"

FAULT(abort)
{
	(void)fault;
	abort();
}

FAULT(segv)
{
	(void)fault;
	raise(SIGSEGV);
}

/* As somebody else might: see fault_kills(). */
FAULT(kill)
{
	(void)fault;
	raise(SIGKILL);
}

FAULT(exit)
{
	_exit(atoi(fault->argument));
}

FAULT(loop)
{
	(void)fault;
	for (;;)
		__asm__ volatile("");
}

/* Takes memory until there is none, says how much it got, and ends by it. */
FAULT(bomb)
{
	enum { STEP_BYTES = 16 << 20, STEPS_MAX = 1000 };
	int nr = 0;
	(void)fault;
	/* What may be written to is bounded: it need not be written to, which takes some machines seconds. */
	for (char *bytes; nr < STEPS_MAX && (bytes = malloc(STEP_BYTES)); nr++)
		__asm__ volatile("" : : "r"(bytes) : "memory"); /* as nobody reads it */
	dprintf(STDERR_FILENO, "took %zu bytes\n", (size_t)nr * STEP_BYTES);
	abort();
}
