/* SPDX-License-Identifier: MIT */
#include "own_mount.h"

#include <fcntl.h>
#include <linux/mount.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

static bool is_same(int a, int b)
{
	struct stat one, other;
	return !fstat(a, &one) && !fstat(b, &other) && one.st_dev == other.st_dev &&
	       one.st_ino == other.st_ino;
}

/* The file alone, cloned from where it is mounted. -1: not to be had. */
static int open_clone(int fd)
{
	const struct privilege_before before = privilege_raise(PRIVILEGE_MOUNT);
	int tree = (int)syscall(SYS_open_tree, fd, "",
				AT_EMPTY_PATH | OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC);
	privilege_restore(&before);
	return tree;
}

int own_mount(int fd)
{
	char link[64];
	int tree = open_clone(fd);
	if (tree < 0)
		return fd;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", tree);
	int own = open(link, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	/* The clone stays until the file is closed. */
	close(tree);
	if (own < 0)
		return fd;
	if (!is_same(fd, own)) {
		close(own);
		return fd;
	}
	close(fd);
	return own;
}
