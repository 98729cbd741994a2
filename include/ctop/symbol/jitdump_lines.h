/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYMBOL_JITDUMP_LINES_H
#define CTOP_SYMBOL_JITDUMP_LINES_H

/*
 * The tables of lines in a JIT's dump (JIT_CODE_DEBUG_INFO, perf's jitdump-specification.txt): one stands before the code that it is
 * of. A table that contradicts itself is left out as a whole: node 20 writes such, with bytes of its memory for the name of the file.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct jit_line {
	uint32_t offset; /* from the code's start, as the table says it */
	uint32_t line;
	uint32_t file; /* offset into files */
};

/* A piece of rows; nr 0: none. */
struct jit_table {
	uint32_t first, nr;
};

struct jit_lines {
	struct {
		struct jit_line *items;
		size_t nr, capacity;
	} rows;
	struct {
		char *items;
		size_t nr, capacity;
	} files;
	/* The table that was read last, and whose code is to come. */
	uint64_t code;
	struct jit_table waiting;
	size_t nr_tables, nr_behind_elf;
};

void jit_lines_release(struct jit_lines *lines);
void jit_lines_forget(struct jit_lines *lines);
size_t jit_lines_bytes(const struct jit_lines *lines);

/* The record's body. 0 or -ENOMEM. */
int jit_lines_add(struct jit_lines *lines, const void *body, size_t size);
/* The table of the code at that address, if it was the last. */
struct jit_table jit_lines_take(struct jit_lines *lines, uint64_t code);
/* The line of a byte of code; false: none. *file is borrowed until more is added. */
bool jit_lines_find(const struct jit_lines *lines, struct jit_table table, uint64_t offset,
		    const char **file, uint32_t *line);

#endif
