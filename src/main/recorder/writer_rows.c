/* SPDX-License-Identifier: MIT */
/* Rows of the epoch's tables. */
#include <string.h>

#include "writer_internal.h"

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

int writer_put_rows(struct recording_writer *writer)
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
			int result = writer_chunk(writer, row_chunks[i].chunk, &writer->rows);
			if (result)
				return result;
			*from = to;
		}
	}
	return 0;
}
