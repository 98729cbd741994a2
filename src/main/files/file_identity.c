/* SPDX-License-Identifier: MIT */
#include <ctop/files/file_identity.h>

#include <fcntl.h>
#include <linux/fs.h>
#include <linux/magic.h>
#include <linux/nsfs.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <ctop/base/privilege.h>

#ifndef FUSE_SUPER_MAGIC
#define FUSE_SUPER_MAGIC 0x65735546
#endif

/* A FUSE file system says of its files what it likes. */
static bool is_users_file_system(int fd)
{
	struct statfs file_system;
	return fstatfs(fd, &file_system) != 0 || file_system.f_type == FUSE_SUPER_MAGIC;
}

/* Where the kernel takes no set-user-ID bit at its word, it is no proof that root wrote a file. */
static bool is_nosuid(int fd)
{
	struct statvfs file_system;
	return fstatvfs(fd, &file_system) != 0 || file_system.f_flag & ST_NOSUID;
}

/* Which mount a descriptor is of (proc_pid_fdinfo(5)); 0: that cannot be had. */
static unsigned long mount_of(int fd)
{
	char path[64], line[256];
	unsigned long mount = 0;
	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", fd);
	FILE *file = fopen(path, "re");
	while (file && !mount && fgets(line, sizeof(line), file))
		if (sscanf(line, "mnt_id: %lu", &mount) != 1)
			mount = 0;
	if (file)
		fclose(file);
	return mount;
}

static bool has_mount(int process, unsigned long mount)
{
	bool found = false;
	char *line = NULL;
	size_t size = 0;
	int fd = openat(process, "mountinfo", O_RDONLY | O_CLOEXEC);
	FILE *file = fd < 0 ? NULL : fdopen(fd, "r");
	while (file && !found && getline(&line, &size, file) > 0)
		found = strtoul(line, NULL, 10) == mount;
	free(line);
	if (file)
		fclose(file);
	return found;
}

/* Its mount namespace belongs to our user namespace: who mounts there is root here. */
static bool is_mounted_by_root(int process)
{
	struct stat theirs, ours;
	int mounts = openat(process, "ns/mnt", O_RDONLY | O_CLOEXEC);
	int users = mounts < 0 ? -1 : ioctl(mounts, NS_GET_USERNS);
	const bool same = users >= 0 && fstat(users, &theirs) == 0 &&
			  stat("/proc/self/ns/user", &ours) == 0 && theirs.st_dev == ours.st_dev &&
			  theirs.st_ino == ours.st_ino;
	if (users >= 0)
		close(users);
	if (mounts >= 0)
		close(mounts);
	return same;
}

/*
 * Whoever has a user namespace mounts what he likes in it: an overlay, say, over a file system of his own that calls
 * its files root's. Only what is mounted where we are, or in a container that root made, was mounted by root. In this order:
 * nobody comes from a namespace of a user's to one of root's between the two looks. The number of the descriptor's
 * mount is nobody else's as long as it is open.
 */
static bool is_mount_of_roots(int fd, int32_t pid)
{
	const unsigned long mount = mount_of(fd);
	char path[32];
	snprintf(path, sizeof(path), "/proc/%d", pid);
	struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	int ours = open("/proc/self", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int theirs = pid > 0 ? open(path, O_PATH | O_DIRECTORY | O_CLOEXEC) : -1;
	const bool result =
		mount && ((ours >= 0 && has_mount(ours, mount)) ||
			  (theirs >= 0 && has_mount(theirs, mount) && is_mounted_by_root(theirs)));
	privilege_restore(&before);
	if (ours >= 0)
		close(ours);
	if (theirs >= 0)
		close(theirs);
	return result;
}

static bool is_roots_word(int fd, const struct stat *stat, int32_t pid)
{
	return !(stat->st_mode & S_IWGRP) && !is_nosuid(fd) && is_mount_of_roots(fd, pid);
}

static bool is_owners_alone(int fd, const struct stat *stat, int32_t pid)
{
	if (stat->st_mode & S_IWOTH || is_users_file_system(fd))
		return false;
	return stat->st_uid != 0 || is_roots_word(fd, stat, pid);
}

struct module_identity file_identity(int fd, int32_t pid)
{
	struct module_identity identity = {0};
	struct stat stat;
	int generation = 0; /* an int, whatever the request's name says */
	if (fstat(fd, &stat) < 0)
		return identity;
	identity.inode = stat.st_ino;
	identity.device_major = major(stat.st_dev);
	identity.device_minor = minor(stat.st_dev);
	if (ioctl(fd, FS_IOC_GETVERSION, &generation) == 0)
		identity.generation = (uint32_t)generation;
	if (is_owners_alone(fd, &stat, pid))
		identity.owner_plus_1 = stat.st_uid + 1;
	return identity;
}
