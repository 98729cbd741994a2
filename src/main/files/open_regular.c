/* SPDX-License-Identifier: MIT */
#include "locate_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

/* Opens the file behind an O_PATH descriptor for reading, if it is a regular one. */
static int reopen_regular(int path_fd)
{
	struct stat stat;
	char link[64];
	if (fstat(path_fd, &stat) < 0)
		return -errno;
	if (S_ISLNK(stat.st_mode))
		return -ELOOP;
	if (!S_ISREG(stat.st_mode) || is_made_up(path_fd))
		return -EINVAL;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", path_fd);
	int fd = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

/*
 * O_PATH first: opening a device or a FIFO to see what it is would already have an
 * effect (rewind a tape, arm a watchdog, let a writer through).
 */
static int open_path(int root_fd, const char *path, int extra_flags)
{
	const int flags = O_PATH | O_CLOEXEC | extra_flags;
	if (root_fd == AT_FDCWD)
		return open(path, flags);
	const struct open_how how = {
		.flags = (unsigned)flags,
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	/* EAGAIN: something was renamed below the root meanwhile, and ".." could not be trusted. */
	enum { TRIES = 8 };
	int fd = -1;
	for (int i = 0; i < TRIES; i++) {
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
		if (fd >= 0 || errno != EAGAIN)
			break;
	}
	return fd;
}

int open_regular_in(int root_fd, const char *path, int extra_flags)
{
	int path_fd = open_path(root_fd, path, extra_flags);
	if (path_fd < 0)
		return -errno;
	int fd = reopen_regular(path_fd);
	close(path_fd);
	return fd;
}

int open_root_of(int32_t pid)
{
	char root[64];
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	int fd = pid > 0 ? privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, root,
					    O_PATH | O_DIRECTORY | O_CLOEXEC)
			 : -1;
	return fd < 0 ? -ESRCH : fd;
}
