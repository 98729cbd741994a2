/* SPDX-License-Identifier: MIT */
#include <ctop/elf/go_functions.h>

#include <gelf.h>
#include <string.h>

#include <ctop/elf/section.h>

#include "relative.h"
#include "read_bytes.h"

/*
 * Go's src/runtime/symtab.go, struct pcHeader: a number for the format, two zeros, how long instructions are, how long pointers
 * are, then words: how many functions, how many files, since 1.18 where the code begins, and since 1.16 where in the table names, units, files,
 * lines and functions begin. Of each function there are two numbers, where it begins and where more is said of it, which begins with the same
 * address and where its name is; behind the last one, where that ends.
 */
enum {
	HEADER_BYTES = 8,
	WORD_BYTES = 8,
	HEADER_WORDS = 8,
	TABLE_ALIGNMENT = 8,
	TRIES_MAX = 16, /* of what looks like its header, which is hardly ever anything else */
	FUNCTIONS_MAX = 8 << 20,
	STEPS_MAX = 1 << 16, /* of one function; the compiler's largest have some thousand */
	FRAME_BYTES_MAX = 1 << 30,
};

static bool format_of(const uint8_t *table, enum go_format *format)
{
	const uint8_t instruction = table[6], pointer = table[7];
	if (table[4] || table[5] || (instruction != 1 && instruction != 2 && instruction != 4) ||
	    pointer != WORD_BYTES)
		return false;
	switch (read_u32(table)) {
	case 0xfffffffb:
		*format = GO_1_2;
		return true;
	case 0xfffffffa:
		*format = GO_1_16;
		return true;
	case 0xfffffff0:
		*format = GO_1_18;
		return true;
	case 0xfffffff1:
		*format = GO_1_20;
		return true;
	default:
		return false;
	}
}

/* What the loader will put there, where the linker left it empty; 0: nothing. */
static uint64_t relocated(Elf *elf, uint64_t address)
{
	struct elf_relative relative;
	uint64_t at, value;
	elf_relative_init(&relative, elf);
	while (elf_relative_next(&relative, &at, &value))
		if (at == address)
			return value;
	return 0;
}

/* Addresses and offsets have 64 bits, not 32. */
static bool is_wide(const struct go_functions *functions)
{
	return functions->format < GO_1_18;
}

static size_t field_bytes(const struct go_functions *functions)
{
	return is_wide(functions) ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* A number of the list of functions. */
static uint64_t field(const struct go_functions *functions, size_t index)
{
	const uint8_t *at =
		functions->table + functions->functions_at + index * field_bytes(functions);
	return is_wide(functions) ? read_u64(at) : read_u32(at);
}

static uint64_t header_word(const struct go_functions *functions, size_t index)
{
	return read_u64(functions->table + HEADER_BYTES + index * WORD_BYTES);
}

/* The first word that says where something is in the table; they come in one order. */
static void read_places(struct go_functions *functions, size_t first)
{
	enum { NAMES, UNITS, FILES, LISTS, FUNCTIONS };
	functions->names_at = header_word(functions, first + NAMES);
	functions->units_at = header_word(functions, first + UNITS);
	functions->files_at = header_word(functions, first + FILES);
	functions->lists_at = header_word(functions, first + LISTS);
	functions->functions_at = header_word(functions, first + FUNCTIONS);
}

/* Nothing says where the code begins: with its section, if what begins the program is then where that does. */
static bool take_text_section(struct go_functions *functions, Elf *elf)
{
	static const char starts[] = "_rt0_";
	GElf_Ehdr file;
	GElf_Shdr header;
	if (!gelf_getehdr(elf, &file) || !elf_section_named(elf, ".text", &header))
		return false;
	functions->text = header.sh_addr;
	for (size_t i = 0; i < functions->nr; i++) {
		struct go_function function;
		if (go_functions_get(functions, i, &function) && function.start == file.e_entry &&
		    strncmp(function.name, starts, sizeof(starts) - 1) == 0)
			return true;
	}
	return false;
}

static bool read_header(struct go_functions *functions, Elf *elf, uint64_t table_address)
{
	enum { NR_FUNCTIONS, NR_FILES, TEXT, PLACES };
	enum go_format format;
	if (functions->bytes < HEADER_BYTES + HEADER_WORDS * WORD_BYTES ||
	    !format_of(functions->table, &format))
		return false;
	functions->nr = header_word(functions, NR_FUNCTIONS);
	functions->format = format;
	functions->address = table_address;
	functions->instruction_bytes = functions->table[6];
	functions->text = 0;
	switch (format) {
	case GO_1_2:
		functions->names_at = 0;
		functions->lists_at = 0;
		functions->functions_at = HEADER_BYTES + WORD_BYTES;
		break;
	case GO_1_16:
		read_places(functions, TEXT);
		break;
	case GO_1_18:
	case GO_1_20:
		read_places(functions, PLACES);
		functions->text = header_word(functions, TEXT);
		break;
	}
	if (!functions->nr || functions->nr > FUNCTIONS_MAX ||
	    functions->names_at > functions->bytes || functions->lists_at > functions->bytes ||
	    functions->functions_at > functions->bytes)
		return false;
	const size_t room = functions->bytes - functions->functions_at;
	if ((2 * functions->nr + 1) * field_bytes(functions) > room)
		return false;
	if (!is_wide(functions) && !functions->text)
		functions->text = relocated(elf, table_address + HEADER_BYTES + TEXT * WORD_BYTES);
	return is_wide(functions) || functions->text || take_text_section(functions, elf);
}

static bool open_in(struct go_functions *functions, Elf *elf, const Elf_Data *data,
		    const GElf_Shdr *header)
{
	if (!data || !data->d_buf)
		return false;
	*functions = (struct go_functions){.table = data->d_buf, .bytes = data->d_size};
	return read_header(functions, elf, header->sh_addr);
}

/* Linkers other than Go's put it, of programs that may lie anywhere, among other data. */
static bool look_for(struct go_functions *functions, Elf *elf)
{
	/* What all formats have in common: of a little-endian number's bytes the second to the sixth. */
	const uint64_t mask = UINT64_C(0xffffffffff00), marks = UINT64_C(0xffffff00);
	GElf_Shdr header;
	const Elf_Data *data = elf_section_named(elf, ".data.rel.ro", &header);
	if (!data || !data->d_buf)
		return false;
	const uint8_t *bytes = data->d_buf;
	int tries = 0;
	for (size_t at = 0; at + HEADER_BYTES < data->d_size && tries < TRIES_MAX;
	     at += TABLE_ALIGNMENT) {
		enum go_format format;
		if ((read_u64(bytes + at) & mask) != marks || !format_of(bytes + at, &format))
			continue;
		tries++;
		*functions = (struct go_functions){.table = bytes + at, .bytes = data->d_size - at};
		if (read_header(functions, elf, header.sh_addr + at))
			return true;
	}
	return false;
}

bool go_functions_open(struct go_functions *functions, Elf *elf)
{
	static const char *const sections[] = {".gopclntab", ".data.rel.ro.gopclntab"};
	for (size_t i = 0; i < sizeof(sections) / sizeof(sections[0]); i++) {
		GElf_Shdr header;
		const Elf_Data *data = elf_section_named(elf, sections[i], &header);
		if (open_in(functions, elf, data, &header))
			return true;
	}
	return look_for(functions, elf);
}

/* Where more is said of a function: behind its address, which is there once more. 0: nowhere. */
static size_t details_at(const struct go_functions *functions, size_t index, size_t bytes)
{
	/* Counted from the whole table in the oldest format, from the list in the others. */
	const size_t base = functions->names_at ? functions->functions_at : 0;
	const size_t address_bytes = field_bytes(functions);
	const uint64_t at = field(functions, 2 * index + 1);
	const size_t room = functions->bytes - base;
	if (at > room || room - at < address_bytes + bytes)
		return 0;
	const uint8_t *entry = functions->table + base + at;
	const uint64_t start = is_wide(functions) ? read_u64(entry) : read_u32(entry);
	return start == field(functions, 2 * index) ? base + at + address_bytes : 0;
}

static uint64_t start_of(const struct go_functions *functions, size_t index)
{
	return functions->text + field(functions, 2 * index);
}

/* NULL: it is not there, empty, or has no end. */
static const char *text_at(const struct go_functions *functions, size_t base, uint32_t at)
{
	if (base >= functions->bytes || at >= functions->bytes - base)
		return NULL;
	const char *text = (const char *)functions->table + base + at;
	const size_t room = functions->bytes - base - at;
	const size_t most = room < GO_NAME_MAX ? room : GO_NAME_MAX;
	const size_t length = strnlen(text, most);
	return length && length < most ? text : NULL;
}

bool go_functions_get(const struct go_functions *functions, size_t index,
		      struct go_function *function)
{
	const size_t details = details_at(functions, index, sizeof(uint32_t));
	function->start = start_of(functions, index);
	function->end = start_of(functions, index + 1);
	if (function->start >= function->end || !details)
		return false;
	const uint32_t name = read_u32(functions->table + details);
	function->name = text_at(functions, functions->names_at, name);
	return function->name != NULL;
}

const char *go_functions_string(const struct go_functions *functions, size_t base, uint32_t at)
{
	const char *text = text_at(functions, base, at);
	return text && (!at || !text[-1]) ? text : NULL;
}

const char *go_functions_file(const struct go_functions *functions, uint32_t unit, uint32_t number)
{
	const uint64_t at = ((uint64_t)unit + number) * sizeof(uint32_t);
	if (functions->format < GO_1_16 || functions->units_at > functions->bytes ||
	    at + sizeof(uint32_t) > functions->bytes - functions->units_at)
		return NULL;
	return go_functions_string(functions, functions->files_at,
				   read_u32(functions->table + functions->units_at + at));
}

/* ---- lists of values ---- */

/* Numbers in as few bytes as they need, seven bits each. */
static bool take_varint(const struct go_functions *functions, size_t *at, uint32_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 32 && *at < functions->bytes; shift += 7) {
		const uint8_t byte = functions->table[(*at)++];
		*value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/*
 * Values are pairs of how much each differs from the one before and for how long it stays: that begins with -1; the difference
 * has its sign in its lowest bit; one of 0, but the first, ends it.
 */
bool go_functions_value(const struct go_functions *functions, const struct go_details *details,
			uint32_t list, uint64_t elf_address, int *steps, struct go_value *value)
{
	const uint64_t start = details->function.start;
	uint32_t difference, length;
	/* The first byte of all lists is nobody's. */
	if (!list || list >= functions->bytes - functions->lists_at || elf_address < start)
		return false;
	if (value->list != list || value->function != start || elf_address < value->start)
		*value = (struct go_value){start, start, UINT32_MAX,
					   list,  start, functions->lists_at + list};
	while (elf_address >= value->end) {
		const bool is_first = value->end == start;
		if (--*steps < 0 || !take_varint(functions, &value->next, &difference) ||
		    (!is_first && !difference) || !take_varint(functions, &value->next, &length) ||
		    !length) {
			value->list = 0;
			return false;
		}
		value->value += difference & 1 ? ~(difference >> 1) : difference >> 1;
		value->start = value->end;
		value->end += (uint64_t)length * functions->instruction_bytes;
	}
	return true;
}

/* ---- functions ---- */

size_t go_functions_before(const struct go_functions *functions, uint64_t elf_address)
{
	size_t low = 0, high = functions->nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (start_of(functions, middle) <= elf_address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : functions->nr;
}

bool go_functions_at(const struct go_functions *functions, uint64_t elf_address,
		     struct go_function *function)
{
	const size_t index = go_functions_before(functions, elf_address);
	return index < functions->nr && go_functions_get(functions, index, function) &&
	       elf_address < function->end;
}

/*
 * Go's src/runtime/runtime2.go, struct _func: words, then four bytes, then lists of several kinds, then of each kind where its data
 * is, in 64 bits an address.
 */
static bool read_lists(const struct go_functions *functions, size_t words,
		       struct go_details *details)
{
	enum { FILES = 4, LINES, NR_LISTS, UNIT, NR_WORDS, CALLS = 2, TREE = 3, WORD = 4 };
	const uint8_t *at = functions->table + words;
	const size_t head = (NR_WORDS + (functions->format >= GO_1_20) + 1) * WORD;
	size_t room = functions->bytes - words;
	if (room < head)
		return false;
	details->files = read_u32(at + FILES * WORD);
	details->lines = read_u32(at + LINES * WORD);
	details->unit = read_u32(at + UNIT * WORD);
	const size_t nr_lists = read_u32(at + NR_LISTS * WORD), nr_data = at[head - 1];
	if (nr_lists > (room - head) / WORD)
		return false;
	if (nr_lists > CALLS)
		details->calls = read_u32(at + head + CALLS * WORD);
	size_t data = head + nr_lists * WORD;
	if (is_wide(functions))
		data += (words + data) % TABLE_ALIGNMENT;
	const size_t size = field_bytes(functions);
	if (nr_data <= TREE)
		return true;
	if (data > room || (TREE + 1) * size > room - data)
		return false;
	const uint64_t tree = is_wide(functions) ? read_u64(at + data + TREE * size)
						 : read_u32(at + data + TREE * size);
	const bool has_tree = is_wide(functions) ? tree != 0 : tree != UINT32_MAX;
	details->tree = has_tree ? tree : GO_NO_TREE;
	return true;
}

bool go_functions_details(const struct go_functions *functions, size_t index,
			  struct go_details *details)
{
	enum { NAME, ARGUMENTS, DEFERRED, FRAMES, NR_WORDS };
	*details = (struct go_details){.tree = GO_NO_TREE};
	if (index >= functions->nr || !go_functions_get(functions, index, &details->function))
		return false;
	const size_t words = details_at(functions, index, NR_WORDS * sizeof(uint32_t));
	if (!words)
		return false;
	details->frames = read_u32(functions->table + words + FRAMES * sizeof(uint32_t));
	return functions->format < GO_1_16 || read_lists(functions, words, details);
}

bool go_functions_frame(const struct go_functions *functions, uint64_t elf_address,
			struct go_frame *frame)
{
	const size_t index = go_functions_before(functions, elf_address);
	struct go_details details;
	struct go_value value = {0};
	int steps = STEPS_MAX;
	if (!go_functions_details(functions, index, &details) ||
	    elf_address >= details.function.end ||
	    !go_functions_value(functions, &details, details.frames, elf_address, &steps, &value))
		return false;
	*frame = (struct go_frame){value.start, value.end, value.value};
	return frame->bytes <= FRAME_BYTES_MAX && frame->bytes % WORD_BYTES == 0;
}
