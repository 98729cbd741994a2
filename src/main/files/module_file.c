/* SPDX-License-Identifier: MIT */
#include <ctop/files/locate.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>
#include <linux/fs.h>
#include <linux/magic.h>

#include <ctop/base/privilege.h>

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

/* Where both sides know one. Overlays show the inode of one file system under another's rules: no generation there. */
static bool same_generation(int fd, const struct locate_request *request)
{
	int generation = 0;
	return !request->generation || ioctl(fd, FS_IOC_GETVERSION, &generation) < 0 ||
	       !generation || (uint32_t)generation == request->generation;
}

bool is_file_of_request(int fd, const struct locate_request *request)
{
	return request->inode && same_inode(fd, request) && same_generation(fd, request);
}

/* Passes a descriptor on if it is the file that was mapped. */
static int checked(int fd, const struct locate_request *request)
{
	if (fd < 0 || is_file_of_request(fd, request))
		return fd;
	close(fd);
	return -ESTALE;
}

/* By a link of /proc/PID, which the kernel follows for those who may trace the process. */
static int open_inside(const char *link)
{
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	int fd = open_regular_in(AT_FDCWD, link, 0);
	privilege_restore(&before);
	return fd;
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
	int fd = checked(open_inside(path), request);
	if (fd >= 0)
		return fd;
	/* map_files takes a capability; one's own processes' programs can be had without. */
	snprintf(path, sizeof(path), "/proc/%d/exe", request->pid);
	return checked(open_inside(path), request);
}

/* Another file by now: the same again (a package reinstalled) can prove itself, if a build-id is known. */
static int by_name_or_stale(int fd, const struct locate_request *request, bool *by_name)
{
	int result = request->build_id_size ? check_name_owner(fd, request->pid) : -ESTALE;
	*by_name = !result;
	if (!result)
		return fd;
	close(fd);
	return result;
}

static int open_by_path(int root_fd, const struct locate_request *request, bool *by_name)
{
	int fd = open_regular_in(root_fd, request->path, 0);
	size_t length = strlen(request->path), suffix = sizeof(deleted_suffix) - 1;
	if (fd == -ENOENT && length > suffix && length - suffix < PATH_MAX &&
	    strcmp(request->path + length - suffix, deleted_suffix) == 0) {
		char path[PATH_MAX];
		memcpy(path, request->path, length - suffix);
		path[length - suffix] = '\0';
		fd = open_regular_in(root_fd, path, 0);
	}
	if (fd < 0 || is_file_of_request(fd, request))
		return fd;
	return by_name_or_stale(fd, request, by_name);
}

/* What was mapped before the process changed its root is in ours yet, where a command of ours began. Takes fd over. */
static int or_in_own_root(int fd, const struct locate_request *request, bool *by_name)
{
	if (fd >= 0 && !*by_name)
		return fd;
	int root_fd = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return fd;
	int own = checked(open_regular_in(root_fd, request->path, 0), request);
	close(root_fd);
	if (own < 0)
		return fd;
	if (fd >= 0)
		close(fd);
	*by_name = false;
	return own;
}

int locate_module(const struct locate_request *request, bool *by_name)
{
	*by_name = false;
	/* Every 64-bit process of this kernel has the same one. */
	if (strcmp(request->path, "[vdso]") == 0)
		return copy_own_vdso();
	if (request->path[0] != '/')
		return -EINVAL;
	int fd = open_kernel_link(request);
	if (fd >= 0)
		return fd;
	int root_fd = open_root_of(request->pid);
	if (root_fd < 0)
		return open_by_path(AT_FDCWD, request, by_name);
	fd = open_by_path(root_fd, request, by_name);
	close(root_fd);
	return or_in_own_root(fd, request, by_name);
}
