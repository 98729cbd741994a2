/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/jitdump_lines.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

/* 48 MiB of rows. A file's name is written once for those in a row that have the same. */
enum { ROWS_MAX = 4 << 20, FILES_MAX_BYTES = 16 << 20, FILE_MAX_BYTES = 4096 };
/*
 * V8 counts from the ELF header that `perf inject` will put before the code (kElfHeaderSize in V8's perf-jit.cc), so that
 * every table begins there; others count from the code's start.
 */
enum { ELF_HEADER_BYTES = 64 };

struct head {
	uint64_t code, nr;
};

struct entry {
	uint64_t address;
	uint32_t line, column; /* then the file's name */
};

void jit_lines_release(struct jit_lines *lines)
{
	free(lines->rows.items);
	free(lines->files.items);
	*lines = (struct jit_lines){0};
}

void jit_lines_forget(struct jit_lines *lines)
{
	lines->rows.nr = 0;
	lines->files.nr = 0;
	lines->waiting = (struct jit_table){0};
	lines->nr_tables = 0;
	lines->nr_behind_elf = 0;
}

size_t jit_lines_bytes(const struct jit_lines *lines)
{
	return lines->rows.capacity * sizeof(*lines->rows.items) + lines->files.capacity;
}

/* The spec's word for "as the entry before". */
static bool is_same_file(const char *name, size_t length)
{
	return length == 1 && (unsigned char)name[0] == 0xff;
}

static bool is_file(const char *name, size_t length)
{
	for (size_t i = 0; i < length; i++)
		if ((unsigned char)name[i] < ' ')
			return false;
	return length > 0 && length < FILE_MAX_BYTES;
}

/* 1; 0: not a file's name; -ENOMEM. *file: of the entry before, or NO_FILE. */
#define NO_FILE UINT32_MAX
static int take_file(struct jit_lines *lines, const char *name, size_t length, uint32_t *file)
{
	if (is_same_file(name, length))
		return *file != NO_FILE;
	if (!is_file(name, length))
		return 0;
	if (*file != NO_FILE && strcmp(lines->files.items + *file, name) == 0)
		return 1;
	if (lines->files.nr + length >= FILES_MAX_BYTES)
		return 0;
	if (vec_reserve(&lines->files, lines->files.nr + length + 1))
		return -ENOMEM;
	*file = (uint32_t)lines->files.nr;
	memcpy(lines->files.items + lines->files.nr, name, length + 1);
	lines->files.nr += length + 1;
	return 1;
}

/* 1; 0: the entry contradicts itself or those before; -ENOMEM. */
static int add_row(struct jit_lines *lines, const struct head *head, const struct entry *entry,
		   uint32_t file, size_t first)
{
	const uint64_t offset = entry->address - head->code;
	if (entry->address < head->code || offset > INT32_MAX || lines->rows.nr >= ROWS_MAX)
		return 0;
	if (lines->rows.nr > first && offset < lines->rows.items[lines->rows.nr - 1].offset)
		return 0;
	if (vec_reserve(&lines->rows, lines->rows.nr + 1))
		return -ENOMEM;
	lines->rows.items[lines->rows.nr++] =
		(struct jit_line){(uint32_t)offset, entry->line, file};
	return 1;
}

/* As add_row(), for all of them. */
static int add_rows(struct jit_lines *lines, const struct head *head, const char *at,
		    const char *end)
{
	const size_t first = lines->rows.nr;
	uint32_t file = NO_FILE;
	int result = head->nr > 0;
	for (uint64_t i = 0; result > 0 && i < head->nr; i++) {
		struct entry entry;
		if ((size_t)(end - at) <= sizeof(entry))
			return 0;
		memcpy(&entry, at, sizeof(entry));
		at += sizeof(entry);
		const size_t length = strnlen(at, (size_t)(end - at));
		if (length == (size_t)(end - at))
			return 0;
		result = take_file(lines, at, length, &file);
		if (result > 0)
			result = add_row(lines, head, &entry, file, first);
		at += length + 1;
	}
	return result;
}

int jit_lines_add(struct jit_lines *lines, const void *body, size_t size)
{
	const size_t first = lines->rows.nr, first_file = lines->files.nr;
	struct head head;
	lines->waiting = (struct jit_table){0};
	if (size < sizeof(head))
		return 0;
	memcpy(&head, body, sizeof(head));
	const char *bytes = body;
	int result = add_rows(lines, &head, bytes + sizeof(head), bytes + size);
	if (result <= 0) {
		lines->rows.nr = first;
		lines->files.nr = first_file;
		return result;
	}
	lines->code = head.code;
	lines->waiting = (struct jit_table){(uint32_t)first, (uint32_t)(lines->rows.nr - first)};
	lines->nr_tables++;
	lines->nr_behind_elf += lines->rows.items[first].offset == ELF_HEADER_BYTES;
	return 0;
}

struct jit_table jit_lines_take(struct jit_lines *lines, uint64_t code)
{
	const struct jit_table table = lines->code == code ? lines->waiting : (struct jit_table){0};
	lines->waiting = (struct jit_table){0};
	return table;
}

bool jit_lines_find(const struct jit_lines *lines, struct jit_table table, uint64_t offset,
		    const char **file, uint32_t *line)
{
	size_t low = table.first, high = low + table.nr;
	if (lines->nr_behind_elf == lines->nr_tables)
		offset += ELF_HEADER_BYTES;
	/* The last that begins at or before it. */
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (lines->rows.items[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == table.first)
		return false;
	const struct jit_line *row = &lines->rows.items[low - 1];
	*file = lines->files.items + row->file;
	*line = row->line;
	return true;
}
