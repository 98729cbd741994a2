/* SPDX-License-Identifier: MIT */
#ifndef CTOP_RECORDER_WRITER_INTERNAL_H
#define CTOP_RECORDER_WRITER_INTERNAL_H

/* The writer of a recording, for its files: recording_writer.c (its life), writer_rows.c (rows of tables), writer_names.c (names and lines). */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/recorder/recording_writer.h>
#include <ctop/recording/chunk.h>
#include <ctop/recording/sample_code.h>

#include "recording_code.h"

/* Strings of shared memory are cut here: a hostile child cannot blow the file up by one. */
enum { STRING_MAX = 8192 };

/* Of the epoch. */
struct frame_list {
	uint32_t *items;
	size_t nr, capacity;
};

/* Strings of the symbols that are in the file, each with a number. */
struct numbers {
	uint32_t *items; /* by place; 0: it is not there yet */
	size_t nr, capacity;
	uint32_t nr_written; /* in this epoch */
	uint64_t bytes_written;
};

struct recording_writer {
	struct chunk_writer *chunks;
	struct tables_reader reader;
	const struct symbols *symbols;
	uint32_t nr_epochs;
	bool has_tables; /* of the epoch */
	uint64_t shift_ns;
	uint32_t nr_written[NR_TABLES]; /* rows of the epoch in the file */
	struct buffer rows;		/* the payload being made */
	struct buffer samples;		/* added since the last flush */
	uint64_t nr_samples;
	bool has_samples; /* of this epoch */
	uint64_t nr_samples_written;
	struct sample before;
	struct buffer metadata;
	uint64_t nr_metadata;
	struct frame_list unnamed, unlined; /* whose name, whose lines are not in the file yet */
	struct numbers name_numbers, line_numbers;
	uint64_t nr_lines; /* written in this epoch */
	struct {
		struct module_names *items; /* by module of the epoch: what the file says of it */
		size_t nr, capacity;
	} sources;
	struct recording_code code;
};

/* 0 or -errno. */
static inline int writer_chunk(struct recording_writer *writer, uint32_t type,
			       const struct buffer *payload)
{
	return chunk_write(writer->chunks, type, writer->nr_epochs, payload);
}

/* Each: what is new since the last flush. 0 or -errno. */
/* Before their rows are written: their names and lines are to follow, as they become known. */
int writer_list_frames(struct recording_writer *writer);
int writer_put_rows(struct recording_writer *writer);
int writer_put_names(struct recording_writer *writer);

#endif
