/* SPDX-License-Identifier: MIT */
#include <ctop/object/locate.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <linux/magic.h>

#include "locate_internal.h"

static const char deleted_suffix[] = " (deleted)";

/*
 * Overlay file systems: records name the file of the layer below, maps and
 * fstat() the overlay's own device; the inode number is the layer's.
 */
static bool same_overlay_inode(int fd, const struct stat *stat,
			       const struct locate_request *request)
{
	struct statfs file_system;
	return stat->st_ino == request->inode && fstatfs(fd, &file_system) == 0 &&
	       file_system.f_type == OVERLAYFS_SUPER_MAGIC;
}

static bool same_inode(int fd, const struct locate_request *request)
{
	struct stat stat;
	struct mapped_file mapped;
	if (fstat(fd, &stat) < 0)
		return false;
	if (stat.st_ino == request->inode && major(stat.st_dev) == request->device_major &&
	    minor(stat.st_dev) == request->device_minor)
		return true;
	if (mapped_file_of(fd, &mapped) && mapped.inode == request->inode &&
	    mapped.device_major == request->device_major &&
	    mapped.device_minor == request->device_minor)
		return true;
	return same_overlay_inode(fd, &stat, request);
}

bool is_mapped_file(int fd, const struct locate_request *request)
{
	if (request->build_id_size) {
		uint8_t build_id[20];
		size_t size = read_build_id(fd, build_id);
		return size == request->build_id_size &&
		       memcmp(build_id, request->build_id, size) == 0;
	}
	return request->inode && same_inode(fd, request);
}

/* Passes a descriptor on if it is the file that was mapped. */
static int checked(int fd, const struct locate_request *request)
{
	if (fd < 0 || is_mapped_file(fd, request))
		return fd;
	close(fd);
	return -ESTALE;
}

/*
 * The kernel's own links to mapped files, deleted ones too. By the time they are followed another
 * file may be mapped there, or another process have the pid.
 */
static int open_kernel_link(const struct locate_request *request)
{
	char path[128];
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", request->pid,
		 (unsigned long long)request->start, (unsigned long long)request->end);
	int fd = checked(open_regular_in(AT_FDCWD, path, 0), request);
	if (fd >= 0)
		return fd;
	/* map_files takes a capability; one's own processes' programs can be had without. */
	snprintf(path, sizeof(path), "/proc/%d/exe", request->pid);
	return checked(open_regular_in(AT_FDCWD, path, 0), request);
}

static int open_by_path(int root_fd, const struct locate_request *request)
{
	int fd = open_regular_in(root_fd, request->path, 0);
	size_t length = strlen(request->path), suffix = sizeof(deleted_suffix) - 1;
	if (fd == -ENOENT && length > suffix && length - suffix < PATH_MAX &&
	    strcmp(request->path + length - suffix, deleted_suffix) == 0) {
		/* Replaced by the same again (a package reinstalled), or else by something newer. */
		char path[PATH_MAX];
		memcpy(path, request->path, length - suffix);
		path[length - suffix] = '\0';
		fd = open_regular_in(root_fd, path, 0);
	}
	return checked(fd, request);
}

int locate_module(const struct locate_request *request)
{
	/* Every 64-bit process of this kernel has the same one. */
	if (strcmp(request->path, "[vdso]") == 0)
		return copy_own_vdso();
	if (request->path[0] != '/')
		return -EINVAL;
	int fd = open_kernel_link(request);
	if (fd >= 0)
		return fd;
	char root[64];
	snprintf(root, sizeof(root), "/proc/%d/root", request->pid);
	int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0) /* gone, or not ours to look into */
		return open_by_path(AT_FDCWD, request);
	fd = open_by_path(root_fd, request);
	close(root_fd);
	return fd;
}
