/* SPDX-License-Identifier: MIT */
#include "pprof_tables.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "protobuf.h"

enum mapping_field {
	MAPPING_ID = 1,
	MAPPING_LIMIT = 3,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
};
enum location_field {
	LOCATION_ID = 1,
	LOCATION_MAPPING = 2,
	LOCATION_ADDRESS = 3,
	LOCATION_LINE = 4
};
enum line_field { LINE_FUNCTION = 1, LINE_NUMBER = 2 };
enum function_field { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_FILE = 4 };

/* The id of what stands where a stack has no frame: behind those of all functions and locations. */
#define NO_FRAMES_ID ((UINT64_C(1) << 32) + 1)

/* ---- strings: each once ---- */

int pprof_add_string(struct pprof_tables *tables, const char *string, uint32_t *id)
{
	const size_t size = strlen(string);
	const uint64_t hash = hash_bytes(string, size);
	struct index_probe probe = index_find(&tables->strings_index, hash);
	while (index_next(&tables->strings_index, &probe, id))
		if (!strcmp(text_string(&tables->strings_text) + tables->strings.items[*id],
			    string))
			return 0;
	if (vec_reserve(&tables->strings, tables->strings.nr + 1) ||
	    index_reserve(&tables->strings_index))
		return -ENOMEM;
	*id = (uint32_t)tables->strings.nr;
	tables->strings.items[tables->strings.nr++] = tables->strings_text.size;
	index_add(&tables->strings_index, hash, *id);
	text_add_bytes(&tables->strings_text, string, size + 1);
	put_bytes(tables->out, PROFILE_STRING, string, size);
	return tables->strings_text.failed ? -ENOMEM : 0;
}

int pprof_add_untrusted(struct pprof_tables *tables, const char *string, uint32_t *id)
{
	text_clear(&tables->scratch);
	text_add_safe(&tables->scratch, string);
	return tables->scratch.failed ? -ENOMEM
				      : pprof_add_string(tables, text_string(&tables->scratch), id);
}

/* ---- locations, functions, mappings ---- */

static int use_module(struct pprof_tables *tables, uint32_t module, bool named, bool has_lines)
{
	const size_t nr = (size_t)module + 1;
	if (vec_reserve(&tables->modules, nr))
		return -ENOMEM;
	for (; tables->modules.nr < nr; tables->modules.nr++)
		tables->modules.items[tables->modules.nr] = (struct pprof_module){0};
	tables->modules.items[module].nr_locations++;
	tables->modules.items[module].lacks_names |= !named;
	tables->modules.items[module].has_lines |= has_lines;
	return 0;
}

/* In the file where it was met first: of what has lines in several, pprof knows one. */
static int add_function(struct pprof_tables *tables, const struct history_frame *frame)
{
	const struct function_id function = frame->function;
	const size_t nr = (size_t)function.index + 1;
	uint32_t name, file = 0;
	if (vec_reserve(&tables->functions, nr))
		return -ENOMEM;
	for (; tables->functions.nr < nr; tables->functions.nr++)
		tables->functions.items[tables->functions.nr] = 0;
	if (tables->functions.items[function.index])
		return 0;
	tables->functions.items[function.index] = true;
	int result = pprof_add_untrusted(tables, history_function_name(tables->history, function),
					 &name);
	if (!result && *frame->file)
		result = pprof_add_untrusted(tables, frame->file, &file);
	put_number(&tables->message, FUNCTION_ID, (uint64_t)function.index + 1);
	put_number(&tables->message, FUNCTION_NAME, name);
	put_number(&tables->message, FUNCTION_FILE, file);
	put_message(tables->out, PROFILE_FUNCTION, &tables->message);
	return result;
}

/* nr steps of one address: the function that its code belongs to comes last. */
static int write_location(struct pprof_tables *tables, const struct history_frame *frame, size_t nr,
			  uint64_t id)
{
	const bool named = history_function_named(tables->history, frame->function) &&
			   !history_function_bounded(tables->history, frame->function);
	int result = 0;
	for (size_t i = nr; !result && i-- > 0;)
		result = add_function(tables, &frame[i]);
	if (!result)
		result = use_module(tables, frame->module, named, frame->line > 0);
	put_number(&tables->message, LOCATION_ID, id);
	put_number(&tables->message, LOCATION_MAPPING, (uint64_t)frame->module + 1);
	put_number(&tables->message, LOCATION_ADDRESS, frame->address);
	for (size_t i = nr; i-- > 0;) {
		put_number(&tables->inner, LINE_FUNCTION, (uint64_t)frame[i].function.index + 1);
		put_number(&tables->inner, LINE_NUMBER, frame[i].line);
		put_message(&tables->message, LOCATION_LINE, &tables->inner);
	}
	put_message(tables->out, PROFILE_LOCATION, &tables->message);
	return result;
}

int pprof_add_location(struct pprof_tables *tables, const struct history_frame *frame, size_t nr,
		       uint64_t *id)
{
	const uint64_t hash =
		hash_two((uint64_t)frame->module << 32 | frame->function.index, frame->address);
	struct index_probe probe = index_find(&tables->locations_index, hash);
	uint32_t row;
	while (index_next(&tables->locations_index, &probe, &row)) {
		const struct pprof_location *known = &tables->locations.items[row];
		*id = (uint64_t)row + 1;
		if (known->address == frame->address && known->module == frame->module &&
		    known->function == frame->function.index)
			return 0;
	}
	if (vec_reserve(&tables->locations, tables->locations.nr + 1) ||
	    index_reserve(&tables->locations_index))
		return -ENOMEM;
	index_add(&tables->locations_index, hash, (uint32_t)tables->locations.nr);
	tables->locations.items[tables->locations.nr++] =
		(struct pprof_location){frame->function.index, frame->module, frame->address};
	*id = tables->locations.nr;
	return write_location(tables, frame, nr, *id);
}

int pprof_add_no_frames(struct pprof_tables *tables, uint64_t *id)
{
	uint32_t name;
	*id = NO_FRAMES_ID;
	if (tables->no_frames)
		return 0;
	tables->no_frames = true;
	int result = pprof_add_string(tables, "[unknown]", &name);
	put_number(&tables->message, FUNCTION_ID, NO_FRAMES_ID);
	put_number(&tables->message, FUNCTION_NAME, name);
	put_message(tables->out, PROFILE_FUNCTION, &tables->message);
	put_number(&tables->message, LOCATION_ID, NO_FRAMES_ID);
	put_number(&tables->inner, LINE_FUNCTION, NO_FRAMES_ID);
	put_message(&tables->message, LOCATION_LINE, &tables->inner);
	put_message(tables->out, PROFILE_LOCATION, &tables->message);
	return result;
}

static const char *file_of(const struct history_module_facts *module)
{
	/* pprof looks for no file whose name begins with a bracket. */
	if (module->kind == MODULE_KERNEL && !strcmp(module->path, "[kernel]"))
		return "[kernel.kallsyms]";
	return *module->path ? module->path : "[unknown]";
}

static int write_mapping(struct pprof_tables *tables, uint32_t module)
{
	const struct history_module_facts facts = history_module(tables->history, module);
	uint32_t file, build_id = 0;
	int result = pprof_add_untrusted(tables, file_of(&facts), &file);
	if (!result && facts.identity.build_id_size) {
		text_clear(&tables->scratch);
		for (uint32_t i = 0; i < facts.identity.build_id_size; i++)
			text_addf(&tables->scratch, "%02x", facts.identity.build_id[i]);
		result = pprof_add_string(tables, text_string(&tables->scratch), &build_id);
	}
	put_number(&tables->message, MAPPING_ID, (uint64_t)module + 1);
	put_number(&tables->message, MAPPING_LIMIT, UINT64_MAX);
	put_number(&tables->message, MAPPING_FILE, file);
	put_number(&tables->message, MAPPING_BUILD_ID, build_id);
	put_number(&tables->message, MAPPING_HAS_FUNCTIONS,
		   !tables->modules.items[module].lacks_names);
	const bool has_lines = tables->modules.items[module].has_lines;
	put_number(&tables->message, MAPPING_HAS_FILES, has_lines);
	put_number(&tables->message, MAPPING_HAS_LINES, has_lines);
	put_number(&tables->message, MAPPING_HAS_INLINED, has_lines);
	put_message(tables->out, PROFILE_MAPPING, &tables->message);
	return result;
}

/* pprof takes the first one for the program: of what is no library, that with the most locations. */
static uint32_t main_module(const struct pprof_tables *tables)
{
	uint32_t found = 0, most = 0;
	for (size_t i = 0; i < tables->modules.nr; i++) {
		const uint32_t nr = tables->modules.items[i].nr_locations;
		const struct history_module_facts facts =
			history_module(tables->history, (uint32_t)i);
		if (nr <= most || facts.kind != MODULE_FILE || strstr(facts.path, ".so"))
			continue;
		found = (uint32_t)i;
		most = nr;
	}
	return found;
}

int pprof_write_mappings(struct pprof_tables *tables)
{
	const uint32_t first = main_module(tables);
	int result = 0;
	if (first < tables->modules.nr && tables->modules.items[first].nr_locations)
		result = write_mapping(tables, first);
	for (uint32_t i = 0; !result && i < tables->modules.nr; i++)
		if (i != first && tables->modules.items[i].nr_locations)
			result = write_mapping(tables, i);
	return result;
}

/* ---- life ---- */

bool pprof_tables_failed(const struct pprof_tables *tables)
{
	return tables->out->failed || tables->message.failed || tables->scratch.failed;
}

void pprof_tables_release(struct pprof_tables *tables)
{
	buffer_release(&tables->message);
	buffer_release(&tables->inner);
	text_release(&tables->scratch);
	text_release(&tables->strings_text);
	free(tables->locations.items);
	free(tables->functions.items);
	free(tables->modules.items);
	free(tables->strings.items);
	index_release(&tables->locations_index);
	index_release(&tables->strings_index);
}
