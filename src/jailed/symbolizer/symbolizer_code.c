/* SPDX-License-Identifier: MIT */
/*
 * The code of hot functions, for a recording that is to show their instructions where the files are not: a copy out of the file that
 * names came from, hence of the very one that was profiled; of generated code out of the dump that told of it, else out of memory; of the
 * kernel out of its memory. Some is kept while
 * sampling goes on, in half of the room: what comes later, and a crash, lose little. At the end the rest of what is hot follows, the
 * hottest first.
 */
#include "symbolizer_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/fault.h>
#include <ctop/elf/object.h>
#include <ctop/store/kept_code.h>
#include <ctop/symbol/jitdump.h>

/* A function with a 1,024th of all samples so far is hot, unless these are very few. */
enum { HOT_SHARE = 1024, LEAST_SAMPLES = 2 };

int symbolizer_want_code(struct symbolizer *symbolizer)
{
	code_copies_release(&symbolizer->copies);
	symbolizer->kernel_copies.nr = 0;
	return symbolizer->symbols
		       ? hot_functions_begin(&symbolizer->hot_code, symbolizer->reader.tables)
		       : 0;
}

/* 0, or -errno: it cannot be kept. */
static int copy(struct symbolizer *symbolizer, struct symbol_file *file, struct kept_code *code,
		uint64_t elf_start)
{
	struct object_code object;
	if (!file->object || !object_code(file->object, elf_start, &object))
		return -ENODATA;
	const size_t skipped = (size_t)(elf_start - object.start);
	const size_t there = object.size - skipped;
	const uint64_t whole = symbol_file_end(file, elf_start, there) - elf_start;
	code->bias = elf_start - code->start;
	code->machine = object_machine(file->object);
	code->size = (uint32_t)(whole < KEPT_FUNCTION_MAX ? whole : KEPT_FUNCTION_MAX);
	code->is_cut = code->size < whole;
	if (code->size > symbols_code_room(symbolizer->symbols) || code->size > there)
		return -ENOSPC;
	uint8_t *bytes = malloc(code->size);
	if (!bytes)
		return -ENOMEM;
	memcpy(bytes, object.bytes + skipped, code->size);
	int result = -ESTALE;
	if (symbol_file_still_holds(file))
		result = symbols_keep_code(symbolizer->symbols, code, bytes);
	else
		symbolizer->nr_changed++;
	free(bytes);
	return result;
}

static void keep_of_file(struct symbolizer *symbolizer, const struct module *module,
			 const struct hot_function *function)
{
	struct symbol_file *file = module->file;
	struct kept_code code = {.start = function->start, .module = {function->module}};
	struct frame_row row;
	tables_frame(&symbolizer->reader, (struct frame_id){function->frame}, &row);
	const uint64_t offset = row.address - function->start;
	if (module->by_offset && !symbol_file_address(file, row.address, &row.address))
		return;
	file->last_used = ++symbolizer->files.clock;
	symbolizer_tell_reading(symbolizer, code.module);
	fault_at("code", symbolizer_path_of(symbolizer, code.module), NULL);
	copy(symbolizer, file, &code, row.address - offset);
	symbolizer_tell_reading(symbolizer, (struct module_id){0});
}

/* Nobody knows whether what has the function's name is the function, unless all that the dump has of that name is the same. */
static void keep_of_dump(struct symbolizer *symbolizer, const struct module *module,
			 const struct hot_function *function)
{
	const struct symbols *symbols = symbolizer->symbols;
	const char *name = symbols_string(symbols, (struct string_id){function->name});
	struct kept_code code = {
		.start = function->start,
		.name = name,
		.name_bytes = (uint32_t)strlen(name),
		.module = {function->module},
	};
	struct jit_code found;
	uint8_t *bytes = code.name_bytes ? malloc(KEPT_FUNCTION_MAX) : NULL;
	if (!bytes)
		return;
	symbolizer_tell_reading(symbolizer, code.module);
	const int result = jitdump_code(module->file->dump, function->start, name, bytes,
					KEPT_FUNCTION_MAX, &found);
	symbolizer_tell_reading(symbolizer, (struct module_id){0});
	if (!result) {
		code.size = found.size;
		code.machine = found.machine;
		code.is_cut = found.size < found.whole_bytes;
		symbols_keep_code(symbolizer->symbols, &code, bytes);
	}
	free(bytes);
}

/* False: its file is awaited, or something else. */
static bool keep(struct symbolizer *symbolizer, const struct hot_function *function)
{
	const struct module_id id = {function->module};
	struct module *module;
	if (symbolizer_module_of(symbolizer, id, &module) ||
	    module->file->state == SYMBOL_FILE_FAILED)
		return true;
	if (module->file->key.kind == MODULE_KERNEL)
		return symbolizer_copy_kernel_code(symbolizer, function);
	if (module->file->state == SYMBOL_FILE_NONE) {
		symbolizer_ask(symbolizer, module->file, id);
		return false;
	}
	if (module->file->key.kind != MODULE_ANON)
		keep_of_file(symbolizer, module, function);
	else if (module->file->dump)
		keep_of_dump(symbolizer, module, function);
	else if (module->file->map)
		return symbolizer_copy_code(symbolizer, module, function);
	return true;
}

/*
 * Of what has fewer samples than the one before, or has them later, there may be more at the end. What has less is not worth its place:
 * with all functions that have two samples, a recording of a compiler's run would be three times as large.
 */
static bool is_hot(const struct symbolizer *symbolizer, const struct hot_function *function)
{
	return function->samples >= LEAST_SAMPLES &&
	       function->samples * HOT_SHARE >= symbolizer->hot_code.samples;
}

static bool is_room_now(const struct symbolizer *symbolizer)
{
	const struct symbols *symbols = symbolizer->symbols;
	return symbolizer->looks_again ||
	       symbols_code_room(symbols) > symbols->capacity.code_bytes / 2;
}

void symbolizer_keep_code(struct symbolizer *symbolizer)
{
	struct hot_functions *hot = &symbolizer->hot_code;
	struct hot_function *function;
	bool all = true;
	if (!symbolizer->symbols || !hot->tables ||
	    (symbolizer->looks_again && symbolizer->has_kept_code))
		return;
	if (hot_functions_choose(hot, &symbolizer->reader, symbolizer->symbols))
		return;
	while ((function = hot_functions_next(hot)) && is_hot(symbolizer, function) &&
	       is_room_now(symbolizer)) {
		function->is_done = keep(symbolizer, function);
		all = all && function->is_done;
	}
	/* A function without its name yet, as before a dump's last look, is none that could have been chosen. */
	symbolizer->has_kept_code = symbolizer->looks_again && all && !symbolizer->copies.nr &&
				    !symbolizer->kernel_copies.nr &&
				    symbolizer_has_looked_again(symbolizer) &&
				    symbolizer_idle(symbolizer);
}

bool symbolizer_has_kept_code(const struct symbolizer *symbolizer)
{
	return symbolizer->has_kept_code;
}
