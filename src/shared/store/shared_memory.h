/* SPDX-License-Identifier: MIT */
#ifndef CTOP_STORE_SHARED_MEMORY_H
#define CTOP_STORE_SHARED_MEMORY_H

/* A region of memory that one process writes and others read: a memfd that nobody can cut. */

#include <stdbool.h>
#include <stddef.h>

enum { SHARED_PAGE_BYTES = 4096 };
size_t whole_pages(size_t bytes);
/* A descriptor or -errno. */
int shared_memory_new(const char *name, size_t bytes);
/* Maps all of it, or with fd -1 fresh private memory. 0; -EINVAL: it is smaller than that; -errno. */
int shared_memory_map(int fd, size_t bytes, bool writable, void **memory);

#endif
