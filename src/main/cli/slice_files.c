/* SPDX-License-Identifier: MIT */
#include "slice_files.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>

static const char ending[] = ".ctop";

void slice_file_name(char *path, size_t size, const char *output, uint64_t wall_ns, unsigned number)
{
	const time_t second = (time_t)(wall_ns / NS_PER_SECOND);
	size_t stem = strlen(output);
	char clock[32] = "", count[16] = "";
	struct tm local;
	if (stem > strlen(ending) && !strcmp(output + stem - strlen(ending), ending))
		stem -= strlen(ending);
	if (localtime_r(&second, &local))
		strftime(clock, sizeof(clock), "%Y%m%d-%H%M%S", &local);
	if (number)
		snprintf(count, sizeof(count), "-%u", number);
	snprintf(path, size, "%.*s-%s%s%s", (int)stem, output, clock, count, ending);
}

/* Others may have put another file there: that stays. */
static void remove_file(int directory, const struct slice_file *file)
{
	struct stat now;
	if (fstatat(directory, file->name, &now, AT_SYMLINK_NOFOLLOW) == 0 &&
	    now.st_dev == file->device && now.st_ino == file->inode)
		unlinkat(directory, file->name, 0);
}

static int open_directory_of(const char *path)
{
	char directory[PATH_MAX] = ".";
	const char *slash = strrchr(path, '/');
	if (slash)
		snprintf(directory, sizeof(directory), "%.*s",
			 slash == path ? 1 : (int)(slash - path), path);
	return open(directory, O_PATH | O_DIRECTORY | O_CLOEXEC);
}

int slice_files_check(const char *output, struct error *error)
{
	const char *slash = strrchr(output, '/');
	const int bytes = slash ? slash == output ? 1 : (int)(slash - output) : 1;
	const int directory = bytes < PATH_MAX ? open_directory_of(output) : -1;
	const int result = bytes >= PATH_MAX ? -ENAMETOOLONG
			   : directory < 0 || faccessat(directory, ".", W_OK | X_OK, AT_EACCESS)
				   ? -errno
				   : 0;
	if (directory >= 0)
		close(directory);
	if (!result)
		return 0;
	error_set(error, result, "slices cannot be written into '%.*s': %s", bytes,
		  slash ? output : ".", strerror(-result));
	return error_remedy(error, "name a file in a directory that can be written, with -o FILE");
}

static bool is_same(int a, int b)
{
	struct stat of_a, of_b;
	return fstat(a, &of_a) == 0 && fstat(b, &of_b) == 0 && of_a.st_dev == of_b.st_dev &&
	       of_a.st_ino == of_b.st_ino;
}

/*
 * The directory stays open: who may rename directories cannot make us remove files elsewhere. Where another has its name by now, what was
 * written into it went with it. -1: there is none.
 */
static int directory_of(struct slice_files *files, const char *path)
{
	const int now = open_directory_of(path);
	if (now >= 0 && files->directory_plus_1 && is_same(now, files->directory_plus_1 - 1)) {
		close(now);
		return files->directory_plus_1 - 1;
	}
	slice_files_release(files);
	files->directory_plus_1 = 1 + now;
	return now;
}

void slice_files_keep(struct slice_files *files, const char *path, uint32_t most)
{
	struct stat stat;
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	const int directory = most ? directory_of(files, path) : -1;
	if (directory < 0 || fstatat(directory, name, &stat, AT_SYMLINK_NOFOLLOW) < 0 ||
	    vec_reserve(files, files->nr + 1))
		return;
	char *copy = strdup(name);
	if (!copy)
		return;
	files->items[files->nr++] = (struct slice_file){copy, stat.st_dev, stat.st_ino};
	while (files->nr > most) {
		remove_file(directory, &files->items[0]);
		free(files->items[0].name);
		files->nr--;
		memmove(files->items, files->items + 1, files->nr * sizeof(*files->items));
	}
}

void slice_files_release(struct slice_files *files)
{
	for (size_t i = 0; i < files->nr; i++)
		free(files->items[i].name);
	free(files->items);
	if (files->directory_plus_1)
		close(files->directory_plus_1 - 1);
	*files = (struct slice_files){0};
}
