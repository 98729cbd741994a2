/* SPDX-License-Identifier: MIT */
#include <ctop/object/locate.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "locate_internal.h"

/* The line of our own maps that begins at an address: device and inode as the kernel shows them for mappings. */
static bool mapped_as(const void *address, unsigned *major_out, unsigned *minor_out,
		      uint64_t *inode_out)
{
	FILE *file = fopen("/proc/self/maps", "re");
	if (!file)
		return false;
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;
	while (!found && getline(&line, &capacity, file) > 0) {
		unsigned long start;
		unsigned long long inode;
		if (sscanf(line, "%lx-%*x %*4s %*x %x:%x %llu", &start, major_out, minor_out,
			   &inode) == 4 &&
		    start == (unsigned long)address) {
			*inode_out = inode;
			found = true;
		}
	}
	free(line);
	fclose(file);
	return found;
}

/*
 * True when the file's device and inode, as a mapping shows them, are the request's.
 * fstat() would do on most file systems, but not on btrfs and old overlayfs.
 */
static bool same_inode(int fd, const struct locate_request *request)
{
	struct stat stat;
	if (fstat(fd, &stat) < 0)
		return false;
	if (stat.st_ino == request->inode && major(stat.st_dev) == request->device_major &&
	    minor(stat.st_dev) == request->device_minor)
		return true;
	void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return false;
	unsigned device_major = 0, device_minor = 0;
	uint64_t inode = 0;
	bool found = mapped_as(page, &device_major, &device_minor, &inode);
	munmap(page, 1);
	return found && inode == request->inode && device_major == request->device_major &&
	       device_minor == request->device_minor;
}

static bool agrees(int fd, const struct locate_request *request)
{
	if (request->build_id_size) {
		uint8_t build_id[20];
		size_t size = read_build_id(fd, build_id);
		return size == request->build_id_size &&
		       memcmp(build_id, request->build_id, size) == 0;
	}
	return request->inode && same_inode(fd, request);
}

/* Passes a descriptor on if it is the file that was mapped. */
static int checked(int fd, const struct locate_request *request)
{
	if (fd < 0 || agrees(fd, request))
		return fd;
	close(fd);
	return -ESTALE;
}

/* The kernel's own link to the mapped file: right by construction, also for deleted ones. */
static int open_map_file(const struct locate_request *request)
{
	char path[128];
	snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", request->pid,
		 (unsigned long long)request->start, (unsigned long long)request->end);
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return -errno;
	struct stat stat;
	if (fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode))
		return fd;
	close(fd);
	return -EINVAL;
}

static int open_in_target(const struct locate_request *request)
{
	char root[64];
	snprintf(root, sizeof(root), "/proc/%d/root", request->pid);
	int root_fd = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (root_fd < 0)
		return -errno;
	int fd = open_regular_in(root_fd, request->path, 0);
	close(root_fd);
	return fd;
}

/*
 * Every process of this kernel has the same vdso as we: a copy that nobody can
 * change, as the children want files. Its size is in its section header table, which ends it.
 */
static int copy_vdso(void)
{
	const uint8_t *vdso = (const uint8_t *)getauxval(AT_SYSINFO_EHDR); // NOLINT
	if (!vdso)
		return -ENOENT;
	long page_bytes = sysconf(_SC_PAGESIZE);
	uint64_t table;
	uint16_t entry_bytes, nr;
	memcpy(&table, vdso + 0x28, sizeof(table));		/* e_shoff */
	memcpy(&entry_bytes, vdso + 0x3a, sizeof(entry_bytes)); /* e_shentsize */
	memcpy(&nr, vdso + 0x3c, sizeof(nr));			/* e_shnum */
	size_t size = (size_t)table + (size_t)entry_bytes * nr;
	if (!table || size > 64 * (size_t)page_bytes)
		return -ENOEXEC;
	int fd = memfd_create("vdso", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (write(fd, vdso, size) == (ssize_t)size &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
		return fd;
	close(fd);
	return -EIO;
}

int locate_module(const struct locate_request *request)
{
	if (strcmp(request->path, "[vdso]") == 0)
		return copy_vdso();
	if (request->path[0] != '/')
		return -EINVAL;
	/* Where the mapping still is, its identity need not be compared; elsewhere it must. */
	int fd = checked(open_map_file(request), request);
	if (fd >= 0)
		return fd;
	int in_target = checked(open_in_target(request), request);
	if (in_target >= 0)
		return in_target;
	char process[64];
	snprintf(process, sizeof(process), "/proc/%d", request->pid);
	if (access(process, F_OK) == 0)
		return in_target;
	return checked(open_regular_in(AT_FDCWD, request->path, 0), request);
}
