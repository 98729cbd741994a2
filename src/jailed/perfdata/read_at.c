/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <unistd.h>

/* Up to size bytes: 0 and how many there are, or -errno. */
static int read_up_to(int fd, uint64_t offset, void *bytes, size_t size, size_t *used)
{
	*used = 0;
	while (*used < size && offset <= INT64_MAX - size) {
		ssize_t got =
			pread(fd, (uint8_t *)bytes + *used, size - *used, (off_t)(offset + *used));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break;
		*used += (size_t)got;
	}
	return 0;
}

int perfdata_read_at(int fd, uint64_t offset, void *bytes, size_t size)
{
	size_t used;
	int result = read_up_to(fd, offset, bytes, size, &used);
	return result ? result : used < size ? -ENODATA : 0;
}

size_t perfdata_read_most_at(int fd, uint64_t offset, void *bytes, size_t size)
{
	size_t used;
	read_up_to(fd, offset, bytes, size, &used);
	return used;
}
