/* SPDX-License-Identifier: MIT */
#include <ctop/system/cgroup.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <mntent.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <ctop/system/proc_text.h>

/* Where cgroup2 is mounted first. False: nowhere here. */
static bool find_mount(char *mount, size_t size)
{
	FILE *mounts = setmntent("/proc/self/mounts", "re");
	struct mntent entry;
	char line[2 * PATH_MAX];
	bool is_found = false;
	while (mounts && !is_found && getmntent_r(mounts, &entry, line, sizeof(line))) {
		is_found = !strcmp(entry.mnt_type, "cgroup2") && strlen(entry.mnt_dir) < size;
		if (is_found)
			strcpy(mount, entry.mnt_dir);
	}
	if (mounts)
		endmntent(mounts);
	return is_found;
}

/* A descriptor of a directory of cgroup2, or -errno: -ENOTTY when it is one of another file system. */
static int open_directory(const char *path)
{
	struct statfs system;
	int fd = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	if (fstatfs(fd, &system) == 0 && system.f_type == CGROUP2_SUPER_MAGIC)
		return fd;
	close(fd);
	return -ENOTTY;
}

static int refuse(const char *mount, const char *path, int code, struct error *error)
{
	switch (-code) {
	case ENOTTY:
		error_set(error, code, "'%.200s' is a directory, but not a cgroup of version 2",
			  path);
		break;
	case ENOTDIR:
		error_set(error, code, "'%.200s' is a file: a cgroup is a directory", path);
		break;
	case ENOENT:
		error_set(error, code, "there is no cgroup '%.200s'", path);
		break;
	case EACCES:
		error_set(error, code, "this user may not open cgroup '%.200s'", path);
		return error_remedy(error, "run it with sudo");
	default:
		error_set(error, code, "cannot open cgroup '%.200s': %s", path, strerror(-code));
	}
	error_remedy(
		error,
		"they are the directories in %.200s; /proc/PID/cgroup has a process's behind 0::",
		mount);
	return code;
}

int cgroup_open(const char *path, struct error *error)
{
	char mount[PATH_MAX], below[2 * PATH_MAX];
	if (!find_mount(mount, sizeof(mount))) {
		error_set(error, -ENODEV, "cgroup2 is not mounted");
		return error_remedy(
			error, "sudo mount -t cgroup2 none /sys/fs/cgroup (or another directory)");
	}
	snprintf(below, sizeof(below), "%s/%s", mount, path);
	int fd = open_directory(below);
	if (fd == -ENOENT && path[0] == '/')
		fd = open_directory(path);
	return fd >= 0 ? fd : refuse(mount, path, fd, error);
}

bool cgroup_is_gone(int fd)
{
	return faccessat(fd, "cgroup.procs", F_OK, 0) < 0 && (errno == ENOENT || errno == ENODEV);
}

static bool is_directory(const char *path, const struct stat *wanted)
{
	struct stat status;
	return stat(path, &status) == 0 && status.st_ino == wanted->st_ino &&
	       status.st_dev == wanted->st_dev;
}

bool cgroup_of(int32_t pid, char path[CGROUP_PATH_BYTES])
{
	char text[2 * PATH_MAX];
	proc_text(pid, "cgroup", text, sizeof(text));
	/* Version 2's line is "0::/PATH" (cgroups(7)); a name may hold anything but a line's end. */
	const char *line = strncmp(text, "0::/", 4) == 0 ? text : strstr(text, "\n0::/");
	if (!line)
		return false;
	line += *line == '\n' ? 4 : 3;
	const size_t bytes = strcspn(line, "\n");
	if (bytes >= CGROUP_PATH_BYTES)
		return false;
	memcpy(path, line, bytes);
	path[bytes] = '\0';
	return true;
}

bool cgroup_has(int fd, int32_t pid)
{
	char mount[PATH_MAX], line[CGROUP_PATH_BYTES], path[3 * PATH_MAX];
	struct stat wanted;
	if (!cgroup_of(pid, line) || fstat(fd, &wanted) || !find_mount(mount, sizeof(mount)))
		return false;
	snprintf(path, sizeof(path), "%s%s", mount, line);
	for (size_t above = strlen(mount); strlen(path) >= above;) {
		if (is_directory(path, &wanted))
			return true;
		*strrchr(path, '/') = '\0';
	}
	return false;
}
