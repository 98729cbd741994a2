/* SPDX-License-Identifier: MIT */
#include "gzip.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <zlib.h>

/* WINDOW_BITS: the largest window, 15, and 16 for gzip's header and end. */
enum { OUT_BYTES = 1 << 16, WINDOW_BITS = 15 + 16, MEMORY_LEVEL = 8 };

struct gzip {
	const struct export_sink *sink;
	z_stream stream;
	unsigned char out[OUT_BYTES];
};

struct gzip *gzip_new(const struct export_sink *sink)
{
	struct gzip *gzip = calloc(1, sizeof(*gzip));
	if (!gzip)
		return NULL;
	gzip->sink = sink;
	/* Profiles are numbers that repeat: the fastest level takes half the time of the default, and a tenth more room. */
	if (deflateInit2(&gzip->stream, Z_BEST_SPEED, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL,
			 Z_DEFAULT_STRATEGY) != Z_OK) {
		free(gzip);
		return NULL;
	}
	gzip->stream.next_out = gzip->out;
	gzip->stream.avail_out = OUT_BYTES;
	return gzip;
}

static int hand_over(struct gzip *gzip)
{
	const size_t size = OUT_BYTES - gzip->stream.avail_out;
	gzip->stream.next_out = gzip->out;
	gzip->stream.avail_out = OUT_BYTES;
	return size ? gzip->sink->write(gzip->sink->context, gzip->out, size) : 0;
}

int gzip_add(struct gzip *gzip, const void *bytes, size_t size)
{
	z_stream *stream = &gzip->stream;
	int result = size > UINT_MAX ? -EOVERFLOW : 0;
	/* zlib only reads what next_in points to. */
	stream->next_in = (unsigned char *)(uintptr_t)bytes;
	stream->avail_in = (unsigned)size;
	while (!result && stream->avail_in) {
		deflate(stream, Z_NO_FLUSH);
		if (!stream->avail_out)
			result = hand_over(gzip);
	}
	return result;
}

int gzip_end(struct gzip *gzip)
{
	int result = 0, status = Z_OK;
	gzip->stream.avail_in = 0;
	while (!result && status != Z_STREAM_END) {
		status = deflate(&gzip->stream, Z_FINISH);
		result = hand_over(gzip);
	}
	return result;
}

void gzip_free(struct gzip *gzip)
{
	if (gzip)
		deflateEnd(&gzip->stream);
	free(gzip);
}
