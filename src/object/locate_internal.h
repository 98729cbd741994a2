/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OBJECT_LOCATE_INTERNAL_H
#define CTOP_OBJECT_LOCATE_INTERNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Shared by module.c, debug_file.c and perf_map.c: main's careful ways with files. */

/*
 * Opens a path below a root directory, which no symlink or ".." leaves (openat2,
 * RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS); root_fd is AT_FDCWD for our own root. Regular files only, never
 * blocking. extra_flags: O_NOFOLLOW. A descriptor or -errno (-EINVAL: not a regular file).
 */
int open_regular_in(int root_fd, const char *path, int extra_flags);

/* The build-id in the notes of an ELF file, by a few bounded reads. Its size; 0 when there is none. */
size_t read_build_id(int fd, uint8_t build_id[20]);

#endif
