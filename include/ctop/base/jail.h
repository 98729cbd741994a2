/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_JAIL_H
#define CTOP_BASE_JAIL_H

/*
 * Starting the processes that parse what strangers wrote, without privileges.
 *
 * jail_spawn() runs in main: fork, no_new_privs, a session of its own, default
 * signals, every descriptor but 0-2 and the channel closed, exec of /proc/self/exe as
 *     ctop --child=ROLE
 * with an environment of its own: CTOP_PARENT, and what the loader and sanitizers read.
 * jail_enter() runs first thing in the child: ids and capabilities dropped (to
 * nobody when started as root), not dumpable, no core, few descriptors, the heap
 * bounded, end with the parent. stdin is /dev/null and stdout is stderr in the child.
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum { JAIL_CHANNEL_FD = 3 };

struct jail_limits {
	size_t heap_bytes;     /* RLIMIT_DATA; 0: unlimited (sanitizers need it) */
	size_t nr_descriptors; /* RLIMIT_NOFILE */
	bool outlives_parent;  /* has something to finish when main is killed */
};

/*
 * Starts a child in the given role; channel_fd is the child's end (the caller closes his copy).
 * Fills *pid and *pid_fd (poll it for the child's end; the caller reaps the child and
 * closes it). Returns when exec has happened: 0 or -errno.
 */
int jail_spawn(const char *role, int channel_fd, pid_t *pid, int *pid_fd);

/*
 * In the child. 0, or -errno when any step failed: then exit at once, parse nothing.
 * -ESRCH: the parent is gone; -EINVAL: this process was not started by jail_spawn().
 * A root that can't become nobody (a user namespace without that id, no CAP_SETUID)
 * keeps its id and loses its capabilities all the same.
 */
int jail_enter(const struct jail_limits *limits);

/*
 * Behind jail_enter(), in the child, once it has all that only main can give: a seccomp filter lets it read and write
 * what it was given, and have memory. Whatever opens or looks up a path finds nothing (ENOENT: libraries try), all
 * else is forbidden (EPERM); nothing is killed for asking. 0, or -errno where the kernel has no filters.
 */
int jail_filter(void);

/* Main's own hardening: not dumpable, so that nobody of the same user reads it with ptrace. */
void jail_protect_main(void);

/* True when the build is instrumented by a sanitizer, which needs the heap unbounded. */
bool jail_sanitized(void);

#endif
