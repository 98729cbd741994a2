/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_LOCATE_H
#define CTOP_FILES_LOCATE_H

/*
 * Finding and opening the files of modules: which file it is, never what is in it. What a request says of a mapping
 * comes from the kernel, of a file that was recorded elsewhere from that file. Runs in the opener (files/opener.h), with
 * main's privileges: a look-up may hang in a file system of somebody's.
 *
 * A file that is not the mapped one by device, inode and generation was found by its name alone, and anybody may have
 * chosen that. It is opened only if it is owned by root, the target's user or the user who runs us, and it must be
 * proved to be the right one by what is in it (files/prober.h).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Who runs us; behind sudo, who called it. */
uid_t invoking_uid(void);
gid_t invoking_gid(void);

struct locate_request {
	int32_t pid;	  /* whose mapping it was; may be gone by now */
	const char *path; /* as the target's maps show it; " (deleted)" and all */
	uint64_t start, end, file_offset;
	uint32_t device_major, device_minor;
	uint64_t inode;	     /* 0: not known */
	uint32_t generation; /* of the inode; 0: not known */
	const uint8_t *build_id;
	size_t build_id_size; /* 0: not known */
	/* Of a perf map that a process left: see locate_left_perf_map(). */
	uint32_t uid;
	int64_t since_ns, until_ns;
};

/*
 * Opens the file of a mapping: /proc/PID/map_files where allowed, /proc/PID/exe, else the path
 * inside the target's root (openat2, RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS), else,
 * when the process has gone, its root is closed to us or was another when it mapped the file, the path in our own root.
 * Regular files only, never blocking.
 * *by_name: it is another file, by inode, and must prove to have the request's build-id; never without one.
 * "[vdso]" gives a sealed copy of our own vdso.
 * A descriptor, or -errno: -ENOENT, -EACCES, -ESTALE when another file is there now, -EINVAL when not a regular file,
 * -EPERM when it is nobody's whose files are read by name.
 */
int locate_module(const struct locate_request *request, bool *by_name);

/*
 * Opens the file of a mapping that was recorded, perhaps elsewhere: the pid means nothing here. The path in our own root,
 * else perf's cache of files (~/.debug/.build-id). With a build-id always *by_name; without one device and inode must
 * be the recorded ones, and for root the file readable by everybody: the claim is a file's, whoever made it.
 * "[vdso]" is as locate_module() has it, and must be proved. As locate_module(). candidate counts the places, from 0:
 * what proves to be another file is asked for again with the next, until -ENOENT.
 */
int locate_recorded_module(const struct locate_request *request, unsigned candidate, bool *by_name);

/*
 * The debug file of a recorded module whose own file is not available, by build-id, in perf's cache: by name, to be
 * proved. It has names, and what it has of CFI, but no code (object.h). A descriptor or -errno.
 */
int locate_cached_debug_file(const struct locate_request *request);

/* What a recording says of the kernel that it was made on. */
struct recorded_kernel {
	const uint8_t *build_id;
	size_t build_id_size;  /* 0: not known, as where perf compressed its records */
	uint64_t text_address; /* of its _text or _stext; 0: not known */
	const char *release;   /* as uname -r says it; "": not known */
};

/*
 * The symbols of our own kernel, if it is the one that was recorded: by its build-id, or else its release, and, since each boot
 * may put it elsewhere, the address of its _text or _stext. A descriptor, -ESTALE, -EPERM where kernel.kptr_restrict hides the
 * addresses of our own, or another -errno.
 */
int locate_recorded_kernel(const struct recorded_kernel *kernel);
/* The build-id of our own kernel, as it says itself; its size, 0: it says none. */
size_t own_kernel_build_id(uint8_t build_id[20]);
/*
 * A vmlinux of our own kernel, uncompressed and with its debug information: the one that the user has named (NULL: none), then where distributions
 * and debuginfod's clients put it. By name: it must prove to have the build-id. candidate counts the places, as above.
 */
int locate_vmlinux(const char *named, const uint8_t *build_id, size_t build_id_size,
		   unsigned candidate);
/* The vdso of a kernel, of which nothing else is known: our own, if it is that kernel. A descriptor or -errno, as above. */
int locate_recorded_vdso(const struct recorded_kernel *kernel);

/*
 * Opens what may be the separate debug file of a build-id: /usr/lib/debug/.build-id/xx/yyyy.debug, in the root of process
 * pid, then in our own, then what a debuginfod client has fetched into ~/.cache: below HOME only where that is ours.
 * By name, to be proved; candidate as in locate_recorded_module(). A descriptor; -ENOENT: none is there; another -errno: one is,
 * and may not be used (-EINVAL: not a regular file; -EPERM: of an owner who is not believed).
 */
int locate_debug_by_build_id(int32_t pid, const uint8_t *build_id, size_t build_id_size,
			     unsigned candidate);
/*
 * The same by the name of a debug link, in the three usual places beside module_path, below the root of process pid; in
 * our own only when that process has gone. By name, to be proved. Returns as the above.
 */
int locate_debug_by_link(int32_t pid, const char *module_path, const char *debuglink,
			 unsigned candidate);

/*
 * The same of dwz's common file, by the name that a debug file has for it: what stands behind ".dwz/" in it below /usr/lib/debug/.dwz, or its last
 * part beside module_path.
 */
int locate_common_debug_file(int32_t pid, const char *module_path, const char *name,
			     unsigned candidate);
/* The same of what -gsplit-dwarf has put into a file of its own, by an absolute path. */
int locate_split_file(int32_t pid, const char *path);
/* Where that may be, in this order. */
enum split_place {
	SPLIT_PACKAGE,	       /* beside the module */
	SPLIT_PACKAGE_OF_LINK, /* ... under the name that the module has for its debug file */
	SPLIT_NAMED,
	SPLIT_BESIDE, /* the module: what was built elsewhere */
	NR_SPLIT_PLACES
};
/* name: as the unit's skeleton has it; debuglink: NULL where there is none. False: there is no such path, or it is too long. */
bool split_place_path(enum split_place place, const char *module_path, const char *debuglink,
		      const char *name, char *path, size_t path_bytes);

/*
 * Opens /tmp/perf-PID.map of a process: in its own root, under the pid of its own namespace, never
 * through a symlink, never blocking; a regular file owned by the process's uid or root, at most
 * LOCATE_PERF_MAP_MAX bytes. -ENOENT, -EPERM (wrong owner, or the file has other names), -EFBIG, -EINVAL (not a regular file).
 */
#define LOCATE_PERF_MAP_MAX ((int64_t)256 << 20)
int locate_perf_map(int32_t pid);

/*
 * The same of a process that has gone, in our own /tmp: JITs write it as they end. It must be owned by that user or root,
 * and have been written since_ns or later, by CLOCK_REALTIME, and until_ns at the latest (0: now); else -ESTALE.
 */
int locate_left_perf_map(int32_t pid, uint32_t uid, int64_t since_ns, int64_t until_ns);
/* Whether a process that runs would leave its map there: 1 + its user if its root and its pid are as we see them, else 0. */
uint32_t locate_perf_map_owner(int32_t pid);

#endif
