/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OUTPUT_SAVE_H
#define CTOP_OUTPUT_SAVE_H

/*
 * What a command made, to where the user wants it: a path, or with NULL and "-" standard output. A file is
 * written beside itself and renamed at the end, so that a failure or a signal leaves the old one as it was; a device
 * or a pipe is written as it is. See output.h.
 */

#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/base/text.h>
#include <ctop/output/output.h>

/* Output piece by piece. */
struct save {
	const char *path;   /* borrowed; NULL: standard output */
	const char *option; /* that the path came from, for the remedy */
	struct output output;
	int wake_fd;
	uint64_t bytes; /* written so far */
	bool failed;	/* save_add() did */
};

/*
 * 0 or -errno with cause and remedy; then there is nothing to end. wake_fd, for callers that block signals: once it is
 * readable, a reader that does not read is no longer waited for; -1: it always is.
 */
int save_begin(struct save *save, const char *path, const char *option, int wake_fd,
	       struct error *error);
/* 0 or -errno; save_end() tells the cause. */
int save_add(struct save *save, const void *bytes, size_t size);
/* Puts the file in its place, unless result is an error: then the old one stays. 0 or -errno with cause and remedy. */
int save_end(struct save *save, int result, struct error *error);

/* All at once. `option` may be NULL with standard output. */
int save_text(const char *path, const char *option, const struct text *text, int wake_fd,
	      struct error *error);

#endif
