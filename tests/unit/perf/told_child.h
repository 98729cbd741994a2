/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TESTS_PERF_TOLD_CHILD_H
#define CTOP_TESTS_PERF_TOLD_CHILD_H

/* A child that works when it is told, and says when it has: one byte either way. */

#include "target.h"

struct told_child {
	int32_t pid;
	int told, says;
};

static inline void told_child_wait(const struct told_child *child)
{
	char byte;
	CHECK_EQ(read(child->says, &byte, 1), 1);
}

/* work() says a byte when it is ready, then one for each that it is told; it does not return. */
static inline struct told_child told_child_start(void (*work)(int told, int says))
{
	int told[2], says[2];
	CHECK_EQ(pipe(told), 0);
	CHECK_EQ(pipe(says), 0);
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		work(told[0], says[1]);
	}
	close(told[0]);
	close(says[1]);
	const struct told_child child = {pid, told[1], says[0]};
	told_child_wait(&child);
	return child;
}

static inline void told_child_tell(const struct told_child *child, char what)
{
	CHECK_EQ(write(child->told, &what, 1), 1);
	told_child_wait(child);
}

static inline void told_child_end(const struct told_child *child)
{
	end_process(child->pid);
	close(child->told);
	close(child->says);
}

#endif
