/* SPDX-License-Identifier: MIT */
#ifndef CTOP_RECORDING_CHUNK_H
#define CTOP_RECORDING_CHUNK_H

/*
 * A recording is a head and a row of chunks; docs/recording-format.md has the
 * layout. Chunks know their length and CRC, so that unknown ones are skipped and damaged
 * ones passed over; and their recording, epoch and number, so that those show which are
 * missing, come twice, or belong elsewhere. Nothing here knows what a payload means.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/file_kind.h>
#include <ctop/recording/varint.h>

#define FOURCC(a, b, c, d)                                                                         \
	((uint32_t)(a) | (uint32_t)(b) << 8 | (uint32_t)(c) << 16 | (uint32_t)(d) << 24)

enum {
	RECORDING_HEAD_BYTES = 16,
	RECORDING_MAJOR = 3,
	RECORDING_MAJOR_FIRST = 1, /* that is still read */
	RECORDING_MINOR = 3,
	CHUNK_HEAD_BYTES = 36,
	CHUNK_RAW_MAX = 64 << 20,
	CHUNK_KEPT_MAX = 4 << 20,
};

#define CHUNK_STRINGS  FOURCC('S', 'T', 'R', 'S')
#define CHUNK_EVENTS   FOURCC('E', 'V', 'N', 'T')
#define CHUNK_MODULES  FOURCC('M', 'O', 'D', 'S')
#define CHUNK_TASKS    FOURCC('T', 'A', 'S', 'K')
#define CHUNK_FRAMES   FOURCC('F', 'R', 'A', 'M')
#define CHUNK_NODES    FOURCC('N', 'O', 'D', 'E')
#define CHUNK_NAMES    FOURCC('N', 'A', 'M', 'E')
#define CHUNK_SOURCES  FOURCC('F', 'R', 'O', 'M')
#define CHUNK_LINES    FOURCC('L', 'I', 'N', 'E')
#define CHUNK_CODE     FOURCC('C', 'O', 'D', 'E')
#define CHUNK_MADE     FOURCC('M', 'A', 'D', 'E')
#define CHUNK_SAMPLES  FOURCC('S', 'A', 'M', 'P')
#define CHUNK_METADATA FOURCC('I', 'N', 'F', 'O')
#define CHUNK_END      FOURCC('E', 'N', 'D', '.')

/* ---- writing ---- */

struct chunk_writer;
struct chunk_writer *chunk_writer_new(int fd); /* takes fd over; NULL: out of memory, fd closed */
void chunk_writer_free(struct chunk_writer *writer); /* closes */
/*
 * Each 0 or the first -errno; after an error nothing more is written. What a non-blocking fd does not take
 * waits in memory, without limit.
 */
int chunk_write_head(struct chunk_writer *writer);
int chunk_write(struct chunk_writer *writer, uint32_t type, uint32_t epoch,
		const struct buffer *payload);
int chunk_push(struct chunk_writer *writer); /* writes what waits, as far as fd takes it */
size_t chunk_waiting_bytes(const struct chunk_writer *writer);
uint64_t chunk_bytes_written(const struct chunk_writer *writer); /* without what waits */
int chunk_writer_fd(const struct chunk_writer *writer);

/*
 * For a non-blocking pipe whose reader may die, from the start: what fd took stays in memory, too, until it is confirmed,
 * at most CHUNK_KEPT_MAX of it (the rest waits), and a pipe that breaks is no error: what fd does not take waits.
 */
void chunk_keep(struct chunk_writer *writer);
/* The first so many bytes need not be kept. That number, within what fd took and was not confirmed yet. */
uint64_t chunk_confirm(struct chunk_writer *writer, uint64_t bytes);
/* What fd took from this byte on, as chunk_confirm() gave it: *bytes, borrowed until the next call. How many. */
size_t chunk_kept(const struct chunk_writer *writer, uint64_t from, const uint8_t **bytes);
/* Takes fd over in place of the one before: what is written to it begins at this byte, as chunk_confirm() gave it. */
void chunk_redirect(struct chunk_writer *writer, int fd, uint64_t from);
bool chunk_is_broken(const struct chunk_writer *writer);
/* Closes fd; what is kept stays. */
void chunk_close(struct chunk_writer *writer);

/* ---- reading ---- */

struct chunk {
	uint32_t type;
	uint32_t epoch;
	struct payload payload; /* borrowed until the next read */
};

/* What a reader passed over. */
struct chunk_damage {
	uint64_t places;  /* runs of bytes that are no chunk of this recording, or one too late */
	uint64_t bytes;	  /* in them */
	uint64_t missing; /* chunks that were not there when the next one was */
};

struct chunk_reader;
struct chunk_reader *chunk_reader_new(int fd); /* fd stays the caller's */
void chunk_reader_free(struct chunk_reader *reader);
/* 0, -EINVAL: no recording, -EPROTO: of a newer major version, or -errno of read(). */
int chunk_read_head(struct chunk_reader *reader);
/* The file's major version, once its head was read. */
int chunk_major_version(const struct chunk_reader *reader);
/* 1: a chunk, in the order in which they were written; 0: the end of the file; -errno. Damage is skipped and counted. */
int chunk_read(struct chunk_reader *reader, struct chunk *chunk, struct chunk_damage *damage);
/* Behind the last chunk there should be nothing: what is there is damage. 0 or -errno. */
int chunk_read_rest(struct chunk_reader *reader, struct chunk_damage *damage);

#endif
