/* SPDX-License-Identifier: MIT */
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int write_all(int fd, const struct text *text)
{
	size_t done = 0;
	while (done < text->size) {
		ssize_t written = write(fd, text->bytes + done, text->size - done);
		if (written < 0 && errno == EINTR)
			continue;
		if (written < 0)
			return -errno;
		done += (size_t)written;
	}
	return 0;
}

static int write_and_close(int fd, const struct text *text)
{
	int result = write_all(fd, text);
	/* close() is where some file systems report that they are full. */
	if (close(fd) < 0 && !result)
		result = -errno;
	return result;
}

static int write_beside(const char *path, const struct text *text)
{
	char beside[PATH_MAX];
	int size = snprintf(beside, sizeof(beside), "%s.%d.tmp", path, (int)getpid());
	if (size < 0 || (size_t)size >= sizeof(beside))
		return -ENAMETOOLONG;
	int fd = open(beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	if (fd < 0)
		return -errno;
	int result = write_and_close(fd, text);
	if (!result && rename(beside, path) < 0)
		result = -errno;
	if (result)
		unlink(beside);
	return result;
}

static int write_path(const char *path, const struct text *text)
{
	struct stat stat_of;
	bool exists = stat(path, &stat_of) == 0;
	if (!exists || S_ISREG(stat_of.st_mode))
		return write_beside(path, text);
	if (S_ISDIR(stat_of.st_mode))
		return -EISDIR;
	int fd = open(path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : write_and_close(fd, text);
}

int save_text(const char *path, const char *option, const struct text *text, struct error *error)
{
	bool to_stdout = !path || !strcmp(path, "-");
	if (text->failed)
		return error_set(error, -ENOMEM, "out of memory");
	int result = to_stdout ? write_all(STDOUT_FILENO, text) : write_path(path, text);
	if (!result)
		return 0;
	if (to_stdout) {
		error_set(error, result, "cannot write to standard output: %s", strerror(-result));
		error_remedy(error, result == -ENOSPC ? "make room, or redirect it to another file"
						      : "redirect it to a file: > FILE");
		return result;
	}
	error_set(error, result, "cannot write '%s': %s", path, strerror(-result));
	error_remedy(error, "write elsewhere with %s FILE", option);
	return result;
}
