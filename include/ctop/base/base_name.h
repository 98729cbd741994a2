/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_BASE_NAME_H
#define CTOP_BASE_BASE_NAME_H

#include <string.h>

/* The last part of a path; all of one that ends with a slash. */
static inline const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

#endif
