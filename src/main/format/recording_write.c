/* SPDX-License-Identifier: MIT */
#include <ctop/format/recording_writer.h>

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/fault.h>
#include <ctop/base/vec.h>
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

static int write_chunk(struct recording_writer *writer, uint32_t type, const struct buffer *payload)
{
	return chunk_write(writer->chunks, type, writer->nr_epochs, payload);
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

/* ---- rows ---- */

static void put_strings(struct recording_writer *writer, uint32_t from, uint32_t to)
{
	struct buffer strings = {0};
	uint64_t nr = 0;
	for (uint32_t id = from; id < to; nr++) {
		const char *string = tables_string(&writer->reader, (struct string_id){id});
		/* Cut only in the file's count of bytes; the next id follows from the true length. */
		size_t size = strnlen(string, (size_t)(to - id) * 4);
		put_varint(&strings, id - from);
		put_string(&strings, string, size < STRING_MAX ? size : STRING_MAX);
		id += (uint32_t)(size / 4) + 1;
	}
	put_varint(&writer->rows, nr);
	buffer_add(&writer->rows, strings.bytes, strings.size);
	writer->rows.failed |= strings.failed;
	buffer_release(&strings);
}

static void put_events(struct recording_writer *writer, uint32_t from, uint32_t to)
{
	put_varint(&writer->rows, to - from);
	for (uint32_t id = from; id < to; id++) {
		struct event_row row;
		tables_event(&writer->reader, id, &row);
		put_varint(&writer->rows, row.name.index);
		put_varint(&writer->rows, row.asked.index);
		put_varint(&writer->rows, row.period);
		put_varint(&writer->rows, row.frequency_hz);
		put_varint(&writer->rows, row.weight_unit);
	}
}

/* When a process started; 0: not known. */
static uint64_t shifted(const struct recording_writer *writer, uint64_t started_ns)
{
	return started_ns ? started_ns + writer->shift_ns : 0;
}

static void put_modules(struct recording_writer *writer, uint32_t from, uint32_t to)
{
	put_varint(&writer->rows, to - from);
	for (uint32_t id = from; id < to; id++) {
		struct module_row row;
		tables_module(&writer->reader, (struct module_id){id}, &row);
		put_varint(&writer->rows, row.path.index);
		put_varint(&writer->rows, row.kind);
		const struct module_identity *identity = &row.identity;
		put_string(&writer->rows, (const char *)identity->build_id,
			   identity->build_id_size <= BUILD_ID_MAX ? identity->build_id_size : 0);
		put_varint(&writer->rows, (uint32_t)row.pid);
		put_varint(&writer->rows, identity->generation);
		put_varint(&writer->rows, identity->device_major);
		put_varint(&writer->rows, identity->device_minor);
		put_varint(&writer->rows, identity->inode);
		put_varint(&writer->rows, row.start);
		put_varint(&writer->rows, row.end - row.start);
		put_varint(&writer->rows, row.file_offset);
		put_varint(&writer->rows, identity->owner_plus_1);
		put_varint(&writer->rows, shifted(writer, row.started_ns));
	}
}

static void put_tasks(struct recording_writer *writer, uint32_t from, uint32_t to)
{
	put_varint(&writer->rows, to - from);
	for (uint32_t id = from; id < to; id++) {
		struct task_row row;
		tables_task(&writer->reader, (struct task_id){id}, &row);
		put_signed(&writer->rows, row.pid);
		put_signed(&writer->rows, (int64_t)row.tid - row.pid);
		put_varint(&writer->rows, row.comm.index);
		put_varint(&writer->rows, shifted(writer, row.started_ns));
	}
}

static void put_frames(struct recording_writer *writer, uint32_t from, uint32_t to)
{
	uint64_t before = 0;
	put_varint(&writer->rows, to - from);
	for (uint32_t id = from; id < to; id++) {
		struct frame_row row;
		tables_frame(&writer->reader, (struct frame_id){id}, &row);
		put_varint(&writer->rows, row.module.index);
		put_signed(&writer->rows, (int64_t)(row.address - before));
		before = row.address;
	}
}

static void put_nodes(struct recording_writer *writer, uint32_t from, uint32_t to)
{
	uint32_t before = 0;
	put_varint(&writer->rows, to - from);
	for (uint32_t id = from; id < to; id++) {
		struct node_row row;
		tables_node(&writer->reader, (struct node_id){id}, &row);
		put_varint(&writer->rows, id - row.parent.index);
		put_signed(&writer->rows, (int64_t)row.frame.index - before);
		put_varint(&writer->rows, row.method);
		before = row.frame.index;
	}
}

/* Rows in an order in which each refers only to earlier ones. */
static const struct {
	enum table_kind kind;
	uint32_t chunk;
	void (*put)(struct recording_writer *writer, uint32_t from, uint32_t to);
} row_chunks[] = {
	{TABLE_STRINGS, CHUNK_STRINGS, put_strings}, {TABLE_EVENTS, CHUNK_EVENTS, put_events},
	{TABLE_MODULES, CHUNK_MODULES, put_modules}, {TABLE_TASKS, CHUNK_TASKS, put_tasks},
	{TABLE_FRAMES, CHUNK_FRAMES, put_frames},    {TABLE_NODES, CHUNK_NODES, put_nodes},
};

/* Rows of one chunk: far below CHUNK_RAW_MAX. */
enum { ROWS_A_CHUNK = 1 << 18 };

static int write_rows(struct recording_writer *writer)
{
	for (size_t i = 0; i < sizeof(row_chunks) / sizeof(row_chunks[0]); i++) {
		enum table_kind kind = row_chunks[i].kind;
		uint32_t *from = &writer->nr_written[kind], nr = writer->reader.nr[kind];
		while (*from < nr) {
			uint32_t to = nr;
			/* A string must not be cut in two: those go in one chunk. */
			if (kind != TABLE_STRINGS && to - *from > ROWS_A_CHUNK)
				to = *from + ROWS_A_CHUNK;
			writer->rows.size = 0;
			put_varint(&writer->rows, *from);
			row_chunks[i].put(writer, *from, to);
			int result = write_chunk(writer, row_chunks[i].chunk, &writer->rows);
			if (result)
				return result;
			*from = to;
		}
	}
	return 0;
}

/* ---- names ---- */

/* Remembers the frames that came since the last flush. */
static int list_new_frames(const struct recording_writer *writer, uint32_t from,
			   struct frame_list *list)
{
	uint32_t nr = writer->reader.nr[TABLE_FRAMES];
	if (from >= nr)
		return 0;
	if (vec_reserve(list, list->nr + (nr - from)))
		return -ENOMEM;
	for (uint32_t frame = from; frame < nr; frame++)
		list->items[list->nr++] = frame;
	return 0;
}

/* A string of the symbols: its number, written out where it is new. */
static int put_name(struct recording_writer *writer, struct numbers *numbers, struct string_id id)
{
	const char *string = symbols_string(writer->symbols, id);
	size_t size = strnlen(string, STRING_MAX);
	/* Strings of a region that lies overlap: no more of them are written than fit there side by side. */
	if (numbers->bytes_written > symbols_string_bytes(&writer->symbols->capacity))
		size = 0;
	if (!size) {
		put_varint(&writer->rows, 0);
		return 0;
	}
	size_t nr = (size_t)id.index + 1;
	if (nr > numbers->nr) {
		if (vec_reserve(numbers, nr))
			return -ENOMEM;
		memset(numbers->items + numbers->nr, 0, (nr - numbers->nr) * sizeof(uint32_t));
		numbers->nr = nr;
	}
	uint32_t *number = &numbers->items[id.index];
	bool is_new = !*number;
	if (is_new)
		*number = ++numbers->nr_written;
	put_varint(&writer->rows, *number);
	if (is_new) {
		put_string(&writer->rows, string, size);
		numbers->bytes_written += size;
	}
	return 0;
}

static int write_names(struct recording_writer *writer)
{
	if (!writer->symbols || !writer->unnamed.nr)
		return 0;
	struct buffer *rows = &writer->rows;
	uint32_t before = 0;
	size_t kept = 0, nr = writer->unnamed.nr;
	rows->size = 0;
	/* The number of names before this chunk: a reader that lost one keeps its count. */
	put_varint(rows, writer->name_numbers.nr_written);
	size_t head = rows->size;
	for (size_t i = 0; i < nr; i++) {
		uint32_t frame = writer->unnamed.items[i];
		struct symbol_row row = symbols_row(writer->symbols, (struct frame_id){frame});
		if (row.state != SYMBOL_NAMED && row.state != SYMBOL_BOUNDED) {
			writer->unnamed.items[kept++] = frame;
			continue;
		}
		put_signed(rows, (int64_t)frame - before);
		before = frame;
		if (put_name(writer, &writer->name_numbers, row.name) ||
		    put_name(writer, &writer->name_numbers, row.module))
			return -ENOMEM;
		put_varint(rows, (uint64_t)row.offset + 1 > UINT32_MAX ? 0 : row.offset + 1);
	}
	writer->unnamed.nr = kept;
	return rows->size > head ? write_chunk(writer, CHUNK_NAMES, rows) : 0;
}

/* Where the names of modules come from, as far as that is new. */
static int write_sources(struct recording_writer *writer)
{
	const uint32_t nr = writer->reader.nr[TABLE_MODULES];
	struct buffer *rows = &writer->rows;
	if (!writer->symbols)
		return 0;
	if (vec_reserve(&writer->sources, nr))
		return -ENOMEM;
	for (; writer->sources.nr < nr; writer->sources.nr++)
		writer->sources.items[writer->sources.nr] = (struct module_names){0};
	rows->size = 0;
	for (uint32_t id = 1; id < nr; id++) {
		struct module_names *written = &writer->sources.items[id];
		const struct module_names names =
			symbols_module(writer->symbols, (struct module_id){id});
		if (names.from == written->from && names.missing == written->missing)
			continue;
		put_varint(rows, id);
		put_varint(rows, names.from);
		put_varint(rows, names.missing);
		*written = names;
	}
	return rows->size ? write_chunk(writer, CHUNK_SOURCES, rows) : 0;
}

static int put_lines(struct recording_writer *writer, const struct line_row *lines, size_t nr)
{
	put_varint(&writer->rows, nr);
	for (size_t i = 0; i < nr; i++) {
		if (put_name(writer, &writer->line_numbers, lines[i].function) ||
		    put_name(writer, &writer->line_numbers, lines[i].file))
			return -ENOMEM;
		put_varint(&writer->rows, lines[i].line);
	}
	return 0;
}

static int write_lines(struct recording_writer *writer)
{
	struct buffer *rows = &writer->rows;
	struct frame_list *unlined = &writer->unlined;
	uint32_t before = 0;
	size_t kept = 0;
	if (!writer->symbols || !unlined->nr)
		return 0;
	rows->size = 0;
	/* As names, which have numbers of their own: who skips what he does not know loses none of them. */
	put_varint(rows, writer->line_numbers.nr_written);
	const size_t head = rows->size;
	for (size_t i = 0; i < unlined->nr; i++) {
		const struct frame_id frame = {unlined->items[i]};
		struct line_row lines[SYMBOLS_LINES_MAX];
		if (!symbols_has_looked_up_lines(writer->symbols, frame)) {
			unlined->items[kept++] = frame.index;
			continue;
		}
		const size_t nr = symbols_lines(writer->symbols, frame, lines);
		writer->nr_lines += nr;
		/* Rows may overlap as strings do. */
		if (!nr || writer->nr_lines > writer->symbols->capacity.nr_lines)
			continue;
		put_signed(rows, (int64_t)frame.index - before);
		before = frame.index;
		if (put_lines(writer, lines, nr))
			return -ENOMEM;
	}
	unlined->nr = kept;
	return rows->size > head ? write_chunk(writer, CHUNK_LINES, rows) : 0;
}

static int write_code(struct recording_writer *writer)
{
	if (!writer->symbols)
		return 0;
	struct buffer made = {0};
	writer->rows.size = 0;
	int result = recording_code_put(&writer->code, &writer->reader, writer->symbols,
					writer->shift_ns, &writer->rows, &made);
	if (!result && writer->rows.size)
		result = write_chunk(writer, CHUNK_CODE, &writer->rows);
	if (!result && made.size)
		result = write_chunk(writer, CHUNK_MADE, &made);
	buffer_release(&made);
	return result;
}

/* ---- all of it ---- */

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
	return write_chunk(writer, CHUNK_SAMPLES, rows);
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
	return write_chunk(writer, CHUNK_METADATA, &writer->rows);
}

static int write_end(struct recording_writer *writer)
{
	writer->rows.size = 0;
	put_varint(&writer->rows, writer->nr_samples_written);
	return write_chunk(writer, CHUNK_END, &writer->rows);
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
		uint32_t nr_frames = writer->nr_written[TABLE_FRAMES];
		result = list_new_frames(writer, nr_frames, &writer->unnamed);
		if (!result)
			result = list_new_frames(writer, nr_frames, &writer->unlined);
		if (!result)
			result = write_rows(writer);
		if (!result)
			result = write_names(writer);
		if (!result)
			result = write_sources(writer);
		if (!result)
			result = write_lines(writer);
		if (!result)
			result = write_code(writer);
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
