/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_FUNCTION_TABLE_H
#define CTOP_SYMBOL_FUNCTION_TABLE_H

/*
 * Functions sorted by address: what every source of names (ELF, kallsyms, perf
 * maps) becomes. Names are borrowed from the source's own memory, or owned as one block.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct function_entry {
	uint64_t start;
	uint64_t bytes;	  /* 0: up to the next one */
	const char *name; /* as the source has it, mangled */
	uint32_t module;  /* kallsyms: offset of the module's name + 1 in text; else 0 */
	uint32_t rank;	  /* of two at one address the lower wins */
};

struct function_table {
	struct function_entry *items;
	size_t nr, capacity;
	char *text; /* owned; NULL when names belong to somebody else */
};

void function_table_release(struct function_table *table);
/* 0 or -ENOMEM. */
int function_table_add(struct function_table *table, const struct function_entry *entry);
/* Sorts, keeps the best of each address, and gives sizeless ones the room up to the next. */
void function_table_finish(struct function_table *table);
/* The entry that covers the address, or NULL. */
const struct function_entry *function_table_find(const struct function_table *table, uint64_t address);

/* ---- sources; each takes fd over, reads it whole, and leaves a finished table. 0 or -errno ---- */

/* Text of /proc/kallsyms. -EPERM when every address is 0 (kernel.kptr_restrict). */
int kallsyms_read(int fd, struct function_table *table);
/* Text of a /tmp/perf-PID.map: lines that make no sense are skipped, a half last line too. */
int perf_map_read(int fd, struct function_table *table);

#endif
