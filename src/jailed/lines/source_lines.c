/* SPDX-License-Identifier: MIT */
#include <ctop/lines/source_lines.h>

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdlib.h>

#include <ctop/base/vec.h>
#include <ctop/elf/section.h>
#include <ctop/lines/elf_dwarf.h>

#include "dwarf_functions.h"
#include "inlined_tree.h"
#include "line_table.h"
#include "parts.h"
#include "spans.h"
#include "split_unit.h"
#include "unpacked_dwarf.h"

/* What is compressed may unpack to, of all files that units are in. */
#define UNPACKED_MAX_BYTES (UINT64_C(256) << 20)

/*
 * A unit is found by its ranges, all of which are read at first; a function by those of its unit, read when the first address
 * of that is asked for, as is its line table; from there the way goes down to the innermost block that has the address.
 */
enum {
	UNITS_MAX = 1 << 18,
	RANGES_MAX = 1 << 20,
	PARTS_MAX = 4096,	 /* ranges of one unit */
	FUNCTIONS_MAX = 1 << 22, /* of all units, parts counted */
	STEPS_MAX = 1 << 18,	 /* looked at for one address */
	DEPTH_MAX = 64,
	INLINED_MAX = SOURCE_FRAMES_MAX - 1,
	UNIT_BYTES = 2048, /* what libdw keeps of a unit, about */
	SPLIT_UNITS_MAX = 1024,
	SPLIT_UNIT_BYTES = 16 << 10, /* of what is read as a file of its own */
};
/* Of the ids of calls: where the entry is, and, in a split unit, 1 + the unit's number above that. */
enum { UNIT_OF_CALL = 40 };
#define DIE_OF_CALL ((UINT64_C(1) << UNIT_OF_CALL) - 1)
/* Of line tables, before they are dropped. */
#define TABLES_MAX_BYTES ((size_t)48 << 20)

struct unit {
	Dwarf_Off die;
	bool is_read, has_no_table;
	bool is_without;	  /* what is in another file is not to be had */
	uint64_t split_id;	  /* 0: all is here */
	struct split_unit *split; /* where its functions are; NULL: not known, or here */
	const Elf *split_elf;	  /* and the file */
	struct spans functions;
	struct line_table *table; /* NULL: not asked for, or dropped */
};

struct source_lines {
	Elf *elf, *common_elf;
	Elf *dwarf_elf; /* of which the DWARF is: that, or its sections unpacked */
	struct unpacked_dwarf *unpacked;
	Dwarf *dwarf, *common;
	struct {
		struct unit *items;
		size_t nr, capacity;
	} units;
	struct spans ranges; /* of units */
	size_t nr_functions, nr_split;
	uint64_t unpacked_bytes; /* of compressed sections */
	const uint8_t *info_end; /* of .debug_info */
	bool is_damaged;
	const Elf *last_split; /* which file had what was asked for last; NULL: this one */
	struct line_sections sections;
	size_t table_bytes;
	struct line_rows rows; /* that were asked for last */
	/* What was inlined into the function that was asked for last. */
	struct {
		struct inlined_tree tree;
		Dwarf_Off function; /* 0: none was */
		size_t unit;
		bool is_known;
	} inlined;
};

/* What a unit or a function covers. False: out of memory. */
static bool add_spans(struct source_lines *lines, struct spans *spans,
		      const struct split_unit *split, Dwarf_Die *die, uint64_t at, size_t most)
{
	Dwarf_Addr start, end;
	struct parts parts = parts_of(split, die);
	for (int part = 0; part < PARTS_MAX && spans->nr < most; part++) {
		if (!parts_next(&parts, &start, &end))
			break;
		/* What the linker left out is at 0. */
		if (!start || end <= start)
			continue;
		if (vec_reserve(spans, spans->nr + 1))
			return false;
		spans->items[spans->nr++] = (struct span){start, end, at};
	}
	lines->is_damaged |= parts.next < 0;
	return true;
}

/* ---- units ---- */

/* Of what -gsplit-dwarf compiled there is a skeleton: its lines are here, and its functions in a file of their own. */
static bool has_code(Dwarf_Die *unit)
{
	const int tag = dwarf_tag(unit);
	return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

static bool read_units(struct source_lines *lines)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	int result = 0;
	while (lines->units.nr < UNITS_MAX &&
	       !(result = dwarf_nextcu(lines->dwarf, at, &next, &header_bytes, NULL, NULL, NULL)) &&
	       next > at) {
		Dwarf_Die die;
		const Dwarf_Off place = at + header_bytes;
		const bool is_read = dwarf_offdie(lines->dwarf, place, &die) != NULL;
		at = next;
		lines->is_damaged |= !is_read || dwarf_tag(&die) == DW_TAG_invalid;
		if (!is_read || !has_code(&die))
			continue;
		if (vec_reserve(&lines->units, lines->units.nr + 1) ||
		    !add_spans(lines, &lines->ranges, NULL, &die, lines->units.nr, RANGES_MAX))
			return false;
		lines->units.items[lines->units.nr++] =
			(struct unit){.die = place, .split_id = split_skeleton_of(&die).id};
	}
	lines->is_damaged |= result < 0;
	spans_sort(&lines->ranges);
	return true;
}

/* Where the section of entries ends: libdw has unpacked it, if need be. */
static const uint8_t *end_of_info(Elf *elf)
{
	Elf64_Shdr header;
	const Elf_Data *data = elf_section_named(elf, ".debug_info", &header);
	data = data ? data : elf_section_named(elf, ".zdebug_info", &header);
	return data && data->d_buf ? (const uint8_t *)data->d_buf + data->d_size : NULL;
}

static bool open_dwarf(struct source_lines *lines)
{
	lines->unpacked = unpacked_dwarf_new(lines->elf);
	lines->dwarf_elf = lines->unpacked ? unpacked_dwarf_elf(lines->unpacked) : lines->elf;
	lines->dwarf = dwarf_begin_elf(lines->dwarf_elf, DWARF_C_READ, NULL);
	lines->common = lines->dwarf && lines->common_elf
				? dwarf_begin_elf(lines->common_elf, DWARF_C_READ, NULL)
				: NULL;
	if (lines->common)
		dwarf_setalt(lines->dwarf, lines->common);
	if (!lines->dwarf)
		return false;
	lines->info_end = end_of_info(lines->dwarf_elf);
	line_sections_find(&lines->sections, lines->dwarf_elf);
	return true;
}

void source_lines_prepare(void)
{
	unpacked_dwarf_prepare();
}

struct source_lines *source_lines_new(Elf *elf, Elf *common)
{
	struct source_lines *lines = calloc(1, sizeof(*lines));
	uint64_t bytes = 0;
	if (!lines)
		return NULL;
	lines->elf = elf;
	if (common && elf_dwarf_is_bearable(common, &bytes))
		lines->common_elf = common;
	if (elf_dwarf_is_bearable(elf, &lines->unpacked_bytes) && open_dwarf(lines) &&
	    read_units(lines)) {
		lines->unpacked_bytes += bytes;
		return lines;
	}
	source_lines_free(lines);
	return NULL;
}

static void drop_tables(struct source_lines *lines)
{
	for (size_t i = 0; i < lines->units.nr; i++) {
		line_table_free(lines->units.items[i].table);
		lines->units.items[i].table = NULL;
	}
	lines->table_bytes = 0;
	lines->rows.table = NULL;
}

void source_lines_free(struct source_lines *lines)
{
	if (!lines)
		return;
	drop_tables(lines);
	for (size_t i = 0; i < lines->units.nr; i++) {
		free(lines->units.items[i].functions.items);
		split_unit_free(lines->units.items[i].split);
	}
	inlined_tree_release(&lines->inlined.tree);
	free(lines->units.items);
	free(lines->ranges.items);
	dwarf_end(lines->dwarf);
	dwarf_end(lines->common);
	unpacked_dwarf_free(lines->unpacked);
	free(lines);
}

bool source_lines_are_damaged(const struct source_lines *lines)
{
	return lines->is_damaged;
}

Elf *source_lines_elf(const struct source_lines *lines)
{
	return lines->elf;
}

bool source_lines_lack_common(const struct source_lines *lines)
{
	Elf64_Shdr header;
	return !lines->common && elf_section_named(lines->elf, ".gnu_debugaltlink", &header);
}

const Elf *source_lines_last_split(const struct source_lines *lines)
{
	return lines->last_split;
}

/* ---- functions ---- */

struct reading {
	struct source_lines *lines;
	struct unit *unit;
};

static bool add_function(void *context, Dwarf_Die *die)
{
	const struct reading *reading = context;
	struct spans *functions = &reading->unit->functions;
	const size_t before = functions->nr;
	const bool has_room = add_spans(reading->lines, functions, reading->unit->split, die,
					dwarf_dieoffset(die), FUNCTIONS_MAX);
	reading->lines->nr_functions += functions->nr - before;
	return has_room && reading->lines->nr_functions < FUNCTIONS_MAX;
}

static void read_functions(struct source_lines *lines, struct unit *unit, Dwarf_Die *die)
{
	struct reading reading = {lines, unit};
	Dwarf_Die split;
	unit->is_read = true;
	if (!unit->split)
		dwarf_functions_find(die, lines->info_end, add_function, &reading);
	else if (split_unit_die(unit->split, &split))
		dwarf_functions_find(&split, split_unit_end(unit->split), add_function, &reading);
	vec_give_back(&unit->functions);
	spans_sort(&unit->functions);
}

static struct unit *unit_at_until(const struct source_lines *lines, uint64_t address, uint64_t *end)
{
	const struct span *span = spans_find_until(&lines->ranges, address, end);
	return span ? &lines->units.items[span->at] : NULL;
}

static struct unit *unit_at(const struct source_lines *lines, uint64_t address)
{
	uint64_t end = UINT64_MAX;
	return unit_at_until(lines, address, &end);
}

/* *die: the one that has its lines. *end as in spans_find_until(). */
static struct unit *unit_until(struct source_lines *lines, uint64_t address, Dwarf_Die *die,
			       uint64_t *end)
{
	struct unit *unit = unit_at_until(lines, address, end);
	if (!unit || !dwarf_offdie(lines->dwarf, unit->die, die))
		return NULL;
	if (!unit->is_read)
		read_functions(lines, unit, die);
	return unit;
}

static struct unit *unit_of(struct source_lines *lines, uint64_t address, Dwarf_Die *die)
{
	uint64_t end = UINT64_MAX;
	return unit_until(lines, address, die, &end);
}

static bool die_of(const struct source_lines *lines, const struct unit *unit, Dwarf_Off at,
		   Dwarf_Die *die)
{
	return unit->split ? split_unit_die_at(unit->split, at, die)
			   : dwarf_offdie(lines->dwarf, at, die) != NULL;
}

static bool function_at(const struct source_lines *lines, const struct unit *unit, uint64_t address,
			Dwarf_Die *function)
{
	const struct span *span = spans_find(&unit->functions, address);
	return span && die_of(lines, unit, span->at, function);
}

/* ---- what is in other files ---- */

uint64_t source_lines_split_id(const struct source_lines *lines, uint64_t elf_address)
{
	const struct unit *unit = unit_at(lines, elf_address);
	return unit && !unit->split && !unit->is_without ? unit->split_id : 0;
}

/* They may have been read from the skeleton, as far as they are there. */
static void forget_functions(struct source_lines *lines, struct unit *unit)
{
	lines->nr_functions -= unit->functions.nr;
	unit->functions.nr = 0;
	unit->is_read = false;
	lines->inlined.function = 0;
}

bool source_lines_give_split(struct source_lines *lines, uint64_t elf_address, Elf *elf)
{
	Dwarf_Die die;
	uint64_t unpacked_bytes = 0;
	struct unit *unit = unit_at(lines, elf_address);
	if (!unit || unit->split)
		return false;
	if (!elf || lines->nr_split == SPLIT_UNITS_MAX) {
		unit->is_without = true;
		return false;
	}
	if (!dwarf_offdie(lines->dwarf, unit->die, &die) ||
	    !elf_dwarf_split_is_bearable(elf, &unpacked_bytes) ||
	    lines->unpacked_bytes + unpacked_bytes > UNPACKED_MAX_BYTES)
		return false;
	const struct split_skeleton skeleton = split_skeleton_of(&die);
	lines->unpacked_bytes += unpacked_bytes;
	unit->split = split_unit_open(elf, lines->dwarf_elf, &skeleton);
	if (!unit->split)
		return false;
	unit->split_elf = elf;
	lines->nr_split++;
	forget_functions(lines, unit);
	return true;
}

/* ---- one address ---- */

struct walk {
	const struct split_unit *split; /* NULL: in no other file */
	uint64_t address;
	int nr_steps;
	Dwarf_Die inlined[INLINED_MAX]; /* the innermost last */
	size_t nr;
};

/*
 * *is_open: it says nothing of where it is, or nothing that can be read. Where gcc's list begins with a part without code at the unit's
 * beginning, DWARF 4 takes that for its end.
 */
static bool has_address(const struct walk *walk, Dwarf_Die *die, bool *is_open)
{
	uint64_t start, end;
	*is_open = true;
	struct parts parts = parts_of(walk->split, die);
	for (int part = 0; part < PARTS_MAX && parts_next(&parts, &start, &end); part++) {
		*is_open = false;
		if (walk->address >= start && walk->address < end)
			return true;
	}
	return false;
}

/* Down to the innermost entry that has the address. True when there was one. */
static bool walk_down(struct walk *walk, Dwarf_Die *above, int depth)
{
	Dwarf_Die die;
	if (depth >= DEPTH_MAX || dwarf_child(above, &die) != 0)
		return false;
	do {
		const int tag = dwarf_tag(&die);
		if (++walk->nr_steps > STEPS_MAX)
			return true;
		if (tag != DW_TAG_inlined_subroutine && !inlined_is_block(tag))
			continue;
		bool is_open;
		const bool has = has_address(walk, &die, &is_open);
		/* A block may say nothing of where it is, and have others that do. */
		is_open = is_open && inlined_is_block(tag);
		if (has && tag == DW_TAG_inlined_subroutine && walk->nr < INLINED_MAX)
			walk->inlined[walk->nr++] = die;
		if ((has || is_open) && (walk_down(walk, &die, depth + 1) || has))
			return true;
	} while (dwarf_siblingof(&die, &die) == 0);
	return false;
}

static const char *or_empty(const char *text)
{
	return text ? text : "";
}

static uint32_t number_of(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attribute;
	Dwarf_Word value = 0;
	if (!dwarf_attr(die, name, &attribute) || dwarf_formudata(&attribute, &value))
		return 0;
	return value <= UINT32_MAX ? (uint32_t)value : 0;
}

/* NULL: it has none that can be read. */
static struct line_table *table_of(struct source_lines *lines, struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Attribute attribute;
	Dwarf_Word at;
	if (unit->table || unit->has_no_table)
		return unit->table;
	if (lines->table_bytes > TABLES_MAX_BYTES)
		drop_tables(lines);
	const bool names_table =
		dwarf_attr(die, DW_AT_stmt_list, &attribute) && !dwarf_formudata(&attribute, &at);
	if (names_table)
		unit->table = line_table_new(
			&lines->sections, at,
			dwarf_formstring(dwarf_attr(die, DW_AT_comp_dir, &attribute)));
	unit->has_no_table = !unit->table;
	lines->is_damaged |= names_table && !unit->table;
	if (unit->table)
		lines->table_bytes += line_table_bytes(unit->table);
	return unit->table;
}

/* Where the innermost is, by the line table. */
static void set_line(struct source_frame *frame, struct source_lines *lines,
		     struct line_table *table, uint64_t address)
{
	struct line_row row;
	if (!line_table_find(table, &lines->rows, address, &row))
		return;
	frame->file = line_table_file(table, row.file);
	frame->line = row.line <= INT32_MAX && *frame->file ? row.line : 0;
}

/* Where in its caller a function was put in. */
static void set_call(struct source_frame *frame, struct line_table *table, Dwarf_Die *inlined)
{
	frame->file = line_table_file(table, number_of(inlined, DW_AT_call_file));
	frame->line = *frame->file ? number_of(inlined, DW_AT_call_line) : 0;
}

size_t source_lines_find(struct source_lines *lines, uint64_t elf_address,
			 struct source_frame *frames, size_t most)
{
	Dwarf_Die unit_die, function;
	struct unit *unit = unit_of(lines, elf_address, &unit_die);
	if (!unit || !most)
		return 0;
	lines->last_split = unit->split ? unit->split_elf : NULL;
	struct line_table *table = table_of(lines, unit, &unit_die);
	if (!function_at(lines, unit, elf_address, &function)) {
		/* Of some functions compilers say nothing but their lines. */
		frames[0] = (struct source_frame){.function = "", .file = ""};
		if (table)
			set_line(&frames[0], lines, table, elf_address);
		return frames[0].line > 0;
	}
	struct walk walk = {.split = unit->split, .address = elf_address};
	walk_down(&walk, &function, 0);
	size_t nr = 0;
	for (size_t i = walk.nr + 1; i-- > 0 && nr < most; nr++) {
		Dwarf_Die *die = i ? &walk.inlined[i - 1] : &function;
		frames[nr] = (struct source_frame){.function = or_empty(elf_dwarf_name(die)),
						   .file = ""};
		if (table && nr == 0)
			set_line(&frames[nr], lines, table, elf_address);
		else if (table)
			set_call(&frames[nr], table, &walk.inlined[i]);
	}
	return nr;
}

/* ---- what was put into a function ---- */

/* Of calls: entries of split units are counted from where their own begin. 0: there is none. */
static uint64_t id_of_call(const struct source_lines *lines, const struct inlined_call *call)
{
	const size_t unit = lines->inlined.unit;
	if (!call || !lines->units.items[unit].split)
		return call ? call->die : 0;
	return call->die <= DIE_OF_CALL ? (uint64_t)(unit + 1) << UNIT_OF_CALL | call->die : 0;
}

static const struct inlined_call *call_of_id(const struct source_lines *lines, uint64_t id)
{
	const bool is_split = lines->units.items[lines->inlined.unit].split != NULL;
	const struct inlined_call *call =
		inlined_tree_call(&lines->inlined.tree, is_split ? id & DIE_OF_CALL : id);
	return call && id_of_call(lines, call) == id ? call : NULL;
}

static bool read_inlined(struct source_lines *lines, const struct unit *unit, Dwarf_Off function)
{
	const size_t at = (size_t)(unit - lines->units.items);
	Dwarf_Die die;
	if (lines->inlined.function == function && lines->inlined.unit == at)
		return lines->inlined.is_known;
	lines->inlined.function = function;
	lines->inlined.unit = at;
	/* What cannot be read has no calls, and none of the last one's. */
	lines->inlined.tree.calls.nr = lines->inlined.tree.spans.nr = 0;
	lines->inlined.is_known = die_of(lines, unit, function, &die) &&
				  inlined_tree_read(&lines->inlined.tree, unit->split, &die);
	return lines->inlined.is_known;
}

bool source_lines_inlined(struct source_lines *lines, uint64_t elf_address,
			  struct source_inlined *inlined)
{
	Dwarf_Die die;
	uint64_t end;
	*inlined = (struct source_inlined){.end = UINT64_MAX};
	const struct unit *unit = unit_until(lines, elf_address, &die, &inlined->end);
	const struct span *span =
		unit ? spans_find_until(&unit->functions, elf_address, &inlined->end) : NULL;
	if (!span)
		return false;
	lines->last_split = unit->split ? unit->split_elf : NULL;
	inlined->is_too_much = !read_inlined(lines, unit, span->at);
	inlined->call = id_of_call(lines, inlined_tree_at(&lines->inlined.tree, elf_address, &end));
	if (end < inlined->end)
		inlined->end = end;
	return true;
}

bool source_lines_call(struct source_lines *lines, uint64_t id, struct source_call *call)
{
	const struct inlined_tree *tree = &lines->inlined.tree;
	const struct inlined_call *found = lines->inlined.function ? call_of_id(lines, id) : NULL;
	struct unit *unit = found ? &lines->units.items[lines->inlined.unit] : NULL;
	Dwarf_Die die, unit_die;
	if (!unit || !die_of(lines, unit, found->die, &die) ||
	    !dwarf_offdie(lines->dwarf, unit->die, &unit_die))
		return false;
	struct line_table *table = table_of(lines, unit, &unit_die);
	*call = (struct source_call){
		.function = or_empty(elf_dwarf_name(&die)),
		.file = table ? line_table_file(table, number_of(&die, DW_AT_call_file)) : "",
		.line = number_of(&die, DW_AT_call_line),
		.outer = found->outer ? id_of_call(lines, &tree->calls.items[found->outer - 1]) : 0,
	};
	return true;
}

/* ---- rows ---- */

bool source_lines_row(struct source_lines *lines, uint64_t elf_address, struct source_row *row)
{
	Dwarf_Die die;
	Dwarf_Attribute directory;
	struct line_row found;
	*row = (struct source_row){.file = "", .directory = "", .end = elf_address + 1};
	struct unit *unit = unit_of(lines, elf_address, &die);
	struct line_table *table = unit ? table_of(lines, unit, &die) : NULL;
	if (!table)
		return false;
	const bool is_known = line_table_find(table, &lines->rows, elf_address, &found);
	if (found.end)
		row->end = found.end;
	if (!is_known || !found.line || found.line > INT32_MAX)
		return false;
	row->file = line_table_file(table, found.file);
	row->line = found.line;
	row->directory = or_empty(dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &directory)));
	return row->file[0] != '\0';
}

size_t source_lines_bytes(const struct source_lines *lines)
{
	return (size_t)lines->unpacked_bytes + vec_bytes(&lines->ranges) +
	       lines->units.nr * UNIT_BYTES + lines->nr_split * SPLIT_UNIT_BYTES +
	       lines->nr_functions * sizeof(struct span) + lines->table_bytes;
}
