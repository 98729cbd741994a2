/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_PROBE_TARGET_H
#define CTOP_FILES_PROBE_TARGET_H

/*
 * The file of a uprobe as a process of the profile has it mapped, which may be in a mount namespace where main cannot look it up by
 * name. Maps and files are the target's own: read and opened by an opener (opener.h), the file by device, inode and generation.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Whether the process lives in another mount namespace than main; false where that is not to be known. */
bool probe_target_is_elsewhere(int32_t pid);

/*
 * Opens what the process has mapped: the file of that path, or, of a name without a slash, the library or program that it means
 * (probe_file.h), and *path is what the process calls it. A descriptor; -ENOENT: nothing of that name, or another -errno.
 */
int probe_target_open(int32_t pid, const char *name, char *path, size_t size);

/* Calls each() with the path of each file whose code the process has mapped, untrusted. 0 or -errno. */
int probe_target_each(int32_t pid, void (*each)(void *context, const char *path), void *context);

#endif
