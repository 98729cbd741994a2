/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CLI_SLICE_FILES_H
#define CTOP_CLI_SLICE_FILES_H

/* The files of a flight recorder's slices: what they are called, and which are kept (--keep). */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include <ctop/base/error.h>

enum { SLICE_NAMES_MOST = 100 };

/* "profile.ctop" and a moment in Unix time: "profile-20260131-235959.ctop"; with a number "...59-1.ctop". */
void slice_file_name(char *path, size_t size, const char *output, uint64_t wall_ns,
		     unsigned number);

/* Whether its directory is there and may be written by now. 0, or a negative code with cause and remedy. */
int slice_files_check(const char *output, struct error *error);

struct slice_files {
	int directory_plus_1; /* theirs, once one is kept; its descriptor + 1 */
	struct slice_file {
		char *name; /* in it */
		dev_t device;
		ino_t inode;
	} * items; /* the oldest first */
	size_t nr, capacity;
};

/* That one was written. Of more than `most` (0: all are kept) the oldest are removed, as far as they are still there. */
void slice_files_keep(struct slice_files *files, const char *path, uint32_t most);
void slice_files_release(struct slice_files *files);

#endif
