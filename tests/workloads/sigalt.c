/* SPDX-License-Identifier: MIT */
/*
 * A signal handler that works on a stack of its own. Of all time:
 *
 *     main > interrupted_round > interrupted_work                                        75 %
 *     main > interrupted_round > interrupted_work > (signal) on_signal > handler_work    25 %
 *
 * The handler comes once per round of about 40 ms, by setitimer's clock of CPU
 * time: wherever the work then is, mostly between two calls' instructions.
 */
#include <string.h>

#include "workload.h"

static volatile sig_atomic_t handled;

static FRAME void handler_work(void)
{
	work(1000);
}

static FRAME void on_signal(int signal)
{
	(void)signal;
	handler_work();
	handled = 1;
}

/* The handler's 1,000 units come during these 3,000, long before their end. */
static FRAME void interrupted_work(void)
{
	work(3000);
	while (!handled)
		work(1);
}

static FRAME void interrupted_round(void)
{
	const struct itimerval soon = {.it_value = {.tv_usec = 5000}};
	handled = 0;
	setitimer(ITIMER_PROF, &soon, NULL);
	interrupted_work();
}

int main(int argc, char **argv)
{
	static char stack[64 << 10];
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action;
	memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	action.sa_flags = SA_ONSTACK | SA_RESTART;
	if (sigaltstack(&alternate, NULL) || sigaction(SIGPROF, &action, NULL))
		return 1;
	workload_start(argc, argv);
	workload_ready();
	for (;;)
		interrupted_round();
}
