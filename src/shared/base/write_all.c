/* SPDX-License-Identifier: MIT */
#include <ctop/base/write_all.h>

#include <errno.h>
#include <unistd.h>

int write_all(int fd, const void *bytes, size_t size)
{
	const char *from = bytes;
	while (size) {
		ssize_t wrote = write(fd, from, size);
		if (wrote < 0 && errno == EINTR)
			continue;
		if (wrote <= 0)
			return wrote < 0 ? -errno : -EIO;
		from += wrote;
		size -= (size_t)wrote;
	}
	return 0;
}
