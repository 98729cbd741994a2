/* SPDX-License-Identifier: MIT */
#include <ctop/object/file_identity.h>

#include <linux/fs.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>

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

/*
 * Whoever has a user namespace mounts what he likes in it: an overlay, say, over a file system of his own that calls
 * its files root's. Only what is mounted where we are was mounted by root. The number of the descriptor's mount is nobody
 * else's as long as it is open.
 */
static bool is_mounted_here(int fd)
{
	const unsigned long mount = mount_of(fd);
	bool found = false;
	char *line = NULL;
	size_t size = 0;
	FILE *file = mount ? fopen("/proc/self/mountinfo", "re") : NULL;
	while (file && !found && getline(&line, &size, file) > 0)
		found = strtoul(line, NULL, 10) == mount;
	free(line);
	if (file)
		fclose(file);
	return found;
}

static bool is_roots_word(int fd, const struct stat *stat)
{
	return !(stat->st_mode & S_IWGRP) && !is_nosuid(fd) && is_mounted_here(fd);
}

static bool is_owners_alone(int fd, const struct stat *stat)
{
	if (stat->st_mode & S_IWOTH || is_users_file_system(fd))
		return false;
	return stat->st_uid != 0 || is_roots_word(fd, stat);
}

struct module_identity file_identity(int fd)
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
	if (is_owners_alone(fd, &stat))
		identity.owner_plus_1 = stat.st_uid + 1;
	return identity;
}
