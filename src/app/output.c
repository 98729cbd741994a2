/* SPDX-License-Identifier: MIT */
#include "output.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int failed(const char *path, int code, struct error *error)
{
	error_set(error, code, "cannot write '%s': %s", path, strerror(-code));
	if (code == -ELOOP)
		error_remedy(error, "it is a symbolic link: name the file itself with -o FILE");
	else
		error_remedy(error, "write elsewhere: -o FILE, or -o - for standard output");
	return code;
}

int output_open(const char *path, struct error *error)
{
	struct stat stat;
	char old[PATH_MAX];
	int fd;
	if (strcmp(path, "-") == 0) {
		fd = fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3);
		return fd < 0 ? failed(path, -errno, error) : fd;
	}
	if (lstat(path, &stat) == 0 && !S_ISLNK(stat.st_mode)) {
		if (!S_ISREG(stat.st_mode)) {
			fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
			return fd < 0 ? failed(path, -errno, error) : fd;
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
