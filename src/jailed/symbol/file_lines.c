/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/file_lines.h>

#include <stdlib.h>

#include <ctop/elf/go_lines.h>
#include <ctop/elf/object.h>

/* What libdw has made of DWARF, of all files. */
#define BYTES_MAX ((size_t)160 << 20)
/* Marks ids of calls that Go's runtime knows; those of DWARF are offsets in a section. */
#define CALL_OF_GO (UINT64_C(1) << 63)

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

/* Some damage shows only when it is read. */
static void note_damage(struct symbol_file *file)
{
	if (file->lines && source_lines_are_damaged(file->lines) &&
	    file->names.missing == NAMES_MISSING_NOTHING)
		file->names.missing = NAMES_MISSING_LINES;
}

/* NULL: there are none. */
static struct source_lines *open_dwarf(struct symbol_files *files, struct symbol_file *file)
{
	if (!file->lines && !file->has_no_lines) {
		file->lines = open_lines(file);
		file->has_no_lines = !file->lines;
		note_damage(file);
		make_room(files, file);
	}
	return file->lines;
}

bool file_lines_lack(struct symbol_files *files, struct symbol_file *file, enum debug_file *which)
{
	*which = DEBUG_FILE_OWN;
	if (!open_dwarf(files, file))
		return !file->was_asked_debug;
	if (file->was_asked_common || !source_lines_lack_common(file->lines))
		return false;
	*which = file->debug && source_lines_elf(file->lines) == object_elf(file->debug)
			 ? DEBUG_FILE_COMMON_OF_DEBUG
			 : DEBUG_FILE_COMMON_OF_MODULE;
	return true;
}

bool file_lines_lack_split(struct symbol_files *files, struct symbol_file *file,
			   uint64_t elf_address, uint64_t *id, enum debug_file *which)
{
	struct source_lines *lines = open_dwarf(files, file);
	if (!lines || split_objects_give(&file->splits, lines, elf_address, id))
		return false;
	*which = file->debug && source_lines_elf(lines) == object_elf(file->debug)
			 ? DEBUG_FILE_SPLIT_OF_DEBUG
			 : DEBUG_FILE_SPLIT_OF_MODULE;
	return true;
}

bool file_lines_still_hold(struct symbol_file *file)
{
	struct split_object *changed =
		file->lines ? split_objects_changed(&file->splits, file->lines) : NULL;
	if (!changed)
		return symbol_file_still_holds(file);
	close_lines(file);
	object_free(changed->object);
	changed->object = NULL;
	return false;
}

/* NULL: it is no Go program. */
static struct go_lines *open_go(struct symbol_file *file)
{
	if (file->go_lines || file->is_not_go || !file->object)
		return file->go_lines;
	file->go_lines = malloc(sizeof(*file->go_lines));
	if (file->go_lines && !go_lines_open(file->go_lines, object_elf(file->object))) {
		free(file->go_lines);
		file->go_lines = NULL;
	}
	file->is_not_go = !file->go_lines;
	return file->go_lines;
}

static size_t find_go(struct symbol_file *file, uint64_t elf_address, struct source_frame *frames,
		      size_t most)
{
	struct go_place places[SOURCE_FRAMES_MAX];
	struct go_lines *lines = open_go(file);
	if (!lines)
		return 0;
	const size_t nr =
		go_lines_find(lines, elf_address, places,
			      most < SOURCE_FRAMES_MAX ? most : (size_t)SOURCE_FRAMES_MAX);
	for (size_t i = 0; i < nr; i++)
		frames[i] = (struct source_frame){
			.function = places[i].function,
			.file = places[i].file,
			.line = places[i].line,
		};
	return nr;
}

size_t file_lines_find(struct symbol_files *files, struct symbol_file *file, uint64_t elf_address,
		       struct source_frame *frames, size_t most)
{
	struct source_lines *lines = open_dwarf(files, file);
	const size_t nr = lines ? source_lines_find(lines, elf_address, frames, most) : 0;
	note_damage(file);
	return nr ? nr : find_go(file, elf_address, frames, most);
}

bool file_lines_row(struct symbol_files *files, struct symbol_file *file, uint64_t elf_address,
		    struct source_row *row)
{
	struct source_lines *lines = open_dwarf(files, file);
	*row = (struct source_row){.file = "", .directory = "", .end = elf_address + 1};
	if (lines && source_lines_row(lines, elf_address, row))
		return true;
	struct go_place place;
	struct go_lines *go = open_go(file);
	if (!go)
		return false;
	const bool is_known = go_lines_row(go, elf_address, &place, &row->end);
	row->file = place.file;
	row->line = place.line;
	return is_known;
}

bool file_lines_inlined(struct symbol_files *files, struct symbol_file *file, uint64_t elf_address,
			struct source_inlined *inlined)
{
	struct source_lines *lines = open_dwarf(files, file);
	if (lines && source_lines_inlined(lines, elf_address, inlined))
		return true;
	struct go_lines *go = open_go(file);
	*inlined = (struct source_inlined){.end = elf_address + 1};
	if (!go || !go_lines_inlined(go, elf_address, &inlined->call, &inlined->end))
		return false;
	inlined->call |= inlined->call ? CALL_OF_GO : 0;
	return true;
}

bool file_lines_call(struct symbol_file *file, uint64_t id, struct source_call *call)
{
	struct go_place place;
	if (!(id & CALL_OF_GO))
		return file->lines && source_lines_call(file->lines, id, call);
	*call = (struct source_call){0};
	if (!file->go_lines ||
	    !go_lines_call(file->go_lines, id & ~CALL_OF_GO, &place, &call->outer))
		return false;
	call->function = place.function;
	call->file = place.file;
	call->line = place.line;
	call->outer |= call->outer ? CALL_OF_GO : 0;
	return true;
}
