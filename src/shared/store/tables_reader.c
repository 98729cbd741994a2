/* SPDX-License-Identifier: MIT */
#include <ctop/store/tables.h>

#include <string.h>

#include "shared_memory.h"
#include "tables_internal.h"

void tables_reader_init(struct tables_reader *reader, const struct tables *tables)
{
	*reader = (struct tables_reader){.tables = tables};
}

void tables_reader_refresh(struct tables_reader *reader)
{
	const struct tables *tables = reader->tables;
	reader->closed = atomic_load_explicit(&tables->header->closed, memory_order_acquire) != 0;
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++) {
		uint32_t nr = atomic_load_explicit(&tables->header->nr[kind], memory_order_acquire);
		reader->nr[kind] = nr < tables->capacity.nr[kind] ? nr : tables->capacity.nr[kind];
	}
}

/* Copies a row that is there; else zeroes. */
static bool copy_row(const struct tables_reader *reader, enum table_kind kind, uint32_t id,
		     void *row, size_t bytes)
{
	if (id >= reader->nr[kind]) {
		memset(row, 0, bytes);
		return false;
	}
	memcpy(row, (const uint8_t *)reader->tables->rows[kind] + id * bytes, bytes);
	return true;
}

bool tables_event(const struct tables_reader *reader, uint32_t id, struct event_row *row)
{
	return copy_row(reader, TABLE_EVENTS, id, row, sizeof(*row));
}

bool tables_module(const struct tables_reader *reader, struct module_id id, struct module_row *row)
{
	return copy_row(reader, TABLE_MODULES, id.index, row, sizeof(*row));
}

bool tables_task(const struct tables_reader *reader, struct task_id id, struct task_row *row)
{
	return copy_row(reader, TABLE_TASKS, id.index, row, sizeof(*row));
}

bool tables_frame(const struct tables_reader *reader, struct frame_id id, struct frame_row *row)
{
	return copy_row(reader, TABLE_FRAMES, id.index, row, sizeof(*row));
}

bool tables_node(const struct tables_reader *reader, struct node_id id, struct node_row *row)
{
	if (!copy_row(reader, TABLE_NODES, id.index, row, sizeof(*row)))
		return false;
	if (id.index == 0 || row->parent.index < id.index)
		return true;
	*row = (struct node_row){0};
	return false;
}

bool tables_info(const struct tables_reader *reader, uint32_t id, struct info_row *row)
{
	return copy_row(reader, TABLE_METADATA, id, row, sizeof(*row));
}

const char *tables_string(const struct tables_reader *reader, struct string_id id)
{
	uint32_t nr = reader->nr[TABLE_STRINGS];
	if (id.index >= nr)
		return "";
	const char *string = (const char *)reader->tables->rows[TABLE_STRINGS] +
			     (size_t)id.index * STRING_UNIT_BYTES;
	/* Bounded, or a table of one long string would cost its reader seconds a row. */
	size_t left = (size_t)(nr - id.index) * STRING_UNIT_BYTES;
	size_t most = left < TABLES_STRING_MAX + 1 ? left : TABLES_STRING_MAX + 1;
	return memchr(string, '\0', most) ? string : "";
}

uint64_t tables_used_bytes(const struct tables_reader *reader)
{
	const struct tables *tables = reader->tables;
	uint64_t bytes = SHARED_PAGE_BYTES;
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++)
		bytes += (uint64_t)reader->nr[kind] * tables_row_bytes(kind);
	uint64_t head = atomic_load_explicit(&tables->header->head, memory_order_relaxed);
	if (head > tables->capacity.nr_samples)
		head = tables->capacity.nr_samples;
	return bytes + head * sizeof(struct sample);
}
