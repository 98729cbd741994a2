/* SPDX-License-Identifier: MIT */
#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/write_all.h>

static int failed(const struct save *save, int result, struct error *error)
{
	if (!save->path) {
		error_set(error, result, "cannot write to standard output: %s", strerror(-result));
		error_remedy(error, result == -ENOSPC ? "make room, or redirect it to another file"
						      : "redirect it to a file: > FILE");
		return result;
	}
	error_set(error, result, "cannot write '%s': %s", save->path, strerror(-result));
	error_remedy(error, "write elsewhere with %s FILE", save->option);
	return result;
}

static int open_beside(struct save *save)
{
	int size = snprintf(save->beside, sizeof(save->beside), "%s.%d.tmp", save->path,
			    (int)getpid());
	if (size < 0 || (size_t)size >= sizeof(save->beside)) {
		save->beside[0] = '\0';
		return -ENAMETOOLONG;
	}
	int fd = open(save->beside, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
	return fd < 0 ? -errno : fd;
}

static int open_path(struct save *save)
{
	struct stat stat_of;
	bool exists = stat(save->path, &stat_of) == 0;
	if (!exists || S_ISREG(stat_of.st_mode))
		return open_beside(save);
	if (S_ISDIR(stat_of.st_mode))
		return -EISDIR;
	int fd = open(save->path, O_WRONLY | O_CLOEXEC | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

int save_begin(struct save *save, const char *path, const char *option, struct error *error)
{
	*save = (struct save){.option = option, .fd = STDOUT_FILENO};
	if (!path || !strcmp(path, "-"))
		return 0;
	save->path = path;
	save->fd = open_path(save);
	return save->fd < 0 ? failed(save, save->fd, error) : 0;
}

int save_add(struct save *save, const void *bytes, size_t size)
{
	int result = write_all(save->fd, bytes, size);
	save->bytes += result ? 0 : size;
	return result;
}

int save_end(struct save *save, int result, struct error *error)
{
	if (!save->path)
		return result ? failed(save, result, error) : 0;
	/* close() is where some file systems report that they are full. */
	if (close(save->fd) < 0 && !result)
		result = -errno;
	save->fd = -1;
	if (!result && save->beside[0] && rename(save->beside, save->path) < 0)
		result = -errno;
	if (result && save->beside[0])
		unlink(save->beside);
	return result ? failed(save, result, error) : 0;
}

int save_text(const char *path, const char *option, const struct text *text, struct error *error)
{
	struct save save;
	if (text->failed)
		return error_set(error, -ENOMEM, "out of memory");
	int result = save_begin(&save, path, option, error);
	if (!result)
		result = save_end(&save, save_add(&save, text->bytes, text->size), error);
	return result;
}
