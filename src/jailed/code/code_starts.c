/* SPDX-License-Identifier: MIT */
#include "code_starts.h"

#include <gelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/elf/object.h>
#include <ctop/machine/instruction.h>

enum {
	/* Compilers have 22 MiB, read in a second in all; larger ones come with unwind tables, or with frame pointers. */
	CODE_BYTES_MAX = 32 << 20,
	FUNCTION_BYTES_MAX = 1 << 20,
	SYMBOLS_MAX = 1 << 20,
	ALIGNMENT = 16, /* of most functions */
	SEGMENTS_A_STEP =
		32, /* are looked at while an instruction is read; no linker makes as many */
	FIXED_ADDRESS_MIN = 0x10000,
	WORD_BITS = 64
};

static void mark(const struct code_starts *starts, uint64_t *bits, uint64_t address)
{
	const uint64_t at = address - starts->view.start;
	if (at < starts->view.size)
		bits[at / WORD_BITS] |= UINT64_C(1) << at % WORD_BITS;
}

static void mark_function(struct code_starts *starts, uint64_t address)
{
	mark(starts, starts->bits, address);
	mark(starts, starts->taken, address);
	mark(starts, starts->called, address);
}

static void mark_taken(struct code_starts *starts, uint64_t address)
{
	mark(starts, starts->bits, address);
	mark(starts, starts->taken, address);
}

/* What the loader writes to an address; linkers sort such relocations, and put them first. */
static bool read_relocated(const struct code_starts *starts, uint64_t address, uint64_t *pointer)
{
	Elf_Scn *section = elf_getscn(object_elf(starts->object), starts->relocations);
	Elf_Data *data = starts->relocations ? elf_getdata(section, NULL) : NULL;
	size_t low = 0, high = data ? data->d_size / sizeof(Elf64_Rela) : 0;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		GElf_Rela relocation;
		if (middle > INT_MAX || !gelf_getrela(data, (int)middle, &relocation))
			return false;
		const bool relative = GELF_R_TYPE(relocation.r_info) == MACHINE_RELATIVE;
		*pointer = (uint64_t)relocation.r_addend;
		if (relative && relocation.r_offset == address)
			return true;
		if (relative && relocation.r_offset < address)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static bool read_constant(const void *context, uint64_t address, void *bytes, size_t size)
{
	const struct code_starts *starts = context;
	uint64_t pointer;
	if (size == sizeof(pointer) && read_relocated(starts, address, &pointer)) {
		memcpy(bytes, &pointer, size);
		return true;
	}
	return object_read(starts->object, address, bytes, size);
}

static bool is_marked(const uint64_t *bits, uint64_t at)
{
	return bits[at / WORD_BITS] >> at % WORD_BITS & 1;
}

static void spend(uint64_t *steps, uint64_t cost)
{
	*steps -= cost < *steps ? cost : *steps;
}

/* Looking for marks: words are looked at faster than instructions are decoded. */
static void spend_on_way(uint64_t *steps, uint64_t bytes)
{
	enum { BYTES_A_STEP = WORD_BITS * 16 };
	spend(steps, 1 + bytes / BYTES_A_STEP);
}

/* The last start of some at or before an address; false when there is none near. */
static bool start_before(const uint64_t *bits, uint64_t at, uint64_t *start, uint64_t *steps)
{
	const uint64_t from = at, lowest = at > FUNCTION_BYTES_MAX ? at - FUNCTION_BYTES_MAX : 0;
	while (at > lowest && !is_marked(bits, at))
		at -= bits[at / WORD_BITS] == 0 && at - lowest > WORD_BITS ? at % WORD_BITS + 1 : 1;
	*start = at;
	spend_on_way(steps, from - at);
	return is_marked(bits, at);
}

static uint64_t start_behind(const struct code_starts *starts, const uint64_t *bits, uint64_t at,
			     uint64_t *steps)
{
	const uint64_t size = starts->view.size, first = at++;
	while (at < size && at - first < FUNCTION_BYTES_MAX && !is_marked(bits, at))
		at += bits[at / WORD_BITS] == 0 ? WORD_BITS - at % WORD_BITS : 1;
	spend_on_way(steps, at - first);
	return at < size ? at : size;
}

/* ---- the functions around an address ---- */

/* The function before an address, by some of the starts. False when none is near. */
static bool add_function(const struct code_starts *starts, const uint64_t *bits, uint64_t at,
			 struct code_functions *functions, uint64_t *steps)
{
	const uint64_t base = starts->view.start;
	uint64_t first;
	if (!start_before(bits, at, &first, steps))
		return false;
	for (size_t i = 0; i < functions->nr; i++)
		if (functions->items[i].start == base + first)
			return true;
	if (functions->nr < CODE_FUNCTIONS_MAX)
		functions->items[functions->nr++] = (struct code_function){
			base + first, base + start_behind(starts, bits, at, steps)};
	return true;
}

/* The number of jumps that lead to at or before there. */
static size_t jumps_until(const struct code_starts *starts, uint64_t at)
{
	size_t low = 0, high = starts->jumps.nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (starts->jumps.items[middle].to <= at)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* Those that jump to between a start and an address, the nearest jumps first: the address may be in parts of them. */
static void add_jumping(const struct code_starts *starts, uint64_t start, uint64_t at,
			struct code_functions *functions, uint64_t *steps)
{
	enum { JUMPS_MAX = 32, JUMPING_MAX = 6 };
	const size_t nr = jumps_until(starts, at), before = functions->nr;
	for (size_t i = nr; i > 0 && nr - i < JUMPS_MAX && functions->nr - before < JUMPING_MAX;
	     i--) {
		const struct code_jump *jump = &starts->jumps.items[i - 1];
		if (jump->to < start)
			return;
		add_function(starts, starts->taken, jump->from, functions, steps);
		add_function(starts, starts->bits, jump->from, functions, steps);
	}
}

static bool is_jumped_to(const struct code_starts *starts, uint64_t at)
{
	const size_t nr = jumps_until(starts, at);
	return nr > 0 && starts->jumps.items[nr - 1].to == at;
}

/*
 * What only data points to, from the last function that is likelier one on: a table of labels would make the nearest of
 * them the wrong one, so the first comes first.
 */
static void add_pointed(const struct code_starts *starts, uint64_t at,
			struct code_functions *functions, uint64_t *steps)
{
	enum { POINTED_MAX = 12 };
	uint64_t pointed[POINTED_MAX], start;
	size_t nr = 0;
	while (nr < POINTED_MAX && start_before(starts->bits, at, &start, steps) &&
	       !is_marked(starts->taken, start)) {
		pointed[nr++] = start;
		if (start == 0)
			break;
		at = start - 1;
	}
	while (nr > 0)
		add_function(starts, starts->bits, pointed[--nr], functions, steps);
}

void code_starts_find(const struct code_starts *starts, uint64_t address,
		      struct code_functions *functions, uint64_t *steps)
{
	enum { EARLIER_MAX = 7 };
	const uint64_t at = address - starts->view.start;
	uint64_t first;
	functions->nr = functions->nearest = 0;
	if (!starts->bits || at >= starts->view.size ||
	    !start_before(starts->bits, at, &first, steps))
		return;
	/* Where only jumps lead to, a part may begin as well as a function. */
	if (is_jumped_to(starts, first))
		add_jumping(starts, first, first, functions, steps);
	/* Code and data take the addresses of labels, too: the function starts before them. */
	add_function(starts, starts->called, at, functions, steps);
	add_jumping(starts, first, at, functions, steps);
	add_function(starts, starts->taken, at, functions, steps);
	add_pointed(starts, at, functions, steps);
	for (size_t i = 0; i < functions->nr; i++)
		if (functions->items[i].start == starts->view.start + first)
			functions->nearest = i;
	for (unsigned i = 0; i < EARLIER_MAX && first > 0; i++)
		if (!add_function(starts, starts->taken, first - 1, functions, steps) ||
		    !start_before(starts->taken, first - 1, &first, steps))
			return;
}

/* ---- where they start ---- */

static uint64_t target_of(const struct code_starts *starts, const struct instruction *instruction,
			  uint64_t end)
{
	return starts->view.start + end + (uint64_t)instruction->value;
}

static void mark_target(struct code_starts *starts, const struct instruction *instruction,
			uint64_t end)
{
	const uint64_t target = target_of(starts, instruction, end);
	switch ((int)instruction->kind) {
	case INSTRUCTION_ADDRESS:
		mark_taken(starts, target);
		break;
	case INSTRUCTION_CONSTANT:
		/* Of programs at fixed addresses; lower numbers are mostly numbers. */
		if (starts->view.start >= FIXED_ADDRESS_MIN && instruction->value % ALIGNMENT == 0)
			mark_taken(starts, (uint64_t)instruction->value);
		break;
	case INSTRUCTION_CALL:
		if (instruction->value != 0)
			mark_function(starts, target);
		mark(starts, starts->gaps, starts->view.start + end);
		break;
	case INSTRUCTION_BRANCH:
		mark(starts, starts->branches, target);
		break;
	case INSTRUCTION_JUMP:
	case INSTRUCTION_JUMP_TABLE:
	case INSTRUCTION_JUMP_INDEXED:
	case INSTRUCTION_JUMP_MEMORY:
	case INSTRUCTION_JUMP_REGISTER:
	case INSTRUCTION_RETURN:
	case INSTRUCTION_STOP:
	case INSTRUCTION_NOP:
		mark(starts, starts->gaps, starts->view.start + end);
		break;
	default:
		break;
	}
}

/* Other functions lie between: the later one of the two has a start after the earlier one. */
static bool is_far(const struct code_starts *starts, uint64_t from, uint64_t to, uint64_t *steps)
{
	uint64_t start;
	return start_before(starts->bits, from > to ? from : to, &start, steps) &&
	       start > (from > to ? to : from);
}

/* Out of memory only means that a part is not known as one. */
static void keep_jump(struct code_starts *starts, uint64_t from, uint64_t to)
{
	enum { JUMPS_MAX = 1 << 18 };
	if (starts->jumps.nr == JUMPS_MAX || vec_reserve(&starts->jumps, starts->jumps.nr + 1))
		return;
	starts->jumps.items[starts->jumps.nr++] =
		(struct code_jump){.to = (uint32_t)to, .from = (uint32_t)from};
}

/*
 * A jump past other functions to where code begins, behind a gap, is to a part of the function. To an aligned address,
 * if no branch leads there, it may also be the last call of a function.
 */
static void mark_jump(struct code_starts *starts, const struct instruction *instruction,
		      uint64_t end, uint64_t *steps)
{
	const uint64_t at = target_of(starts, instruction, end) - starts->view.start;
	if ((instruction->kind != INSTRUCTION_JUMP && instruction->kind != INSTRUCTION_BRANCH) ||
	    at >= starts->view.size || !is_marked(starts->gaps, at))
		return;
	const bool is_part = is_marked(starts->parts, at);
	if (is_marked(starts->bits, at) && !is_part)
		return;
	if (!is_far(starts, end - 1, at, steps)) /* at its end another function may start */
		return;
	if (!is_part && instruction->kind == INSTRUCTION_JUMP &&
	    (starts->view.start + at) % ALIGNMENT == 0 && !is_marked(starts->branches, at))
		mark_function(starts, starts->view.start + at);
	mark(starts, starts->parts, starts->view.start + at);
	keep_jump(starts, end - 1, at);
}

/* Each instruction from the segment's first byte on; after what is none, from the next byte. */
static void read_code(struct code_starts *starts, uint64_t *steps)
{
	const struct code_view *view = &starts->view;
	while (starts->at<view->size && * steps> 0) {
		struct instruction instruction;
		--*steps;
		if (!instruction_read(view->bytes + starts->at, view->size - starts->at,
				      &instruction)) {
			starts->at++;
			continue;
		}
		starts->at += instruction.length;
		if (starts->pass == CODE_PASS_TARGETS)
			mark_target(starts, &instruction, starts->at);
		else
			mark_jump(starts, &instruction, starts->at, steps);
	}
}

/* gcc's foo.cold and foo.part.0.cold begin amid foo. */
static bool is_part(const char *name, uint64_t *steps)
{
	enum { NAME_BYTES_MAX = 4096, BYTES_A_STEP = 64 };
	const size_t length = name ? strnlen(name, NAME_BYTES_MAX) : 0;
	spend(steps, length / BYTES_A_STEP);
	return length && memmem(name, length, ".cold", strlen(".cold"));
}

static void mark_symbol(struct code_starts *starts, const char *name, uint64_t address,
			uint64_t *steps)
{
	if (is_part(name, steps))
		mark(starts, starts->parts, address);
	else
		mark_function(starts, address);
}

static void read_symbols_of(struct code_starts *starts, Elf *elf, Elf_Scn *section,
			    const GElf_Shdr *header, uint64_t *steps)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t nr = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (; starts->at < nr && starts->at<SYMBOLS_MAX && * steps> 0; starts->at++) {
		GElf_Sym symbol;
		--*steps;
		if (gelf_getsym(data, (int)starts->at, &symbol) &&
		    GELF_ST_TYPE(symbol.st_info) == STT_FUNC && symbol.st_shndx != SHN_UNDEF)
			mark_symbol(starts, elf_strptr(elf, header->sh_link, symbol.st_name),
				    symbol.st_value, steps);
	}
}

/* Pointers in data, to functions that are only called by them. */
static void read_relocations_of(struct code_starts *starts, Elf_Scn *section,
				const GElf_Shdr *header, uint64_t *steps)
{
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t nr = data && header->sh_entsize ? data->d_size / header->sh_entsize : 0;
	for (; starts->at < nr && starts->at<SYMBOLS_MAX && * steps> 0; starts->at++) {
		GElf_Rela relocation;
		--*steps;
		if (gelf_getrela(data, (int)starts->at, &relocation) &&
		    GELF_R_TYPE(relocation.r_info) == MACHINE_RELATIVE)
			mark(starts, starts->bits, (uint64_t)relocation.r_addend);
	}
}

/* A frame is made soon after: it is no label, as tables of jumps lead to. */
static bool makes_frame(const struct code_starts *starts, uint64_t address, uint64_t *steps)
{
	enum { INSTRUCTIONS_MAX = 4 };
	const struct code_view *view = &starts->view;
	uint64_t at = address - view->start;
	struct instruction instruction;
	for (unsigned i = 0; i < INSTRUCTIONS_MAX && at < view->size; i++) {
		spend(steps, 1);
		if (!instruction_read(view->bytes + at, view->size - at, &instruction))
			return false;
		if (instruction.kind == INSTRUCTION_PUSH &&
		    MACHINE_SAVED_MASK >> instruction.reg & 1)
			return true;
		if (instruction.kind == INSTRUCTION_ADD && instruction.reg == UNWIND_SP)
			return instruction.value < 0;
		if (instruction.kind == INSTRUCTION_STORE && instruction.base == UNWIND_SP)
			return instruction.writeback < 0;
		at += instruction.length;
	}
	return false;
}

/* The same, where programs lie at fixed addresses: words that are addresses of functions. */
static void read_pointers_of(struct code_starts *starts, Elf_Scn *section, uint64_t *steps)
{
	enum { WORDS_A_STEP = 8 };
	Elf_Data *data = elf_getdata(section, NULL);
	const size_t nr = data && data->d_buf ? data->d_size / MACHINE_ADDRESS_BYTES : 0;
	for (; starts->at<nr && * steps> 0; starts->at++) {
		uint64_t word;
		memcpy(&word, (const uint8_t *)data->d_buf + starts->at * sizeof(word),
		       sizeof(word));
		*steps -= starts->at % WORDS_A_STEP == 0;
		if (word % ALIGNMENT == 0 && makes_frame(starts, word, steps))
			mark(starts, starts->bits, word);
	}
}

static bool has_pointers(const struct code_starts *starts, const GElf_Shdr *header)
{
	return starts->view.start >= FIXED_ADDRESS_MIN && header->sh_type == SHT_PROGBITS &&
	       header->sh_flags & SHF_ALLOC && !(header->sh_flags & SHF_EXECINSTR) &&
	       header->sh_addr % MACHINE_ADDRESS_BYTES == 0;
}

/* Of all sections, from the first one on. */
static void read_symbols(struct code_starts *starts, uint64_t *steps)
{
	Elf *elf = object_elf(starts->object);
	GElf_Shdr header;
	for (Elf_Scn *section; *steps > 0 && (section = elf_getscn(elf, starts->section + 1));) {
		--*steps;
		if (gelf_getshdr(section, &header) &&
		    (header.sh_type == SHT_DYNSYM || header.sh_type == SHT_SYMTAB))
			read_symbols_of(starts, elf, section, &header, steps);
		else if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			read_relocations_of(starts, section, &header, steps);
		else if (gelf_getshdr(section, &header) && has_pointers(starts, &header))
			read_pointers_of(starts, section, steps);
		if (*steps > 0) {
			starts->section++;
			starts->at = 0;
		}
	}
}

static int compare_jumps(const void *left, const void *right)
{
	const struct code_jump *a = left, *b = right;
	return (a->to > b->to) - (a->to < b->to);
}

static void sort_jumps(struct code_starts *starts, uint64_t *steps)
{
	enum { STEPS_A_JUMP = 2 };
	spend(steps, starts->jumps.nr * STEPS_A_JUMP);
	if (starts->jumps.nr)
		qsort(starts->jumps.items, starts->jumps.nr, sizeof(*starts->jumps.items),
		      compare_jumps);
}

bool code_starts_read(struct code_starts *starts, uint64_t *steps)
{
	while (starts->bits && starts->pass != CODE_IS_READ) {
		if (starts->pass == CODE_PASS_SYMBOLS)
			read_symbols(starts, steps);
		else
			read_code(starts, steps);
		if (*steps == 0)
			return false;
		starts->pass++;
		starts->at = 0;
	}
	if (starts->gaps) {
		free(starts->gaps);
		starts->gaps = NULL;
		sort_jumps(starts, steps);
	}
	return true;
}

static bool reserve_bits(struct code_starts *starts)
{
	const size_t words = starts->view.size / WORD_BITS + 1;
	starts->bits = calloc(words, sizeof(*starts->bits));
	starts->branches = calloc(words, sizeof(*starts->branches));
	starts->gaps = calloc(words, sizeof(*starts->gaps));
	starts->parts = calloc(words, sizeof(*starts->parts));
	starts->taken = calloc(words, sizeof(*starts->taken));
	starts->called = calloc(words, sizeof(*starts->called));
	starts->view.branched_to = starts->branches;
	starts->view.starts = starts->bits;
	starts->view.parts = starts->parts;
	return starts->bits && starts->branches && starts->gaps && starts->parts && starts->taken &&
	       starts->called;
}

static void free_bits(struct code_starts *starts)
{
	free(starts->bits);
	free(starts->branches);
	free(starts->gaps);
	free(starts->parts);
	free(starts->taken);
	free(starts->called);
	free(starts->jumps.items);
	starts->jumps.items = NULL;
	starts->jumps.nr = starts->jumps.capacity = 0;
	starts->bits = starts->branches = starts->gaps = starts->parts = starts->taken =
		starts->called = NULL;
	starts->view.branched_to = starts->view.starts = starts->view.parts = NULL;
}

/* The first section of such. */
static size_t find_relocations(Elf *elf)
{
	enum { SECTIONS_MAX = 1 << 10 };
	Elf_Scn *section = NULL;
	GElf_Shdr header;
	for (unsigned i = 0; i < SECTIONS_MAX && (section = elf_nextscn(elf, section)); i++)
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_RELA)
			return elf_ndxscn(section);
	return 0;
}

bool code_starts_open(struct code_starts *starts, const struct object *object, uint64_t elf_address)
{
	static uint64_t last_serial;
	struct object_code code;
	*starts = (struct code_starts){.object = object,
				       .relocations = find_relocations(object_elf(object))};
	if (!object_code(object, elf_address, &code))
		return false;
	starts->view = (struct code_view){
		.serial = ++last_serial,
		.bytes = code.bytes,
		.start = code.start,
		.size = code.size,
		.read = read_constant,
		.context = starts,
		.read_steps =
			1 + code.nr_segments / SEGMENTS_A_STEP, /* and a relocation looked up */
	};
	if (code.size > CODE_BYTES_MAX || !reserve_bits(starts))
		free_bits(starts);
	return true;
}

void code_starts_release(struct code_starts *starts)
{
	free_bits(starts);
	*starts = (struct code_starts){0};
}
