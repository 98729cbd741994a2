/* SPDX-License-Identifier: MIT */
#include <ctop/cfi/cfi.h>

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/index.h>
#include <ctop/base/vec.h>
#include <ctop/elf/object.h>

#include "frame_entry.h"
#include "frame_program.h"
#include "frame_table.h"

enum {
	/*
	 * Ranges are indexed by the 256-byte granule of the address asked for: a row of real CFI covers 60
	 * bytes on average, so few share a granule. A longer range is met once a granule.
	 */
	GRANULE_SHIFT = 8,
	RANGES_MAX = 1 << 17, /* 6 MiB per module; clang touches some 20,000 */
	LONG_RULES_MAX =
		1 << 12, /* distinct ones; libcrypto, the richest seen, has a few hundred */
	TABLES_MAX = 2	 /* .eh_frame, .debug_frame */
};

struct known_range {
	uint64_t start, end; /* elf addresses */
	struct rule rule;
};

struct cfi {
	struct object *object;
	void (*watch)(void *context, bool reading); /* NULL: nobody's interest */
	void *watch_context;
	bool opened;
	bool has_eh; /* tables[0] is .eh_frame */
	bool eh_checked;
	bool has_section; /* .eh_frame can be read without libdw, by its lookup table */
	struct frame_section section;
	struct frame_table tables[TABLES_MAX];
	size_t nr_tables;
	struct go_functions go;	 /* nr 0: it is no Go program */
	struct code_rules *code; /* NULL: none was needed yet */
	bool code_changed;	 /* while it was read: nothing that was read of it counts */
	struct {
		struct known_range *items;
		size_t nr, capacity;
	} ranges;
	struct index ranges_by_granule;
	struct {
		struct long_rule **items;
		size_t nr, capacity;
	} long_rules;
	struct index long_rules_by_bytes;
	/* Room for one rule in the making, aligned for it. */
	uint64_t scratch[(LONG_RULE_MAX_BYTES + 7) / 8];
};

struct cfi *cfi_new(struct object *object)
{
	struct cfi *cfi = calloc(1, sizeof(*cfi));
	if (cfi)
		cfi->object = object;
	return cfi;
}

void cfi_set_watch(struct cfi *cfi, void (*watch)(void *context, bool reading), void *context)
{
	cfi->watch = watch;
	cfi->watch_context = context;
}

static void tell_watch(const struct cfi *cfi, bool reading)
{
	if (cfi->watch)
		cfi->watch(cfi->watch_context, reading);
}

static void forget_ranges(struct cfi *cfi)
{
	cfi->ranges.nr = 0;
	index_clear(&cfi->ranges_by_granule);
}

void cfi_free(struct cfi *cfi)
{
	if (!cfi)
		return;
	for (size_t i = 0; i < cfi->nr_tables; i++)
		frame_table_release(&cfi->tables[i]);
	for (size_t i = 0; i < cfi->long_rules.nr; i++)
		free(cfi->long_rules.items[i]);
	free(cfi->long_rules.items);
	free(cfi->ranges.items);
	index_release(&cfi->ranges_by_granule);
	index_release(&cfi->long_rules_by_bytes);
	code_rules_free(cfi->code);
	free(cfi);
}

/* The file's own tables, in the order in which they are asked: .eh_frame is what the program itself unwinds by. */
static void open_tables(struct cfi *cfi)
{
	cfi->opened = true;
	if (!cfi->object || object_machine(cfi->object) != MACHINE_ELF)
		return;
	Elf *elf = object_elf(cfi->object);
	if (!elf || gelf_getclass(elf) != ELFCLASS64)
		return;
	cfi->has_eh = frame_table_open_eh(&cfi->tables[0], elf) == 0;
	cfi->nr_tables = cfi->has_eh;
	cfi->has_section = cfi->has_eh && frame_section_open(&cfi->section, elf);
	if (frame_table_open_debug(&cfi->tables[cfi->nr_tables], elf) == 0)
		cfi->nr_tables++;
	if (!go_functions_open(&cfi->go, elf))
		cfi->go.nr = 0;
}

static bool find_range(const struct cfi *cfi, uint64_t address, struct rule *rule)
{
	struct index_probe probe =
		index_find(&cfi->ranges_by_granule, hash_u64(address >> GRANULE_SHIFT));
	uint32_t row;
	while (index_next(&cfi->ranges_by_granule, &probe, &row)) {
		const struct known_range *range = &cfi->ranges.items[row];
		if (address >= range->start && address < range->end) {
			*rule = range->rule;
			return true;
		}
	}
	return false;
}

/* Out of memory only means that the range will be evaluated again. */
static void remember_range(struct cfi *cfi, uint64_t address, const struct known_range *range)
{
	if (cfi->ranges.nr == RANGES_MAX)
		forget_ranges(cfi);
	if (vec_reserve(&cfi->ranges, cfi->ranges.nr + 1) || index_reserve(&cfi->ranges_by_granule))
		return;
	cfi->ranges.items[cfi->ranges.nr] = *range;
	index_add(&cfi->ranges_by_granule, hash_u64(address >> GRANULE_SHIFT),
		  (uint32_t)cfi->ranges.nr++);
}

/* Keeps one copy of each distinct long rule; its number, or -errno. */
static int keep_long_rule(struct cfi *cfi, const struct long_rule *rule)
{
	size_t bytes = long_rule_bytes(rule);
	uint64_t hash = hash_bytes(rule, bytes);
	struct index_probe probe = index_find(&cfi->long_rules_by_bytes, hash);
	uint32_t row;
	while (index_next(&cfi->long_rules_by_bytes, &probe, &row)) {
		const struct long_rule *known = cfi->long_rules.items[row];
		if (long_rule_bytes(known) == bytes && memcmp(known, rule, bytes) == 0)
			return (int)row;
	}
	if (cfi->long_rules.nr == LONG_RULES_MAX)
		return -E2BIG;
	if (vec_reserve(&cfi->long_rules, cfi->long_rules.nr + 1) ||
	    index_reserve(&cfi->long_rules_by_bytes))
		return -ENOMEM;
	struct long_rule *copy = malloc(bytes);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, rule, bytes);
	row = (uint32_t)cfi->long_rules.nr;
	cfi->long_rules.items[cfi->long_rules.nr++] = copy;
	index_add(&cfi->long_rules_by_bytes, hash, row);
	return (int)row;
}

const struct long_rule *cfi_long_rule(const struct cfi *cfi, int32_t number)
{
	assert(number >= 0 && (size_t)number < cfi->long_rules.nr);
	return cfi->long_rules.items[number];
}

/* Keeps what the rule is too small for. */
static void keep_rest(struct cfi *cfi, struct rule *rule)
{
	if (rule->kind != RULE_LONG)
		return;
	rule->offset = keep_long_rule(cfi, (const struct long_rule *)cfi->scratch);
	if (rule->offset < 0)
		*rule = (struct rule){.kind = RULE_BAD};
}

/* Reads .eh_frame without libdw. False when that has to be asked: nearly never. */
static bool read_section(struct cfi *cfi, uint64_t address, struct known_range *range)
{
	struct frame_entry entry;
	struct frame_row row;
	struct rule rule;
	if (!cfi->has_section || !frame_section_find(&cfi->section, address, &entry) ||
	    !frame_program_run(&entry, address, &row) ||
	    !rule_from_row(&row, &rule, (struct long_rule *)cfi->scratch))
		return false;
	keep_rest(cfi, &rule);
	range->end = row.end;
	range->rule = rule;
	return true;
}

/* Asks one table. False when it has no row for the address; RULE_BAD when it has a malformed one. */
static bool ask_table(struct cfi *cfi, Dwarf_CFI *table, uint64_t address,
		      struct known_range *range)
{
	Dwarf_Frame *frame;
	Dwarf_Addr end;
	struct long_rule *scratch = (struct long_rule *)cfi->scratch;
	if (dwarf_cfi_addrframe(table, address, &frame) != 0) {
		/* libdw's numbers of errors are its own; the words are what it documents. */
		const char *message = dwarf_errmsg(-1);
		if (message && strcmp(message, "no matching address range") == 0)
			return false;
		range->rule.kind = RULE_BAD;
		return true;
	}
	rule_from_frame(frame, &range->rule, scratch);
	/*
	 * The row's own start cannot be believed: after DW_CFA_restore_state libdw gives the start of the
	 * row that was remembered, and other rows lie between. From the address to the end it is one row.
	 */
	if (dwarf_frame_info(frame, NULL, &end, NULL) >= 0 && end > address)
		range->end = end;
	free(frame);
	keep_rest(cfi, &range->rule);
	return true;
}

static bool ask_eh_frame(struct cfi *cfi, uint64_t address, struct known_range *range)
{
	struct frame_table *table = &cfi->tables[0];
	if (read_section(cfi, address, range))
		return true;
	bool found = ask_table(cfi, table->cfi, address, range);
	if ((found && range->rule.kind != RULE_BAD) || cfi->eh_checked)
		return found;
	/* Nothing there, or a broken lookup table: find out, once. */
	cfi->eh_checked = true;
	if (frame_table_repair_eh(table, object_elf(cfi->object))) {
		cfi->has_section = false; /* its lookup table is not true */
		found = ask_table(cfi, table->cfi, address, range);
	}
	return found;
}

/*
 * Functions of Go keep nothing of their callers' registers, and their frame pointers, which the next rules do not ask for. The return
 * address is what a call pushed, or where the function's first instruction put the link register: at its end of the frame.
 */
static void ask_go(const struct cfi *cfi, uint64_t address, struct known_range *range)
{
	enum { WORD = 8 };
	struct go_frame frame;
	if (!cfi->go.nr || !go_functions_frame(&cfi->go, address, &frame))
		return;
	const uint32_t slot = MACHINE_HAS_LINK ? frame.bytes / WORD : 1;
	struct rule rule = {
		.kind = RULE_OFFSET,
		.cfa_register = UNWIND_SP,
		.offset = (int32_t)frame.bytes + (MACHINE_HAS_LINK ? 0 : WORD),
		.deepest = slot ? (uint8_t)slot : 1,
	};
	if (slot > UINT8_MAX || !machine_set_return_slot(rule.saved, (uint8_t)slot))
		return;
	*range = (struct known_range){.start = frame.start, .end = frame.end, .rule = rule};
}

static void evaluate(struct cfi *cfi, uint64_t address, struct known_range *range)
{
	*range = (struct known_range){
		.start = address, .end = address + 1, .rule = {.kind = RULE_NONE}};
	if (!cfi->opened)
		open_tables(cfi);
	for (size_t i = 0; i < cfi->nr_tables; i++) {
		bool found = cfi->has_eh && i == 0
				     ? ask_eh_frame(cfi, address, range)
				     : ask_table(cfi, cfi->tables[i].cfi, address, range);
		if (found)
			return;
	}
	ask_go(cfi, address, range);
}

bool cfi_rule(struct cfi *cfi, uint64_t elf_address, struct rule *rule)
{
	if (find_range(cfi, elf_address, rule))
		return false;
	struct known_range range;
	tell_watch(cfi, true);
	evaluate(cfi, elf_address, &range);
	range.rule.flags |= rule_flags_of_function(cfi->object, elf_address);
	tell_watch(cfi, false);
	/* A rule of a file that has changed meanwhile may be of two. */
	bool holds = !cfi->object || object_is_as_opened(cfi->object, false);
	if (holds)
		remember_range(cfi, elf_address, &range);
	*rule = holds ? range.rule : (struct rule){.kind = RULE_BAD};
	return true;
}

bool cfi_go_function(struct cfi *cfi, uint64_t elf_address, struct go_function *function)
{
	tell_watch(cfi, true);
	if (!cfi->opened)
		open_tables(cfi);
	const bool is_there = cfi->go.nr && go_functions_at(&cfi->go, elf_address, function);
	tell_watch(cfi, false);
	return is_there && object_is_as_opened(cfi->object, false);
}

enum code_found cfi_code_rule(struct cfi *cfi, struct code_reader *reader, uint64_t elf_address,
			      bool after_call, struct code_rule *rule)
{
	const uint64_t allowance = *code_reader_allowance(reader);
	if (!cfi->object || object_machine(cfi->object) != MACHINE_ELF || cfi->code_changed)
		return CODE_NO_RULE;
	if (!cfi->code)
		cfi->code = code_rules_new(cfi->object);
	if (!cfi->code)
		return CODE_NO_RULE;
	tell_watch(cfi, true);
	const enum code_found found =
		code_rules_find(cfi->code, reader, elf_address, after_call, rule);
	tell_watch(cfi, false);
	if (*code_reader_allowance(reader) != allowance)
		cfi->code_changed = !object_is_as_opened(cfi->object, false);
	return cfi->code_changed ? CODE_NO_RULE : found;
}
