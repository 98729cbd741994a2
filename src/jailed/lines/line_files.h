/* SPDX-License-Identifier: MIT */
#ifndef CTOP_LINES_LINE_FILES_H
#define CTOP_LINES_LINE_FILES_H

/* The files that a line table's header names, DWARF 2 to 5. The bytes are untrusted: what cannot be read has no name. */

#include <stddef.h>
#include <stdint.h>

#include <ctop/elf/dwarf_bytes.h>

struct line_sections;

struct line_file {
	const char *name;   /* in the file's sections */
	uint64_t directory; /* its number */
	char *path;	    /* NULL: not asked for yet */
};

struct line_files {
	struct {
		const char **items; /* NULL: not known */
		size_t nr, capacity;
	} directories;
	struct {
		struct line_file *items;
		size_t nr, capacity;
	} files;
	size_t path_bytes;
};

/* header: behind the opcodes' lengths; directory: where the compiler ran, or NULL. The sections must outlive them. */
void line_files_read(struct line_files *files, const struct line_sections *sections,
		     struct dwarf_bytes header, int version, size_t offset_bytes,
		     const char *directory);
void line_files_release(struct line_files *files);

/* By its number, with its directory; "": not known, or out of memory. As long as the files. */
const char *line_files_name(struct line_files *files, uint64_t number);
size_t line_files_bytes(const struct line_files *files);

#endif
