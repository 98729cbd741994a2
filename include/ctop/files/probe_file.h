/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_PROBE_FILE_H
#define CTOP_FILES_PROBE_FILE_H

/*
 * Which file a probe means that names none: libc, libc.so.6 or bash. Libraries where systems keep them, then programs by
 * PATH. Only names are looked at; what is in the file is for a jailed child to read.
 */

#include <stdbool.h>
#include <stddef.h>

/*
 * Whether a file of that name is what `name` means, rather than the best so far ("": none): libx.so.6 for libx. What is
 * called libx.so alone may be a text for the linker: it comes last. Of several versions the shortest name, libx.so.6 rather than
 * libx.so.6.0.1, which is the same file.
 */
bool probe_file_is_better(const char *file, const char *name, const char *best);
/* 0 or -ENOENT. */
int probe_file_find(const char *name, char *path, size_t size);

#endif
