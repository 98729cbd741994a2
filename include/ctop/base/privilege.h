/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_PRIVILEGE_H
#define CTOP_BASE_PRIVILEGE_H

/*
 * Main's capabilities are permitted, not effective, except around the call that
 * needs one: libraries that look for files (terminfo, locales, users' names),
 * the interface, options and outputs have none of them.
 *
 * privilege_begin() is main's first act. With file capabilities nothing stays
 * effective. Of root's, those that make it master of files, limits and signals
 * do: `sudo ctop record` writes into its caller's directories. Children have
 * nothing to do with this: they drop all (jail/jail.h), and an exec of root's
 * gives back all.
 *
 *     struct privilege_before before = privilege_raise(PRIVILEGE_SAMPLE);
 *     ... one system call ...
 *     privilege_restore(&before);
 *
 * What is not permitted is not raised, silently: the call says what is missing.
 * Both leave errno as it was, and may be nested.
 */

#include <stdbool.h>
#include <stdint.h>

enum privilege {
	PRIVILEGE_SAMPLE,	/* perf_event_open(): of others, of CPUs, the kernel's part */
	PRIVILEGE_LOCK,		/* rings beyond the limit of locked memory */
	PRIVILEGE_KERNEL_NAMES, /* /proc/kallsyms with addresses: as it is opened */
	PRIVILEGE_KERNEL_CODE,	/* /proc/kcore: as it is opened, for one function's code */
	PRIVILEGE_INSPECT, /* others' /proc/PID: maps, map_files, root, ns; all of it with hidepid */
	PRIVILEGE_JAIL,	   /* namespaces for a child */
	PRIVILEGE_MOUNT,   /* a tracefs of our own, mounted nowhere */
	PRIVILEGE_PROMPTNESS, /* a nice value below 0 */
	PRIVILEGE_BECOME,     /* another user, as which a file is looked up */
	NR_PRIVILEGES
};

struct privilege_before {
	uint32_t effective[2];
	bool changed;
};

void privilege_begin(void);

/*
 * For good, of a process of main's own that does nothing but look at others (system/looker.h): what tracing takes, effective, and of root's that
 * others' files may be read.
 */
void privilege_keep_for_looks(void);

struct privilege_before privilege_raise(enum privilege privilege);
void privilege_restore(const struct privilege_before *before);

/* openat() with a privilege: a descriptor, or -1 and errno. */
int privilege_openat(enum privilege privilege, int dir_fd, const char *path, int flags);

/* Whether the capability can be raised: permitted, whether effective now or not. Of our own user namespace. */
bool privilege_has(unsigned capability);

#endif
