/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include <zstd.h>
#include <zstd_errors.h>

static size_t chunk_capacity(const struct chunk *chunk)
{
	return sizeof(chunk->bytes);
}

static const uint8_t *chunk_at(const struct chunk *chunk, size_t at)
{
	return (const uint8_t *)chunk->bytes + at;
}

/* Mapped, not allocated: a heap's bound is not about what waits for its turn. */
static struct chunk *chunk_new(struct packed *packed)
{
	struct chunk *chunk = mmap(NULL, sizeof(*chunk), PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (chunk == MAP_FAILED)
		return NULL;
	chunk->nr_users = 1;
	packed->nr_live_bytes += sizeof(*chunk);
	return chunk;
}

void chunk_leave(struct packed *packed, struct chunk *chunk)
{
	if (!chunk || --chunk->nr_users)
		return;
	packed->nr_live_bytes -= sizeof(*chunk);
	munmap(chunk, sizeof(*chunk));
}

void packed_release(struct packed *packed)
{
	chunk_leave(packed, packed->chunk);
	ZSTD_freeDCtx(packed->context);
	/* Records in a queue may still hold chunks. */
	*packed = (struct packed){.nr_live_bytes = packed->nr_live_bytes};
}

void packed_feed(struct packed *packed, const void *bytes, size_t size)
{
	packed->input = bytes;
	packed->input_bytes = size;
	packed->input_at = 0;
}

bool packed_is_torn(const struct packed *packed)
{
	return packed->chunk && packed->at < packed->chunk->used;
}

/* Room behind what is there: a fresh chunk, begun with the record that the old one has half of. */
static int make_room(struct packed *packed)
{
	struct chunk *old = packed->chunk;
	if (old && old->used < chunk_capacity(old))
		return 0;
	struct chunk *fresh = chunk_new(packed);
	if (!fresh)
		return -ENOMEM;
	if (old) {
		fresh->used = old->used - packed->at;
		memcpy(fresh->bytes, chunk_at(old, packed->at), fresh->used);
		chunk_leave(packed, old);
	}
	packed->chunk = fresh;
	packed->at = 0;
	return 0;
}

/* 1: there are more bytes, or there is more to unpack; 0: the input is used up; -errno. */
static int unpack(struct packed *packed)
{
	if (packed->input_at == packed->input_bytes && !packed->may_have_more)
		return 0;
	if (!packed->context)
		packed->context = ZSTD_createDCtx();
	if (!packed->context || make_room(packed))
		return -ENOMEM;
	struct chunk *chunk = packed->chunk;
	ZSTD_inBuffer in = {packed->input, packed->input_bytes, packed->input_at};
	ZSTD_outBuffer out = {chunk->bytes, chunk_capacity(chunk), chunk->used};
	size_t result = ZSTD_decompressStream(packed->context, &out, &in);
	if (ZSTD_isError(result))
		return ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation ? -ENOMEM
										 : -EINVAL;
	bool stood_still = in.pos == packed->input_at && out.pos == chunk->used;
	packed->may_have_more = out.pos == out.size;
	packed->input_at = in.pos;
	chunk->used = out.pos;
	if (stood_still && in.pos < in.size)
		return -EINVAL;
	return 1;
}

int packed_next(struct packed *packed, struct raw_record *record)
{
	for (;;) {
		const struct chunk *chunk = packed->chunk;
		size_t left = chunk ? chunk->used - packed->at : 0;
		struct perf_event_header header;
		if (left >= sizeof(header)) {
			memcpy(&header, chunk_at(chunk, packed->at), sizeof(header));
			if (header.size < sizeof(header))
				return -EINVAL;
			if (header.size <= left) {
				*record =
					(struct raw_record){chunk_at(chunk, packed->at),
							    header.size, packed->at, packed->chunk};
				packed->at += header.size;
				return 1;
			}
		}
		int result = unpack(packed);
		if (result <= 0)
			return result;
	}
}
