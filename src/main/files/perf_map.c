/* SPDX-License-Identifier: MIT */
#include <ctop/files/locate.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/privilege.h>

#include "locate_internal.h"

struct owner {
	int32_t namespace_pid; /* as the process itself and its JIT know it */
	uid_t uid;
};

static bool read_owner(int process_fd, struct owner *owner)
{
	int fd = privilege_openat(PRIVILEGE_INSPECT, process_fd, "status", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	if (!file) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	char line[512];
	bool has_uid = false, has_pid = false;
	while (fgets(line, sizeof(line), file)) {
		unsigned uid;
		if (sscanf(line, "Uid: %*u %u", &uid) == 1) {
			owner->uid = uid;
			has_uid = true;
		} else if (strncmp(line, "NSpid:", 6) == 0) {
			/* One number a namespace, the innermost last. */
			const char *last = strrchr(line, '\t');
			owner->namespace_pid = last ? atoi(last + 1) : 0;
			has_pid = owner->namespace_pid > 0;
		}
	}
	fclose(file);
	return has_uid && has_pid;
}

/*
 * Anybody may write into /tmp: the file must be the process's own, or root's, and not
 * another file of theirs under a second name.
 */
static int check_owner(int fd, uid_t uid)
{
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return -errno;
	if ((stat.st_uid != uid && stat.st_uid != 0) || stat.st_nlink > 1)
		return -EPERM;
	return stat.st_size > LOCATE_PERF_MAP_MAX ? -EFBIG : 0;
}

static int open_map(int process_fd)
{
	struct owner owner = {0};
	char path[64];
	if (!read_owner(process_fd, &owner))
		return -ENOENT;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", owner.namespace_pid);
	int root_fd = privilege_openat(PRIVILEGE_INSPECT, process_fd, "root",
				       O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	int fd = open_regular_in(root_fd, path, O_NOFOLLOW);
	close(root_fd);
	if (fd < 0)
		return fd == -ELOOP ? -EINVAL : fd;
	int result = check_owner(fd, owner.uid);
	if (!result)
		return fd;
	close(fd);
	return result;
}

int locate_perf_map(int32_t pid)
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d", pid);
	/* One process throughout: a pid may be reused meanwhile, this directory is not. */
	int process_fd = privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path,
					  O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process_fd < 0)
		return -ENOENT;
	int fd = open_map(process_fd);
	close(process_fd);
	return fd;
}

static bool is_own_root(int process_fd)
{
	struct stat own, theirs;
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	bool known = fstatat(process_fd, "root", &theirs, 0) == 0;
	privilege_restore(&before);
	return known && stat("/", &own) == 0 && own.st_dev == theirs.st_dev &&
	       own.st_ino == theirs.st_ino;
}

uint32_t locate_perf_map_owner(int32_t pid)
{
	char path[64];
	struct owner owner = {0};
	snprintf(path, sizeof(path), "/proc/%d", pid);
	int process_fd = privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path,
					  O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (process_fd < 0)
		return 0;
	bool is_here = read_owner(process_fd, &owner) && owner.namespace_pid == pid &&
		       is_own_root(process_fd);
	close(process_fd);
	return is_here ? owner.uid + 1 : 0;
}

static int64_t written_ns(int fd)
{
	struct stat stat;
	return fstat(fd, &stat) ? 0
				: (int64_t)stat.st_mtim.tv_sec * (int64_t)NS_PER_SECOND +
					  stat.st_mtim.tv_nsec;
}

int locate_left_perf_map(int32_t pid, uint32_t uid, int64_t since_ns, int64_t until_ns)
{
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", pid);
	int fd = open_regular_in(AT_FDCWD, path, O_NOFOLLOW);
	if (fd < 0)
		return fd == -ELOOP ? -EINVAL : fd;
	int result = check_owner(fd, uid);
	const int64_t written = written_ns(fd);
	if (!result && (written < since_ns || (until_ns && written > until_ns)))
		result = -ESTALE;
	if (!result)
		return fd;
	close(fd);
	return result;
}
