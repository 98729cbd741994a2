/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OUTPUT_OUTPUT_H
#define CTOP_OUTPUT_OUTPUT_H

/*
 * Where output goes: the one place that opens files for writing. Root may run ctop in a directory that somebody else may
 * change at any moment, so that nothing is believed to be what it was at the last look:
 *
 *   -, /dev/stdout, /dev/stderr, /dev/fd/N, /proc/self/fd/N: what ctop was started with, duplicated, not opened
 *   nothing, or a regular file: a new file, made in the directory that was opened first; see enum output_way
 *   a fifo, a device: written as it is, if the user named it, it is root's or the user's own, and is the same once it is open
 *   a link, a socket, a directory: refused
 *
 * The directory itself may be reached through links, as the user named it. Main only.
 */

#include <limits.h>
#include <stdbool.h>

#include <ctop/base/error.h>

enum output_way {
	OUTPUT_KEEP_OLD, /* what is there becomes NAME.old, and the new file grows in its place */
	OUTPUT_REPLACE, /* the new file grows without a name, or under another, until output_end() */
	OUTPUT_NEW,	/* what is there stays: refused with -EEXIST */
};

struct output_request {
	const char *path;
	const char *option; /* that the path came from, for the remedy; NULL: an operand */
	enum output_way way;
	bool by_default;   /* nobody named it: a file, or nothing */
	bool is_whole;	   /* or it is removed: a part of it is worth nothing */
	bool is_recording; /* not for a terminal; only its owner may read it */
	int wake_fd;	   /* readable: nobody waits for a fifo's reader any more; -1: never */
};

struct output {
	int fd;			 /* -1: closed, or somebody else's */
	int directory_fd;	 /* of a new file that has an end; else -1 */
	char name[NAME_MAX + 1]; /* there */
	char made[NAME_MAX +
		  1];	  /* what is to be put in its place, or removed; may be the name itself */
	bool is_nameless; /* it gets that name at the end */
};

/* 0 or -errno with cause and remedy; then there is nothing to end. */
int output_open(struct output *output, const struct output_request *request, struct error *error);
/* Closes; puts a new file in its place or, where result is an error, removes it. 0 or -errno: the first. */
int output_end(struct output *output, int result);

/* The descriptor that a path stands for, by the names above; -1: none. */
int output_descriptor(const char *path);

#endif
