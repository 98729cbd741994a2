/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_CGROUP_H
#define CTOP_SYSTEM_CGROUP_H

/* A cgroup of version 2, found by its path. Main only. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/error.h>

/*
 * Opens the directory of a cgroup: a path from the mount of cgroup2 on, else of the file system. A close-on-exec
 * descriptor, or -errno with cause and remedy.
 */
int cgroup_open(const char *path, struct error *error);
/* Of such a descriptor: the directory was removed. Empty, it may get tasks again. */
bool cgroup_is_gone(int fd);
enum { CGROUP_PATH_BYTES = 4096 };
/* Where a process is, from the root of ctop's own cgroup namespace on, in version 2's hierarchy: untrusted. False: it has gone, or is in none. */
bool cgroup_of(int32_t pid, char path[CGROUP_PATH_BYTES]);
/* Of such a descriptor: the process is in that cgroup, or in one below it. */
bool cgroup_has(int fd, int32_t pid);

#endif
