/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_FILE_OF_BYTES_H
#define CTOP_TEST_FILE_OF_BYTES_H

/* Files of no directory. */

#include <sys/mman.h>
#include <unistd.h>

#include "test.h"

/* A descriptor of a file with these bytes, for the caller to close; written to its end. */
static inline int file_of_bytes(const void *bytes, size_t size)
{
	int fd = memfd_create("test", MFD_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_EQ(write(fd, bytes, size), (ssize_t)size);
	return fd;
}

#endif
