/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FILES_SOURCE_H
#define CTOP_FILES_SOURCE_H

/* A file with samples: a recording or perf.data, by its first bytes; or a directory of perf record --threads. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/error.h>
#include <ctop/file_kind.h>

struct source {
	int fd;		  /* -1: none */
	bool is_perfdata; /* the file has no stacks and no names, but what they are made from */
	/* Of a directory, the files that have its records: one for each thread of perf's. */
	int parts[PERFDATA_MAX_PARTS];
	size_t nr_parts;
};

/*
 * Whether a word means a file with samples rather than a process: by the way it is written (a path, NAME.ctop, NAME.data,
 * - for standard input), or because there is one of that name, or a directory of perf's, by its first bytes.
 */
bool source_is_meant(const char *word);
/* "-" is standard input. 0, or -errno with cause and remedy. */
int source_open(struct source *source, const char *path, struct error *error);
/* The same files from their start, whatever has their names now. 0, or -errno with cause and remedy. */
int source_again(struct source *source, const struct source *before, const char *path,
		 struct error *error);
/* When it was written last, by CLOCK_REALTIME; 0: not known. */
int64_t source_written_ns(const struct source *source);
void source_close(struct source *source);

#endif
