/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_TARGET_H
#define CTOP_SESSION_TARGET_H

/*
 * Whom to profile: a process found by name, or a command that is started held
 * and let go once sampling is on; and how one learns that it ended.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <ctop/base/error.h>
#include <ctop/options/options.h>

struct target {
	struct int32_list pids; /* whole processes, a started command's too */
	char description[256];	/* for people: "python3[1234]" */
	const char *kind;	/* "pid", "tid", "system", "cgroup", "command" */
	const char *only_comm;	/* of those: threads of this name; NULL: all; borrowed */
	bool has_uid;		/* of those: this user's processes */
	uint32_t uid;
	int cgroup_fd;	     /* of -G's directory; -1 */
	pid_t command_pid;   /* of -- CMD; 0: none */
	const char *command; /* its name or path; borrowed from the options */
	int release_fd;	     /* closing it lets the command go; -1 */
	int failure_fd;	     /* the command's errno arrives here when exec fails; -1 */
	int *pid_fds;	     /* one a target process or thread group, -1 for those that ended */
	size_t nr_pid_fds;
};

/* Finds or starts the target. 0, or -errno with cause and remedy. target_release() is due in any case. */
int target_open(struct target *target, const struct options *options, struct error *error);
/* How many processes of that name there are. */
size_t target_count_named(const char *name);
/* Adds to the description how many descendants ran already. */
void target_count_children(struct target *target, size_t nr);
/* Lets a held command go: 0, or -errno with the cause (exec failed: exit code 126 or 127). */
int target_start(struct target *target, struct error *error);
/*
 * True once every process of the target has ended, or its cgroup was removed; never for the whole system. *status: the
 * command's, as waitpid() gives it.
 */
bool target_ended(struct target *target, int *status);
/* Kills a command that was never let go. Closes everything. */
void target_release(struct target *target);

#endif
