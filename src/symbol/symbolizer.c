/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/symbolizer.h>

#include <errno.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/vec.h>
#include <ctop/object/object.h>

#include "elf_symbols.h"
#include "function_table.h"

/* Demangled names beyond this are cut: nobody reads further. */
enum { NAME_MAX_BYTES = 4096 };

enum source_state {
	SOURCE_UNASKED,
	SOURCE_ASKED,
	SOURCE_DEBUG_ASKED, /* the file has no .symtab: its separate debug file may */
	SOURCE_READY,
	SOURCE_FAILED,
};

struct frame_list {
	uint32_t *items;
	size_t nr, capacity;
};

/* Where the names of one module come from; shared by epochs and by modules of equal identity. */
struct source {
	struct source *next;
	struct module_row row; /* its identity */
	char *path;
	enum source_state state;
	struct function_table functions;
	struct object *object, *debug; /* keep the names mapped */
	struct frame_list waiting; /* frames of this epoch that want a name from it */
	struct frame_list nameless; /* code without a file: a JIT may name it yet */
	struct module_id asked_as;
};

struct symbolizer {
	struct symbolizer_requests requests;
	struct source *sources;
	struct tables_reader reader;
	struct symbols *symbols;
	struct symbols_writer *writer;
	struct {
		struct source **items; /* by module id of this epoch */
		size_t nr, capacity;
	} by_module;
	uint32_t next_frame;
	size_t nr_waiting;
	bool has_epoch;
};

/* ---- sources ---- */

static void source_clear(struct source *source)
{
	function_table_release(&source->functions);
	object_free(source->object);
	object_free(source->debug);
	source->object = NULL;
	source->debug = NULL;
}

static void source_free(struct source *source)
{
	source_clear(source);
	free(source->waiting.items);
	free(source->nameless.items);
	free(source->path);
	free(source);
}

static bool same_identity(const struct source *source, const struct module_row *row,
			  const char *path)
{
	const struct module_row *own = &source->row;
	if (own->kind != row->kind)
		return false;
	if (row->kind == MODULE_KERNEL || row->kind == MODULE_VDSO)
		return true;
	if (row->kind == MODULE_ANON)
		return own->pid == row->pid;
	if (own->build_id_size && row->build_id_size)
		return own->build_id_size == row->build_id_size &&
		       memcmp(own->build_id, row->build_id, sizeof(own->build_id)) == 0;
	return own->build_id_size == row->build_id_size && own->inode == row->inode &&
	       own->device_major == row->device_major && own->device_minor == row->device_minor &&
	       strcmp(source->path, path) == 0;
}

/* The source of a module row; NULL: out of memory. */
static struct source *source_of_row(struct symbolizer *symbolizer, struct module_row *row)
{
	const char *shared = tables_string(&symbolizer->reader, row->path);
	char *path = strndup(shared, 4096);
	if (!path)
		return NULL;
	if (row->build_id_size > BUILD_ID_MAX)
		row->build_id_size = 0;
	struct source *source = symbolizer->sources;
	while (source && !same_identity(source, row, path))
		source = source->next;
	if (source) {
		free(path);
		return source;
	}
	source = calloc(1, sizeof(*source));
	if (!source) {
		free(path);
		return NULL;
	}
	source->row = *row;
	source->path = path;
	source->next = symbolizer->sources;
	symbolizer->sources = source;
	return source;
}

/* NULL with *error 0: the id is no module. */
static struct source *source_of(struct symbolizer *symbolizer, struct module_id id, int *error)
{
	struct module_row row;
	*error = 0;
	if (id.index < symbolizer->by_module.nr && symbolizer->by_module.items[id.index])
		return symbolizer->by_module.items[id.index];
	if (!id.index || !tables_module(&symbolizer->reader, id, &row) || row.kind == MODULE_NONE)
		return NULL;
	*error = -ENOMEM;
	size_t nr = (size_t)id.index + 1;
	if (nr > symbolizer->by_module.nr) {
		if (vec_reserve(&symbolizer->by_module, nr))
			return NULL;
		memset(symbolizer->by_module.items + symbolizer->by_module.nr, 0,
		       (nr - symbolizer->by_module.nr) * sizeof(struct source *));
		symbolizer->by_module.nr = nr;
	}
	struct source *source = source_of_row(symbolizer, &row);
	if (!source)
		return NULL;
	*error = 0;
	symbolizer->by_module.items[id.index] = source;
	return source;
}

/* ---- naming ---- */

static int set(struct symbolizer *symbolizer, uint32_t frame, enum symbol_state state,
	       const char *name, const char *module, uint32_t offset)
{
	const struct frame_id id = {frame};
	int result = symbols_set(symbolizer->writer, id, state, name, module, offset);
	/* No room for more names: the frame is told by its address. */
	if (result == -ENOSPC)
		result = symbols_set(symbolizer->writer, id, SYMBOL_UNKNOWN, NULL, NULL, UINT32_MAX);
	return result;
}

static int name_frame(struct symbolizer *symbolizer, struct source *source, uint32_t frame)
{
	struct frame_row row;
	char name[NAME_MAX_BYTES];
	tables_frame(&symbolizer->reader, (struct frame_id){frame}, &row);
	if (source->state == SOURCE_FAILED && source->row.kind != MODULE_ANON)
		return set(symbolizer, frame, SYMBOL_NO_MODULE, NULL, NULL, UINT32_MAX);
	const struct function_entry *entry =
		function_table_find(&source->functions, row.address);
	if (!entry) {
		if (source->row.kind == MODULE_ANON) {
			if (vec_reserve(&source->nameless, source->nameless.nr + 1))
				return -ENOMEM;
			source->nameless.items[source->nameless.nr++] = frame;
		}
		return set(symbolizer, frame, SYMBOL_UNKNOWN, NULL, NULL, UINT32_MAX);
	}
	uint64_t offset = row.address - entry->start;
	const char *module = entry->module ? source->functions.text + entry->module - 1 : NULL;
	return set(symbolizer, frame, SYMBOL_NAMED,
		   demangle(entry->name, name, sizeof(name)) ? name : entry->name, module,
		   offset < UINT32_MAX ? (uint32_t)offset : UINT32_MAX);
}

static int name_all(struct symbolizer *symbolizer, struct source *source, struct frame_list *list)
{
	struct frame_list frames = *list;
	int result = 0;
	*list = (struct frame_list){0};
	for (size_t i = 0; !result && i < frames.nr; i++)
		result = name_frame(symbolizer, source, frames.items[i]);
	free(frames.items);
	return result;
}

static int settle(struct symbolizer *symbolizer, struct source *source, enum source_state state)
{
	source->state = state;
	symbolizer->nr_waiting -= source->waiting.nr;
	return name_all(symbolizer, source, &source->waiting);
}

/* ---- files ---- */

static int read_elf(struct symbolizer *symbolizer, struct source *source, int fd)
{
	struct error ignored;
	bool has_symtab;
	source->object = object_open(fd, &ignored);
	if (!source->object)
		return settle(symbolizer, source, SOURCE_FAILED);
	Elf *elf = object_elf(source->object);
	if (elf_symbols_add(elf, &source->functions, &has_symtab))
		return -ENOMEM;
	function_table_finish(&source->functions);
	if (has_symtab)
		return settle(symbolizer, source, SOURCE_READY);
	const struct object_identity *identity = object_identity(source->object);
	source->state = SOURCE_DEBUG_ASKED;
	symbolizer->requests.need_debug_file(symbolizer->requests.context, source->asked_as,
					     identity->build_id, identity->build_id_size,
					     elf_debuglink(elf));
	return 0;
}

int symbolizer_give_module(struct symbolizer *symbolizer, struct module_id module, int fd,
			   int error)
{
	int ignored;
	(void)error;
	struct source *source = source_of(symbolizer, module, &ignored);
	if (!source || source->state == SOURCE_DEBUG_ASKED ||
	    (source->state == SOURCE_READY && source->row.kind != MODULE_ANON)) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	if (fd < 0)
		return settle(symbolizer, source, SOURCE_FAILED);
	switch (source->row.kind) {
	case MODULE_KERNEL:
		error = kallsyms_read(fd, &source->functions);
		return settle(symbolizer, source, error ? SOURCE_FAILED : SOURCE_READY);
	case MODULE_ANON:
		function_table_release(&source->functions);
		error = perf_map_read(fd, &source->functions);
		if (!error)
			error = name_all(symbolizer, source, &source->nameless);
		return error == -ENOMEM ? error : settle(symbolizer, source, SOURCE_READY);
	default:
		return read_elf(symbolizer, source, fd);
	}
}

int symbolizer_give_debug_file(struct symbolizer *symbolizer, struct module_id module, int fd,
			       int error)
{
	int ignored;
	struct error why;
	(void)error;
	struct source *source = source_of(symbolizer, module, &ignored);
	if (!source || source->state != SOURCE_DEBUG_ASKED) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	bool has_symtab;
	source->debug = fd >= 0 ? object_open(fd, &why) : NULL;
	if (source->debug) {
		if (elf_symbols_add(object_elf(source->debug), &source->functions, &has_symtab))
			return -ENOMEM;
		function_table_finish(&source->functions);
	}
	return settle(symbolizer, source, SOURCE_READY);
}

/* ---- life, and the work ---- */

struct symbolizer *symbolizer_new(const struct symbolizer_requests *requests)
{
	struct symbolizer *symbolizer = calloc(1, sizeof(*symbolizer));
	if (symbolizer)
		symbolizer->requests = *requests;
	return symbolizer;
}

void symbolizer_free(struct symbolizer *symbolizer)
{
	if (!symbolizer)
		return;
	for (struct source *source = symbolizer->sources, *next; source; source = next) {
		next = source->next;
		source_free(source);
	}
	symbols_writer_free(symbolizer->writer);
	free(symbolizer->by_module.items);
	free(symbolizer);
}

int symbolizer_begin_epoch(struct symbolizer *symbolizer, const struct tables *tables,
			   struct symbols *symbols)
{
	symbols_writer_free(symbolizer->writer);
	symbolizer->writer = symbols_writer_new(symbols);
	if (!symbolizer->writer)
		return -ENOMEM;
	symbolizer->symbols = symbols;
	tables_reader_init(&symbolizer->reader, tables);
	symbolizer->by_module.nr = 0;
	symbolizer->next_frame = 1;
	symbolizer->nr_waiting = 0;
	symbolizer->has_epoch = true;
	for (struct source *source = symbolizer->sources; source; source = source->next) {
		source->waiting.nr = 0;
		source->nameless.nr = 0;
		/* Answers to questions of the epoch before will not be recognised. */
		if (source->state == SOURCE_ASKED)
			source->state = SOURCE_UNASKED;
		else if (source->state == SOURCE_DEBUG_ASKED)
			source->state = SOURCE_READY;
	}
	return 0;
}

static void ask(struct symbolizer *symbolizer, struct source *source, struct module_id id)
{
	source->state = SOURCE_ASKED;
	source->asked_as = id;
	symbolizer->requests.need_module(symbolizer->requests.context, id, &source->row);
}

static int look_at(struct symbolizer *symbolizer, uint32_t frame)
{
	struct frame_row row;
	int error;
	/* A predecessor may have named it already. */
	if (symbols_row(symbolizer->symbols, (struct frame_id){frame}).state != SYMBOL_PENDING)
		return 0;
	tables_frame(&symbolizer->reader, (struct frame_id){frame}, &row);
	struct source *source = source_of(symbolizer, row.module, &error);
	if (!source)
		return error ? error
			     : set(symbolizer, frame, SYMBOL_NO_MODULE, NULL, NULL, UINT32_MAX);
	if (source->state == SOURCE_READY || source->state == SOURCE_FAILED)
		return name_frame(symbolizer, source, frame);
	if (vec_reserve(&source->waiting, source->waiting.nr + 1))
		return -ENOMEM;
	source->waiting.items[source->waiting.nr++] = frame;
	symbolizer->nr_waiting++;
	if (source->state == SOURCE_UNASKED)
		ask(symbolizer, source, row.module);
	return 0;
}

size_t symbolizer_work(struct symbolizer *symbolizer, size_t max_frames)
{
	if (!symbolizer->has_epoch)
		return 0;
	tables_reader_refresh(&symbolizer->reader);
	size_t done = 0;
	while (done < max_frames && symbolizer->next_frame < symbolizer->reader.nr[TABLE_FRAMES]) {
		/* Out of memory: the frame keeps no name, the rest goes on. */
		if (look_at(symbolizer, symbolizer->next_frame))
			set(symbolizer, symbolizer->next_frame, SYMBOL_UNKNOWN, NULL, NULL,
			    UINT32_MAX);
		symbolizer->next_frame++;
		done++;
	}
	return done;
}

void symbolizer_refresh(struct symbolizer *symbolizer)
{
	for (size_t i = 0; i < symbolizer->by_module.nr; i++) {
		struct source *source = symbolizer->by_module.items[i];
		if (source && source->row.kind == MODULE_ANON && source->nameless.nr)
			symbolizer->requests.need_module(
				symbolizer->requests.context,
				(struct module_id){(uint32_t)i}, &source->row);
	}
}

bool symbolizer_idle(const struct symbolizer *symbolizer)
{
	return !symbolizer->has_epoch || (symbolizer->nr_waiting == 0 &&
					  symbolizer->next_frame >=
						  symbolizer->reader.nr[TABLE_FRAMES]);
}
