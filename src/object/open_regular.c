/* SPDX-License-Identifier: MIT */
#include "locate_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

int open_regular_in(int root_fd, const char *path, int extra_flags)
{
	const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | extra_flags;
	int fd;
	if (root_fd == AT_FDCWD) {
		fd = open(path, flags);
	} else {
		struct open_how how = {
			.flags = (unsigned)flags,
			.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
		};
		fd = (int)syscall(SYS_openat2, root_fd, path, &how, sizeof(how));
	}
	if (fd < 0)
		return -errno;
	struct stat stat;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}
