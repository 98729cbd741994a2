/* SPDX-License-Identifier: MIT */
#include "line_files.h"

#include <dwarf.h>
#include <stdio.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

#include "line_table.h"

enum {
	DIRECTORIES_MAX = 1 << 16,
	FILES_MAX = 1 << 16,
	COLUMNS_MAX = 16, /* of what DWARF 5 says of each */
	NAME_MAX_BYTES = 4096,
};

static bool add_directory(struct line_files *files, const char *name)
{
	if (files->directories.nr >= DIRECTORIES_MAX ||
	    vec_reserve(&files->directories, files->directories.nr + 1))
		return false;
	files->directories.items[files->directories.nr++] = name;
	return true;
}

static bool add_file(struct line_files *files, const char *name, uint64_t directory)
{
	if (files->files.nr >= FILES_MAX || vec_reserve(&files->files, files->files.nr + 1))
		return false;
	files->files.items[files->files.nr++] =
		(struct line_file){.name = name, .directory = directory};
	return true;
}

/* ---- up to DWARF 4: 6.2.4 there ---- */

/* The next name of a list; NULL: it ends. */
static const char *next_name(struct dwarf_bytes *header)
{
	const char *name = dwarf_string(header);
	return name && name[0] ? name : NULL;
}

/* Both are counted from 1; directory 0 is where the compiler ran. */
static void read_lists(struct line_files *files, struct dwarf_bytes *header, const char *directory)
{
	const char *name;
	bool has_room = add_directory(files, directory) && add_file(files, NULL, 0);
	while (has_room && (name = next_name(header)))
		has_room = add_directory(files, name);
	while (has_room && (name = next_name(header))) {
		const uint64_t of = dwarf_uleb(header);
		dwarf_uleb(header); /* when it was written */
		dwarf_uleb(header); /* how large it is */
		has_room = add_file(files, name, of);
	}
}

/* ---- DWARF 5 ---- */

struct column {
	uint64_t content, form;
};

struct format {
	struct column columns[COLUMNS_MAX];
	size_t nr;
	size_t offset_bytes;
	const struct line_sections *sections;
};

/* A name in another section; NULL: none that ends there. */
static const char *string_at(struct dwarf_bytes section, uint64_t at)
{
	dwarf_skip(&section, at);
	return dwarf_string(&section);
}

struct value {
	const char *text;
	uint64_t number;
};

static struct value read_value(struct dwarf_bytes *header, const struct format *format,
			       uint64_t form)
{
	struct value value = {0};
	switch (form) {
	case DW_FORM_string:
		value.text = dwarf_string(header);
		break;
	case DW_FORM_line_strp:
		value.text = string_at(format->sections->line_strings,
				       dwarf_fixed(header, format->offset_bytes));
		break;
	case DW_FORM_strp:
		value.text = string_at(format->sections->strings,
				       dwarf_fixed(header, format->offset_bytes));
		break;
	case DW_FORM_udata:
		value.number = dwarf_uleb(header);
		break;
	case DW_FORM_data1:
		value.number = dwarf_fixed(header, 1);
		break;
	case DW_FORM_data2:
		value.number = dwarf_fixed(header, 2);
		break;
	case DW_FORM_data4:
		value.number = dwarf_fixed(header, 4);
		break;
	case DW_FORM_data8:
		value.number = dwarf_fixed(header, 8);
		break;
	case DW_FORM_data16: /* a sum of the file's bytes */
		dwarf_skip(header, 16);
		break;
	case DW_FORM_block:
		dwarf_skip(header, dwarf_uleb(header));
		break;
	default:
		dwarf_fail(header);
		break;
	}
	return value;
}

static void read_format(struct format *format, struct dwarf_bytes *header)
{
	format->nr = dwarf_u8(header);
	if (format->nr > COLUMNS_MAX)
		dwarf_fail(header);
	for (size_t i = 0; i < format->nr && !header->bad; i++) {
		const uint64_t content = dwarf_uleb(header), form = dwarf_uleb(header);
		format->columns[i] = (struct column){content, form};
	}
}

/* Directories, or files. Both are counted from 0. */
static void read_table(struct line_files *files, struct dwarf_bytes *header, struct format *format,
		       bool (*add)(struct line_files *, const char *, uint64_t))
{
	read_format(format, header);
	const uint64_t nr = dwarf_uleb(header);
	for (uint64_t i = 0; i < nr && format->nr && !header->bad; i++) {
		const char *name = NULL;
		uint64_t directory = 0;
		for (size_t column = 0; column < format->nr; column++) {
			const struct value value =
				read_value(header, format, format->columns[column].form);
			if (format->columns[column].content == DW_LNCT_path)
				name = value.text;
			if (format->columns[column].content == DW_LNCT_directory_index)
				directory = value.number;
		}
		if (header->bad || !add(files, name, directory))
			return;
	}
}

static bool add_directory_of(struct line_files *files, const char *name, uint64_t ignored)
{
	(void)ignored;
	return add_directory(files, name);
}

void line_files_read(struct line_files *files, const struct line_sections *sections,
		     struct dwarf_bytes header, int version, size_t offset_bytes,
		     const char *directory)
{
	struct format format = {.sections = sections, .offset_bytes = offset_bytes};
	if (version < 5) {
		read_lists(files, &header, directory);
	} else {
		read_table(files, &header, &format, add_directory_of);
		read_table(files, &header, &format, add_file);
	}
	vec_give_back(&files->directories);
	vec_give_back(&files->files);
}

void line_files_release(struct line_files *files)
{
	for (size_t i = 0; i < files->files.nr; i++)
		free(files->files.items[i].path);
	free(files->files.items);
	free(files->directories.items);
	*files = (struct line_files){0};
}

/* ---- names ---- */

const char *line_files_name(struct line_files *files, uint64_t number)
{
	struct line_file *file = number < files->files.nr ? &files->files.items[number] : NULL;
	if (!file || !file->name || !*file->name)
		return "";
	if (file->name[0] == '/')
		return file->name;
	const char *directory = file->directory < files->directories.nr
					? files->directories.items[file->directory]
					: NULL;
	if (!directory)
		return file->name;
	if (!file->path) {
		const int bytes = asprintf(&file->path, "%.*s/%.*s", NAME_MAX_BYTES, directory,
					   NAME_MAX_BYTES, file->name);
		if (bytes < 0)
			file->path = NULL;
		else
			files->path_bytes += (size_t)bytes + 1;
	}
	return file->path ? file->path : "";
}

size_t line_files_bytes(const struct line_files *files)
{
	return vec_bytes(&files->directories) + vec_bytes(&files->files) + files->path_bytes;
}
