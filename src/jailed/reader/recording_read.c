/* SPDX-License-Identifier: MIT */
#include <ctop/reader/recording_reader.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/recording/chunk.h>
#include <ctop/recording/sample_code.h>
#include <ctop/store/kept_code.h>

#include "translation.h"

/* Strings by their number in the epoch - 1; NULL: lost. */
struct numbered {
	char **items;
	size_t nr, capacity;
};

struct recording_reader {
	const struct recording_sink *sink;
	int major; /* version of the file */
	struct recording_read *read;
	struct tables *tables;
	struct symbols *symbols;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct translation ids;
	uint64_t next_sample; /* number of the first sample that was not looked for yet */
	struct numbered names, line_names;
};

/* ---- epochs ---- */

static void clear_names(struct numbered *names)
{
	for (size_t i = 0; i < names->nr; i++)
		free(names->items[i]);
	names->nr = 0;
}

static void leave_epoch(struct recording_reader *reader)
{
	if (reader->writer)
		tables_close_epoch(reader->writer);
	tables_writer_free(reader->writer);
	symbols_writer_free(reader->namer);
	reader->writer = NULL;
	reader->namer = NULL;
	clear_names(&reader->names);
	clear_names(&reader->line_names);
}

static int begin_epoch(struct recording_reader *reader, uint32_t epoch)
{
	leave_epoch(reader);
	int result =
		reader->sink->begin_epoch(reader->sink->context, &reader->tables, &reader->symbols);
	if (result)
		return result;
	reader->writer = tables_writer_new(reader->tables);
	translation_begin_epoch(&reader->ids, reader->writer, epoch);
	reader->namer = symbols_writer_new(reader->symbols);
	return reader->writer && reader->namer ? 0 : -ENOMEM;
}

/* ---- rows. Each reads one; 0 or -errno ---- */

static int read_string_row(struct recording_reader *reader, struct payload *payload, uint64_t first)
{
	struct string_id id;
	size_t size;
	uint64_t at = get_varint(payload);
	const char *bytes = get_string(payload, &size);
	if (payload->failed)
		return -EBADMSG;
	int result = tables_add_string(reader->writer, bytes, size, &id);
	return result ? result : translation_set(&reader->ids, TABLE_STRINGS, first + at, id.index);
}

static int read_event_row(struct recording_reader *reader, struct payload *payload, uint64_t number)
{
	struct event_row row = {0};
	uint32_t id;
	uint64_t name = get_varint(payload), asked = get_varint(payload);
	row.period = get_varint(payload);
	row.frequency_hz = get_varint(payload);
	row.weight_unit = (uint32_t)get_varint(payload);
	if (payload->failed)
		return -EBADMSG;
	int result = translation_event_name(&reader->ids, name, number, &row.name);
	if (!result)
		result = translation_event_name(&reader->ids, asked, number, &row.asked);
	if (!result)
		result = tables_add_event(reader->writer, &row, &id);
	return result ? result : translation_set(&reader->ids, TABLE_EVENTS, number, id);
}

/* Version 1 had neither owners of files nor starts of processes. */
static bool has_identities(const struct recording_reader *reader)
{
	return reader->major > 1;
}

static int read_module_row(struct recording_reader *reader, struct payload *payload,
			   uint64_t number)
{
	struct module_id id;
	size_t size;
	struct module_row row = {0};
	row.path.index = translation_id(&reader->ids, TABLE_STRINGS, get_varint(payload));
	row.kind = (uint32_t)get_varint(payload);
	const char *build_id = get_string(payload, &size);
	module_identity_set_build_id(&row.identity, build_id, size);
	row.pid = (int32_t)get_varint(payload);
	row.identity.generation = (uint32_t)get_varint(payload);
	row.identity.device_major = (uint32_t)get_varint(payload);
	row.identity.device_minor = (uint32_t)get_varint(payload);
	row.identity.inode = get_varint(payload);
	row.start = get_varint(payload);
	row.end = row.start + get_varint(payload);
	row.file_offset = get_varint(payload);
	if (has_identities(reader)) {
		row.identity.owner_plus_1 = (uint32_t)get_varint(payload);
		row.started_ns = get_varint(payload);
	}
	if (payload->failed)
		return -EBADMSG;
	/* Without its path it could not be told from others. */
	if (row.path.index == ID_LOST)
		return translation_set(&reader->ids, TABLE_MODULES, number, ID_LOST);
	int result = tables_add_module(reader->writer, &row, &id);
	return result ? result : translation_set(&reader->ids, TABLE_MODULES, number, id.index);
}

static int read_task_row(struct recording_reader *reader, struct payload *payload, uint64_t number)
{
	struct task_id id;
	struct string_id comm;
	/* Unsigned: what a file says may overflow. */
	uint64_t pid = (uint64_t)get_signed(payload);
	uint64_t tid = pid + (uint64_t)get_signed(payload);
	uint64_t name = get_varint(payload);
	uint64_t started_ns = has_identities(reader) ? get_varint(payload) : 0;
	if (payload->failed)
		return -EBADMSG;
	int result = translation_comm(&reader->ids, name, &comm);
	if (!result)
		result = tables_add_task(reader->writer, (int32_t)pid, (int32_t)tid, started_ns,
					 comm, &id);
	return result ? result : translation_set(&reader->ids, TABLE_TASKS, number, id.index);
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
	const struct module_id module = {
		translation_id(&reader->ids, TABLE_MODULES, get_varint(payload))};
	previous->address += (uint64_t)get_signed(payload);
	if (payload->failed)
		return -EBADMSG;
	if (module.index == ID_LOST)
		return translation_set(&reader->ids, TABLE_FRAMES, number, ID_LOST);
	int result = tables_add_frame(reader->writer, module, previous->address, &id);
	return result ? result : translation_set(&reader->ids, TABLE_FRAMES, number, id.index);
}

static int read_node_row(struct recording_reader *reader, struct payload *payload, uint64_t number,
			 struct previous *previous)
{
	struct node_id id;
	struct frame_id frame;
	uint64_t distance = get_varint(payload);
	previous->frame += (uint32_t)get_signed(payload);
	uint64_t method = get_varint(payload);
	if (payload->failed || distance == 0 || distance > number || method >= NR_FRAME_METHODS)
		return -EBADMSG;
	uint32_t parent = translation_id(&reader->ids, TABLE_NODES, number - distance);
	/* Below a lost node everything is lost: it must not look like a stack of its own. */
	if (parent == ID_LOST)
		return translation_set(&reader->ids, TABLE_NODES, number, ID_LOST);
	bool incomplete = (parent & ID_INCOMPLETE) != 0;
	int result = translation_frame(&reader->ids, previous->frame, &frame, &incomplete);
	if (!result)
		result = tables_add_node(reader->writer, (struct node_id){parent & ~ID_INCOMPLETE},
					 frame, (enum frame_method)method, &id);
	return result ? result
		      : translation_set(&reader->ids, TABLE_NODES, number,
					id.index | (incomplete ? ID_INCOMPLETE : 0));
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

static int get_name(struct numbered *names, struct payload *payload, const char **name)
{
	uint64_t number = get_varint(payload);
	*name = NULL;
	if (number == 0 || payload->failed)
		return 0;
	if (number > names->nr + 1 || number > (uint64_t)1 << 24)
		return -EBADMSG;
	if (number == names->nr + 1) {
		size_t size;
		const char *bytes = get_string(payload, &size);
		if (vec_reserve(names, number))
			return -ENOMEM;
		char *copy = strndup(bytes, size);
		if (!copy)
			return -ENOMEM;
		names->items[names->nr++] = copy;
	}
	*name = names->items[number - 1];
	return 0;
}

/* Names that were in a lost chunk keep their numbers. */
static int skip_lost_names(struct numbered *names, uint64_t nr)
{
	if (nr > (uint64_t)1 << 24 || nr < names->nr)
		return -EBADMSG;
	if (vec_reserve(names, nr))
		return -ENOMEM;
	while (names->nr < nr)
		names->items[names->nr++] = NULL;
	return 0;
}

static int read_names(struct recording_reader *reader, struct payload payload)
{
	uint64_t frame = 0;
	int result = skip_lost_names(&reader->names, get_varint(&payload));
	while (!result && payload.at < payload.end && !payload.failed) {
		const char *name, *module;
		frame += (uint64_t)get_signed(&payload);
		result = get_name(&reader->names, &payload, &name);
		if (!result)
			result = get_name(&reader->names, &payload, &module);
		uint64_t offset = get_varint(&payload);
		if (result || payload.failed || !frame || (!name && !offset))
			continue;
		struct frame_id id;
		bool incomplete = false;
		result = translation_frame(&reader->ids, frame, &id, &incomplete);
		if (!result)
			result = symbols_set(reader->namer, id,
					     name ? SYMBOL_NAMED : SYMBOL_BOUNDED, name, module,
					     offset ? (uint32_t)(offset - 1) : UINT32_MAX);
	}
	return result ? result : payload.failed ? -EBADMSG : 0;
}

/* Where names come from: of modules that were lost, nobody is told. */
static int read_sources(struct recording_reader *reader, struct payload payload)
{
	while (payload.at < payload.end) {
		const uint32_t module =
			translation_id(&reader->ids, TABLE_MODULES, get_varint(&payload));
		const uint64_t from = get_varint(&payload), missing = get_varint(&payload);
		/* Of a newer ctop there may be more of them. */
		const struct module_names names = {
			from < NR_NAMES_FROM ? (uint32_t)from : NAMES_FROM_UNKNOWN,
			missing < NR_NAMES_MISSING ? (uint32_t)missing : NAMES_MISSING_NOTHING};
		if (payload.failed)
			return -EBADMSG;
		if (module && module != ID_LOST)
			symbols_set_module(reader->namer, (struct module_id){module}, &names);
	}
	return 0;
}

/* How many lines a frame has, and these: their strings stay where they are. */
static int get_lines(struct recording_reader *reader, struct payload *payload,
		     struct symbol_line *lines, size_t *nr)
{
	const uint64_t count = get_varint(payload);
	int result = count > SYMBOLS_LINES_MAX ? -EBADMSG : 0;
	*nr = 0;
	while (!result && *nr < count && !payload->failed) {
		struct symbol_line *line = &lines[(*nr)++];
		result = get_name(&reader->line_names, payload, &line->function);
		if (!result)
			result = get_name(&reader->line_names, payload, &line->file);
		const uint64_t number = get_varint(payload);
		line->line = number <= UINT32_MAX ? (uint32_t)number : 0;
	}
	lines[0].function = NULL; /* the frame's own, whatever else is said */
	return result;
}

/* With a function lost, those that it is in would look as if they called what it called. */
static bool has_all(const struct symbol_line *lines, size_t nr)
{
	for (size_t i = 1; i < nr; i++)
		if (!lines[i].function || !lines[i].function[0])
			return false;
	return true;
}

static int read_lines(struct recording_reader *reader, struct payload payload)
{
	uint64_t frame = 0;
	int result = skip_lost_names(&reader->line_names, get_varint(&payload));
	while (!result && payload.at < payload.end && !payload.failed) {
		struct symbol_line lines[SYMBOLS_LINES_MAX];
		struct frame_id id;
		size_t nr;
		bool maimed = false;
		frame += (uint64_t)get_signed(&payload);
		result = get_lines(reader, &payload, lines, &nr);
		if (result || payload.failed || !frame)
			continue;
		result = translation_frame(&reader->ids, frame, &id, &maimed);
		if (!result && !maimed && has_all(lines, nr))
			result = symbols_set_lines(reader->namer, id, lines, nr);
	}
	return result ? result : payload.failed ? -EBADMSG : 0;
}

/* Of modules that were lost nothing is known. What makes no sense is damage; what no honest writer adds is not taken. */
static int read_code(struct recording_reader *reader, struct payload payload, bool is_made)
{
	while (payload.at < payload.end) {
		size_t size;
		struct kept_code code = {.module = {translation_id(&reader->ids, TABLE_MODULES,
								   get_varint(&payload))}};
		code.start = get_varint(&payload);
		code.bias = get_varint(&payload);
		const uint64_t machine = get_varint(&payload), flags = get_varint(&payload);
		const char *bytes = get_string(&payload, &size);
		size_t name_bytes = 0;
		if (is_made) {
			code.name = get_string(&payload, &name_bytes);
			code.read_ns = get_varint(&payload);
		}
		if (payload.failed || size > KEPT_FUNCTION_MAX || machine > UINT16_MAX ||
		    name_bytes > KEPT_NAME_MAX || is_made != (name_bytes > 0))
			return -EBADMSG;
		code.size = (uint32_t)size;
		code.name_bytes = (uint32_t)name_bytes;
		code.machine = (uint16_t)machine;
		code.is_cut = flags & 1;
		if (!code.module.index || code.module.index == ID_LOST)
			continue;
		int result = symbols_keep_code(reader->symbols, &code, bytes);
		if (result)
			return result == -EINVAL ? -EBADMSG : result;
	}
	return 0;
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

/* A sample's rows by the ids of the tables. */
static int translate_sample(struct recording_reader *reader, struct sample *sample)
{
	bool incomplete = false;
	uint32_t node = translation_id(&reader->ids, TABLE_NODES, sample->node.index);
	int result = translation_task(&reader->ids, sample->task.index, &sample->task, &incomplete);
	if (!result)
		result = translation_event(&reader->ids, sample->event, &sample->event);
	if (!result)
		result = translation_frame(&reader->ids, sample->leaf.index, &sample->leaf,
					   &incomplete);
	if (node == ID_LOST) {
		node = 0;
		sample->end = STACK_BROKEN;
		sample->reason = STACK_REASON_NONE;
		incomplete = true;
	}
	incomplete |= (node & ID_INCOMPLETE) != 0;
	sample->node.index = node & ~ID_INCOMPLETE;
	reader->read->incomplete_samples += incomplete;
	return result;
}

/* Samples are numbered: where some are missing, their number is known. */
static int expect_sample(struct recording_reader *reader, uint64_t number)
{
	if (number < reader->next_sample)
		return -EBADMSG;
	reader->read->lost_samples += number - reader->next_sample;
	reader->next_sample = number;
	return 0;
}

static int read_samples(struct recording_reader *reader, struct payload payload)
{
	struct sample before = {0};
	uint64_t first = get_varint(&payload), nr = get_varint(&payload);
	int result = payload.failed ? -EBADMSG : expect_sample(reader, first);
	for (uint64_t i = 0; !result && i < nr; i++) {
		struct sample sample;
		get_sample(&payload, &sample, &before);
		if (payload.failed)
			return -EBADMSG;
		result = translate_sample(reader, &sample);
		if (!result)
			result = wait_for_room(reader);
		if (result)
			return result;
		tables_add_sample(reader->writer, &sample);
		reader->next_sample++;
		reader->read->samples++;
	}
	return result;
}

static int read_metadata(struct recording_reader *reader, struct payload payload)
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

/* Others are of a newer minor version. */
static bool is_known(uint32_t type)
{
	switch (type) {
	case CHUNK_STRINGS:
	case CHUNK_EVENTS:
	case CHUNK_MODULES:
	case CHUNK_TASKS:
	case CHUNK_FRAMES:
	case CHUNK_NODES:
	case CHUNK_NAMES:
	case CHUNK_SOURCES:
	case CHUNK_LINES:
	case CHUNK_CODE:
	case CHUNK_MADE:
	case CHUNK_SAMPLES:
	case CHUNK_METADATA:
	case CHUNK_END:
		return true;
	default:
		return false;
	}
}

static int read_payload(struct recording_reader *reader, const struct chunk *chunk)
{
	switch (chunk->type) {
	case CHUNK_NAMES:
		return read_names(reader, chunk->payload);
	case CHUNK_SOURCES:
		return read_sources(reader, chunk->payload);
	case CHUNK_LINES:
		return read_lines(reader, chunk->payload);
	case CHUNK_CODE:
		return read_code(reader, chunk->payload, false);
	case CHUNK_MADE:
		return read_code(reader, chunk->payload, true);
	case CHUNK_SAMPLES:
		return read_samples(reader, chunk->payload);
	case CHUNK_METADATA:
		return read_metadata(reader, chunk->payload);
	default:
		return read_rows(reader, chunk);
	}
}

static int read_end(struct recording_reader *reader, struct payload payload)
{
	uint64_t nr = get_varint(&payload);
	reader->read->whole = 1;
	return payload.failed ? -EBADMSG : expect_sample(reader, nr);
}

static int read_chunk(struct recording_reader *reader, const struct chunk *chunk)
{
	reader->read->chunks++;
	if (!is_known(chunk->type))
		return 0;
	if (chunk->type == CHUNK_END)
		return read_end(reader, chunk->payload);
	if (!reader->writer || chunk->epoch != reader->ids.epoch) {
		int result = begin_epoch(reader, chunk->epoch);
		if (result)
			return result;
	}
	return read_payload(reader, chunk);
}

static int read_chunks(struct recording_reader *reader, struct chunk_reader *chunks,
		       struct chunk_damage *damage)
{
	while (!reader->read->whole) {
		struct chunk chunk;
		int got = chunk_read(chunks, &chunk, damage);
		if (got <= 0)
			return got;
		int result = read_chunk(reader, &chunk);
		/* Contents that make no sense, or more than any table holds: skip the chunk. */
		if (result == -EBADMSG || result == -ENOSPC)
			damage->missing++;
		else if (result)
			return result;
	}
	return chunk_read_rest(chunks, damage);
}

int recording_read(int fd, const struct recording_sink *sink, struct recording_read *read,
		   struct error *error)
{
	*read = (struct recording_read){0};
	struct recording_reader reader = {.sink = sink, .read = read};
	struct chunk_damage damage = {0};
	struct chunk_reader *chunks = chunk_reader_new(fd);
	int result = chunks ? chunk_read_head(chunks) : -ENOMEM;
	if (result == -EINVAL)
		error_set(error, result, "not a ctop recording");
	else if (result == -EPROTO)
		result =
			error_set(error, -EINVAL, "the recording is of a newer ctop than this one");
	if (!result) {
		reader.major = chunk_major_version(chunks);
		result = read_chunks(&reader, chunks, &damage);
		if (reader.writer)
			tables_publish(reader.writer);
		if (result)
			error_set(error, result, "cannot read the recording: %s",
				  strerror(-result));
	}
	read->lost_chunks = damage.missing;
	read->damaged_places = damage.places;
	read->skipped_bytes = damage.bytes;
	chunk_reader_free(chunks);
	leave_epoch(&reader);
	translation_release(&reader.ids);
	free(reader.names.items);
	free(reader.line_names.items);
	return result;
}
