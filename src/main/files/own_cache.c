/* SPDX-License-Identifier: MIT */
#include "own_cache.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where nobody but root and us can put something in place of what is root's or ours. */
static bool is_kept_from_others(int fd, bool is_own)
{
	struct stat status;
	if (fstat(fd, &status) || (status.st_uid != geteuid() && (is_own || status.st_uid)))
		return false;
	return !(status.st_mode & (S_IWGRP | S_IWOTH)) || (!is_own && status.st_mode & S_ISVTX);
}

/* A directory in one that is held, which is left; made where it is missing and ours. */
static int enter(int parent_fd, const char *name, bool is_own)
{
	int result = is_own && mkdirat(parent_fd, name, 0700) && errno != EEXIST ? -errno : 0;
	int fd = result ? -1
			: openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (!result && fd < 0)
		result = -errno;
	if (!result && !is_kept_from_others(fd, is_own))
		result = -EPERM;
	close(parent_fd);
	if (result && fd >= 0)
		close(fd);
	return result ? result : fd;
}

/* Step by step along a path that has no links: whoever puts one there meanwhile is not followed. */
static int walk(char *path)
{
	char *rest = path;
	int fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	for (char *name; fd >= 0 && (name = strtok_r(rest, "/", &rest));)
		fd = enter(fd, name, false);
	return fd;
}

/* The user's directory of caches: made where only that is missing. */
static int open_base(const char *path)
{
	char parent[PATH_MAX], real[PATH_MAX];
	if (realpath(path, real))
		return walk(real);
	const char *name = strrchr(path, '/');
	if (errno != ENOENT || !name[1] || (size_t)(name - path) >= sizeof(parent))
		return -errno;
	snprintf(parent, sizeof(parent), "%.*s/", (int)(name - path), path);
	if (!realpath(parent, real))
		return -errno;
	int fd = walk(real);
	return fd < 0 ? fd : enter(fd, name + 1, true);
}

static bool base_path(char path[PATH_MAX])
{
	const char *cache = getenv("XDG_CACHE_HOME"), *home = getenv("HOME");
	int size;
	if (cache && cache[0] == '/')
		size = snprintf(path, PATH_MAX, "%s", cache);
	else if (geteuid() == 0) /* HOME may be a user's */
		size = snprintf(path, PATH_MAX, "/var/cache");
	else if (home && home[0] == '/')
		size = snprintf(path, PATH_MAX, "%s/.cache", home);
	else
		return false;
	return size < PATH_MAX;
}

int own_cache_open(void)
{
	char path[PATH_MAX];
	if (!base_path(path))
		return -ENOENT;
	int fd = open_base(path);
	return fd < 0 ? fd : enter(fd, "ctop", true);
}
