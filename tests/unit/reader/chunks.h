/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_FORMAT_CHUNKS_H
#define CTOP_TEST_FORMAT_CHUNKS_H

/*
 * A recording taken apart and put together again by what docs/recording-format.md
 * says, not by the code under test.
 */

#include <stdint.h>
#include <string.h>
#include <zlib.h>
#include <zstd.h>

#include "test.h"

enum { FILE_HEAD = 16, CHUNK_HEAD = 36, CHUNKS_MAX = 256, FILE_MAX = 1 << 20 };

struct raw_chunk {
	size_t at, size; /* in the file, head included */
	char type[5];
	uint32_t stored, raw, flags, recording, epoch, number;
};

static inline uint32_t word(const uint8_t *at)
{
	return (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 |
	       (uint32_t)at[3] << 24;
}

static inline void set_word(uint8_t *at, uint32_t value)
{
	for (int i = 0; i < 4; i++)
		at[i] = (uint8_t)(value >> 8 * i);
}

static inline uint32_t checksum(const uint8_t *head)
{
	uLong crc = crc32(0, head, 32);
	uint32_t stored = word(head + 8);
	return (uint32_t)(stored ? crc32(crc, head + CHUNK_HEAD, stored) : crc);
}

/* The chunks of a whole file. */
static inline size_t take_apart(const uint8_t *file, size_t size, struct raw_chunk *chunks)
{
	size_t nr = 0;
	for (size_t at = FILE_HEAD; at < size; nr++) {
		const uint8_t *head = file + at;
		CHECK(nr < CHUNKS_MAX && size - at >= CHUNK_HEAD);
		CHECK(memcmp(head, "ct\xc8\x1c", 4) == 0);
		struct raw_chunk chunk = {
			.at = at,
			.stored = word(head + 8),
			.raw = word(head + 12),
			.flags = word(head + 16),
			.recording = word(head + 20),
			.epoch = word(head + 24),
			.number = word(head + 28),
		};
		memcpy(chunk.type, head + 4, 4);
		chunk.size = CHUNK_HEAD + chunk.stored;
		CHECK(chunk.size <= size - at);
		CHECK_EQ(word(head + 32), checksum(head));
		CHECK_EQ(chunk.number, nr + 1);
		CHECK(nr == 0 || chunk.recording == chunks[0].recording);
		chunks[nr] = chunk;
		at += chunk.size;
	}
	return nr;
}

/* The payload, unpacked; its size is chunk->raw. */
static inline void unpack_payload(const uint8_t *file, const struct raw_chunk *chunk, uint8_t *to,
				  size_t room)
{
	const uint8_t *stored = file + chunk->at + CHUNK_HEAD;
	CHECK(chunk->raw <= room);
	if (chunk->flags & 1)
		CHECK_EQ(ZSTD_decompress(to, room, stored, chunk->stored), chunk->raw);
	else
		memcpy(to, stored, chunk->stored);
}

/* Makes the checksum of the chunk at head right. */
static inline void seal(uint8_t *head)
{
	set_word(head + 32, checksum(head));
}

/* Writes a sound chunk, not packed; its size. */
static inline size_t put_chunk(uint8_t *to, const char *type, uint32_t recording, uint32_t epoch,
			       uint32_t number, const uint8_t *payload, size_t size)
{
	if (size)
		memmove(to + CHUNK_HEAD, payload, size);
	memcpy(to, "ct\xc8\x1c", 4);
	memcpy(to + 4, type, 4);
	set_word(to + 8, (uint32_t)size);
	set_word(to + 12, (uint32_t)size);
	set_word(to + 16, 0);
	set_word(to + 20, recording);
	set_word(to + 24, epoch);
	set_word(to + 28, number);
	seal(to);
	return CHUNK_HEAD + size;
}

/* Renumbers the chunks of a whole file, as if it had been written as it is. */
static inline void renumber(uint8_t *file, size_t size)
{
	uint32_t number = 0;
	for (size_t at = FILE_HEAD; at < size; at += CHUNK_HEAD + word(file + at + 8)) {
		set_word(file + at + 28, ++number);
		seal(file + at);
	}
}

#endif
