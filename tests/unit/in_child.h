/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_IN_CHILD_H
#define CTOP_TEST_IN_CHILD_H

/* For what changes ids, limits or namespaces. */

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "test.h"

/* Runs a part of a case in a process of its own. */
static inline void in_child(void (*part)(void *), void *context)
{
	int status;
	fflush(stdout);
	pid_t pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		int how = setjmp(test_leave);
		if (how == 0)
			part(context);
		fflush(stdout);
		_exit(how);
	}
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	if (WEXITSTATUS(status) == TEST_SKIPPED)
		SKIP("not permitted here");
	CHECK_EQ(WEXITSTATUS(status), 0);
}

#endif
