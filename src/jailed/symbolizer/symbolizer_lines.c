/* SPDX-License-Identifier: MIT */
/*
 * The lines of frames whose names are known, and the functions that were inlined there. It takes far more time than names: a
 * module's DWARF is large. So it is done when there is nothing else to do, the hottest frames first.
 */
#include "symbolizer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/fault.h>
#include <ctop/symbol/file_lines.h>
#include <ctop/symbol/name_cache.h>

int symbolizer_want_lines(struct symbolizer *symbolizer)
{
	return symbolizer->symbols ? hot_frames_begin(&symbolizer->hot, symbolizer->reader.tables)
				   : 0;
}

/* The file may be cut or written to meanwhile: what is kept is a copy. NULL: out of memory. */
static char *copy_name(struct symbolizer *symbolizer, const char *function)
{
	const char *name = name_cache_show(symbolizer->names, function, false);
	return strdup(name[0] ? name : "[unknown]");
}

/* The innermost first, as found, to the outermost first, as kept. 0 or -ENOMEM. */
static int copy_lines(struct symbolizer *symbolizer, const struct source_frame *found, size_t nr,
		      struct symbol_line *lines)
{
	for (size_t i = 0; i < nr; i++) {
		const struct source_frame *frame = &found[nr - 1 - i];
		char *function = i ? copy_name(symbolizer, frame->function) : NULL;
		char *file = strndup(frame->file, SYMBOL_NAME_MAX);
		lines[i] = (struct symbol_line){function, file, frame->line};
		if (!file || (i && !function))
			return -ENOMEM;
	}
	return 0;
}

static void free_lines(struct symbol_line *lines, size_t nr)
{
	for (size_t i = 0; i < nr; i++) {
		free((char *)(uintptr_t)lines[i].function);
		free((char *)(uintptr_t)lines[i].file);
	}
}

static void find_lines(struct symbolizer *symbolizer, uint32_t frame, struct symbol_file *file,
		       uint64_t address)
{
	struct source_frame found[SOURCE_FRAMES_MAX];
	struct symbol_line lines[SOURCE_FRAMES_MAX] = {{0}};
	_Static_assert((int)SOURCE_FRAMES_MAX <= (int)SYMBOLS_LINES_MAX, "all of them have room");
	size_t nr = file_lines_find(&symbolizer->files, file, address, found, SOURCE_FRAMES_MAX);
	int result = copy_lines(symbolizer, found, nr, lines);
	if (nr && !file_lines_still_hold(file)) {
		symbolizer->nr_changed++;
		result = -ESTALE;
	}
	symbols_set_lines(symbolizer->writer, (struct frame_id){frame}, lines, result ? 0 : nr);
	free_lines(lines, nr);
}

/*
 * Names do not say so, but its lines may be in its debug file, where it was stripped of these alone, and some of both in a file of dwz's. False:
 * that is awaited.
 */
static bool has_files(struct symbolizer *symbolizer, struct symbol_file *file, struct module_id id)
{
	enum debug_file which;
	/* One question at a time: the answer to another, as for more of the kernel's names, would not be known any more. */
	if (file->asked != ASKED_NOTHING)
		return false;
	if (!file_lines_lack(&symbolizer->files, file, &which))
		return true;
	if (symbolizer_ask_debug(symbolizer, file, id, which,
				 which == DEBUG_FILE_OWN ? ASKED_DEBUG_LINES : ASKED_COMMON))
		return false;
	file->was_asked_debug = file->was_asked_common = true;
	return true;
}

/* The same of the file that -gsplit-dwarf has put the functions at an address into; where nobody can be asked for it, it is done without. */
static bool has_split(struct symbolizer *symbolizer, struct symbol_file *file, struct module_id id,
		      uint64_t address)
{
	enum debug_file which;
	uint64_t unit;
	if (!file_lines_lack_split(&symbolizer->files, file, address, &unit, &which))
		return true;
	file->asked_split = unit;
	if (symbolizer_ask_debug(symbolizer, file, id, which, ASKED_SPLIT))
		return false;
	symbol_file_give_split(file, unit, -1);
	return !file_lines_lack_split(&symbolizer->files, file, address, &unit, &which);
}

/* False: a file is not there yet. */
static bool find_in(struct symbolizer *symbolizer, uint32_t frame, const struct module *module,
		    struct frame_row *row)
{
	struct symbol_file *file = module->file;
	const bool has_address =
		!module->by_offset || symbol_file_address(file, row->address, &row->address);
	if (!has_files(symbolizer, file, row->module) ||
	    (has_address && !has_split(symbolizer, file, row->module, row->address)))
		return false;
	if (has_address && symbol_file_line_address(file, row->address, &row->address))
		find_lines(symbolizer, frame, file, row->address);
	else
		symbols_set_lines(symbolizer->writer, (struct frame_id){frame}, NULL, 0);
	return true;
}

/* False: its file is not there yet. */
static bool look_up(struct symbolizer *symbolizer, uint32_t frame)
{
	const struct frame_id id = {frame};
	struct frame_row row;
	struct module *module;
	tables_frame(&symbolizer->reader, id, &row);
	if (symbols_has_looked_up_lines(symbolizer->symbols, id))
		return true; /* a predecessor did, or they came with the name */
	const int result = symbolizer_module_of(symbolizer, row.module, &module);
	if (!result && module->file->key.kind == MODULE_ANON)
		return true; /* or will yet */
	if (result ||
	    (module->file->key.kind != MODULE_FILE && module->file->key.kind != MODULE_KERNEL) ||
	    module->file->state == SYMBOL_FILE_FAILED) {
		symbols_set_lines(symbolizer->writer, id, NULL, 0);
		return true;
	}
	struct symbol_file *file = module->file;
	if (file->state == SYMBOL_FILE_NONE) {
		symbolizer_ask(symbolizer, file, row.module);
		return false;
	}
	file->last_used = ++symbolizer->files.clock;
	symbolizer_tell_reading(symbolizer, row.module);
	fault_at("lines", symbolizer_path_of(symbolizer, row.module), NULL);
	const uint32_t missing = file->names.missing;
	const bool is_done = find_in(symbolizer, frame, module, &row);
	if (file->names.missing != missing) /* what was read is damaged */
		symbols_set_module(symbolizer->writer, row.module, &file->names);
	symbolizer_tell_reading(symbolizer, (struct module_id){0});
	return is_done;
}

size_t symbolizer_look_up_lines(struct symbolizer *symbolizer, size_t most)
{
	size_t done = 0;
	bool has_chosen = false;
	if (!symbolizer->symbols || !symbolizer->hot.tables)
		return 0;
	while (done < most) {
		uint32_t frame = hot_frames_next(&symbolizer->hot);
		/* Once: those that wait for their files are chosen again by the next call. */
		if (!frame && (has_chosen || done))
			break;
		if (!frame && !hot_frames_choose(&symbolizer->hot, &symbolizer->reader))
			break;
		has_chosen |= !frame;
		if (!frame || !look_up(symbolizer, frame))
			continue;
		hot_frames_finish(&symbolizer->hot, frame);
		done++;
	}
	return done;
}

bool symbolizer_has_lines(const struct symbolizer *symbolizer)
{
	if (!symbolizer->symbols || !symbolizer->hot.tables)
		return true;
	struct tables_reader reader;
	tables_reader_init(&reader, symbolizer->reader.tables);
	tables_reader_refresh(&reader);
	return hot_frames_are_done(&symbolizer->hot, &reader);
}
