/* SPDX-License-Identifier: MIT */
#include "symbolizer_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/fault.h>
#include <ctop/base/vec.h>
#include <ctop/elf/object.h>
#include <ctop/symbol/elf_symbols.h>
#include <ctop/symbol/name_cache.h>

/*
 * A frame is looked at once it is published. If its module's file is read, it
 * gets its row at once; else it waits in the module's list, the file is asked
 * for, and the list is worked off when the answer has come. Only frames of a
 * JIT stay in their list without a name: the map may name them when it has
 * grown.
 */

/* A perf map that isn't there is looked for again at each refresh; where there are more than so many of them, after 1, 2, 4, ... and
 * then every so many. */
enum { MAPS_LOOKED_FOR = 16, REFRESHES_SKIPPED_MAX = 8 };
/* After a function began to run. */
#define TOLD_LATE_NS NS_PER_SECOND

/* ---- life ---- */

struct symbolizer *symbolizer_new(const struct symbolizer_requests *requests)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	if (!symbolizer)
		return NULL;
	symbolizer->requests = *requests;
	symbolizer->names = name_cache_new();
	if (symbolizer->names)
		return symbolizer;
	symbolizer_free(symbolizer);
	return NULL;
}

static void clear_modules(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < symbolizer->modules.nr; i++)
		free(symbolizer->modules.items[i].items);
	symbolizer->modules.nr = 0;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	clear_modules(symbolizer);
	free(symbolizer->modules.items);
	symbols_writer_free(symbolizer->writer);
	hot_frames_release(&symbolizer->hot);
	code_copies_release(&symbolizer->copies);
	hot_functions_release(&symbolizer->hot_code);
	symbol_files_release(&symbolizer->files);
	name_cache_free(symbolizer->names);
	free(symbolizer);
}

int symbolizer_begin_epoch(struct symbolizer *symbolizer, const struct tables *tables,
			   struct symbols *symbols)
{
	clear_modules(symbolizer);
	symbol_files_begin_epoch(&symbolizer->files);
	symbolizer->in_parts.file = NULL;
	symbolizer->wants_all = (struct module_id){0};
	symbols_writer_free(symbolizer->writer);
	hot_frames_release(&symbolizer->hot);
	code_copies_release(&symbolizer->copies);
	hot_functions_release(&symbolizer->hot_code);
	symbolizer->has_kept_code = false;
	symbolizer->symbols = NULL;
	symbolizer->next_frame = 1; /* frame 0 is none */
	symbolizer->nr_pending = 0;
	symbolizer->has_ripe = false;
	symbolizer->writer = symbols_writer_new(symbols);
	if (!symbolizer->writer)
		return -ENOMEM;
	tables_reader_init(&symbolizer->reader, tables);
	tables_reader_refresh(&symbolizer->reader);
	symbolizer->symbols = symbols;
	return 0;
}

/* ---- modules ---- */

/* Room for every module row published so far. */
static int grow_modules(struct symbolizer *symbolizer)
{
	size_t nr = symbolizer->reader.nr[TABLE_MODULES];
	if (nr <= symbolizer->modules.nr)
		return 0;
	if (vec_reserve(&symbolizer->modules, nr))
		return -ENOMEM;
	memset(symbolizer->modules.items + symbolizer->modules.nr, 0,
	       (nr - symbolizer->modules.nr) * sizeof(*symbolizer->modules.items));
	symbolizer->modules.nr = nr;
	return 0;
}

/* The row, with what it says of sizes checked. False when the id means no
 * module. */
static bool read_module_row(const struct symbolizer *symbolizer, struct module_id id,
			    struct module_row *row)
{
	if (!tables_module(&symbolizer->reader, id, row) || row->kind == MODULE_NONE ||
	    row->kind >= NR_MODULE_KINDS)
		return false;
	if (row->identity.build_id_size > BUILD_ID_MAX)
		row->identity.build_id_size = 0;
	return true;
}

int symbolizer_module_of(struct symbolizer *symbolizer, struct module_id id, struct module **module)
{
	struct module_row row;
	if (!read_module_row(symbolizer, id, &row))
		return -ENOENT;
	if (grow_modules(symbolizer))
		return -ENOMEM;
	*module = &symbolizer->modules.items[id.index];
	if ((*module)->file)
		return 0;
	/* The table is shared memory: what is hashed is a copy. */
	char *path = strndup(tables_string(&symbolizer->reader, row.path), SYMBOL_NAME_MAX);
	if (!path)
		return -ENOMEM;
	(*module)->by_offset = row.by_offset;
	(*module)->file = symbol_files_get(&symbolizer->files, &row, path);
	free(path);
	return (*module)->file ? 0 : -ENOMEM;
}

void symbolizer_ask(struct symbolizer *symbolizer, struct symbol_file *file, struct module_id id)
{
	struct module_row row;
	if (file->asked != ASKED_NOTHING || !read_module_row(symbolizer, id, &row))
		return;
	file->asked = ASKED_FILE;
	file->frames_asked = symbolizer->reader.nr[TABLE_FRAMES];
	symbolizer->requests.need_module(symbolizer->requests.context, id, &row);
}

/* ---- naming ---- */

void symbolizer_tell_reading(const struct symbolizer *symbolizer, struct module_id id)
{
	if (symbolizer->requests.reading)
		symbolizer->requests.reading(symbolizer->requests.context, id);
}

static void tell_read(const struct symbolizer *symbolizer)
{
	symbolizer_tell_reading(symbolizer, (struct module_id){0});
}

const char *symbolizer_path_of(const struct symbolizer *symbolizer, struct module_id id)
{
	struct module_row row;
	return read_module_row(symbolizer, id, &row) ? tables_string(&symbolizer->reader, row.path)
						     : "";
}

static void set_row(struct symbolizer *symbolizer, uint32_t frame, enum symbol_state state,
		    const struct symbol_hit *hit, uint32_t offset)
{
	const char *name = hit ? hit->name : NULL, *module = hit ? hit->module : NULL;
	int result = symbols_set(symbolizer->writer, (struct frame_id){frame}, state, name, module,
				 offset);
	/* No room for more names: the frame shows its address. Without even a
   * row there is nothing to show. */
	if (result == -ENOSPC || result == -ENOMEM)
		symbols_set(symbolizer->writer, (struct frame_id){frame}, SYMBOL_UNKNOWN, NULL,
			    NULL, UINT32_MAX);
}

static void set_nameless(struct symbolizer *symbolizer, uint32_t frame, enum symbol_state state)
{
	set_row(symbolizer, frame, state, NULL, UINT32_MAX);
}

static uint32_t offset_from(uint64_t start, uint64_t address)
{
	uint64_t offset = address - start;
	return offset < UINT32_MAX ? (uint32_t)offset : UINT32_MAX;
}

static void set_named(struct symbolizer *symbolizer, uint32_t frame, const struct symbol_file *file,
		      const struct symbol_hit *found, uint64_t address)
{
	struct symbol_hit shown = *found;
	/* A JIT's names are its own words. */
	if (file->key.kind != MODULE_ANON)
		shown.name = name_cache_show(symbolizer->names, found->name, found->by_ada);
	set_row(symbolizer, frame, SYMBOL_NAMED, &shown, offset_from(found->start, address));
	/* Other generated code may be there when lines have their turn. */
	const struct symbol_line line = {NULL, found->file, found->line};
	if (file->key.kind == MODULE_ANON)
		symbols_set_lines(symbolizer->writer, (struct frame_id){frame}, &line,
				  found->file != NULL);
}

/* Looks a frame up in a file that was read or could not be. False when it stays
 * in its list. */
static bool name_frame(struct symbolizer *symbolizer, const struct module *module,
		       struct module_id id, struct waiting_frame *waiting)
{
	struct symbol_file *file = module->file;
	char name[SYMBOL_NAME_MAX];
	struct frame_row row;
	struct symbol_hit hit;
	tables_frame(&symbolizer->reader, (struct frame_id){waiting->frame}, &row);
	if (file->state == SYMBOL_FILE_FAILED) {
		set_nameless(symbolizer, waiting->frame, SYMBOL_NO_MODULE);
		return true;
	}
	bool has_address =
		!module->by_offset || symbol_file_address(file, row.address, &row.address);
	/* Of a dump that was read before, what it has there may have made room for what is there now. */
	const bool is_older = file->dump && waiting->frame >= file->frames_covered;
	/* A JIT may tell of a function some time after it began to run. */
	bool found = has_address && !is_older &&
		     (symbol_file_find(file, row.address, waiting->seen_ns, &hit) ||
		      (file->dump &&
		       symbol_file_find(file, row.address, waiting->seen_ns + TOLD_LATE_NS, &hit)));
	if (found && file->object) {
		snprintf(name, sizeof(name), "%.*s", (int)sizeof(name) - 1, hit.name);
		hit.name = name;
	}
	if (!found && symbol_file_may_have_more(file)) {
		symbolizer->wants_all = id;
		return false;
	}
	/* Its row has the address in the file, by which nothing is named. */
	uint64_t start;
	bool bound = !found && !module->by_offset && symbol_file_bound(file, row.address, &start);
	if ((found || bound) && !symbol_file_still_holds(file)) {
		symbolizer->nr_changed++;
		set_nameless(symbolizer, waiting->frame, SYMBOL_NO_MODULE);
		return true;
	}
	if (found) {
		set_named(symbolizer, waiting->frame, file, &hit, row.address);
		return true;
	}
	if (bound) {
		set_row(symbolizer, waiting->frame, SYMBOL_BOUNDED, NULL,
			offset_from(start, row.address));
		return true;
	}
	/* A perf map that is older than the frame says nothing about it: the next one
   * decides. */
	bool may_decide = file->key.kind != MODULE_ANON || waiting->frame < file->frames_covered;
	if (may_decide && !waiting->is_final) {
		set_nameless(symbolizer, waiting->frame, SYMBOL_UNKNOWN);
		waiting->is_final = true;
		symbolizer->nr_pending--;
	}
	return file->key.kind != MODULE_ANON;
}

/* Looks up at most max frames of a module's list. Returns how many. */
static size_t work_off(struct symbolizer *symbolizer, struct module *module, struct module_id id,
		       size_t max)
{
	struct symbol_file *file = module->file;
	size_t done = 0;
	if (!file || !module->nr)
		return 0;
	if (module->version != file->version) {
		module->version = file->version;
		module->nr_looked_up = 0;
	}
	if (module->nr_looked_up == module->nr)
		return 0;
	if (file->state == SYMBOL_FILE_NONE) {
		symbolizer_ask(symbolizer, file, id); /* unless it is under way */
		return 0;
	}
	file->last_used = ++symbolizer->files.clock;
	symbolizer_tell_reading(symbolizer, id);
	for (; done < max && module->nr_looked_up < module->nr; done++) {
		struct waiting_frame *waiting = &module->items[module->nr_looked_up];
		if (file->state == SYMBOL_FILE_READY)
			fault_at("name", symbolizer_path_of(symbolizer, id), NULL);
		if (!name_frame(symbolizer, module, id, waiting)) {
			module->nr_looked_up++;
			continue;
		}
		symbolizer->nr_pending -= !waiting->is_final;
		*waiting = module->items[--module->nr];
	}
	tell_read(symbolizer);
	symbols_set_module(symbolizer->writer, id, &file->names);
	return done;
}

/* Continues with the lists whose files have come. */
static size_t work_off_ripe(struct symbolizer *symbolizer, size_t max)
{
	size_t done = 0;
	if (!symbolizer->has_ripe)
		return 0;
	for (; symbolizer->next_ripe < symbolizer->modules.nr; symbolizer->next_ripe++) {
		const struct module_id id = {(uint32_t)symbolizer->next_ripe};
		done += work_off(symbolizer, &symbolizer->modules.items[id.index], id, max - done);
		if (done == max)
			return done;
	}
	symbolizer->has_ripe = false;
	return done;
}

static void set_ripe(struct symbolizer *symbolizer)
{
	symbolizer->has_ripe = true;
	symbolizer->next_ripe = 0;
}

static void end_answer(struct symbolizer *symbolizer, struct symbol_file *file)
{
	file->last_used = ++symbolizer->files.clock;
	symbol_files_make_room(&symbolizer->files, file);
	set_ripe(symbolizer);
}

/* ---- frames ---- */

static int wait_for_file(struct symbolizer *symbolizer, struct module *module, uint32_t frame,
			 uint32_t seen, bool is_final)
{
	const uint64_t seen_ns = frame_seen_ns(seen, clock_now_ns());
	if (vec_reserve(module, module->nr + 1))
		return -ENOMEM;
	module->items[module->nr++] = (struct waiting_frame){frame, is_final, seen_ns};
	symbolizer->nr_pending += !is_final;
	return 0;
}

static void look_at(struct symbolizer *symbolizer, uint32_t frame)
{
	struct frame_row row;
	struct module *module;
	uint32_t state = symbols_row(symbolizer->symbols, (struct frame_id){frame}).state;
	tables_frame(&symbolizer->reader, (struct frame_id){frame}, &row);
	int result = symbolizer_module_of(symbolizer, row.module, &module);
	/* A predecessor may have had it; then only a JIT's frame may still get a
   * name. */
	if (state != SYMBOL_PENDING &&
	    (result || state == SYMBOL_NAMED || module->file->key.kind != MODULE_ANON))
		return;
	if (!result)
		result =
			wait_for_file(symbolizer, module, frame, row.seen, state != SYMBOL_PENDING);
	if (!result)
		work_off(symbolizer, module, row.module, 1);
	else if (state == SYMBOL_PENDING)
		set_nameless(symbolizer, frame,
			     result == -ENOENT ? SYMBOL_NO_MODULE : SYMBOL_UNKNOWN);
}

/* The kernel's names come when no other name can: of what is sampled they are the least, and take longest. 1, or 0: nothing is being read. */
static size_t read_part(struct symbolizer *symbolizer)
{
	struct symbol_file *file = symbolizer->in_parts.file;
	if (!file)
		return 0;
	symbolizer_tell_reading(symbolizer, symbolizer->in_parts.id);
	const int result = symbol_file_read_part(file);
	tell_read(symbolizer);
	if (result <= 0) {
		symbolizer->in_parts.file = NULL;
		end_answer(symbolizer, file);
	}
	return 1;
}

/* Kept names lack what the kernel makes while it runs: its own text is asked for. */
static void ask_for_all(struct symbolizer *symbolizer)
{
	const struct module_id id = symbolizer->wants_all;
	struct symbol_file *file = id.index ? symbolizer->modules.items[id.index].file : NULL;
	if (!file || file->asked != ASKED_NOTHING)
		return;
	symbolizer->wants_all = (struct module_id){0};
	if (symbol_file_may_have_more(file))
		symbolizer_ask(symbolizer, file, id);
}

size_t symbolizer_work(struct symbolizer *symbolizer, size_t max_frames)
{
	if (!symbolizer->symbols)
		return 0;
	tables_reader_refresh(&symbolizer->reader);
	size_t done = work_off_ripe(symbolizer, max_frames);
	while (done < max_frames && symbolizer->next_frame < symbolizer->reader.nr[TABLE_FRAMES]) {
		look_at(symbolizer, symbolizer->next_frame++);
		done++;
	}
	ask_for_all(symbolizer);
	return done ? done : read_part(symbolizer);
}

/* Whether frames of the module wait for its perf map to name them. */
static bool waits_for_map(const struct module *module)
{
	return module->file && module->file->key.kind == MODULE_ANON && module->nr;
}

static size_t count_maps_awaited(const struct symbolizer *symbolizer)
{
	size_t nr = 0;
	for (size_t i = 0; i < symbolizer->modules.nr; i++)
		nr += waits_for_map(&symbolizer->modules.items[i]);
	return nr;
}

void symbolizer_refresh(struct symbolizer *symbolizer)
{
	bool are_few = count_maps_awaited(symbolizer) <= MAPS_LOOKED_FOR;
	for (size_t i = 0; i < symbolizer->modules.nr; i++) {
		const struct module *module = &symbolizer->modules.items[i];
		struct symbol_file *file = module->file;
		if (!waits_for_map(module) || file->asked != ASKED_NOTHING)
			continue;
		if (file->refreshes_to_skip && !are_few)
			file->refreshes_to_skip--;
		else
			symbolizer_ask(symbolizer, file, (struct module_id){(uint32_t)i});
	}
}

void symbolizer_look_again(struct symbolizer *symbolizer)
{
	symbolizer->looks_again = true;
	for (size_t i = 0; i < symbolizer->modules.nr; i++)
		if (waits_for_map(&symbolizer->modules.items[i]))
			symbolizer_ask(symbolizer, symbolizer->modules.items[i].file,
				       (struct module_id){(uint32_t)i});
}

bool symbolizer_has_looked_again(const struct symbolizer *symbolizer)
{
	if (!symbolizer->looks_again || symbolizer->has_ripe)
		return false;
	for (size_t i = 0; i < symbolizer->modules.nr; i++) {
		const struct module *module = &symbolizer->modules.items[i];
		if (waits_for_map(module) && module->file->asked != ASKED_NOTHING)
			return false;
	}
	return true;
}

uint64_t symbolizer_nr_changed(const struct symbolizer *symbolizer)
{
	return symbolizer->nr_changed;
}

bool symbolizer_idle(const struct symbolizer *symbolizer)
{
	if (!symbolizer->symbols)
		return true;
	struct tables_reader reader;
	tables_reader_init(&reader, symbolizer->reader.tables);
	tables_reader_refresh(&reader);
	return !symbolizer->nr_pending && symbolizer->next_frame >= reader.nr[TABLE_FRAMES];
}

/* ---- answers ---- */

/* The file that an answer is for; NULL when nobody asked. */
static struct symbol_file *asked_file(const struct symbolizer *symbolizer, struct module_id id,
				      enum symbol_file_asked asked)
{
	if (!symbolizer->symbols || id.index >= symbolizer->modules.nr)
		return NULL;
	struct symbol_file *file = symbolizer->modules.items[id.index].file;
	return file && file->asked == asked ? file : NULL;
}

static int refuse(int fd)
{
	if (fd >= 0)
		close(fd);
	return -EINVAL;
}

static void space_out_refreshes(struct symbol_file *file, bool is_there)
{
	uint32_t skip = file->refreshes_skipped_last * 2 + 1;
	if (is_there)
		skip = 0;
	file->refreshes_to_skip = skip < REFRESHES_SKIPPED_MAX ? skip : REFRESHES_SKIPPED_MAX;
	file->refreshes_skipped_last = file->refreshes_to_skip;
}

bool symbolizer_ask_debug(struct symbolizer *symbolizer, struct symbol_file *file,
			  struct module_id id, enum debug_file which, enum symbol_file_asked asked)
{
	static const struct object_identity of_kernel; /* whose build-id main knows */
	const struct object_identity *identity =
		file->object ? object_identity(file->object) : &of_kernel;
	const char *debuglink = file->object ? elf_debuglink(object_elf(file->object)) : "";
	if (file->key.kind != MODULE_KERNEL && !identity->build_id_size && !debuglink[0] &&
	    which != DEBUG_FILE_COMMON_OF_MODULE && which != DEBUG_FILE_SPLIT_OF_MODULE)
		return false;
	file->asked = asked;
	symbolizer->requests.need_debug_file(symbolizer->requests.context, id, which,
					     identity->build_id, identity->build_id_size, debuglink,
					     file->asked_split);
	return true;
}

int symbolizer_give_module(struct symbolizer *symbolizer, struct module_id module, int fd,
			   int error)
{
	struct symbol_file *file = asked_file(symbolizer, module, ASKED_FILE);
	if (!file)
		return refuse(fd);
	symbolizer_tell_reading(symbolizer, module);
	if (fd >= 0)
		fault_at("file", symbolizer_path_of(symbolizer, module), NULL);
	int result = symbol_file_give(file, fd, error);
	symbolizer->nr_changed += result == -EBUSY;
	/* Without .symtab the functions that nobody exports are in its debug file. */
	if (result == 1 &&
	    symbolizer_ask_debug(symbolizer, file, module, DEBUG_FILE_OWN, ASKED_DEBUG_FILE))
		result = 0;
	else if (result == 1)
		result = symbol_file_give_debug(file, -1);
	tell_read(symbolizer);
	if (file->asked == BEING_READ) {
		symbolizer->in_parts.file = file;
		symbolizer->in_parts.id = module;
	}
	if (file->key.kind == MODULE_ANON)
		space_out_refreshes(file, result == 0);
	end_answer(symbolizer, file);
	return result == -ENOMEM ? result : 0;
}

/* What lines alone need. */
static void give_debug_lines(struct symbolizer *symbolizer, struct symbol_file *file,
			     struct module_id module, int fd)
{
	/* It may have changed since, and be dropped. */
	if (file->state != SYMBOL_FILE_READY) {
		file->asked = ASKED_NOTHING;
		refuse(fd);
		return;
	}
	symbolizer_tell_reading(symbolizer, module);
	if (file->asked == ASKED_COMMON)
		symbol_file_give_common(file, fd);
	else if (file->asked == ASKED_SPLIT)
		symbol_file_give_split(file, file->asked_split, fd);
	else
		symbol_file_give_debug_lines(file, fd);
	symbols_set_module(symbolizer->writer, module, &file->names);
	tell_read(symbolizer);
}

int symbolizer_give_debug_file(struct symbolizer *symbolizer, struct module_id module, int fd,
			       int error)
{
	(void)error;
	struct symbol_file *file = asked_file(symbolizer, module, ASKED_DEBUG_FILE);
	struct symbol_file *lined = asked_file(symbolizer, module, ASKED_DEBUG_LINES);
	lined = lined ? lined : asked_file(symbolizer, module, ASKED_COMMON);
	lined = lined ? lined : asked_file(symbolizer, module, ASKED_SPLIT);
	if (lined) {
		give_debug_lines(symbolizer, lined, module, fd);
		return 0;
	}
	if (!file)
		return refuse(fd);
	symbolizer_tell_reading(symbolizer, module);
	int result = symbol_file_give_debug(file, fd);
	symbolizer->nr_changed += result == -EBUSY;
	tell_read(symbolizer);
	end_answer(symbolizer, file);
	return result == -ENOMEM ? result : 0;
}
