/* SPDX-License-Identifier: MIT */
#ifndef CTOP_KERNEL_MAPS_H
#define CTOP_KERNEL_MAPS_H

/* The text of /proc/PID/maps, line by line. Pure: bytes in, struct out. The bytes are input. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct maps_line {
	uint64_t start, end, file_offset;
	uint32_t device_major, device_minor;
	uint64_t inode;
	bool readable, writable, executable, shared;
	/* Into the text, not NUL-terminated; \012 (newline) escapes as the kernel wrote them. */
	const char *path;
	size_t path_bytes;
};

/*
 * Parses the line at text[*at], moves *at behind it. 1: a line; 0: the end;
 * -EINVAL: not a maps line (*at is moved behind it all the same).
 */
int maps_next(const char *text, size_t size, size_t *at, struct maps_line *line);

/*
 * The path as records have it: the line ends in it are real ones again. (A backslash of the name's own is
 * not escaped by the kernel: a name with "\012" in it cannot be told from one with a line end.)
 * Writes a string; returns its length, cut to size - 1.
 */
size_t maps_path(const struct maps_line *line, char *path, size_t size);

#endif
