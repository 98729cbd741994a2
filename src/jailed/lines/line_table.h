/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_LINE_TABLE_H
#define CTOP_LINES_LINE_TABLE_H

/*
 * The line table of one unit, DWARF 2 to 5. It is a program that makes rows; tables of large files have millions, so none are kept: the
 * program is run once, and what is kept is where it stands at each 64th row at the latest, 32 bytes. From there it is run again for the
 * rows that are asked for. The bytes are untrusted: what cannot be read has no rows.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libelf.h>

#include <ctop/elf/dwarf_bytes.h>

/* Of one file; borrowed from its Elf. */
struct line_sections {
	struct dwarf_bytes lines, line_strings, strings;
};

/* Once what is compressed is unpacked, as libdw does when it opens the file. */
void line_sections_find(struct line_sections *sections, Elf *elf);

struct line_table;

/* at: in .debug_line; directory: where the compiler ran, or NULL. Both must outlive it. NULL: there is none that can be read. */
struct line_table *line_table_new(const struct line_sections *sections, uint64_t at,
				  const char *directory);
void line_table_free(struct line_table *table); /* NULL is fine */

/* The code from an elf address on, up to the next row's. */
struct line_row {
	uint64_t address, end;
	uint32_t file, line;
};

/* Rows that stand beside each other: the next question is mostly about one of the same. */
enum { LINE_ROWS_MAX = 64 };
struct line_rows {
	const struct line_table *table; /* NULL: none yet; to be set so when a table is freed */
	size_t block, nr;
	struct line_row items[LINE_ROWS_MAX];
};

/* The last row that covers an address. False: none does; then row->end is where one begins, 0 if none does. */
bool line_table_find(const struct line_table *table, struct line_rows *rows, uint64_t elf_address,
		     struct line_row *row);
/* The name of a row's file, or of that of a call; "": not known. As long as the table. */
const char *line_table_file(struct line_table *table, uint64_t file);

size_t line_table_bytes(const struct line_table *table); /* of the heap */

#endif
