/* SPDX-License-Identifier: MIT */
#include <ctop/store/tables.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "tables_internal.h"

static const char *string_at(const struct tables *tables, uint32_t unit)
{
	return (const char *)tables->rows[TABLE_STRINGS] + (size_t)unit * STRING_UNIT_BYTES;
}

static uint64_t hash_task(const struct task_row *row)
{
	return hash_two((uint64_t)(uint32_t)row->pid << 32 | (uint32_t)row->tid,
			row->comm.index ^ row->started_ns << 24);
}

static uint64_t hash_frame(uint32_t module, uint64_t address)
{
	return hash_two(address, module);
}

static uint64_t hash_node(uint32_t parent, uint32_t frame, uint32_t method)
{
	return hash_two((uint64_t)parent << 32 | frame, method);
}

/* ---- life ---- */

static int add_to_index(struct index *index, uint64_t hash, uint32_t row)
{
	if (index_reserve(index))
		return -ENOMEM;
	index_add(index, hash, row);
	return 0;
}

/* Rows that a predecessor published. They are input: lengths are cut to the table. */
static int rebuild(struct tables_writer *writer)
{
	struct tables *tables = writer->tables;
	int result = 0;
	for (uint32_t unit = 0; !result && unit < writer->nr[TABLE_STRINGS];) {
		size_t left = (size_t)(writer->nr[TABLE_STRINGS] - unit) * STRING_UNIT_BYTES;
		size_t size = strnlen(string_at(tables, unit), left);
		if (size < left) /* else it has no end: nobody's string */
			result = add_to_index(&writer->strings,
					      hash_bytes(string_at(tables, unit), size), unit);
		unit += (uint32_t)(size / STRING_UNIT_BYTES) + 1;
	}
	const struct task_row *tasks = tables->rows[TABLE_TASKS];
	for (uint32_t i = 1; !result && i < writer->nr[TABLE_TASKS]; i++)
		result = add_to_index(&writer->tasks, hash_task(&tasks[i]), i);
	const struct frame_row *frames = tables->rows[TABLE_FRAMES];
	for (uint32_t i = 1; !result && i < writer->nr[TABLE_FRAMES]; i++)
		result = add_to_index(&writer->frames,
				      hash_frame(frames[i].module.index, frames[i].address), i);
	const struct node_row *nodes = tables->rows[TABLE_NODES];
	for (uint32_t i = 1; !result && i < writer->nr[TABLE_NODES]; i++)
		result = add_to_index(
			&writer->nodes,
			hash_node(nodes[i].parent.index, nodes[i].frame.index, nodes[i].method), i);
	return result;
}

struct tables_writer *tables_writer_new(struct tables *tables)
{
	struct tables_writer *writer = calloc(1, sizeof(*writer));
	if (!writer)
		return NULL;
	writer->tables = tables;
	writer->head = atomic_load(&tables->header->head);
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++) {
		uint32_t nr = atomic_load(&tables->header->nr[kind]);
		/* Row 0 is "none": all zero, as fresh memory is. */
		writer->nr[kind] = nr == 0 ? 1 : nr;
		if (writer->nr[kind] > tables->capacity.nr[kind])
			writer->nr[kind] = tables->capacity.nr[kind];
	}
	if (rebuild(writer) == 0) {
		tables_publish(writer);
		return writer;
	}
	tables_writer_free(writer);
	return NULL;
}

void tables_writer_free(struct tables_writer *writer)
{
	if (!writer)
		return;
	index_release(&writer->strings);
	index_release(&writer->tasks);
	index_release(&writer->frames);
	index_release(&writer->nodes);
	free(writer);
}

/* ---- rows ---- */

/* Copies a row behind the last one. 0 and its number, or -ENOSPC. */
static int append(struct tables_writer *writer, enum table_kind kind, const void *row,
		  uint32_t *number)
{
	struct tables *tables = writer->tables;
	if (writer->nr[kind] >= tables->capacity.nr[kind])
		return -ENOSPC;
	size_t bytes = tables_row_bytes(kind);
	*number = writer->nr[kind]++;
	memcpy((uint8_t *)tables->rows[kind] + *number * bytes, row, bytes);
	return 0;
}

/* As append(), for a row that is not there yet and shall be found again. */
static int append_interned(struct tables_writer *writer, enum table_kind kind, struct index *index,
			   uint64_t hash, const void *row, uint32_t *number)
{
	if (index_reserve(index))
		return -ENOMEM;
	int result = append(writer, kind, row, number);
	if (!result)
		index_add(index, hash, *number);
	return result;
}

int tables_add_string(struct tables_writer *writer, const char *bytes, size_t size,
		      struct string_id *id)
{
	struct tables *tables = writer->tables;
	size = strnlen(bytes, size < TABLES_STRING_MAX ? size : TABLES_STRING_MAX);
	uint64_t hash = hash_bytes(bytes, size);
	struct index_probe probe = index_find(&writer->strings, hash);
	while (index_next(&writer->strings, &probe, &id->index)) {
		const char *known = string_at(tables, id->index);
		/* Stops at the known string's end, when that is the shorter one. */
		if (strncmp(known, bytes, size) == 0 && known[size] == '\0')
			return 0;
	}
	uint32_t *nr = &writer->nr[TABLE_STRINGS];
	size_t units = size / STRING_UNIT_BYTES + 1;
	if (units > tables->capacity.nr[TABLE_STRINGS] - *nr)
		return -ENOSPC;
	if (index_reserve(&writer->strings))
		return -ENOMEM;
	char *to = (char *)tables->rows[TABLE_STRINGS] + (size_t)*nr * STRING_UNIT_BYTES;
	memset(to, 0, units * STRING_UNIT_BYTES);
	memcpy(to, bytes, size);
	id->index = *nr;
	index_add(&writer->strings, hash, *nr);
	*nr += (uint32_t)units;
	return 0;
}

int tables_add_info(struct tables_writer *writer, const char *key, const char *value)
{
	struct info_row row;
	uint32_t number;
	int result = tables_add_string(writer, key, strlen(key), &row.key);
	if (!result)
		result = tables_add_string(writer, value, strlen(value), &row.value);
	return result ? result : append(writer, TABLE_METADATA, &row, &number);
}

int tables_add_event(struct tables_writer *writer, const struct event_row *row, uint32_t *id)
{
	return append(writer, TABLE_EVENTS, row, id);
}

int tables_add_module(struct tables_writer *writer, const struct module_row *row,
		      struct module_id *id)
{
	return append(writer, TABLE_MODULES, row, &id->index);
}

int tables_add_task(struct tables_writer *writer, int32_t pid, int32_t tid, uint64_t started_ns,
		    struct string_id comm, struct task_id *id)
{
	const struct task_row row = {
		.pid = pid, .tid = tid, .comm = comm, .started_ns = started_ns};
	return tables_add_task_row(writer, &row, id);
}

int tables_add_task_row(struct tables_writer *writer, const struct task_row *row,
			struct task_id *id)
{
	const struct task_row *rows = writer->tables->rows[TABLE_TASKS];
	uint64_t hash = hash_task(row);
	struct index_probe probe = index_find(&writer->tasks, hash);
	while (index_next(&writer->tasks, &probe, &id->index))
		if (memcmp(&rows[id->index], row, sizeof(*row)) == 0)
			return 0;
	return append_interned(writer, TABLE_TASKS, &writer->tasks, hash, row, &id->index);
}

void tables_set_time(struct tables_writer *writer, uint64_t time_ns)
{
	writer->seen = frame_seen(time_ns);
}

int tables_add_frame(struct tables_writer *writer, struct module_id module, uint64_t address,
		     struct frame_id *id)
{
	const struct frame_row *rows = writer->tables->rows[TABLE_FRAMES];
	uint64_t hash = hash_frame(module.index, address);
	struct index_probe probe = index_find(&writer->frames, hash);
	while (index_next(&writer->frames, &probe, &id->index)) {
		const struct frame_row *row = &rows[id->index];
		if (row->address == address && row->module.index == module.index)
			return 0;
	}
	const struct frame_row row = {.address = address, .module = module, .seen = writer->seen};
	return append_interned(writer, TABLE_FRAMES, &writer->frames, hash, &row, &id->index);
}

int tables_add_node(struct tables_writer *writer, struct node_id parent, struct frame_id frame,
		    enum frame_method method, struct node_id *id)
{
	const struct node_row *rows = writer->tables->rows[TABLE_NODES];
	uint64_t hash = hash_node(parent.index, frame.index, (uint32_t)method);
	struct index_probe probe = index_find(&writer->nodes, hash);
	uint32_t number;
	while (index_next(&writer->nodes, &probe, &number)) {
		const struct node_row *row = &rows[number];
		if (row->parent.index == parent.index && row->frame.index == frame.index &&
		    row->method == (uint32_t)method) {
			id->index = number;
			return 0;
		}
	}
	const struct node_row row = {parent, frame, (uint32_t)method};
	return append_interned(writer, TABLE_NODES, &writer->nodes, hash, &row, &id->index);
}

uint32_t tables_nr_rows(const struct tables_writer *writer, enum table_kind kind)
{
	return writer->nr[kind];
}
