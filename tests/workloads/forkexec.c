/* SPDX-License-Identifier: MIT */
/*
 * Forks and executes itself, over and over. Of each round's work:
 *
 *     main > parent_round > parent_work               40 %, comm "forkexec", the first process
 *     main > parent_round > child_half > forked_work  20 %, in the child, before its exec
 *     main > exec_half > executed_work                40 %, in the same child, comm "executed"
 *
 * The three never run at the same time. A round takes 100 ms, so that a sampler that restarts in
 * each child loses little; fork, exec and the loader (comm "exe" when the kernel names the new image
 * after /proc/self/exe) come on top, some 2 %.
 */
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

static FRAME void parent_work(void)
{
	work_until(cpu_ms() + 40);
}

static FRAME void forked_work(void)
{
	work_until(cpu_ms() + 20);
}

static FRAME void executed_work(void)
{
	work_until(cpu_ms() + 40);
}

static FRAME void child_half(void)
{
	forked_work();
	execl("/proc/self/exe", "forkexec", "--executed", (char *)NULL);
	_exit(1);
}

static FRAME void exec_half(void)
{
	prctl(PR_SET_NAME, "executed");
	executed_work();
}

static FRAME void parent_round(void)
{
	parent_work();
	pid_t child = fork();
	if (child == 0)
		child_half();
	int status = 0;
	if (child < 0 || waitpid(child, &status, 0) < 0 || status)
		_exit(1);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "--executed")) {
		exec_half();
		return 0;
	}
	workload_start(argc, argv);
	workload_ready();
	for (;;)
		parent_round();
}
