/* SPDX-License-Identifier: MIT */
#include "locate_internal.h"

#include <errno.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/files/locate.h>

/* What the kernel makes up as it is read: a look may have an effect, and none of it is a file of anybody's. */
bool is_made_up(int fd)
{
	static const long made_up[] = {
		PROC_SUPER_MAGIC, SYSFS_MAGIC,	  TRACEFS_MAGIC,      DEBUGFS_MAGIC,
		SECURITYFS_MAGIC, BPF_FS_MAGIC,	  CGROUP_SUPER_MAGIC, CGROUP2_SUPER_MAGIC,
		PSTOREFS_MAGIC,	  EFIVARFS_MAGIC, BINFMTFS_MAGIC,     NSFS_MAGIC,
	};
	struct statfs system;
	if (fstatfs(fd, &system))
		return true;
	for (size_t i = 0; i < sizeof(made_up) / sizeof(*made_up); i++)
		if (system.f_type == made_up[i])
			return true;
	return false;
}

/* sudo's variable counts only where it can give nothing that root has not. */
uid_t invoking_uid(void)
{
	const char *text = getuid() == 0 ? getenv("SUDO_UID") : NULL;
	char *end;
	unsigned long uid = text ? strtoul(text, &end, 10) : 0;
	return text && *text && !*end && uid < (uid_t)-1 ? (uid_t)uid : getuid();
}

gid_t invoking_gid(void)
{
	const uid_t uid = invoking_uid();
	if (uid == getuid())
		return getgid();
	/* Never root's group: who is not told gets the one that is mostly called as its user. */
	const char *text = getenv("SUDO_GID");
	char *end_of;
	const unsigned long gid = text ? strtoul(text, &end_of, 10) : 0;
	return text && *text && !*end_of && gid < (gid_t)-1 ? (gid_t)gid : (gid_t)uid;
}

const char *own_directory(const char *variable)
{
	struct stat status;
	const char *path = getenv(variable);
	return path && path[0] == '/' && stat(path, &status) == 0 && status.st_uid == geteuid()
		       ? path
		       : NULL;
}

/* The user of a process (root, where it is undumpable). False: it has gone. */
static bool process_uid(int32_t pid, uid_t *uid)
{
	char path[64];
	struct stat status;
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	/* Of an undumpable process this is root, whose files may be had anyway. */
	if (pid <= 0)
		return false;
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	int result = stat(path, &status);
	privilege_restore(&before);
	if (result)
		return false;
	*uid = status.st_uid;
	return true;
}

int check_name_owner(int fd, int32_t pid)
{
	struct stat status;
	uid_t target;
	if (fstat(fd, &status))
		return -errno;
	if (status.st_uid == 0 || status.st_uid == invoking_uid())
		return 0;
	return process_uid(pid, &target) && target == status.st_uid ? 0 : -EPERM;
}

int if_owned(int fd, int32_t pid)
{
	int result = fd < 0 ? fd : check_name_owner(fd, pid);
	if (fd >= 0 && result)
		close(fd);
	return result ? result : fd;
}

bool build_id_hex(char hex[BUILD_ID_HEX_BYTES], const uint8_t *build_id, size_t build_id_size)
{
	enum { BUILD_ID_BYTES_MAX = 20 };
	if (build_id_size < 2 || build_id_size > BUILD_ID_BYTES_MAX)
		return false;
	for (size_t i = 0; i < build_id_size; i++)
		snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
	return true;
}

bool build_id_path(char *path, size_t size, const char *directory, const uint8_t *build_id,
		   size_t build_id_size, const char *suffix)
{
	char hex[BUILD_ID_HEX_BYTES];
	if (!build_id_hex(hex, build_id, build_id_size))
		return false;
	int used = snprintf(path, size, "%s/.build-id/%.2s/%s%s", directory, hex, hex + 2, suffix);
	return used >= 0 && (size_t)used < size;
}
