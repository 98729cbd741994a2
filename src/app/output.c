/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { ASK_FIFO_MS = 50 };

static int failed(const char *path, int code, struct error *error)
{
	error_set(error, code, "cannot write '%s': %s", path,
		  code == -ENOTTY  ? "a recording is not for a terminal"
		  : code == -EINTR ? "interrupted before anybody read it"
				   : strerror(-code));
	if (code == -ELOOP)
		error_remedy(error, "it is a symbolic link: name the file itself with -o FILE");
	else
		error_remedy(error, "write elsewhere: -o FILE, or -o - for standard output");
	return code;
}

/* The kernel does not tell when a fifo gets a reader: asks now and then. */
static int open_fifo(const char *path, int wake_fd)
{
	struct pollfd wake = {.fd = wake_fd, .events = POLLIN};
	for (;;) {
		int fd = open(path, O_WRONLY | O_CLOEXEC | O_NONBLOCK);
		if (fd >= 0) /* the writer may wait for its reader */
			return fcntl(fd, F_SETFL, 0) < 0 ? -errno : fd;
		if (errno != ENXIO)
			return -errno;
		if (poll(&wake, 1, ASK_FIFO_MS) > 0)
			return -EINTR;
	}
}

static int open_special(const char *path, const struct stat *stat, int wake_fd)
{
	if (S_ISFIFO(stat->st_mode))
		return open_fifo(path, wake_fd);
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	if (fd < 0 || !isatty(fd))
		return fd < 0 ? -errno : fd;
	close(fd);
	return -ENOTTY;
}

static int open_stdout(void)
{
	if (isatty(STDOUT_FILENO))
		return -ENOTTY;
	int fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
	return fd < 0 ? -errno : fd;
}

int output_open(const char *path, int wake_fd, struct error *error)
{
	struct stat stat;
	char old[PATH_MAX];
	int fd;
	if (strcmp(path, "-") == 0) {
		fd = open_stdout();
		return fd < 0 ? failed(path, fd, error) : fd;
	}
	if (lstat(path, &stat) == 0 && !S_ISLNK(stat.st_mode)) {
		if (!S_ISREG(stat.st_mode)) {
			fd = open_special(path, &stat, wake_fd);
			return fd < 0 ? failed(path, fd, error) : fd;
		}
		if ((size_t)snprintf(old, sizeof(old), "%s.old", path) >= sizeof(old))
			return failed(path, -ENAMETOOLONG, error);
		if (rename(path, old) < 0)
			return failed(path, -errno, error);
	}
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		/* With O_EXCL a symlink is "there already". */
		return failed(path, errno == EEXIST ? -ELOOP : -errno, error);
	return fd;
}
