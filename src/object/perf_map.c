/* SPDX-License-Identifier: MIT */
#include <ctop/object/locate.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "locate_internal.h"

struct owner {
	int32_t namespace_pid; /* as the process itself and its JIT know it */
	uid_t uid;
};

static bool read_owner(int32_t pid, struct owner *owner)
{
	char path[64], line[512];
	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	FILE *file = fopen(path, "re");
	if (!file)
		return false;
	bool has_uid = false;
	owner->namespace_pid = pid;
	while (fgets(line, sizeof(line), file)) {
		unsigned uid;
		if (sscanf(line, "Uid: %*u %u", &uid) == 1) {
			owner->uid = uid;
			has_uid = true;
		} else if (strncmp(line, "NSpid:", 6) == 0) {
			/* One number a namespace, the innermost last. */
			const char *last = strrchr(line, '\t');
			if (last)
				owner->namespace_pid = atoi(last + 1);
		}
	}
	fclose(file);
	return has_uid;
}

/* Anybody may write into /tmp: the file must be the process's own, or root's. */
static int check_owner(int fd, uid_t uid)
{
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if (stat.st_uid != uid && stat.st_uid != 0)
		return -EPERM;
	return stat.st_size > LOCATE_PERF_MAP_MAX ? -EFBIG : 0;
}

int locate_perf_map(int32_t pid)
{
	struct owner owner;
	char root[64], path[64];
	if (!read_owner(pid, &owner))
		return -ENOENT;
	snprintf(root, sizeof(root), "/proc/%d/root", pid);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", owner.namespace_pid);
	int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	int fd = open_regular_in(root_fd, path, O_NOFOLLOW);
	close(root_fd);
	int result = fd < 0 ? fd : check_owner(fd, owner.uid);
	if (result >= 0)
		return fd;
	if (fd >= 0)
		close(fd);
	return result == -ELOOP ? -EINVAL : result;
}
