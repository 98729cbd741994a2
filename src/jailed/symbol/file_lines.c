/* SPDX-License-Identifier: MIT */
#include "file_lines.h"

#include <ctop/elf/object.h>

/* What libdw has made of DWARF, of all files. */
#define BYTES_MAX ((size_t)160 << 20)

static struct source_lines *open_lines(const struct symbol_file *file)
{
	Elf *common = file->common ? object_elf(file->common) : NULL;
	struct source_lines *lines =
		file->object ? source_lines_new(object_elf(file->object), common) : NULL;
	return lines || !file->debug ? lines : source_lines_new(object_elf(file->debug), common);
}

static void close_lines(struct symbol_file *file)
{
	source_lines_free(file->lines);
	file->lines = NULL;
}

/* Closes those that were not asked for longest, never `keep`. */
static void make_room(struct symbol_files *files, const struct symbol_file *keep)
{
	for (;;) {
		struct symbol_file *file, *next, *oldest = NULL;
		size_t bytes = 0;
		HASH_ITER (hh, files->files, file, next) {
			bytes += file->lines ? source_lines_bytes(file->lines) : 0;
			if (file->lines && file != keep &&
			    (!oldest || file->last_used < oldest->last_used))
				oldest = file;
		}
		if (!oldest || bytes <= BYTES_MAX)
			return;
		close_lines(oldest);
	}
}

struct source_lines *file_lines_open(struct symbol_files *files, struct symbol_file *file)
{
	if (!file->lines && !file->has_no_lines) {
		file->lines = open_lines(file);
		file->has_no_lines = !file->lines;
		make_room(files, file);
	}
	return file->lines;
}

bool file_lines_lack(struct symbol_files *files, struct symbol_file *file, enum debug_file *which)
{
	*which = DEBUG_FILE_OWN;
	if (!file_lines_open(files, file))
		return !file->was_asked_debug;
	if (file->was_asked_common || !source_lines_lack_common(file->lines))
		return false;
	*which = file->debug && source_lines_elf(file->lines) == object_elf(file->debug)
			 ? DEBUG_FILE_COMMON_OF_DEBUG
			 : DEBUG_FILE_COMMON_OF_MODULE;
	return true;
}

size_t file_lines_find(struct symbol_files *files, struct symbol_file *file, uint64_t elf_address,
		       struct source_frame *frames, size_t most)
{
	struct source_lines *lines = file_lines_open(files, file);
	return lines ? source_lines_find(lines, elf_address, frames, most) : 0;
}
