/* SPDX-License-Identifier: MIT */
#include <ctop/object/file_identity.h>

#include <linux/fs.h>
#include <linux/magic.h>
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

static bool is_owners_alone(int fd, const struct stat *stat)
{
	if (stat->st_mode & S_IWOTH || is_users_file_system(fd))
		return false;
	return stat->st_uid != 0 || (!(stat->st_mode & S_IWGRP) && !is_nosuid(fd));
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
