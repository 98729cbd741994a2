/* SPDX-License-Identifier: MIT */
#include <ctop/format/recording.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "chunk.h"
#include "sample_code.h"

/* An id of the file that was lost with a damaged chunk. */
static const uint32_t LOST = UINT32_MAX;

/* Ids that the tables gave, by the ids of the file. What is not there was lost. */
struct ids {
	uint32_t *items;
	size_t nr, capacity;
};

struct recording_reader {
	const struct recording_sink *sink;
	struct recording_read *read;
	struct tables *tables;
	struct symbols *symbols;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct ids ids[NR_TABLES];
	struct {
		char **items; /* names by their number in the epoch - 1; NULL: lost */
		size_t nr, capacity;
	} names;
};

bool recording_is(const void *bytes, size_t size)
{
	return size >= sizeof(recording_magic) &&
	       memcmp(bytes, recording_magic, sizeof(recording_magic)) == 0;
}

/* ---- epochs ---- */

static void leave_epoch(struct recording_reader *reader)
{
	if (reader->writer)
		tables_close_epoch(reader->writer);
	tables_writer_free(reader->writer);
	symbols_writer_free(reader->namer);
	reader->writer = NULL;
	reader->namer = NULL;
	for (size_t i = 0; i < NR_TABLES; i++)
		reader->ids[i].nr = 0;
	for (size_t i = 0; i < reader->names.nr; i++)
		free(reader->names.items[i]);
	reader->names.nr = 0;
}

static int begin_epoch(struct recording_reader *reader)
{
	leave_epoch(reader);
	int result =
		reader->sink->begin_epoch(reader->sink->context, &reader->tables, &reader->symbols);
	if (result)
		return result;
	reader->writer = tables_writer_new(reader->tables);
	reader->namer = symbols_writer_new(reader->symbols);
	return reader->writer && reader->namer ? 0 : -ENOMEM;
}

/* ---- ids ---- */

static int set_id(struct recording_reader *reader, enum table_kind kind, uint64_t id, uint32_t to)
{
	struct ids *ids = &reader->ids[kind];
	if (id >= (uint64_t)1 << 24) /* four times what the largest table holds */
		return -EBADMSG;
	if (id >= ids->nr) {
		if (vec_reserve(ids, (size_t)id + 1))
			return -ENOMEM;
		for (size_t i = ids->nr; i <= id; i++)
			ids->items[i] = LOST;
		ids->nr = (size_t)id + 1;
	}
	ids->items[id] = to;
	return 0;
}

static uint32_t id_of(const struct recording_reader *reader, enum table_kind kind, uint64_t id)
{
	const struct ids *ids = &reader->ids[kind];
	if (id == 0)
		return 0;
	return id < ids->nr ? ids->items[id] : LOST;
}

/* As id_of(), "none" for what was lost. */
static uint32_t id_or_none(const struct recording_reader *reader, enum table_kind kind, uint64_t id)
{
	uint32_t found = id_of(reader, kind, id);
	return found == LOST ? 0 : found;
}

/* ---- rows. Each reads one; 0 or -errno ---- */

static int read_string_row(struct recording_reader *reader, struct payload *payload, uint64_t first)
{
	struct string_id id;
	size_t size;
	uint64_t at = get_varint(payload);
	const char *bytes = get_string(payload, &size);
	int result = tables_add_string(reader->writer, bytes, size, &id);
	return result ? result : set_id(reader, TABLE_STRINGS, first + at, id.index);
}

static int read_event_row(struct recording_reader *reader, struct payload *payload, uint64_t number)
{
	uint32_t id;
	const struct event_row row = {
		.name = {id_or_none(reader, TABLE_STRINGS, get_varint(payload))},
		.asked = {id_or_none(reader, TABLE_STRINGS, get_varint(payload))},
		.period = get_varint(payload),
		.frequency_hz = get_varint(payload),
		.weight_unit = (uint32_t)get_varint(payload),
	};
	int result = tables_add_event(reader->writer, &row, &id);
	return result ? result : set_id(reader, TABLE_EVENTS, number, id);
}

static int read_module_row(struct recording_reader *reader, struct payload *payload,
			   uint64_t number)
{
	struct module_id id;
	size_t size;
	struct module_row row = {
		.path = {id_or_none(reader, TABLE_STRINGS, get_varint(payload))},
		.kind = (uint32_t)get_varint(payload),
	};
	const char *build_id = get_string(payload, &size);
	if (size <= BUILD_ID_MAX) {
		memcpy(row.build_id, build_id, size);
		row.build_id_size = (uint32_t)size;
	}
	row.pid = (int32_t)get_varint(payload);
	row.generation = (uint32_t)get_varint(payload);
	row.device_major = (uint32_t)get_varint(payload);
	row.device_minor = (uint32_t)get_varint(payload);
	row.inode = get_varint(payload);
	row.start = get_varint(payload);
	row.end = row.start + get_varint(payload);
	row.file_offset = get_varint(payload);
	int result = tables_add_module(reader->writer, &row, &id);
	return result ? result : set_id(reader, TABLE_MODULES, number, id.index);
}

static int read_task_row(struct recording_reader *reader, struct payload *payload, uint64_t number)
{
	struct task_id id;
	uint32_t pid = (uint32_t)get_signed(payload);
	uint32_t tid = pid + (uint32_t)get_signed(payload);
	const struct string_id comm = {id_or_none(reader, TABLE_STRINGS, get_varint(payload))};
	int result = tables_add_task(reader->writer, (int32_t)pid, (int32_t)tid, comm, &id);
	return result ? result : set_id(reader, TABLE_TASKS, number, id.index);
}

/* Values that count from the row before, within a chunk. */
struct previous {
	uint64_t address;
	uint32_t frame;
};

static int read_frame_row(struct recording_reader *reader, struct payload *payload, uint64_t number,
			  struct previous *previous)
{
	struct frame_id id;
	const struct module_id module = {id_or_none(reader, TABLE_MODULES, get_varint(payload))};
	previous->address += (uint64_t)get_signed(payload);
	int result = tables_add_frame(reader->writer, module, previous->address, &id);
	return result ? result : set_id(reader, TABLE_FRAMES, number, id.index);
}

static int read_node_row(struct recording_reader *reader, struct payload *payload, uint64_t number,
			 struct previous *previous)
{
	struct node_id id;
	uint64_t distance = get_varint(payload);
	previous->frame += (uint32_t)get_signed(payload);
	uint64_t method = get_varint(payload);
	if (distance == 0 || distance > number || method >= NR_FRAME_METHODS)
		return -EBADMSG;
	uint32_t parent = id_of(reader, TABLE_NODES, number - distance);
	/* Below a lost node everything is lost: it must not look like a stack of its own. */
	if (parent == LOST)
		return set_id(reader, TABLE_NODES, number, LOST);
	const struct frame_id frame = {id_or_none(reader, TABLE_FRAMES, previous->frame)};
	int result = tables_add_node(reader->writer, (struct node_id){parent}, frame,
				     (enum frame_method)method, &id);
	return result ? result : set_id(reader, TABLE_NODES, number, id.index);
}

static int read_rows(struct recording_reader *reader, const struct chunk *chunk)
{
	struct payload payload = chunk->payload;
	struct previous previous = {0};
	uint64_t first = get_varint(&payload), nr = get_varint(&payload);
	int result = 0;
	for (uint64_t i = 0; !result && i < nr && !payload.failed; i++) {
		switch (chunk->type) {
		case CHUNK_STRINGS:
			result = read_string_row(reader, &payload, first);
			break;
		case CHUNK_EVENTS:
			result = read_event_row(reader, &payload, first + i);
			break;
		case CHUNK_MODULES:
			result = read_module_row(reader, &payload, first + i);
			break;
		case CHUNK_TASKS:
			result = read_task_row(reader, &payload, first + i);
			break;
		case CHUNK_FRAMES:
			result = read_frame_row(reader, &payload, first + i, &previous);
			break;
		default:
			result = read_node_row(reader, &payload, first + i, &previous);
			break;
		}
	}
	return result ? result : payload.failed ? -EBADMSG : 0;
}

/* ---- names ---- */

static int get_name(struct recording_reader *reader, struct payload *payload, const char **name)
{
	uint64_t number = get_varint(payload);
	*name = NULL;
	if (number == 0 || payload->failed)
		return 0;
	if (number > reader->names.nr + 1 || number > (uint64_t)1 << 24)
		return -EBADMSG;
	if (number == reader->names.nr + 1) {
		size_t size;
		const char *bytes = get_string(payload, &size);
		if (vec_reserve(&reader->names, number))
			return -ENOMEM;
		char *copy = strndup(bytes, size);
		if (!copy)
			return -ENOMEM;
		reader->names.items[reader->names.nr++] = copy;
	}
	*name = reader->names.items[number - 1];
	return 0;
}

/* Names that were in a lost chunk keep their numbers. */
static int skip_lost_names(struct recording_reader *reader, uint64_t nr)
{
	if (nr > (uint64_t)1 << 24 || nr < reader->names.nr)
		return -EBADMSG;
	if (vec_reserve(&reader->names, nr))
		return -ENOMEM;
	while (reader->names.nr < nr)
		reader->names.items[reader->names.nr++] = NULL;
	return 0;
}

static int read_names(struct recording_reader *reader, struct payload payload)
{
	uint64_t frame = 0;
	int result = skip_lost_names(reader, get_varint(&payload));
	while (!result && payload.at < payload.end && !payload.failed) {
		const char *name, *module;
		frame += (uint64_t)get_signed(&payload);
		result = get_name(reader, &payload, &name);
		if (!result)
			result = get_name(reader, &payload, &module);
		uint64_t offset = get_varint(&payload);
		uint32_t id = id_or_none(reader, TABLE_FRAMES, frame);
		if (result || payload.failed || !id || !name)
			continue;
		result = symbols_set(reader->namer, (struct frame_id){id}, SYMBOL_NAMED, name,
				     module, offset ? (uint32_t)(offset - 1) : UINT32_MAX);
	}
	return result ? result : payload.failed ? -EBADMSG : 0;
}

/* ---- samples and facts ---- */

static int wait_for_room(struct recording_reader *reader)
{
	int result = 0;
	while (!result && tables_samples_room(reader->writer) == 0) {
		tables_publish(reader->writer);
		result = reader->sink->wait_room(reader->sink->context);
	}
	return result;
}

static int read_samples(struct recording_reader *reader, struct payload payload)
{
	struct sample before = {0};
	uint64_t nr = get_varint(&payload);
	for (uint64_t i = 0; i < nr; i++) {
		struct sample sample;
		get_sample(&payload, &sample, &before);
		if (payload.failed)
			return -EBADMSG;
		sample.task.index = id_or_none(reader, TABLE_TASKS, sample.task.index);
		sample.leaf.index = id_or_none(reader, TABLE_FRAMES, sample.leaf.index);
		sample.event = (uint8_t)id_or_none(reader, TABLE_EVENTS, sample.event);
		uint32_t node = id_of(reader, TABLE_NODES, sample.node.index);
		if (node == LOST) {
			node = 0;
			sample.end = STACK_BROKEN;
			sample.reason = STACK_REASON_NONE;
		}
		sample.node.index = node;
		int result = wait_for_room(reader);
		if (result)
			return result;
		tables_add_sample(reader->writer, &sample);
		reader->read->samples++;
	}
	return 0;
}

static int read_infos(struct recording_reader *reader, struct payload payload)
{
	uint64_t nr = get_varint(&payload);
	int result = 0;
	for (uint64_t i = 0; !result && i < nr && !payload.failed; i++) {
		size_t key_size, value_size;
		const char *key = get_string(&payload, &key_size);
		const char *value = get_string(&payload, &value_size);
		char *key_copy = strndup(key, key_size), *value_copy = strndup(value, value_size);
		result = key_copy && value_copy
				 ? tables_add_info(reader->writer, key_copy, value_copy)
				 : -ENOMEM;
		free(key_copy);
		free(value_copy);
	}
	return result ? result : payload.failed ? -EBADMSG : 0;
}

/* ---- chunks ---- */

static int read_chunk(struct recording_reader *reader, const struct chunk *chunk)
{
	if (chunk->type == CHUNK_END) {
		reader->read->whole = true;
		return 0;
	}
	/* The chunk that begins an epoch may be lost; what follows still belongs to one. */
	if (chunk->type == CHUNK_EPOCH || !reader->writer) {
		int result = begin_epoch(reader);
		if (result || chunk->type == CHUNK_EPOCH)
			return result;
	}
	switch (chunk->type) {
	case CHUNK_STRINGS:
	case CHUNK_EVENTS:
	case CHUNK_MODULES:
	case CHUNK_TASKS:
	case CHUNK_FRAMES:
	case CHUNK_NODES:
		return read_rows(reader, chunk);
	case CHUNK_NAMES:
		return read_names(reader, chunk->payload);
	case CHUNK_SAMPLES:
		return read_samples(reader, chunk->payload);
	case CHUNK_INFOS:
		return read_infos(reader, chunk->payload);
	default:
		return 0; /* of a newer minor version */
	}
}

static int read_chunks(struct recording_reader *reader, struct chunk_reader *chunks)
{
	for (;;) {
		struct chunk chunk;
		int got = chunk_read(chunks, &chunk, &reader->read->damaged_chunks);
		if (got <= 0)
			return got;
		int result = read_chunk(reader, &chunk);
		/* Contents that make no sense, or more than any table holds: skip the chunk. */
		if (result == -EBADMSG || result == -ENOSPC)
			reader->read->damaged_chunks++;
		else if (result)
			return result;
	}
}

int recording_read(int fd, const struct recording_sink *sink, struct recording_read *read,
		   struct error *error)
{
	*read = (struct recording_read){0};
	struct recording_reader reader = {.sink = sink, .read = read};
	struct chunk_reader *chunks = chunk_reader_new(fd);
	int result = chunks ? chunk_read_head(chunks) : -ENOMEM;
	if (result == -EINVAL)
		error_set(error, result, "not a ctop recording");
	else if (result == -EPROTO)
		error_set(error, result, "the recording is of a newer ctop than this one");
	if (!result) {
		result = read_chunks(&reader, chunks);
		if (reader.writer)
			tables_publish(reader.writer);
		if (result)
			error_set(error, result, "cannot read the recording: %s",
				  strerror(-result));
	}
	chunk_reader_free(chunks);
	leave_epoch(&reader);
	for (size_t i = 0; i < NR_TABLES; i++)
		free(reader.ids[i].items);
	free(reader.names.items);
	return result;
}
