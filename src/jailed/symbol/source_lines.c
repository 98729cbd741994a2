/* SPDX-License-Identifier: MIT */
#include "source_lines.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <stdbool.h>
#include <stdlib.h>

#include <ctop/base/vec.h>
#include <ctop/elf/section.h>

#include "elf_dwarf.h"
#include "inlined_tree.h"

/*
 * A unit is found by its ranges, all of which are read at first; a function by those of its unit, read when the first address
 * of that is asked for; from there the way goes down to the innermost block that has the address.
 */
enum {
	UNITS_MAX = 1 << 18,
	RANGES_MAX = 1 << 20,
	PARTS_MAX = 4096,	 /* ranges of one unit */
	FUNCTIONS_MAX = 1 << 22, /* of all units, parts counted */
	DIES_MAX = 1 << 22,	 /* looked at for one unit's functions */
	STEPS_MAX = 1 << 18,	 /* and for one address */
	DEPTH_MAX = 64,
	INLINED_MAX = SOURCE_FRAMES_MAX - 1,
	OVERLAPS_MAX = 16,
	LINES_MAX =
		1 << 20,   /* rows of line tables that libdw has unpacked, before it starts again */
	LINE_BYTES = 48,   /* of such a row */
	UNIT_BYTES = 2048, /* what else libdw keeps of a unit, about */
};

struct span {
	uint64_t start, end;
	uint64_t at; /* a unit's number; where a function's entry is */
};

struct spans {
	struct span *items;
	size_t nr, capacity;
};

struct unit {
	Dwarf_Off die;
	bool is_read, has_lines;
	struct spans functions;
};

struct source_lines {
	Elf *elf, *common_elf;
	Dwarf *dwarf, *common;
	struct {
		struct unit *items;
		size_t nr, capacity;
	} units;
	struct spans ranges; /* of units */
	size_t nr_functions, nr_lines;
	uint64_t unpacked_bytes; /* of compressed sections */
	/* The row that was asked for last: the next question is mostly about the next one. */
	struct {
		Dwarf_Lines *rows; /* NULL: there was none */
		size_t nr, next;   /* next: the row behind it */
		struct source_row row;
	} last;
	/* What was inlined into the function that was asked for last. */
	struct {
		struct inlined_tree tree;
		Dwarf_Off function; /* 0: none was */
		bool is_known;
	} inlined;
};

/* ---- spans ---- */

static int compare_spans(const void *a, const void *b)
{
	const struct span *left = a, *right = b;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	/* Of two that begin together the shorter one lies in the other: it comes last. */
	return (left->end < right->end) - (left->end > right->end);
}

static void sort(struct spans *spans)
{
	if (spans->nr)
		qsort(spans->items, spans->nr, sizeof(*spans->items), compare_spans);
}

/* The last one that begins before an address and covers it. *end, an address behind that, is lowered to where this changes. */
static const struct span *find_until(const struct spans *spans, uint64_t address, uint64_t *end)
{
	size_t low = 0, high = spans->nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (spans->items[middle].start <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < spans->nr && spans->items[low].start < *end)
		*end = spans->items[low].start;
	for (int i = 0; i < OVERLAPS_MAX && low > 0; i++) {
		if (address >= spans->items[--low].end)
			continue;
		if (spans->items[low].end < *end)
			*end = spans->items[low].end;
		return &spans->items[low];
	}
	return NULL;
}

static const struct span *find(const struct spans *spans, uint64_t address)
{
	uint64_t end = UINT64_MAX;
	return find_until(spans, address, &end);
}

/* What a unit or a function covers. False: out of memory. */
static bool add_spans(struct spans *spans, Dwarf_Die *die, uint64_t at, size_t most)
{
	Dwarf_Addr base, start, end;
	ptrdiff_t next = 0;
	for (int part = 0; part < PARTS_MAX && spans->nr < most; part++) {
		next = dwarf_ranges(die, next, &base, &start, &end);
		if (next <= 0)
			break;
		/* What the linker left out is at 0. */
		if (!start || end <= start)
			continue;
		if (vec_reserve(spans, spans->nr + 1))
			return false;
		spans->items[spans->nr++] = (struct span){start, end, at};
	}
	return true;
}

/* ---- units ---- */

/* Of what -gsplit-dwarf compiled there is a skeleton: its lines are here, and its functions in a .dwo file. */
static bool has_code(Dwarf_Die *unit)
{
	const int tag = dwarf_tag(unit);
	return tag == DW_TAG_compile_unit || tag == DW_TAG_skeleton_unit;
}

static bool read_units(struct source_lines *lines)
{
	Dwarf_Off at = 0, next;
	size_t header_bytes;
	while (lines->units.nr < UNITS_MAX &&
	       !dwarf_nextcu(lines->dwarf, at, &next, &header_bytes, NULL, NULL, NULL) &&
	       next > at) {
		Dwarf_Die die;
		const Dwarf_Off place = at + header_bytes;
		at = next;
		if (!dwarf_offdie(lines->dwarf, place, &die) || !has_code(&die))
			continue;
		if (vec_reserve(&lines->units, lines->units.nr + 1) ||
		    !add_spans(&lines->ranges, &die, lines->units.nr, RANGES_MAX))
			return false;
		lines->units.items[lines->units.nr++] = (struct unit){.die = place};
	}
	sort(&lines->ranges);
	return true;
}

static bool open_dwarf(struct source_lines *lines)
{
	lines->dwarf = dwarf_begin_elf(lines->elf, DWARF_C_READ, NULL);
	lines->common = lines->dwarf && lines->common_elf
				? dwarf_begin_elf(lines->common_elf, DWARF_C_READ, NULL)
				: NULL;
	if (lines->common)
		dwarf_setalt(lines->dwarf, lines->common);
	return lines->dwarf != NULL;
}

static void close_dwarf(struct source_lines *lines)
{
	dwarf_end(lines->dwarf);
	dwarf_end(lines->common);
	lines->dwarf = lines->common = NULL;
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

void source_lines_free(struct source_lines *lines)
{
	if (!lines)
		return;
	for (size_t i = 0; i < lines->units.nr; i++)
		free(lines->units.items[i].functions.items);
	inlined_tree_release(&lines->inlined.tree);
	free(lines->units.items);
	free(lines->ranges.items);
	close_dwarf(lines);
	free(lines);
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

/* ---- functions ---- */

static bool may_have_functions(int tag)
{
	switch (tag) {
	case DW_TAG_namespace:
	case DW_TAG_module:
	case DW_TAG_class_type:
	case DW_TAG_structure_type:
	case DW_TAG_union_type:
	case DW_TAG_enumeration_type:
	case DW_TAG_subprogram:
		return true;
	default:
		return false;
	}
}

/* Below an entry, in all that may have functions of its own. False: out of memory. */
static bool read_functions(struct source_lines *lines, struct unit *unit, Dwarf_Die *above,
			   int depth, size_t *nr_dies)
{
	Dwarf_Die die;
	if (depth >= DEPTH_MAX || dwarf_child(above, &die) != 0)
		return true;
	do {
		const int tag = dwarf_tag(&die);
		if (++*nr_dies > DIES_MAX || lines->nr_functions >= FUNCTIONS_MAX)
			return true;
		const size_t before = unit->functions.nr;
		if (tag == DW_TAG_subprogram &&
		    !add_spans(&unit->functions, &die, dwarf_dieoffset(&die), FUNCTIONS_MAX))
			return false;
		lines->nr_functions += unit->functions.nr - before;
		if (may_have_functions(tag) &&
		    !read_functions(lines, unit, &die, depth + 1, nr_dies))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

/* *end as in find_until(). */
static struct unit *unit_until(struct source_lines *lines, uint64_t address, Dwarf_Die *die,
			       uint64_t *end)
{
	const struct span *span = find_until(&lines->ranges, address, end);
	struct unit *unit = span ? &lines->units.items[span->at] : NULL;
	if (!unit || !dwarf_offdie(lines->dwarf, unit->die, die))
		return NULL;
	size_t nr_dies = 0;
	if (!unit->is_read && read_functions(lines, unit, die, 0, &nr_dies))
		sort(&unit->functions);
	unit->is_read = true;
	return unit;
}

static struct unit *unit_of(struct source_lines *lines, uint64_t address, Dwarf_Die *die)
{
	uint64_t end = UINT64_MAX;
	return unit_until(lines, address, die, &end);
}

/* ---- one address ---- */

struct walk {
	uint64_t address;
	int nr_steps;
	Dwarf_Die inlined[INLINED_MAX]; /* the innermost last */
	size_t nr;
};

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
		const bool has = dwarf_haspc(&die, walk->address) == 1;
		/* A block may say nothing of where it is, and have others that do. */
		const bool is_open = inlined_is_block(tag) && !dwarf_hasattr(&die, DW_AT_low_pc) &&
				     !dwarf_hasattr(&die, DW_AT_ranges);
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

/* Where the innermost is, by the line table. */
static void set_line(struct source_frame *frame, Dwarf_Die *unit, uint64_t address)
{
	Dwarf_Line *line = dwarf_getsrc_die(unit, address);
	int number = 0, column = 0;
	if (!line || dwarf_lineno(line, &number) || dwarf_linecol(line, &column))
		return;
	frame->file = or_empty(dwarf_linesrc(line, NULL, NULL));
	frame->line = number > 0 ? (uint32_t)number : 0;
	frame->column = column > 0 ? (uint32_t)column : 0;
}

static const char *call_file(Dwarf_Die *unit, Dwarf_Die *inlined)
{
	Dwarf_Files *files;
	size_t nr;
	const uint32_t file = number_of(inlined, DW_AT_call_file);
	return !dwarf_getsrcfiles(unit, &files, &nr) && file < nr
		       ? or_empty(dwarf_filesrc(files, file, NULL, NULL))
		       : "";
}

/* Where in its caller a function was put in. */
static void set_call(struct source_frame *frame, Dwarf_Die *unit, Dwarf_Die *inlined)
{
	frame->file = call_file(unit, inlined);
	frame->line = number_of(inlined, DW_AT_call_line);
	frame->column = number_of(inlined, DW_AT_call_column);
}

/* libdw keeps what it has unpacked until all is closed. What is known of units and functions stays. False: it cannot be opened again. */
static bool start_again(struct source_lines *lines)
{
	close_dwarf(lines);
	lines->last.rows = NULL;
	open_dwarf(lines);
	lines->nr_lines = 0;
	for (size_t i = 0; i < lines->units.nr; i++)
		lines->units.items[i].has_lines = false;
	return lines->dwarf != NULL;
}

static bool may_read_lines(struct source_lines *lines, struct unit *unit, Dwarf_Die *die)
{
	Dwarf_Lines *rows;
	size_t nr;
	if (unit->has_lines)
		return true;
	if (dwarf_getsrclines(die, &rows, &nr))
		return false;
	lines->nr_lines += nr;
	unit->has_lines = true;
	return true;
}

size_t source_lines_find(struct source_lines *lines, uint64_t elf_address,
			 struct source_frame *frames, size_t most)
{
	Dwarf_Die unit_die, function;
	if (lines->nr_lines > LINES_MAX && !start_again(lines))
		return 0;
	struct unit *unit = lines->dwarf ? unit_of(lines, elf_address, &unit_die) : NULL;
	const struct span *span = unit ? find(&unit->functions, elf_address) : NULL;
	if (!unit || !most)
		return 0;
	const bool has_lines = may_read_lines(lines, unit, &unit_die);
	if (!span || !dwarf_offdie(lines->dwarf, span->at, &function)) {
		/* Of some functions compilers say nothing but their lines. */
		frames[0] = (struct source_frame){.function = "", .file = ""};
		if (has_lines)
			set_line(&frames[0], &unit_die, elf_address);
		return frames[0].line > 0;
	}
	struct walk walk = {.address = elf_address};
	walk_down(&walk, &function, 0);
	size_t nr = 0;
	for (size_t i = walk.nr + 1; i-- > 0 && nr < most; nr++) {
		Dwarf_Die *die = i ? &walk.inlined[i - 1] : &function;
		frames[nr] = (struct source_frame){.function = or_empty(elf_dwarf_name(die)),
						   .file = ""};
		if (has_lines && nr == 0)
			set_line(&frames[nr], &unit_die, elf_address);
		else if (has_lines)
			set_call(&frames[nr], &unit_die, &walk.inlined[i]);
	}
	return nr;
}

/* ---- what was put into a function ---- */

static bool read_inlined(struct source_lines *lines, Dwarf_Off function)
{
	Dwarf_Die die;
	if (lines->inlined.function == function)
		return lines->inlined.is_known;
	lines->inlined.function = function;
	lines->inlined.is_known = dwarf_offdie(lines->dwarf, function, &die) &&
				  inlined_tree_read(&lines->inlined.tree, &die);
	return lines->inlined.is_known;
}

bool source_lines_inlined(struct source_lines *lines, uint64_t elf_address,
			  struct source_inlined *inlined)
{
	Dwarf_Die die;
	uint64_t end;
	*inlined = (struct source_inlined){.end = UINT64_MAX};
	const struct unit *unit =
		lines->dwarf ? unit_until(lines, elf_address, &die, &inlined->end) : NULL;
	const struct span *span =
		unit ? find_until(&unit->functions, elf_address, &inlined->end) : NULL;
	if (!span)
		return false;
	inlined->is_too_much = !read_inlined(lines, span->at);
	const struct inlined_call *call = inlined_tree_at(&lines->inlined.tree, elf_address, &end);
	inlined->call = call ? call->die : 0;
	if (end < inlined->end)
		inlined->end = end;
	return true;
}

bool source_lines_call(struct source_lines *lines, uint64_t id, struct source_call *call)
{
	const struct inlined_tree *tree = &lines->inlined.tree;
	const struct inlined_call *found = inlined_tree_call(tree, id);
	Dwarf_Die die, unit;
	if (!found || !lines->dwarf || !dwarf_offdie(lines->dwarf, id, &die) ||
	    !dwarf_diecu(&die, &unit, NULL, NULL))
		return false;
	*call = (struct source_call){
		.function = or_empty(elf_dwarf_name(&die)),
		.file = call_file(&unit, &die),
		.line = number_of(&die, DW_AT_call_line),
		.outer = found->outer ? tree->calls.items[found->outer - 1].die : 0,
	};
	return true;
}

/* ---- rows ---- */

static uint64_t address_of(Dwarf_Lines *rows, size_t at)
{
	Dwarf_Addr address = 0;
	return dwarf_lineaddr(dwarf_onesrcline(rows, at), &address) ? 0 : address;
}

/* The first of a table's rows, which libdw has sorted, behind an address. */
static size_t rows_until(Dwarf_Lines *rows, size_t nr, uint64_t address)
{
	size_t low = 0, high = nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (address_of(rows, middle) <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* What a row of a table, before `next`, says. */
static bool read_row(Dwarf_Lines *rows, size_t nr, size_t next, struct source_row *row)
{
	bool ends;
	int number;
	Dwarf_Line *line = next ? dwarf_onesrcline(rows, next - 1) : NULL;
	if (next < nr)
		row->end = address_of(rows, next);
	if (!line || dwarf_lineendsequence(line, &ends) || ends || dwarf_lineno(line, &number) ||
	    number <= 0)
		return false;
	row->file = or_empty(dwarf_linesrc(line, NULL, NULL));
	row->line = (uint32_t)number;
	return row->file[0] != '\0';
}

bool source_lines_row(struct source_lines *lines, uint64_t elf_address, struct source_row *row)
{
	Dwarf_Die die;
	Dwarf_Lines *rows = lines->last.rows;
	Dwarf_Attribute directory;
	size_t nr = lines->last.nr, next = lines->last.next;
	*row = (struct source_row){.file = "", .directory = "", .end = elf_address + 1};
	if (lines->nr_lines > LINES_MAX && !start_again(lines))
		return false;
	const bool goes_on = lines->last.rows && next < nr && elf_address == lines->last.row.end &&
			     (next + 1 == nr || address_of(rows, next + 1) > elf_address);
	if (goes_on) {
		next++;
		row->directory = lines->last.row.directory;
	} else {
		lines->last.rows = NULL;
		struct unit *unit = lines->dwarf ? unit_of(lines, elf_address, &die) : NULL;
		if (!unit || !may_read_lines(lines, unit, &die) ||
		    dwarf_getsrclines(&die, &rows, &nr))
			return false;
		next = rows_until(rows, nr, elf_address);
		row->directory =
			or_empty(dwarf_formstring(dwarf_attr(&die, DW_AT_comp_dir, &directory)));
	}
	const bool is_known = read_row(rows, nr, next, row);
	lines->last.rows = is_known ? rows : NULL;
	lines->last.nr = nr;
	lines->last.next = next;
	lines->last.row = *row;
	return is_known;
}

size_t source_lines_bytes(const struct source_lines *lines)
{
	return (size_t)lines->unpacked_bytes + vec_bytes(&lines->ranges) +
	       lines->units.nr * UNIT_BYTES + lines->nr_functions * sizeof(struct span) +
	       lines->nr_lines * LINE_BYTES;
}
