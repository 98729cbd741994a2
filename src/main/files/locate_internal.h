/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_LOCATE_INTERNAL_H
#define CTOP_FILES_LOCATE_INTERNAL_H

/* Shared by module_file.c, recorded_file.c, debug_file.c and perf_map.c: careful ways with files. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/*
 * Opens a path below a root directory, which no symlink or ".." leaves (openat2, RESOLVE_IN_ROOT |
 * RESOLVE_NO_MAGICLINKS); root_fd is AT_FDCWD for a path of our own. Regular files only: anything else is not even
 * opened, nor is what the kernel makes up (is_made_up()). extra_flags: O_NOFOLLOW or 0. A descriptor or -errno
 * (-EINVAL: not a regular file; -ELOOP: a symlink).
 */
int open_regular_in(int root_fd, const char *path, int extra_flags);

/* True for a file of proc, sysfs, tracefs, debugfs and their like, also when that cannot be told. */
bool is_made_up(int fd);
/*
 * Of a file that was reached by a name alone, which anybody may have chosen: 0 when it is owned by root, by the
 * user of process pid (0: of none), or by the user who runs us; else -EPERM.
 */
int check_name_owner(int fd, int32_t pid);
/* Passes a descriptor on if that is so, else closes it: the descriptor or -errno, as it was given or of the check. */
int if_owned(int fd, int32_t pid);
/* A process's root. An O_PATH descriptor, or -errno: gone, or not ours to look into. */
int open_root_of(int32_t pid);

/* A file as the kernel's list of mappings names it. */
struct mapped_file {
	unsigned device_major, device_minor;
	uint64_t inode;
};

/* What /proc/self/maps calls the file once it is mapped. False when it cannot be mapped or found. */
bool mapped_file_of(int fd, struct mapped_file *file);

struct locate_request;
/* True when a file has the device, inode and generation of the request. */
bool is_file_of_request(int fd, const struct locate_request *request);

/*
 * The directory of an environment variable, as HOME, if it is whose privileges we have: behind sudo it may still be the user's, and what
 * lies there is. NULL: none.
 * Borrowed from the environment.
 */
const char *own_directory(const char *variable);

enum { BUILD_ID_HEX_BYTES = 41 };
/* False when the build-id is too short or too long to be one. */
bool build_id_hex(char hex[BUILD_ID_HEX_BYTES], const uint8_t *build_id, size_t build_id_size);
/*
 * Where files lie by build-id: DIRECTORY/.build-id/xx/yyyySUFFIX. False when the build-id is too short or too long for that, or
 * the path for its buffer.
 */
bool build_id_path(char *path, size_t size, const char *directory, const uint8_t *build_id,
		   size_t build_id_size, const char *suffix);

/* A sealed copy of our own vdso. A descriptor or -errno. */
int copy_own_vdso(void);

#endif
