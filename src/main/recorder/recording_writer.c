/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/fault.h>

#include "writer_internal.h"

static struct recording_writer *writer_new(int fd, bool keeps)
{
	struct recording_writer *writer = calloc(1, sizeof(*writer));
	struct chunk_writer *chunks = chunk_writer_new(fd);
	if (!writer || !chunks) {
		chunk_writer_free(chunks);
		free(writer);
		return NULL;
	}
	writer->chunks = chunks;
	if (keeps)
		chunk_keep(chunks);
	chunk_write_head(chunks); /* an error comes again with the first chunk */
	return writer;
}

struct recording_writer *recording_writer_new(int fd)
{
	return writer_new(fd, false);
}

struct recording_writer *recording_writer_new_keeping(int fd)
{
	return writer_new(fd, true);
}

static void writer_free(struct recording_writer *writer)
{
	chunk_writer_free(writer->chunks);
	buffer_release(&writer->rows);
	buffer_release(&writer->samples);
	buffer_release(&writer->metadata);
	free(writer->unnamed.items);
	free(writer->unlined.items);
	free(writer->name_numbers.items);
	free(writer->line_numbers.items);
	free(writer->sources.items);
	recording_code_release(&writer->code);
	free(writer);
}

static bool too_much_waits(const struct recording_writer *writer)
{
	return chunk_waiting_bytes(writer->chunks) > fault_waiting_max(RECORDING_WAITING_MAX);
}

int recording_add_samples(struct recording_writer *writer, const struct sample *samples, size_t nr)
{
	if (too_much_waits(writer))
		return -EAGAIN;
	for (size_t i = 0; i < nr; i++) {
		struct sample sample = samples[i];
		sample.time_ns += writer->shift_ns;
		put_sample(&writer->samples, &sample, &writer->before);
	}
	writer->nr_samples += nr;
	writer->has_samples |= nr > 0;
	return writer->samples.failed ? -ENOMEM : 0;
}

int recording_add_info(struct recording_writer *writer, const char *key, const char *value)
{
	put_string(&writer->metadata, key, strlen(key));
	put_string(&writer->metadata, value, strlen(value));
	writer->nr_metadata++;
	return writer->metadata.failed ? -ENOMEM : 0;
}

uint64_t recording_bytes(const struct recording_writer *writer)
{
	return chunk_bytes_written(writer->chunks);
}

static int write_samples(struct recording_writer *writer)
{
	struct buffer *rows = &writer->rows;
	if (!writer->nr_samples)
		return 0;
	rows->size = 0;
	put_varint(rows, writer->nr_samples_written);
	put_varint(rows, writer->nr_samples);
	buffer_add(rows, writer->samples.bytes, writer->samples.size);
	rows->failed |= writer->samples.failed;
	writer->nr_samples_written += writer->nr_samples;
	writer->samples.size = 0;
	writer->nr_samples = 0;
	writer->before = (struct sample){0};
	return writer_chunk(writer, CHUNK_SAMPLES, rows);
}

static int write_metadata(struct recording_writer *writer)
{
	if (!writer->nr_metadata)
		return 0;
	writer->rows.size = 0;
	put_varint(&writer->rows, writer->nr_metadata);
	buffer_add(&writer->rows, writer->metadata.bytes, writer->metadata.size);
	writer->rows.failed |= writer->metadata.failed;
	writer->metadata.size = 0;
	writer->nr_metadata = 0;
	return writer_chunk(writer, CHUNK_METADATA, &writer->rows);
}

static int write_end(struct recording_writer *writer)
{
	writer->rows.size = 0;
	put_varint(&writer->rows, writer->nr_samples_written);
	return writer_chunk(writer, CHUNK_END, &writer->rows);
}

int recording_push(struct recording_writer *writer)
{
	return chunk_push(writer->chunks);
}

size_t recording_waiting_bytes(const struct recording_writer *writer)
{
	return chunk_waiting_bytes(writer->chunks);
}

uint64_t recording_confirm(struct recording_writer *writer, uint64_t bytes)
{
	return chunk_confirm(writer->chunks, bytes);
}

size_t recording_kept(const struct recording_writer *writer, uint64_t from, const uint8_t **bytes)
{
	return chunk_kept(writer->chunks, from, bytes);
}

int recording_redirect(struct recording_writer *writer, int fd, uint64_t from)
{
	chunk_redirect(writer->chunks, fd, from);
	return chunk_push(writer->chunks);
}

bool recording_is_broken(const struct recording_writer *writer)
{
	return chunk_is_broken(writer->chunks);
}

void recording_close(struct recording_writer *writer)
{
	chunk_close(writer->chunks);
}

static int write_news(struct recording_writer *writer)
{
	int result = 0;
	if (writer->has_tables) {
		tables_reader_refresh(&writer->reader);
		result = writer_list_frames(writer);
		if (!result)
			result = writer_put_rows(writer);
		if (!result)
			result = writer_put_names(writer);
	}
	if (!result)
		result = write_samples(writer);
	return result ? result : write_metadata(writer);
}

int recording_flush(struct recording_writer *writer)
{
	int result = chunk_push(writer->chunks);
	/* It can wait: since more than that does, no sample was let in. */
	return result || too_much_waits(writer) ? result : write_news(writer);
}

int recording_begin_epoch(struct recording_writer *writer, const struct tables *tables,
			  const struct symbols *symbols)
{
	/* What is not written now is never written; an epoch without samples needs nothing. */
	int result = writer->has_samples ? write_news(writer) : 0;
	if (result)
		return result;
	writer->nr_epochs++;
	writer->has_tables = true;
	writer->has_samples = false;
	tables_reader_init(&writer->reader, tables);
	writer->symbols = symbols;
	for (size_t i = 0; i < NR_TABLES; i++)
		writer->nr_written[i] = 1; /* row 0 is "none" in every table */
	writer->unnamed.nr = writer->unlined.nr = 0;
	writer->name_numbers.nr = writer->line_numbers.nr = 0;
	writer->name_numbers.nr_written = writer->line_numbers.nr_written = 0;
	writer->name_numbers.bytes_written = writer->line_numbers.bytes_written = 0;
	writer->nr_lines = 0;
	writer->sources.nr = 0;
	recording_code_begin_epoch(&writer->code);
	return 0;
}

int recording_end_epoch(struct recording_writer *writer)
{
	int result = write_news(writer);
	writer->has_tables = writer->has_samples = false;
	return result;
}

void recording_shift(struct recording_writer *writer, uint64_t ns)
{
	writer->shift_ns = ns;
}

uint64_t recording_shift_ns(const struct recording_writer *writer)
{
	return writer->shift_ns;
}

void recording_abandon(struct recording_writer *writer)
{
	if (writer)
		writer_free(writer);
}

/* Waits until fd has taken everything. */
static int push_all(struct recording_writer *writer)
{
	int result = chunk_push(writer->chunks);
	while (!result && chunk_waiting_bytes(writer->chunks)) {
		struct pollfd fd = {.fd = chunk_writer_fd(writer->chunks), .events = POLLOUT};
		if (poll(&fd, 1, -1) < 0 && errno != EINTR)
			return -errno;
		result = chunk_push(writer->chunks);
	}
	return result;
}

int recording_end(struct recording_writer *writer)
{
	int result = recording_flush(writer);
	return result ? result : write_end(writer);
}

int recording_finish(struct recording_writer *writer, uint64_t *bytes)
{
	int result = push_all(writer);
	if (!result)
		result = recording_end(writer);
	if (!result)
		result = push_all(writer);
	*bytes = recording_bytes(writer);
	writer_free(writer);
	return result;
}
