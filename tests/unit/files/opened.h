/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_OBJECT_OPENED_H
#define CTOP_TEST_OBJECT_OPENED_H

/* Object files of bytes in memory, and of this machine. */

#include <ctop/elf/object.h>

#include "elf/small_elf.h"
#include "file_of_bytes.h"
#include "test.h"

static struct small_elf elf;

static inline struct object *open_bytes(const void *bytes, size_t size)
{
	struct error error = {0};
	struct object *object = object_open(file_of_bytes(bytes, size), &error);
	CHECK(object || error.cause[0]);
	return object;
}

static inline struct object *open_small(void)
{
	struct object *object = open_bytes(&elf, sizeof(elf));
	CHECK(object);
	return object;
}

static inline struct object *open_path(const char *path)
{
	struct error error;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	return fd < 0 ? NULL : object_open(fd, &error);
}

#endif
