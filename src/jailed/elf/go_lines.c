/* SPDX-License-Identifier: MIT */
#include <ctop/elf/go_lines.h>

#include <gelf.h>
#include <string.h>

#include "relative.h"
#include "read_bytes.h"

enum {
	STEPS_MAX = 1 << 18, /* values of lists, for one question */
	SECTIONS_MAX = 4096, /* looked at for one */
	WORD_BYTES = 8,
	/*
	 * Go's src/runtime/symtab.go, struct moduledata: where the table is, where its names are, more of that, and the
	 * trees at words 38 to 40, by version.
	 */
	MODULE_WORDS = 64,
	MODULE_TABLE = 0,
	MODULE_NAMES = 1,
	MODULE_AFTER_TABLES = 19,
	MODULES_MAX = 8, /* that look like one */
	/* To believe in trees. */
	FUNCTIONS_LOOKED_AT = 4096,
	CALLS_LOOKED_AT = 256,
};

/* ---- sections ---- */

/* Data that is in memory and in the file. */
static Elf_Data *data_of(Elf_Scn *section, GElf_Shdr *header)
{
	if (!gelf_getshdr(section, header) || header->sh_type != SHT_PROGBITS ||
	    !(header->sh_flags & SHF_ALLOC) || (header->sh_flags & SHF_EXECINSTR))
		return NULL;
	Elf_Data *data = elf_getdata(section, NULL);
	return data && data->d_buf ? data : NULL;
}

static bool is_in_section(const struct go_lines *lines, uint64_t address, size_t size)
{
	const uint64_t at = address - lines->section.address;
	return lines->section.bytes && address >= lines->section.address &&
	       at <= lines->section.size && size <= lines->section.size - at;
}

/* NULL: they are not all there. */
static const uint8_t *bytes_at(struct go_lines *lines, uint64_t address, size_t size)
{
	Elf_Scn *section = NULL;
	for (int i = 0; !is_in_section(lines, address, size); i++) {
		GElf_Shdr header;
		section = i < SECTIONS_MAX ? elf_nextscn(lines->elf, section) : NULL;
		if (!section)
			return NULL;
		const Elf_Data *data = data_of(section, &header);
		if (!data || address < header.sh_addr || address - header.sh_addr >= data->d_size)
			continue;
		lines->section.address = header.sh_addr;
		lines->section.bytes = data->d_buf;
		lines->section.size = data->d_size;
	}
	return lines->section.bytes + (address - lines->section.address);
}

/* ---- trees ---- */

/* What was inlined, and an address, from the function's start, that has the line of the call, and of what that was inlined into in its turn. */
struct call {
	uint32_t name_at;
	const char *name;
	uint64_t parent;
};

/* Go's src/runtime/symtab.go, and later symtabinl.go, struct inlinedCall. */
static bool read_call(struct go_lines *lines, uint64_t trees, const struct go_details *details,
		      uint32_t index, struct call *call)
{
	enum { BYTES_1_16 = 20, NAME_1_16 = 12, BYTES_1_20 = 16, NAME_1_20 = 4, PARENT = 4 };
	const bool is_new = lines->functions.format >= GO_1_20;
	const size_t bytes = is_new ? BYTES_1_20 : BYTES_1_16;
	const uint8_t *at = bytes_at(lines, trees + details->tree + (uint64_t)index * bytes, bytes);
	if (!at)
		return false;
	at += is_new ? NAME_1_20 : NAME_1_16;
	call->name_at = read_u32(at);
	call->name =
		go_functions_string(&lines->functions, lines->functions.names_at, call->name_at);
	call->parent = read_u32(at + PARENT);
	return call->name && call->parent < details->function.end - details->function.start;
}

static bool is_inlined(uint32_t index)
{
	return index <= INT32_MAX;
}

/* How many calls of a function there are, all of which make sense; -1: one does not. */
static int check_calls(struct go_lines *lines, uint64_t trees, const struct go_details *details,
		       int *nr_named)
{
	struct go_value index = {0};
	struct call call;
	int steps = CALLS_LOOKED_AT, nr = 0;
	for (uint64_t at = details->function.start;
	     go_functions_value(&lines->functions, details, details->calls, at, &steps, &index);
	     at = index.end) {
		if (!is_inlined(index.value))
			continue;
		if (!read_call(lines, trees, details, index.value, &call))
			return -1;
		*nr_named += call.name_at != 0;
		nr++;
	}
	return nr;
}

/* All that is looked at leads to names and to places in its function. */
static bool makes_sense(struct go_lines *lines, uint64_t trees)
{
	const size_t nr_functions = lines->functions.nr;
	int nr = 0, nr_named = 0;
	for (size_t i = 0; i < nr_functions && i < FUNCTIONS_LOOKED_AT && nr < CALLS_LOOKED_AT;
	     i++) {
		struct go_details details;
		if (!go_functions_details(&lines->functions, i, &details) || !details.calls ||
		    details.tree == GO_NO_TREE)
			continue;
		const int found = check_calls(lines, trees, &details, &nr_named);
		if (found < 0)
			return false;
		nr += found;
	}
	/* Zeros would all have the first name. */
	return nr_named * 2 > nr;
}

/* What the program's data has at an address, as the loader leaves it. */
static bool read_module(struct go_lines *lines, uint64_t address, uint64_t words[MODULE_WORDS])
{
	struct elf_relative relative;
	uint64_t at, value;
	const size_t bytes = MODULE_WORDS * WORD_BYTES;
	const uint8_t *module = bytes_at(lines, address, bytes);
	if (!module)
		return false;
	for (size_t i = 0; i < MODULE_WORDS; i++)
		words[i] = read_u64(module + i * WORD_BYTES);
	elf_relative_init(&relative, lines->elf);
	while (elf_relative_next(&relative, &at, &value))
		if (at >= address && at - address < bytes && (at - address) % WORD_BYTES == 0)
			words[(at - address) / WORD_BYTES] = value;
	return words[MODULE_TABLE] == lines->functions.address &&
	       words[MODULE_NAMES] == lines->functions.address + lines->functions.names_at;
}

static bool take_trees(struct go_lines *lines, uint64_t module)
{
	uint64_t words[MODULE_WORDS];
	if (!read_module(lines, module, words))
		return false;
	for (size_t i = MODULE_AFTER_TABLES; i < MODULE_WORDS && !lines->has_trees; i++) {
		if (!bytes_at(lines, words[i], 1) || !makes_sense(lines, words[i]))
			continue;
		lines->has_trees = true;
		lines->trees = words[i];
	}
	return lines->has_trees;
}

/* What has the table's address in it may be the runtime's description. */
static bool look_in_data(struct go_lines *lines, int *nr)
{
	Elf_Scn *section = NULL;
	for (int i = 0; i < SECTIONS_MAX && (section = elf_nextscn(lines->elf, section)); i++) {
		GElf_Shdr header;
		const Elf_Data *data = data_of(section, &header);
		for (size_t at = 0; data && at + WORD_BYTES <= data->d_size; at += WORD_BYTES) {
			if (read_u64((const uint8_t *)data->d_buf + at) != lines->functions.address)
				continue;
			if (++*nr > MODULES_MAX)
				return false;
			if (take_trees(lines, header.sh_addr + at))
				return true;
		}
	}
	return false;
}

/* The loader puts it there. */
static void look_in_relocations(struct go_lines *lines, int *nr)
{
	struct elf_relative relative;
	uint64_t at, value;
	elf_relative_init(&relative, lines->elf);
	while (elf_relative_next(&relative, &at, &value))
		if (value == lines->functions.address &&
		    (++*nr > MODULES_MAX || take_trees(lines, at)))
			return;
}

bool go_lines_open(struct go_lines *lines, Elf *elf)
{
	int nr = 0;
	*lines = (struct go_lines){.elf = elf};
	if (!go_functions_open(&lines->functions, elf) || lines->functions.format < GO_1_16)
		return false;
	if (lines->functions.format < GO_1_18)
		lines->has_trees = true; /* each by its address */
	else if (!look_in_data(lines, &nr))
		look_in_relocations(lines, &nr);
	return true;
}

/* ---- one address ---- */

static bool has_function(const struct go_lines *lines, uint64_t address, struct go_details *details)
{
	const size_t index = go_functions_before(&lines->functions, address);
	return go_functions_details(&lines->functions, index, details) &&
	       address < details->function.end;
}

static void set_line(const struct go_lines *lines, const struct go_details *details,
		     uint64_t address, int *steps, struct go_values *last, struct go_place *place)
{
	const struct go_functions *functions = &lines->functions;
	*place = (struct go_place){.function = "", .file = ""};
	if (!go_functions_value(functions, details, details->files, address, steps, &last->file) ||
	    !go_functions_value(functions, details, details->lines, address, steps, &last->line) ||
	    last->file.value > INT32_MAX || last->line.value > INT32_MAX)
		return;
	const char *file = go_functions_file(functions, details->unit, last->file.value);
	if (!file)
		return;
	place->file = file;
	place->line = last->line.value;
}

/* 0: they make no sense, or are too many. */
static size_t find_chain(struct go_lines *lines, const struct go_details *details, uint64_t address,
			 struct go_place *places, size_t most)
{
	struct go_value index = {0};
	int steps = STEPS_MAX;
	for (size_t nr = 0; nr < most; nr++) {
		struct call call;
		set_line(lines, details, address, &steps, &lines->here, &places[nr]);
		if (details->calls && !go_functions_value(&lines->functions, details,
							  details->calls, address, &steps, &index))
			return 0;
		if (!details->calls || !is_inlined(index.value)) {
			places[nr].function = details->function.name;
			return nr + 1;
		}
		if (!lines->has_trees || details->tree == GO_NO_TREE ||
		    !read_call(lines, lines->trees, details, index.value, &call))
			return 0;
		places[nr].function = call.name;
		address = details->function.start + call.parent;
	}
	return 0;
}

size_t go_lines_find(struct go_lines *lines, uint64_t elf_address, struct go_place *places,
		     size_t most)
{
	struct go_details details;
	if (!most || !has_function(lines, elf_address, &details))
		return 0;
	const size_t nr = find_chain(lines, &details, elf_address, places, most);
	if (!nr)
		places[0] = (struct go_place){.function = details.function.name, .file = ""};
	return nr ? nr : 1;
}

bool go_lines_row(struct go_lines *lines, uint64_t elf_address, struct go_place *place,
		  uint64_t *end)
{
	struct go_details details;
	int steps = STEPS_MAX;
	*place = (struct go_place){.function = "", .file = ""};
	*end = elf_address + 1;
	if (!has_function(lines, elf_address, &details))
		return false;
	set_line(lines, &details, elf_address, &steps, &lines->here, place);
	if (!place->line)
		return false;
	*end = lines->here.file.end < lines->here.line.end ? lines->here.file.end
							   : lines->here.line.end;
	return true;
}

/* ---- calls ---- */

/* 1 + the call in the lower half, the function in the upper one. 0: none was inlined. */
static uint64_t call_id(uint64_t function, uint32_t call)
{
	return is_inlined(call) && function <= INT32_MAX ? function << 32 | (call + 1) : 0;
}

bool go_lines_inlined(struct go_lines *lines, uint64_t elf_address, uint64_t *id, uint64_t *end)
{
	const size_t function = go_functions_before(&lines->functions, elf_address);
	struct go_details details;
	int steps = STEPS_MAX;
	*id = 0;
	*end = elf_address + 1;
	if (!go_functions_details(&lines->functions, function, &details) ||
	    elf_address >= details.function.end)
		return false;
	*end = details.function.end;
	if (!details.calls)
		return true;
	if (!lines->has_trees || details.tree == GO_NO_TREE ||
	    !go_functions_value(&lines->functions, &details, details.calls, elf_address, &steps,
				&lines->here.call))
		return false;
	*id = call_id(function, lines->here.call.value);
	*end = lines->here.call.end;
	return true;
}

bool go_lines_call(struct go_lines *lines, uint64_t id, struct go_place *place, uint64_t *outer)
{
	const uint64_t function = id >> 32;
	struct go_details details;
	struct call call;
	int steps = STEPS_MAX;
	if (!id || !lines->has_trees ||
	    !go_functions_details(&lines->functions, function, &details) || !details.calls ||
	    details.tree == GO_NO_TREE ||
	    !read_call(lines, lines->trees, &details, (uint32_t)id - 1, &call))
		return false;
	const uint64_t at = details.function.start + call.parent;
	set_line(lines, &details, at, &steps, &lines->callers, place);
	place->function = call.name;
	if (!go_functions_value(&lines->functions, &details, details.calls, at, &steps,
				&lines->callers.call))
		return false;
	*outer = call_id(function, lines->callers.call.value);
	return true;
}
