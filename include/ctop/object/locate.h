/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OBJECT_LOCATE_H
#define CTOP_OBJECT_LOCATE_H

/*
 * Main's side of module files: opening the right file safely, never parsing
 * more of it than the build-id note's bytes need. A child asks for a module by
 * what the kernel said of a mapping; main turns that into a descriptor here.
 */

#include <stddef.h>
#include <stdint.h>

struct locate_request {
	int32_t pid;	  /* whose mapping it was; may be gone by now */
	const char *path; /* as the target's maps show it; " (deleted)" and all */
	uint64_t start, end, file_offset;
	uint32_t device_major, device_minor;
	uint64_t inode; /* 0: not known */
	const uint8_t *build_id;
	size_t build_id_size; /* 0: not known */
};

/*
 * Opens the file of a mapping: /proc/PID/map_files where allowed, /proc/PID/exe, else the path
 * inside the target's root (openat2, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS), else,
 * when the process has gone or its root is closed to us, the path in our own root. Regular files only, never blocking.
 * The candidate must agree with the request's build-id, or with device and inode as our own
 * /proc/self/maps shows them once it is mapped. "[vdso]" gives a sealed copy of our own vdso.
 * A descriptor, or -errno: -ENOENT, -EACCES, -ESTALE when another file is there now, -EINVAL when not a regular file.
 */
int locate_module(const struct locate_request *request);

/*
 * Opens the file of a mapping that was recorded, perhaps elsewhere: the pid means nothing here. The path in our own root,
 * else perf's cache of files (~/.debug/.build-id), and only what has the build-id, or, where none is known, device and
 * inode. "[vdso]" by its build-id alone. As locate_module().
 */
int locate_recorded_module(const struct locate_request *request);

/*
 * The debug file of a recorded module whose own file is not to be had, by build-id: in /usr/lib/debug, or in perf's
 * cache. It has names, and what it has of CFI, but no code (object.h). A descriptor or -errno.
 */
int locate_recorded_debug_file(const struct locate_request *request);

/*
 * The symbols of our own kernel, if it is the one that was recorded: its build-id, and, since each boot may put it
 * elsewhere, the address of its _text or _stext. A descriptor, -ESTALE or another -errno.
 */
int locate_recorded_kernel(const uint8_t *build_id, size_t build_id_size, uint64_t text_address);
/* The vdso of a kernel, of which nothing else is known: our own, if it is that kernel. A descriptor or -ESTALE. */
int locate_recorded_vdso(const uint8_t *kernel_build_id, size_t build_id_size);

/*
 * Opens a separate debug file: /usr/lib/debug/.build-id/xx/yyyy.debug for a
 * build-id, and the usual three places for a debuglink name beside module_path (with a build-id: only a file that has it). -ENOENT when there is none.
 * debuglink and module_path may be NULL.
 */
int locate_debug_file(const uint8_t *build_id, size_t build_id_size, const char *debuglink,
		      const char *module_path);

/*
 * Opens /tmp/perf-PID.map of a process: in its own root, under the pid of its own namespace, never
 * through a symlink, never blocking; a regular file owned by the process's uid or root, at most
 * LOCATE_PERF_MAP_MAX bytes. -ENOENT, -EPERM (wrong owner, or the file has other names), -EFBIG, -EINVAL (not a regular file).
 */
#define LOCATE_PERF_MAP_MAX ((int64_t)256 << 20)
int locate_perf_map(int32_t pid);

#endif
