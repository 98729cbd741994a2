/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_PROBE_FILE_H
#define CTOP_APP_PROBE_FILE_H

/*
 * Which file a probe means that names none: libc, libc.so.6 or bash. Libraries where systems keep them, then programs by
 * PATH. Only names are looked at; what is in the file is for a jailed child to read.
 */

#include <stddef.h>

/* 0 or -ENOENT. */
int probe_file_find(const char *name, char *path, size_t size);

#endif
