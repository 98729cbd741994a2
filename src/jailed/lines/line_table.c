/* SPDX-License-Identifier: MIT */
#include "line_table.h"

#include <dwarf.h>
#include <stdlib.h>

#include <ctop/base/vec.h>
#include <ctop/elf/section.h>

#include "line_files.h"

enum {
	BLOCKS_MAX = 1 << 20,
	OVERLAPS_MAX = 16, /* blocks that begin before the one that has an address */
};

/* Where the program stands after a row, the first of some. Addresses only grow in a block. */
struct block {
	uint64_t start, end;
	uint32_t at; /* of what follows in the program */
	uint32_t file, line;
};

struct line_table {
	struct dwarf_bytes program;
	uint64_t instruction_bytes; /* the least, which addresses are counted in */
	int8_t line_base;
	uint8_t line_range, opcode_base;
	uint8_t lengths[UINT8_MAX + 1]; /* of opcodes: how many numbers follow */
	struct {
		struct block *items;
		size_t nr, capacity;
	} blocks; /* by address */
	struct line_files files;
};

/* ---- the program ---- */

struct machine {
	const struct line_table *table;
	struct dwarf_bytes cursor;
	uint64_t address;
	uint32_t file, line;
};

enum event { EVENT_ROW, EVENT_END, EVENT_NONE /* the program ends */ };

static void reset(struct machine *machine)
{
	machine->address = 0;
	machine->file = machine->line = 1;
}

static void advance(struct machine *machine, uint64_t operations)
{
	machine->address += operations * machine->table->instruction_bytes;
}

/* 1: a row, 0: none yet, -1: the end of a sequence. */
static int run_extended(struct machine *machine)
{
	struct dwarf_bytes *cursor = &machine->cursor;
	const uint64_t length = dwarf_uleb(cursor);
	struct dwarf_bytes body = *cursor;
	dwarf_skip(cursor, length);
	if (cursor->bad || !length)
		return 0;
	switch (dwarf_u8(&body)) {
	case DW_LNE_end_sequence:
		return -1;
	case DW_LNE_set_address:
		machine->address = dwarf_fixed(&body, (size_t)length - 1);
		return 0;
	default:
		return 0;
	}
}

static void run_standard(struct machine *machine, uint8_t opcode)
{
	struct dwarf_bytes *cursor = &machine->cursor;
	const struct line_table *table = machine->table;
	switch (opcode) {
	case DW_LNS_advance_pc:
		advance(machine, dwarf_uleb(cursor));
		break;
	case DW_LNS_advance_line:
		machine->line += (uint32_t)dwarf_sleb(cursor);
		break;
	case DW_LNS_set_file:
		machine->file = (uint32_t)dwarf_uleb(cursor);
		break;
	case DW_LNS_const_add_pc:
		advance(machine, (uint64_t)(UINT8_MAX - table->opcode_base) / table->line_range);
		break;
	case DW_LNS_fixed_advance_pc:
		machine->address += dwarf_fixed(cursor, 2);
		break;
	default: /* of columns and the like, or not known */
		for (int i = 0; i < table->lengths[opcode]; i++)
			dwarf_skip_leb(cursor);
		break;
	}
}

/* Up to the next row. */
static enum event run(struct machine *machine)
{
	const struct line_table *table = machine->table;
	while (machine->cursor.at < machine->cursor.end) {
		const uint8_t opcode = dwarf_u8(&machine->cursor);
		if (opcode >= table->opcode_base) {
			const unsigned number = (unsigned)(opcode - table->opcode_base);
			advance(machine, number / table->line_range);
			machine->line +=
				(uint32_t)(table->line_base + (int)(number % table->line_range));
			return EVENT_ROW;
		}
		if (opcode == DW_LNS_copy)
			return EVENT_ROW;
		const int result = opcode ? 0 : run_extended(machine);
		if (result < 0)
			return EVENT_END;
		if (opcode)
			run_standard(machine, opcode);
	}
	return EVENT_NONE;
}

/* ---- blocks ---- */

/* Of the last row at an address, and of what the linker left out, which is at 0, there is nothing to find. */
static void close_block(struct line_table *table, uint64_t end)
{
	struct block *block = &table->blocks.items[table->blocks.nr - 1];
	block->end = end;
	if (end <= block->start)
		table->blocks.nr--;
}

static bool open_block(struct line_table *table, const struct machine *machine)
{
	if (table->blocks.nr >= BLOCKS_MAX || vec_reserve(&table->blocks, table->blocks.nr + 1))
		return false;
	table->blocks.items[table->blocks.nr++] = (struct block){
		.start = machine->address,
		.at = (uint32_t)(machine->cursor.at - table->program.at),
		.file = machine->file,
		.line = machine->line,
	};
	return true;
}

static int compare_blocks(const void *a, const void *b)
{
	const struct block *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->at > right->at) - (left->at < right->at);
}

static void read_blocks(struct line_table *table)
{
	struct machine machine = {.table = table, .cursor = table->program};
	uint64_t last = 0; /* address */
	size_t nr = 0;	   /* rows of the block that is open; 0: none is */
	bool is_dead = false, begins = true;
	reset(&machine);
	for (;;) {
		const enum event event = run(&machine);
		is_dead = begins ? !machine.address : is_dead;
		begins = event == EVENT_END;
		const bool goes_on =
			event == EVENT_ROW && nr && nr < LINE_ROWS_MAX && machine.address >= last;
		if (nr && !goes_on)
			close_block(table, event == EVENT_NONE || machine.address < last
						   ? last
						   : machine.address);
		if (event == EVENT_NONE || machine.cursor.bad)
			break;
		nr = goes_on ? nr + 1 : 0;
		if (event == EVENT_END) {
			reset(&machine);
			continue;
		}
		last = machine.address;
		if (is_dead || goes_on)
			continue;
		if (!open_block(table, &machine))
			break;
		nr = 1;
	}
	vec_give_back(&table->blocks);
	if (table->blocks.nr)
		qsort(table->blocks.items, table->blocks.nr, sizeof(*table->blocks.items),
		      compare_blocks);
}

/* ---- the header ---- */

/* DWARF 5, 6.2.4. */
static bool read_header(struct line_table *table, const struct line_sections *sections, uint64_t at,
			const char *directory)
{
	struct dwarf_bytes cursor = sections->lines;
	dwarf_skip(&cursor, at);
	const size_t offset_bytes = dwarf_enter(&cursor);
	const uint64_t version = dwarf_fixed(&cursor, 2);
	if (version >= 5)
		dwarf_skip(&cursor, 2); /* sizes of addresses, and of segments' numbers */
	const uint64_t header_bytes = dwarf_fixed(&cursor, offset_bytes);
	table->program = cursor;
	dwarf_skip(&table->program, header_bytes);
	cursor.end = table->program.at;
	table->instruction_bytes = dwarf_u8(&cursor);
	const uint8_t operations = version >= 4 ? dwarf_u8(&cursor) : 1;
	dwarf_u8(&cursor); /* whether rows are beginnings of statements */
	table->line_base = (int8_t)dwarf_u8(&cursor);
	table->line_range = dwarf_u8(&cursor);
	table->opcode_base = dwarf_u8(&cursor);
	for (int i = 1; i < table->opcode_base; i++)
		table->lengths[i] = dwarf_u8(&cursor);
	/* No machine that ctop runs on has several operations in an instruction. */
	if (cursor.bad || table->program.bad || version < 2 || version > 5 || operations != 1 ||
	    !table->line_range || !table->opcode_base || dwarf_left(&table->program) > UINT32_MAX)
		return false;
	line_files_read(&table->files, sections, cursor, (int)version, offset_bytes, directory);
	return true;
}

static struct dwarf_bytes section_of(Elf *elf, const char *name, const char *packed_name)
{
	Elf64_Shdr header;
	const Elf_Data *data = elf_section_named(elf, name, &header);
	data = data ? data : elf_section_named(elf, packed_name, &header);
	if (!data || !data->d_buf || header.sh_flags & SHF_COMPRESSED)
		return (struct dwarf_bytes){0};
	const uint8_t *at = data->d_buf;
	return (struct dwarf_bytes){.at = at, .end = at + data->d_size};
}

void line_sections_find(struct line_sections *sections, Elf *elf)
{
	sections->lines = section_of(elf, ".debug_line", ".zdebug_line");
	sections->line_strings = section_of(elf, ".debug_line_str", ".zdebug_line_str");
	sections->strings = section_of(elf, ".debug_str", ".zdebug_str");
}

struct line_table *line_table_new(const struct line_sections *sections, uint64_t at,
				  const char *directory)
{
	struct line_table *table = calloc(1, sizeof(*table));
	if (table && read_header(table, sections, at, directory)) {
		read_blocks(table);
		return table;
	}
	line_table_free(table);
	return NULL;
}

void line_table_free(struct line_table *table)
{
	if (!table)
		return;
	line_files_release(&table->files);
	free(table->blocks.items);
	free(table);
}

/* ---- one address ---- */

/* The rows of a block, which were made before in the same way. */
static void read_rows(const struct line_table *table, size_t number, struct line_rows *rows)
{
	const struct block *block = &table->blocks.items[number];
	struct machine machine = {
		.table = table,
		.cursor = table->program,
		.address = block->start,
		.file = block->file,
		.line = block->line,
	};
	dwarf_skip(&machine.cursor, block->at);
	rows->table = table;
	rows->block = number;
	rows->nr = 0;
	do {
		struct line_row *row = &rows->items[rows->nr];
		*row = (struct line_row){machine.address, block->end, machine.file, machine.line};
		if (rows->nr++)
			row[-1].end = row->address;
	} while (rows->nr < LINE_ROWS_MAX && run(&machine) == EVENT_ROW &&
		 machine.address < block->end &&
		 machine.address >= rows->items[rows->nr - 1].address);
}

static void find_row(const struct line_rows *rows, uint64_t address, struct line_row *row)
{
	size_t low = 0, high = rows->nr;
	while (high - low > 1) {
		const size_t middle = low + (high - low) / 2;
		if (rows->items[middle].address <= address)
			low = middle;
		else
			high = middle;
	}
	*row = rows->items[low];
}

bool line_table_find(const struct line_table *table, struct line_rows *rows, uint64_t elf_address,
		     struct line_row *row)
{
	const struct block *blocks = table->blocks.items;
	size_t low = 0, high = table->blocks.nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (blocks[middle].start <= elf_address)
			low = middle + 1;
		else
			high = middle;
	}
	const uint64_t next = low < table->blocks.nr ? blocks[low].start : 0;
	for (int i = 0; i < OVERLAPS_MAX && low > 0; i++) {
		if (elf_address >= blocks[--low].end)
			continue;
		if (rows->table != table || rows->block != low)
			read_rows(table, low, rows);
		find_row(rows, elf_address, row);
		return true;
	}
	*row = (struct line_row){.end = next};
	return false;
}

const char *line_table_file(struct line_table *table, uint64_t file)
{
	return line_files_name(&table->files, file);
}

size_t line_table_bytes(const struct line_table *table)
{
	return sizeof(*table) + vec_bytes(&table->blocks) + line_files_bytes(&table->files);
}
