/* SPDX-License-Identifier: MIT */
#include <ctop/elf/go_functions.h>

#include <gelf.h>
#include <limits.h>
#include <string.h>

#include <ctop/elf/section.h>

/*
 * Go's src/runtime/symtab.go, struct pcHeader: a number for the format, two zeros, how long instructions are, how long pointers
 * are, then words: how many functions, how many files, since 1.18 where the code begins, and since 1.16 where in the table names, units, files,
 * lines and functions begin. Of each function there are two numbers, where it begins and where more is said of it, which begins with the same
 * address and where its name is; behind the last one, where that ends.
 */
enum format { FORMAT_1_2, FORMAT_1_16, FORMAT_1_18 };
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

static uint64_t read_u64(const uint8_t *at)
{
	uint64_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

static uint32_t read_u32(const uint8_t *at)
{
	uint32_t value;
	memcpy(&value, at, sizeof(value));
	return value;
}

/* 1.20 has a number of its own, for what only means more to the runtime. */
static bool format_of(const uint8_t *table, enum format *format)
{
	const uint8_t instruction = table[6], pointer = table[7];
	if (table[4] || table[5] || (instruction != 1 && instruction != 2 && instruction != 4) ||
	    pointer != WORD_BYTES)
		return false;
	switch (read_u32(table)) {
	case 0xfffffffb:
		*format = FORMAT_1_2;
		return true;
	case 0xfffffffa:
		*format = FORMAT_1_16;
		return true;
	case 0xfffffff0:
	case 0xfffffff1:
		*format = FORMAT_1_18;
		return true;
	default:
		return false;
	}
}

static bool is_relative(uint16_t machine, uint64_t type)
{
	return (machine == EM_X86_64 && type == R_X86_64_RELATIVE) ||
	       (machine == EM_AARCH64 && type == R_AARCH64_RELATIVE);
}

/* What the loader will put there, where the linker left it empty; 0: nothing. */
static uint64_t relocated(Elf *elf, uint64_t address)
{
	Elf_Scn *section = NULL;
	GElf_Ehdr file;
	if (!gelf_getehdr(elf, &file))
		return 0;
	while ((section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		if (!gelf_getshdr(section, &header) || header.sh_type != SHT_RELA ||
		    !(header.sh_flags & SHF_ALLOC))
			continue;
		Elf_Data *data = elf_getdata(section, NULL);
		const size_t nr = data ? data->d_size / sizeof(Elf64_Rela) : 0;
		GElf_Rela found;
		for (size_t i = 0; i < nr && i < INT_MAX && gelf_getrela(data, (int)i, &found); i++)
			if (found.r_offset == address &&
			    is_relative(file.e_machine, GELF_R_TYPE(found.r_info)))
				return (uint64_t)found.r_addend;
	}
	return 0;
}

static size_t field_bytes(const struct go_functions *functions)
{
	return functions->wide ? sizeof(uint64_t) : sizeof(uint32_t);
}

/* A number of the list of functions. */
static uint64_t field(const struct go_functions *functions, size_t index)
{
	const uint8_t *at =
		functions->table + functions->functions_at + index * field_bytes(functions);
	return functions->wide ? read_u64(at) : read_u32(at);
}

static uint64_t header_word(const struct go_functions *functions, size_t index)
{
	return read_u64(functions->table + HEADER_BYTES + index * WORD_BYTES);
}

/* The first word that says where something is in the table; they come in one order. */
static void read_places(struct go_functions *functions, size_t first)
{
	enum { NAMES, UNITS, FILES, LINES, FUNCTIONS };
	functions->names_at = header_word(functions, first + NAMES);
	functions->lines_at = header_word(functions, first + LINES);
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
	enum format format;
	if (functions->bytes < HEADER_BYTES + HEADER_WORDS * WORD_BYTES ||
	    !format_of(functions->table, &format))
		return false;
	functions->nr = header_word(functions, NR_FUNCTIONS);
	functions->wide = format != FORMAT_1_18;
	functions->instruction_bytes = functions->table[6];
	functions->text = 0;
	switch (format) {
	case FORMAT_1_2:
		functions->names_at = 0;
		functions->lines_at = 0;
		functions->functions_at = HEADER_BYTES + WORD_BYTES;
		break;
	case FORMAT_1_16:
		read_places(functions, TEXT);
		break;
	case FORMAT_1_18:
		read_places(functions, PLACES);
		functions->text = header_word(functions, TEXT);
		break;
	}
	if (!functions->nr || functions->nr > FUNCTIONS_MAX ||
	    functions->names_at > functions->bytes || functions->lines_at > functions->bytes ||
	    functions->functions_at > functions->bytes)
		return false;
	const size_t room = functions->bytes - functions->functions_at;
	if ((2 * functions->nr + 1) * field_bytes(functions) > room)
		return false;
	if (format == FORMAT_1_18 && !functions->text)
		functions->text = relocated(elf, table_address + HEADER_BYTES + TEXT * WORD_BYTES);
	return functions->wide || functions->text || take_text_section(functions, elf);
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
	static const uint8_t marks[] = {0xff, 0xff, 0xff, 0, 0};
	GElf_Shdr header;
	const Elf_Data *data = elf_section_named(elf, ".data.rel.ro", &header);
	if (!data || !data->d_buf)
		return false;
	const uint8_t *bytes = data->d_buf;
	int tries = 0;
	for (size_t at = 0; at + HEADER_BYTES < data->d_size && tries < TRIES_MAX;
	     at += TABLE_ALIGNMENT) {
		enum format format;
		if (memcmp(bytes + at + 1, marks, sizeof(marks)) != 0 ||
		    !format_of(bytes + at, &format))
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
	const uint64_t start = functions->wide ? read_u64(entry) : read_u32(entry);
	return start == field(functions, 2 * index) ? base + at + address_bytes : 0;
}

static uint64_t start_of(const struct go_functions *functions, size_t index)
{
	return functions->text + field(functions, 2 * index);
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
	if (name >= functions->bytes - functions->names_at)
		return false;
	function->name = (const char *)functions->table + functions->names_at + name;
	const size_t most = functions->bytes - functions->names_at - name;
	const size_t length = strnlen(function->name, most < GO_NAME_MAX ? most : GO_NAME_MAX);
	return length && length < most && length < GO_NAME_MAX;
}

/* ---- frames ---- */

/* Numbers in as few bytes as they need, seven bits each. */
static bool take_varint(const uint8_t **at, const uint8_t *end, uint32_t *value)
{
	*value = 0;
	for (unsigned shift = 0; shift < 32 && *at < end; shift += 7) {
		const uint8_t byte = *(*at)++;
		*value |= (uint32_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return true;
	}
	return false;
}

/*
 * A value along a function's code, as pairs of how much it differs and for how long it stays: it begins with -1; the
 * difference has its sign in its lowest bit; one of 0, but the first, ends it.
 */
static bool find_frame(const struct go_functions *functions, const struct go_function *function,
		       uint32_t values, uint64_t address, struct go_frame *frame)
{
	const uint8_t *at = functions->table + functions->lines_at + values;
	const uint8_t *const end = functions->table + functions->bytes;
	uint64_t pc = function->start;
	uint32_t value = UINT32_MAX, difference, length;
	for (int i = 0; i < STEPS_MAX; i++) {
		if (!take_varint(&at, end, &difference) || (i && !difference) ||
		    !take_varint(&at, end, &length) || !length)
			return false;
		value += difference & 1 ? ~(difference >> 1) : difference >> 1;
		frame->start = pc;
		pc += (uint64_t)length * functions->instruction_bytes;
		if (address < pc) {
			frame->end = pc;
			frame->bytes = value;
			return value <= FRAME_BYTES_MAX && value % WORD_BYTES == 0;
		}
	}
	return false;
}

/* The last function that begins at the address or before it; nr: none. */
static size_t function_before(const struct go_functions *functions, uint64_t address)
{
	size_t low = 0, high = functions->nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (start_of(functions, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? low - 1 : functions->nr;
}

bool go_functions_at(const struct go_functions *functions, uint64_t elf_address,
		     struct go_function *function)
{
	const size_t index = function_before(functions, elf_address);
	return index < functions->nr && go_functions_get(functions, index, function) &&
	       elf_address < function->end;
}

bool go_functions_frame(const struct go_functions *functions, uint64_t elf_address,
			struct go_frame *frame)
{
	enum { NAME, ARGUMENTS, DEFERRED, FRAME, NR_WORDS };
	const size_t index = function_before(functions, elf_address);
	struct go_function function;
	if (index == functions->nr || !go_functions_get(functions, index, &function) ||
	    elf_address >= function.end)
		return false;
	const size_t details = details_at(functions, index, NR_WORDS * sizeof(uint32_t));
	if (!details)
		return false;
	const uint32_t values = read_u32(functions->table + details + FRAME * sizeof(uint32_t));
	/* The first byte of the list is nobody's: 0 says that there is none. */
	return values && values < functions->bytes - functions->lines_at &&
	       find_frame(functions, &function, values, elf_address, frame);
}
