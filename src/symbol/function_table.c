/* SPDX-License-Identifier: MIT */
#include "function_table.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

void function_table_release(struct function_table *table)
{
	free(table->items);
	free(table->text);
	*table = (struct function_table){0};
}

int function_table_add(struct function_table *table, const struct function_entry *entry)
{
	if (vec_reserve(table, table->nr + 1))
		return -ENOMEM;
	table->items[table->nr++] = *entry;
	return 0;
}

static int compare(const void *a, const void *b)
{
	const struct function_entry *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	if (left->rank != right->rank)
		return left->rank < right->rank ? -1 : 1;
	/* Equal in rank: the one that says how long it is, then the shorter name. */
	if (!left->bytes != !right->bytes)
		return left->bytes ? -1 : 1;
	size_t left_size = strlen(left->name), right_size = strlen(right->name);
	if (left_size != right_size)
		return left_size < right_size ? -1 : 1;
	return strcmp(left->name, right->name);
}

void function_table_finish(struct function_table *table)
{
	struct function_entry *items = table->items;
	if (!table->nr)
		return;
	qsort(items, table->nr, sizeof(*items), compare);
	size_t kept = 0;
	for (size_t i = 1; i < table->nr; i++)
		if (items[i].start != items[kept].start)
			items[++kept] = items[i];
	table->nr = kept + 1;
	for (size_t i = 0; i + 1 < table->nr; i++) {
		uint64_t room = items[i + 1].start - items[i].start;
		if (!items[i].bytes)
			items[i].bytes = room;
	}
}

const struct function_entry *function_table_find(const struct function_table *table,
						 uint64_t address)
{
	size_t low = 0, high = table->nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (table->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	/* A small function may lie inside of a larger one's range: look a few further down. */
	for (size_t i = low, tries = 4; i > 0 && tries > 0; i--, tries--) {
		const struct function_entry *entry = &table->items[i - 1];
		bool open_end = !entry->bytes && i == table->nr;
		if (open_end || address - entry->start < entry->bytes)
			return entry;
	}
	return NULL;
}
