/* SPDX-License-Identifier: MIT */
#include "locate_internal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <unistd.h>

struct own_mapping {
	unsigned long start, end;
	struct mapped_file file;
};

/* The line of our own maps that begins at an address. */
static bool find_own(unsigned long start, struct own_mapping *mapping)
{
	FILE *file = fopen("/proc/self/maps", "re");
	if (!file)
		return false;
	char *line = NULL;
	size_t capacity = 0;
	bool found = false;
	while (!found && getline(&line, &capacity, file) > 0) {
		unsigned long long inode;
		if (sscanf(line, "%lx-%lx %*4s %*x %x:%x %llu", &mapping->start, &mapping->end,
			   &mapping->file.device_major, &mapping->file.device_minor, &inode) != 5)
			continue;
		mapping->file.inode = inode;
		found = mapping->start == start;
	}
	free(line);
	fclose(file);
	return found;
}

bool mapped_file_of(int fd, struct mapped_file *file)
{
	/* Never touched: a file that is empty by now does no harm. */
	void *page = mmap(NULL, 1, PROT_READ, MAP_PRIVATE, fd, 0);
	if (page == MAP_FAILED)
		return false;
	struct own_mapping mapping;
	bool found = find_own((unsigned long)page, &mapping);
	munmap(page, 1);
	if (found)
		*file = mapping.file;
	return found;
}

static int write_sealed(const void *bytes, size_t size)
{
	int fd = memfd_create("vdso", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	if (write(fd, bytes, size) == (ssize_t)size &&
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE | F_SEAL_SEAL) == 0)
		return fd;
	close(fd);
	return -EIO;
}

int copy_own_vdso(void)
{
	struct own_mapping mapping;
	unsigned long start = getauxval(AT_SYSINFO_EHDR);
	if (!start || !find_own(start, &mapping))
		return -ENOENT;
	return write_sealed((const void *)start, mapping.end - mapping.start); // NOLINT
}
