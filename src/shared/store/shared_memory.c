/* SPDX-License-Identifier: MIT */
#include "shared_memory.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

size_t whole_pages(size_t bytes)
{
	return (bytes + SHARED_PAGE_BYTES - 1) & ~(size_t)(SHARED_PAGE_BYTES - 1);
}

int shared_memory_new(const char *name, size_t bytes)
{
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (ftruncate(fd, (off_t)bytes) == 0 &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
		return fd;
	int error = -errno;
	close(fd);
	return error;
}

int shared_memory_map(int fd, size_t bytes, bool writable, void **memory)
{
	struct stat stat;
	int protection = PROT_READ | (writable || fd < 0 ? PROT_WRITE : 0);
	int flags = fd < 0 ? MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE : MAP_SHARED;
	if (fd >= 0 && (fstat(fd, &stat) < 0 || stat.st_size < (off_t)bytes))
		return -EINVAL;
	*memory = mmap(NULL, bytes, protection, flags, fd, 0);
	return *memory == MAP_FAILED ? -errno : 0;
}
