/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_APART_H
#define CTOP_TEST_APART_H

/*
 * A target that lives in a world of its own: a child that prepares itself (another mount namespace, another
 * root, mappings), says so, and stays until it is told to go.
 */

#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

struct apart {
	pid_t pid;
	int go_fd; /* closed: the child ends */
	bool ready;
};

static inline void apart_start(struct apart *apart, bool (*prepare)(void))
{
	int ready[2] = {-1, -1}, go[2] = {-1, -1};
	*apart = (struct apart){.pid = -1, .go_fd = -1};
	if (pipe(ready) || pipe(go))
		return;
	fflush(stdout);
	apart->pid = fork();
	if (apart->pid == 0) {
		char byte = 'y';
		close(ready[0]);
		close(go[1]);
		if (prepare() && write(ready[1], &byte, 1) == 1)
			while (read(go[0], &byte, 1) > 0)
				;
		_exit(0);
	}
	char byte;
	close(ready[1]);
	close(go[0]);
	apart->go_fd = go[1];
	apart->ready = read(ready[0], &byte, 1) == 1;
	close(ready[0]);
}

static inline void apart_end(struct apart *apart)
{
	close(apart->go_fd);
	waitpid(apart->pid, NULL, 0);
}

/* A mount namespace of this process's own, from which nothing spreads. */
static inline bool own_mounts(void)
{
	return unshare(CLONE_NEWNS) == 0 && mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0;
}

/* Runs a check in a child that may change its namespaces: 0 passed, 1 failed, 77 not possible here. */
static inline int run_apart(int (*check)(void))
{
	int status = 0;
	fflush(stdout);
	pid_t pid = fork();
	if (pid == 0) {
		int result = check();
		fflush(stdout);
		_exit(result);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFEXITED(status))
		return 1;
	return WEXITSTATUS(status);
}

#define EXPECT(condition)                                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
			return 1;                                                                  \
		}                                                                                  \
	} while (0)

enum { NOT_POSSIBLE = 77 };

#endif
