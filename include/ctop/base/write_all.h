/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_WRITE_ALL_H
#define CTOP_BASE_WRITE_ALL_H

#include <stddef.h>

/* Writes all of it to a descriptor that blocks, however many calls and signals that takes. 0 or -errno. */
int write_all(int fd, const void *bytes, size_t size);

#endif
