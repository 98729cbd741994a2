/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OBJECT_LOCATE_INTERNAL_H
#define CTOP_OBJECT_LOCATE_INTERNAL_H

/* Shared by module_file.c, debug_file.c and perf_map.c: main's careful ways with files. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * Opens a path below a root directory, which no symlink or ".." leaves (openat2, RESOLVE_IN_ROOT |
 * RESOLVE_NO_MAGICLINKS); root_fd is AT_FDCWD for a path of our own. Regular files only: anything else is not even
 * opened. extra_flags: O_NOFOLLOW or 0. A descriptor or -errno (-EINVAL: not a regular file; -ELOOP: a symlink).
 */
int open_regular_in(int root_fd, const char *path, int extra_flags);

/* The build-id in the notes of an ELF file, by a few bounded reads. Its size; 0 when there is none. */
size_t read_build_id(int fd, uint8_t build_id[20]);
/* The same in the bytes of ELF notes, whose parts are aligned to 4 or 8. */
size_t build_id_in_notes(const uint8_t *notes, size_t size, size_t alignment, uint8_t build_id[20]);

/* A file as the kernel's list of mappings names it. */
struct mapped_file {
	unsigned device_major, device_minor;
	uint64_t inode;
};

/* What /proc/self/maps calls the file once it is mapped. False when it cannot be mapped or found. */
bool mapped_file_of(int fd, struct mapped_file *file);

struct locate_request;
/* True when a file is the one of the request: by build-id, else by device and inode. */
bool is_mapped_file(int fd, const struct locate_request *request);

/* A sealed copy of our own vdso. A descriptor or -errno. */
int copy_own_vdso(void);

#endif
