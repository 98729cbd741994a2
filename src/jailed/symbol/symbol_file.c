/* SPDX-License-Identifier: MIT */
#include <ctop/symbol/symbol_file.h>

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/index.h>
#include <ctop/elf/object.h>
#include <ctop/lines/source_lines.h>
#include <ctop/symbol/elf_symbols.h>
#include <ctop/symbol/jitdump.h>
#include <ctop/symbol/kallsyms.h>
#include <ctop/symbol/perf_map.h>

#include "dwarf_symbols.h"
#include "elf_plt.h"

/*
 * Bounds of what stays read: heap, and files (an open object has one
 * descriptor, two with its debug file, of the 4,096 that the process may have).
 */
enum { FILES_MAX = 1500 };
#define BYTES_MAX ((size_t)384 << 20)

/* ---- identity ---- */

static struct symbol_file_key key_of(const struct module_row *row, const char *path)
{
	struct symbol_file_key key;
	memset(&key, 0, sizeof(key)); /* uthash compares padding, too */
	key.kind = row->kind;
	switch (row->kind) {
	case MODULE_KERNEL:
		return key;
	case MODULE_ANON:
		key.pid = row->pid;
		key.started_ns = row->started_ns;
		key.path_hash = row->identity.inode; /* of the process's programs, one by one */
		return key;
	default:
		break;
	}
	module_identity_content_key(&row->identity, &key.content);
	/* Numbers of devices come again: a container's root has that of one that ended. */
	if (!key.content.build_id_size)
		key.path_hash = hash_bytes(path, strlen(path));
	return key;
}

struct symbol_file *symbol_files_get(struct symbol_files *files, const struct module_row *row,
				     const char *path)
{
	const struct symbol_file_key key = key_of(row, path);
	struct symbol_file *file;
	HASH_FIND(hh, files->files, &key, sizeof(key), file);
	if (file)
		return file;
	file = calloc(1, sizeof(*file));
	if (!file)
		return NULL;
	file->key = key;
	unsigned known = HASH_COUNT(files->files);
	HASH_ADD(hh, files->files, key, sizeof(file->key), file);
	/* uthash leaves the table as it was when it is out of memory. */
	if (HASH_COUNT(files->files) == known) {
		free(file);
		return NULL;
	}
	return file;
}

/* ---- life ---- */

static void unload_elf(struct symbol_file *file)
{
	source_lines_free(file->lines);
	free(file->go_lines);
	elf_symbols_free(file->symbols);
	object_free(file->object);
	object_free(file->debug);
	object_free(file->common);
	split_objects_release(&file->splits);
	mini_debug_release(&file->mini);
	file->lines = NULL;
	file->go_lines = NULL;
	file->has_no_lines = file->is_not_go = false;
	file->was_asked_debug = file->was_asked_common = file->has_damaged_debug = false;
	file->symbols = NULL;
	file->object = NULL;
	file->debug = NULL;
	file->common = NULL;
}

static void unload(struct symbol_file *file)
{
	unload_elf(file);
	kallsyms_free(file->kallsyms);
	kallsyms_free(file->coming);
	perf_map_free(file->map);
	jitdump_free(file->dump);
	file->kallsyms = NULL;
	file->coming = NULL;
	file->map = NULL;
	file->dump = NULL;
	file->state = SYMBOL_FILE_NONE;
}

void symbol_file_release(struct symbol_file *file)
{
	unload(file);
}

static void free_file(struct symbol_files *files, struct symbol_file *file)
{
	HASH_DEL(files->files, file);
	unload(file);
	free(file);
}

void symbol_files_release(struct symbol_files *files)
{
	struct symbol_file *file, *next;
	HASH_ITER (hh, files->files, file, next)
		free_file(files, file);
}

void symbol_files_begin_epoch(struct symbol_files *files)
{
	struct symbol_file *file, *next;
	HASH_ITER (hh, files->files, file, next) {
		bool is_loaded = file->state == SYMBOL_FILE_READY && file->asked == ASKED_NOTHING &&
				 (file->symbols || file->kallsyms);
		/* A perf map is asked for again, and read on from where it was; not that of
     * a process long gone. */
		bool is_map = (file->map || file->dump) && file->state == SYMBOL_FILE_READY;
		if (!is_loaded && !is_map) {
			free_file(files, file);
			continue;
		}
		if (is_map)
			file->state = SYMBOL_FILE_NONE;
		file->asked = ASKED_NOTHING;
		file->refreshes_to_skip = 0;
		file->refreshes_skipped_last = 0;
	}
}

static size_t bytes_of(const struct symbol_file *file)
{
	return (file->symbols ? elf_symbols_bytes(file->symbols) : 0) +
	       (file->kallsyms ? kallsyms_bytes(file->kallsyms) : 0) +
	       (file->coming ? kallsyms_bytes(file->coming) : 0) +
	       (file->map ? perf_map_bytes(file->map) : 0) +
	       (file->dump ? jitdump_bytes(file->dump) : 0);
}

bool symbol_files_make_room(struct symbol_files *files, const struct symbol_file *keep)
{
	bool unloaded = false;
	for (;;) {
		struct symbol_file *file, *next, *oldest = NULL;
		size_t nr = 0, bytes = 0;
		HASH_ITER (hh, files->files, file, next) {
			size_t own = bytes_of(file);
			nr += own != 0;
			bytes += own;
			if (own && file != keep && file->asked == ASKED_NOTHING &&
			    (!oldest || file->last_used < oldest->last_used))
				oldest = file;
		}
		if (!oldest || (nr <= FILES_MAX && bytes <= BYTES_MAX))
			return unloaded;
		unload(oldest);
		unloaded = true;
	}
}

/* ---- reading ---- */

/* The file at hand must be the one that was asked for, as far as both say what
 * they are. */
static bool is_other_file(const struct symbol_file *file, const struct object_identity *identity)
{
	struct module_identity found = {0};
	module_identity_set_build_id(&found, identity->build_id, identity->build_id_size);
	return file->key.content.build_id_size && found.build_id_size &&
	       !module_identity_same_build_id(&file->key.content, &found);
}

/* False: what was read of the files is of no one file, or may be. */
static bool is_as_opened(const struct symbol_file *file, bool while_read)
{
	return object_is_as_opened(file->object, while_read) &&
	       (!file->debug || object_is_as_opened(file->debug, while_read)) &&
	       (!file->common || object_is_as_opened(file->common, while_read));
}

/* Functions by address, then the stubs, which may be named by functions. */
static int finish_elf(struct symbol_file *file)
{
	int result = elf_symbols_add_unwind_table(file->symbols, object_elf(file->object));
	elf_symbols_finish(file->symbols);
	if (!result)
		result = elf_plt_add(file->symbols, object_elf(file->object));
	elf_symbols_finish(file->symbols);
	file->state = SYMBOL_FILE_READY;
	return is_as_opened(file, true) ? result : -EBUSY;
}

static void set_names(struct symbol_file *file, enum names_from from, enum names_missing missing)
{
	file->names = (struct module_names){from, missing};
}

/* Of a file that could not be had, or not be read. */
static enum names_missing missing_of(const struct symbol_file *file, int error)
{
	if (file->key.kind == MODULE_KERNEL)
		return NAMES_MISSING_KERNEL;
	switch (error) {
	case -EACCES:
	case -EPERM:
		return NAMES_MISSING_PERMISSION;
	case -ESTALE:
	case -EBUSY:
		return NAMES_MISSING_SAME_FILE;
	case -ETIMEDOUT:
		return NAMES_MISSING_TIME;
	case -ENOEXEC:
	case -EUCLEAN: /* a predecessor died on it */
		return NAMES_MISSING_SENSE;
	default:
		return NAMES_MISSING_FILE;
	}
}

static int fail(struct symbol_file *file, int error)
{
	set_names(file, NAMES_FROM_NOTHING, missing_of(file, error));
	unload(file);
	file->state = SYMBOL_FILE_FAILED;
	return error;
}

static int read_elf(struct symbol_file *file, int fd)
{
	struct error ignored;
	unload_elf(file);
	file->object = object_open(fd, &ignored);
	if (!file->object)
		return -ENOEXEC;
	if (is_other_file(file, object_identity(file->object)))
		return -ESTALE;
	file->symbols = elf_symbols_new();
	if (!file->symbols)
		return -ENOMEM;
	Elf *elf = object_elf(file->object);
	int result = elf_symbols_add(file->symbols, elf, SHT_SYMTAB);
	set_names(file, NAMES_FROM_SYMTAB, NAMES_MISSING_NOTHING);
	if (result)
		return result < 0 ? result : finish_elf(file);
	return 1;
}

static int read_dump(struct symbol_file *file, int fd)
{
	if (!file->dump)
		file->dump = jitdump_new();
	return file->dump ? jitdump_read(file->dump, fd) : -ENOMEM;
}

static int read_lines(struct symbol_file *file, int fd)
{
	if (!file->map)
		file->map = perf_map_new();
	return file->map ? perf_map_read(file->map, fd) : -ENOMEM;
}

static int read_map(struct symbol_file *file, int fd)
{
	file->state = SYMBOL_FILE_READY;
	if (fd < 0) {
		/* The process is gone, or has no map: nothing better will come soon. */
		file->frames_covered = UINT32_MAX;
		if (!file->map && !file->dump)
			set_names(file, NAMES_FROM_NOTHING, NAMES_MISSING_MAP);
		return fd;
	}
	const bool is_dump = jitdump_is_one(fd);
	int result = is_dump ? read_dump(file, fd) : read_lines(file, fd);
	file->frames_covered = file->frames_asked;
	file->nr_maps_read++;
	set_names(file, file->dump ? NAMES_FROM_JITDUMP : NAMES_FROM_PERF_MAP,
		  NAMES_MISSING_NOTHING);
	if (is_dump && file->dump)
		jitdump_hold(file->dump, fd);
	else
		close(fd);
	return result;
}

static int begin_kernel(struct symbol_file *file, int fd)
{
	kallsyms_free(file->coming);
	file->coming = kallsyms_new(fd);
	if (!file->coming)
		close(fd);
	else
		file->asked = BEING_READ;
	return file->coming ? 0 : -ENOMEM;
}

/* What is more than kept names could not be had: these stay. Kept names that make no sense are nothing: the kernel's own are asked for. */
static int fail_kernel(struct symbol_file *file, int error)
{
	const bool was_kept = file->coming && kallsyms_is_kept(file->coming);
	kallsyms_free(file->coming);
	file->coming = NULL;
	if (!was_kept && !file->kallsyms)
		return fail(file, error);
	file->has_no_more = file->kallsyms != NULL;
	return 0;
}

int symbol_file_give(struct symbol_file *file, int fd, int error)
{
	int result;
	file->asked = ASKED_NOTHING;
	file->version++;
	if (file->key.kind == MODULE_ANON)
		return read_map(file, fd);
	if (fd < 0)
		result = error < 0 ? error : -ENOENT;
	else if (file->key.kind == MODULE_KERNEL)
		result = begin_kernel(file, fd);
	else
		result = read_elf(file, fd);
	if (result < 0 && file->key.kind == MODULE_KERNEL)
		return fail_kernel(file, result);
	return result < 0 ? fail(file, result) : result;
}

int symbol_file_read_part(struct symbol_file *file)
{
	const int result = kallsyms_read_part(file->coming);
	if (result > 0)
		return result;
	file->asked = ASKED_NOTHING;
	file->version++;
	if (result < 0)
		return fail_kernel(file, result);
	kallsyms_free(file->kallsyms);
	file->kallsyms = file->coming;
	file->coming = NULL;
	file->state = SYMBOL_FILE_READY;
	set_names(file, NAMES_FROM_KALLSYMS, NAMES_MISSING_NOTHING);
	return 0;
}

bool symbol_file_may_have_more(const struct symbol_file *file)
{
	return file->key.kind == MODULE_KERNEL && file->kallsyms &&
	       kallsyms_is_kept(file->kallsyms) && !file->has_no_more;
}

/* A debug file of another build would name the wrong functions. */
static bool is_debug_of(const struct object *debug, const struct object *object)
{
	const struct object_identity *of_debug = object_identity(debug);
	const struct object_identity *of_object = object_identity(object);
	return object_machine(debug) == object_machine(object) &&
	       (!of_debug->build_id_size || !of_object->build_id_size ||
		(of_debug->build_id_size == of_object->build_id_size &&
		 memcmp(of_debug->build_id, of_object->build_id, of_object->build_id_size) == 0));
}

/* Main gave it for its build-id; where the file has none, for the CRC of the debug link. */
static enum names_from found_by(const struct symbol_file *file)
{
	return object_identity(file->object)->build_id_size ? NAMES_FROM_DEBUG_BUILD_ID
							    : NAMES_FROM_DEBUG_LINK;
}

/* 1: the debug file had the functions, 0: it is of no use, -ENOMEM. */
static int add_debug_file(struct symbol_file *file, int fd)
{
	struct error ignored;
	if (fd < 0)
		return 0;
	file->debug = object_open(fd, &ignored);
	bool is_right = file->debug && is_debug_of(file->debug, file->object);
	int result = 0;
	if (is_right)
		result = elf_symbols_add(file->symbols, object_elf(file->debug), SHT_SYMTAB);
	if (is_right && result == 0)
		result = dwarf_symbols_add(file->symbols, object_elf(file->debug));
	set_names(file, found_by(file), NAMES_MISSING_NOTHING);
	if (result == 0) {
		/* What was given for its build-id, or its CRC, is the right file. */
		file->has_damaged_debug = !file->debug || !object_has_its_sections(file->debug);
		object_free(file->debug);
		file->debug = NULL;
	}
	return result;
}

/* A source had functions, all that the file has. */
static int take_all(struct symbol_file *file, int result, enum names_from from)
{
	if (result > 0)
		set_names(file, from, NAMES_MISSING_NOTHING);
	return result;
}

/* The vdso exports all that there is to call. */
static enum names_missing missing_without_symtab(const struct symbol_file *file)
{
	if (file->key.kind == MODULE_VDSO)
		return NAMES_MISSING_NOTHING;
	if (!object_has_its_sections(file->object))
		return NAMES_MISSING_SENSE;
	return file->has_damaged_debug ? NAMES_MISSING_DEBUG_SENSE : NAMES_MISSING_DEBUG_FILE;
}

/* What the file itself has instead of .symtab. */
static int add_what_is_left(struct symbol_file *file)
{
	Elf *elf = object_elf(file->object);
	int result = elf_symbols_add(file->symbols, elf, SHT_DYNSYM);
	set_names(file, elf_symbols_count(file->symbols) ? NAMES_FROM_DYNSYM : NAMES_FROM_NOTHING,
		  missing_without_symtab(file));
	if (result >= 0 && mini_debug_open(&file->mini, elf) == 0)
		result = take_all(file, elf_symbols_add(file->symbols, file->mini.elf, SHT_SYMTAB),
				  NAMES_FROM_MINI_DEBUG);
	else if (result >= 0)
		result = take_all(file, dwarf_symbols_add(file->symbols, elf), NAMES_FROM_DWARF);
	if (result >= 0)
		result = take_all(file, elf_symbols_add_go_functions(file->symbols, elf),
				  NAMES_FROM_PCLNTAB);
	return result;
}

void symbol_file_give_debug_lines(struct symbol_file *file, int fd)
{
	struct error ignored;
	file->asked = ASKED_NOTHING;
	file->was_asked_debug = true;
	file->has_no_lines = false; /* as far as is known */
	file->debug = fd < 0 ? NULL : object_open(fd, &ignored);
	if (file->debug && file->key.kind == MODULE_KERNEL &&
	    kernel_debug_find(object_elf(file->debug), file->kallsyms, &file->kernel))
		return;
	if (fd >= 0 && (!file->debug || !object_has_its_sections(file->debug)) &&
	    file->names.missing == NAMES_MISSING_NOTHING)
		file->names.missing = NAMES_MISSING_DEBUG_SENSE;
	if (file->debug && file->object && is_debug_of(file->debug, file->object))
		return;
	object_free(file->debug);
	file->debug = NULL;
}

void symbol_file_give_common(struct symbol_file *file, int fd)
{
	struct error ignored;
	file->asked = ASKED_NOTHING;
	file->was_asked_common = true;
	file->common = fd < 0 ? NULL : object_open(fd, &ignored);
	/* Without it they were opened, and lack names. */
	source_lines_free(file->lines);
	file->lines = NULL;
}

void symbol_file_give_split(struct symbol_file *file, uint64_t id, int fd)
{
	struct error ignored;
	file->asked = ASKED_NOTHING;
	file->asked_split = 0;
	split_objects_add(&file->splits, id, fd < 0 ? NULL : object_open(fd, &ignored));
	if (fd < 0 && file->names.missing == NAMES_MISSING_NOTHING)
		file->names.missing = NAMES_MISSING_SPLIT;
}

int symbol_file_give_debug(struct symbol_file *file, int fd)
{
	file->asked = ASKED_NOTHING;
	file->was_asked_debug = true;
	file->version++;
	int result = add_debug_file(file, fd);
	if (result == 0)
		result = add_what_is_left(file);
	if (result >= 0)
		result = finish_elf(file);
	return result < 0 ? fail(file, result) : result;
}

bool symbol_file_address(const struct symbol_file *file, uint64_t offset, uint64_t *address)
{
	return file->object && object_elf_address(file->object, offset, address);
}

bool symbol_file_line_address(const struct symbol_file *file, uint64_t address,
			      uint64_t *elf_address)
{
	*elf_address = address;
	return file->key.kind != MODULE_KERNEL ||
	       (file->debug && kernel_debug_address(&file->kernel, address, elf_address));
}

/* The kernel's names are its own; only lines were lost. */
static bool holds_kernel(struct symbol_file *file)
{
	if (!file->debug || object_is_as_opened(file->debug, false))
		return true;
	source_lines_free(file->lines);
	object_free(file->debug);
	file->lines = NULL;
	file->debug = NULL;
	file->has_no_lines = true;
	return false;
}

bool symbol_file_still_holds(struct symbol_file *file)
{
	if (file->key.kind == MODULE_KERNEL)
		return holds_kernel(file);
	if (!file->object || is_as_opened(file, false))
		return true;
	fail(file, -EBUSY);
	return false;
}

bool symbol_file_find(const struct symbol_file *file, uint64_t address, uint64_t time_ns,
		      struct symbol_hit *hit)
{
	if (file->state != SYMBOL_FILE_READY)
		return false;
	if (file->symbols)
		return elf_symbols_find(file->symbols, address, hit);
	if (file->kallsyms)
		return kallsyms_find(file->kallsyms, address, hit);
	return (file->dump && jitdump_find(file->dump, address, time_ns, hit)) ||
	       (file->map && perf_map_find(file->map, address, hit));
}

bool symbol_file_bound(const struct symbol_file *file, uint64_t address, uint64_t *start)
{
	return file->state == SYMBOL_FILE_READY && file->symbols &&
	       elf_symbols_bound(file->symbols, address, start);
}

uint64_t symbol_file_end(const struct symbol_file *file, uint64_t start, size_t most)
{
	struct symbol_hit hit;
	uint64_t begin, end = start;
	if (symbol_file_find(file, start, 0, &hit) && hit.start == start && hit.end > start)
		return hit.end;
	while (end - start < most && !symbol_file_find(file, end, 0, &hit) &&
	       symbol_file_bound(file, end, &begin) && begin == start)
		end++;
	return end;
}
