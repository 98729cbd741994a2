/* SPDX-License-Identifier: MIT */
#include <ctop/store/tables.h>

#include <errno.h>
#include <sys/mman.h>

#include "shared_memory.h"
#include "tables_internal.h"

/* "ctoptab" and the layout's version. */
static const uint64_t MAGIC = UINT64_C(0x01626174706f7463);

const struct tables_capacity tables_capacity_default = {
	.nr =
		{
			[TABLE_STRINGS] = 1u << 20, /* 4 MiB */
			[TABLE_METADATA] = 4096,
			[TABLE_EVENTS] = 64,
			[TABLE_MODULES] = 16u << 10,
			[TABLE_TASKS] = 64u << 10,
			[TABLE_FRAMES] = 128u << 10,
			[TABLE_NODES] = 512u << 10,
		},
	.nr_samples = 64u << 10,
};

size_t tables_row_bytes(enum table_kind kind)
{
	static const size_t bytes[NR_TABLES] = {
		[TABLE_STRINGS] = STRING_UNIT_BYTES,
		[TABLE_METADATA] = sizeof(struct info_row),
		[TABLE_EVENTS] = sizeof(struct event_row),
		[TABLE_MODULES] = sizeof(struct module_row),
		[TABLE_TASKS] = sizeof(struct task_row),
		[TABLE_FRAMES] = sizeof(struct frame_row),
		[TABLE_NODES] = sizeof(struct node_row),
	};
	return bytes[kind];
}

size_t tables_region_bytes(const struct tables_capacity *capacity)
{
	size_t bytes = whole_pages(sizeof(struct tables_header));
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++)
		bytes += whole_pages(capacity->nr[kind] * tables_row_bytes(kind));
	return bytes + whole_pages(capacity->nr_samples * sizeof(struct sample));
}

int tables_memfd_new(const struct tables_capacity *capacity)
{
	return shared_memory_new("ctop-tables", tables_region_bytes(capacity));
}

int tables_map(struct tables *tables, int fd, const struct tables_capacity *capacity, bool writable)
{
	void *memory;
	size_t bytes = tables_region_bytes(capacity);
	uint32_t slots = capacity->nr_samples;
	if (slots < 2 || (slots & (slots - 1)) != 0)
		return -EINVAL;
	int result = shared_memory_map(fd, bytes, writable, &memory);
	if (result)
		return result;
	*tables = (struct tables){.header = memory, .capacity = *capacity, .bytes = bytes};
	uint8_t *at = (uint8_t *)memory + whole_pages(sizeof(struct tables_header));
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++) {
		tables->rows[kind] = at;
		at += whole_pages(capacity->nr[kind] * tables_row_bytes(kind));
	}
	tables->samples = (struct sample *)(void *)at;
	if ((fd < 0 || writable) && tables->header->magic == 0)
		tables->header->magic = MAGIC;
	if (tables->header->magic == MAGIC)
		return 0;
	tables_unmap(tables);
	return -EINVAL;
}

void tables_unmap(struct tables *tables)
{
	if (tables->header)
		munmap(tables->header, tables->bytes);
	*tables = (struct tables){0};
}
