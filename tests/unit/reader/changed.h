/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_FORMAT_CHANGED_H
#define CTOP_TEST_FORMAT_CHANGED_H

/* A recording of two epochs, the same changed, and what may come back of it. */

#include "chunks.h"
#include "profiles.h"

enum { NR_EPOCHS = 2 };

static struct epoch written[NR_EPOCHS];
static struct sink sink;
static uint8_t file[FILE_MAX], changed[2 * FILE_MAX + CHUNK_HEAD], other[FILE_MAX];
static struct raw_chunk chunks[CHUNKS_MAX];
static size_t file_size, nr_chunks;
static uint64_t nr_written;

/* Samples of each round of every file that is made, and of one chunk then. */
static uint32_t round_samples;

static inline void make_file(unsigned rounds, uint32_t nr, uint64_t seed)
{
	int fd = memory_file();
	record_epochs(fd, written, NR_EPOCHS, rounds, nr, seed);
	ssize_t size = pread(fd, file, sizeof(file), 0);
	CHECK(size > 0 && size < FILE_MAX);
	file_size = (size_t)size;
	nr_chunks = take_apart(file, file_size, chunks);
	nr_written = count_samples(written, NR_EPOCHS);
	round_samples = nr;
	close(fd);
}

static inline void forget_file(void)
{
	for (size_t e = 0; e < NR_EPOCHS; e++)
		epoch_release(&written[e]);
}

/* A file of the same shape, of other numbers, into `other`. */
static inline size_t make_other(unsigned rounds, uint32_t nr, uint64_t seed)
{
	make_file(rounds, nr, seed);
	memcpy(other, file, file_size);
	size_t size = file_size;
	forget_file();
	return size;
}

static inline bool is_type(const struct raw_chunk *chunk, const char *type)
{
	return strcmp(chunk->type, type) == 0;
}

/* Samples in chunks that the bytes [from, to) of the file do not touch. */
static inline uint64_t samples_outside(size_t from, size_t to)
{
	uint64_t nr = 0;
	for (size_t i = 0; i < nr_chunks; i++) {
		const struct raw_chunk *chunk = &chunks[i];
		if (is_type(chunk, "SAMP") && (chunk->at + chunk->size <= from || chunk->at >= to))
			nr += round_samples;
	}
	return nr;
}

static inline uint64_t samples_before(size_t at)
{
	return samples_outside(at, SIZE_MAX);
}

/* Reads what changed[] holds. Nothing in it may be taken for something else. */
static inline struct compared read_changed(size_t size, struct recording_read *outcome)
{
	CHECK_EQ(read_bytes(changed, size, &sink, outcome), 0);
	struct compared compared = compare(&sink, written, NR_EPOCHS);
	CHECK_EQ(compared.same + compared.incomplete, outcome->samples);
	CHECK_EQ(compared.incomplete, outcome->incomplete_samples);
	/* Either there, or known to be lost, or behind a cut. */
	if (outcome->whole)
		CHECK_EQ(outcome->samples + outcome->lost_samples, nr_written);
	sink_clear(&sink);
	return compared;
}

static inline void check_sound(const struct recording_read *outcome)
{
	CHECK_EQ(outcome->lost_chunks, 0);
	CHECK_EQ(outcome->lost_samples, 0);
	CHECK_EQ(outcome->incomplete_samples, 0);
	CHECK_EQ(outcome->damaged_places, 0);
	CHECK_EQ(outcome->skipped_bytes, 0);
}

/* The file without the bytes [from, to); its size. */
static inline size_t without(size_t from, size_t to)
{
	memcpy(changed, file, from);
	memcpy(changed + from, file + to, file_size - to);
	return file_size - (to - from);
}

/* The file with more bytes in it; its size. */
static inline size_t with(size_t at, const void *bytes, size_t size)
{
	memcpy(changed, file, at);
	memcpy(changed + at, bytes, size);
	memcpy(changed + at + size, file + at, file_size - at);
	return file_size + size;
}

static inline bool is_boundary(size_t at)
{
	for (size_t i = 0; i < nr_chunks; i++)
		if (chunks[i].at == at)
			return true;
	return at == file_size;
}

#endif
