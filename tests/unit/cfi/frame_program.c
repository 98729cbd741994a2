/* SPDX-License-Identifier: MIT */
/* Programs of FDEs that are run without libdw: known rows, and what is left to libdw instead of being guessed. */
#include "jailed/cfi/frame_program.h"

#include <dwarf.h>

#include <ctop/cfi/rule.h>
#include "test.h"

enum { START = 0x1000, SAVED = UNWIND_FP, SP = UNWIND_SP };

/* A CIE with the CFA at the stack pointer + 8, factors 1 and -8; a program of the FDE. */
static const uint8_t initial[] = {DW_CFA_def_cfa, SP, 8, DW_CFA_offset + MACHINE_RETURN_COLUMN, 1};

static struct frame_entry entry_of(const uint8_t *program, size_t size)
{
	return (struct frame_entry){.start = START,
				    .end = START + 0x100,
				    .section = program,
				    .initial = initial,
				    .initial_bytes = sizeof(initial),
				    .program = program,
				    .end_of_program = program + size,
				    .code_factor = 1,
				    .data_factor = -8,
				    .return_column = MACHINE_RETURN_COLUMN};
}

static bool run(const uint8_t *program, size_t size, uint64_t address, struct frame_row *row)
{
	const struct frame_entry entry = entry_of(program, size);
	return frame_program_run(&entry, address, row);
}

#define PROGRAM(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})
#define IS_PLAIN(...)                                                                              \
	run(PROGRAM(__VA_ARGS__), START + 0xff, &(struct frame_row){.return_column = 0})

static void rows_of_a_function(void)
{
	static const uint8_t program[] = {
		DW_CFA_advance_loc + 1,
		DW_CFA_def_cfa_offset,
		16,
		DW_CFA_offset + SAVED,
		2,
		DW_CFA_advance_loc + 3,
		DW_CFA_def_cfa_register,
		SAVED,
		DW_CFA_advance_loc1,
		0x40,
		DW_CFA_remember_state,
		DW_CFA_restore + SAVED,
		DW_CFA_def_cfa,
		SP,
		8,
		DW_CFA_advance_loc + 1,
		DW_CFA_restore_state,
	};
	struct frame_row row;
	CHECK(run(program, sizeof(program), START, &row));
	CHECK_EQ(row.end, START + 1);
	CHECK_EQ(row.cfa.reg, SP);
	CHECK_EQ(row.cfa.offset, 8);
	CHECK_EQ(row.registers[SAVED].kind, RECOVERY_UNDEFINED);
	CHECK_EQ(row.registers[SP].kind, RECOVERY_CFA);
	CHECK_EQ(row.registers[MACHINE_RETURN_COLUMN].kind, RECOVERY_AT_CFA);
	CHECK_EQ(row.registers[MACHINE_RETURN_COLUMN].offset, -8);
	CHECK(run(program, sizeof(program), START + 3, &row));
	CHECK_EQ(row.end, START + 4);
	CHECK_EQ(row.cfa.offset, 16);
	CHECK_EQ(row.registers[SAVED].offset, -16);
	CHECK(run(program, sizeof(program), START + 0x43, &row));
	CHECK_EQ(row.end, START + 0x44);
	CHECK_EQ(row.cfa.reg, SAVED);
	CHECK(run(program, sizeof(program), START + 0x44, &row));
	CHECK_EQ(row.end, START + 0x45);
	CHECK_EQ(row.cfa.reg, SP);
	CHECK_EQ(row.registers[SAVED].kind, RECOVERY_UNDEFINED);
	CHECK(run(program, sizeof(program), START + 0xff, &row));
	CHECK_EQ(row.end, START + 0x100);
	CHECK_EQ(row.cfa.reg, SAVED);
	CHECK_EQ(row.registers[SAVED].kind, RECOVERY_AT_CFA);
}

static void what_the_cie_says_is_restored(void)
{
	static const uint8_t program[] = {DW_CFA_undefined,
					  MACHINE_RETURN_COLUMN,
					  DW_CFA_restore + MACHINE_RETURN_COLUMN,
					  DW_CFA_undefined,
					  SP,
					  DW_CFA_restore_extended,
					  SP};
	struct frame_row row;
	CHECK(run(program, sizeof(program), START, &row));
	CHECK_EQ(row.registers[MACHINE_RETURN_COLUMN].kind, RECOVERY_AT_CFA);
	CHECK_EQ(row.registers[MACHINE_RETURN_COLUMN].offset, -8);
	CHECK_EQ(row.registers[SP].kind, RECOVERY_CFA);
}

static struct rule rule_of(const uint8_t *program, size_t size)
{
	static uint64_t scratch[(LONG_RULE_MAX_BYTES + 7) / 8];
	struct frame_row row;
	struct rule rule = {.kind = RULE_BAD};
	CHECK(run(program, size, START + 0xff, &row));
	CHECK(rule_from_row(&row, &rule, (struct long_rule *)scratch));
	return rule;
}

static void rules_of_rows(void)
{
	struct rule rule = rule_of(PROGRAM(DW_CFA_def_cfa_offset, 32, DW_CFA_offset + SAVED, 3));
	CHECK_EQ(rule.kind, RULE_OFFSET);
	CHECK_EQ(rule.offset, 32);
	CHECK_EQ(rule.saved[MACHINE_FP_INDEX], 3);
	CHECK_EQ(rule.deepest, 3);
	rule = rule_of(PROGRAM(DW_CFA_undefined, MACHINE_RETURN_COLUMN));
	CHECK_EQ(rule.kind, RULE_ROOT);
	rule = rule_of(
		PROGRAM(DW_CFA_def_cfa_expression, 3, DW_OP_breg0 + SAVED, 0x78, DW_OP_deref));
	CHECK_EQ(rule.kind, RULE_DEREF);
	CHECK_EQ(rule.offset, -8);
	CHECK(rule.flags & RULE_EXPRESSION);
	rule = rule_of(PROGRAM(DW_CFA_expression, SAVED, 2, DW_OP_breg0 + SAVED, 0));
	CHECK_EQ(rule.kind, RULE_LONG);
	CHECK(!(rule.flags & RULE_EXPRESSION)); /* it is a register and an offset */
}

static bool is_left_to_libdw(const uint8_t *program, size_t size)
{
	static uint64_t scratch[(LONG_RULE_MAX_BYTES + 7) / 8];
	struct frame_row row;
	struct rule rule;
	return !run(program, size, START + 0xff, &row) ||
	       !rule_from_row(&row, &rule, (struct long_rule *)scratch);
}

static void expressions_that_are_left_to_libdw(void)
{
	/* Branches, addresses, operations that nobody knows, cut ones, and none at all. */
	CHECK(is_left_to_libdw(
		PROGRAM(DW_CFA_def_cfa_expression, 4, DW_OP_lit0, DW_OP_skip, 0xfc, 0xff)));
	CHECK(is_left_to_libdw(
		PROGRAM(DW_CFA_def_cfa_expression, 9, DW_OP_addr, 0, 0, 0, 0, 0, 0, 0, 0)));
	CHECK(is_left_to_libdw(PROGRAM(DW_CFA_def_cfa_expression, 1, DW_OP_xderef)));
	CHECK(is_left_to_libdw(PROGRAM(DW_CFA_def_cfa_expression, 1, DW_OP_breg0 + SP)));
	CHECK(is_left_to_libdw(PROGRAM(DW_CFA_def_cfa_expression, 3, DW_OP_breg0, 0x80, 0x80)));
	CHECK(is_left_to_libdw(PROGRAM(DW_CFA_def_cfa_expression, 0)));
	CHECK(is_left_to_libdw(PROGRAM(DW_CFA_def_cfa_expression, 100, DW_OP_lit0)));
	CHECK(is_left_to_libdw(
		PROGRAM(DW_CFA_val_expression, SAVED, 2, DW_OP_lit0, DW_OP_stack_value)));
	CHECK(is_left_to_libdw(PROGRAM(DW_CFA_expression, SAVED, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80,
				       0x80, 0x80, 0x80, 0x80, 0x01)));
}

static void programs_that_are_left_to_libdw(void)
{
	CHECK(IS_PLAIN(DW_CFA_nop));
	/* Operands that are cut, have no end, or are too large to be true. */
	CHECK(!IS_PLAIN(DW_CFA_advance_loc4, 0, 0, 0));
	CHECK(!IS_PLAIN(DW_CFA_def_cfa, SP));
	CHECK(!IS_PLAIN(DW_CFA_def_cfa_offset, 0x80, 0x80, 0x80));
	CHECK(!IS_PLAIN(DW_CFA_def_cfa_offset, 0xff, 0xff, 0xff, 0xff, 0x0f));
	CHECK(!IS_PLAIN(DW_CFA_def_cfa_offset_sf, 0x80, 0x80, 0x80, 0x80, 0x02));
	CHECK(!IS_PLAIN(DW_CFA_offset + SAVED, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff,
			0x7f));
	CHECK(!IS_PLAIN(DW_CFA_def_cfa, UNWIND_NR_REGS, 0));
	CHECK(!IS_PLAIN(DW_CFA_register, SAVED, UNWIND_NR_REGS));
	CHECK(!IS_PLAIN(DW_CFA_same_value, 0xff, 0x7f));
	/* Of a vector register: no register of ours. */
	CHECK(IS_PLAIN(DW_CFA_offset_extended, 72, 3));
	/* What contradicts itself. */
	CHECK(!IS_PLAIN(DW_CFA_restore_state));
	CHECK(!IS_PLAIN(DW_CFA_def_cfa_expression, 1, DW_OP_lit0, DW_CFA_def_cfa_offset, 8));
	/* Instructions of other machines, and of nobody. */
	CHECK_EQ(IS_PLAIN(DW_CFA_AARCH64_negate_ra_state), MACHINE_HAS_LINK);
	CHECK(!IS_PLAIN(DW_CFA_set_loc, 0, 0, 0, 0));
	CHECK(!IS_PLAIN(DW_CFA_MIPS_advance_loc8, 0, 0, 0, 0, 0, 0, 0, 0));
	CHECK(!IS_PLAIN(0x3f));
}

static void what_is_remembered_is_bounded(void)
{
	uint8_t program[64];
	memset(program, DW_CFA_remember_state, sizeof(program));
	CHECK(IS_PLAIN(DW_CFA_remember_state, DW_CFA_remember_state, DW_CFA_restore_state));
	CHECK(is_left_to_libdw(program, sizeof(program)));
}

static void steps_are_bounded(void)
{
	enum { ENOUGH = 1 << 20 };
	uint8_t *program = calloc(1, ENOUGH); /* does nothing, a million times */
	CHECK(program);
	CHECK(is_left_to_libdw(program, ENOUGH));
	CHECK(!is_left_to_libdw(program, 1000));
	free(program);
}

static void programs_of_cies(void)
{
	static const uint8_t advances[] = {DW_CFA_def_cfa, SP, 8, DW_CFA_advance_loc + 1};
	static const uint8_t restores[] = {DW_CFA_def_cfa, SP, 8, DW_CFA_restore + SAVED};
	static const uint8_t remembers[] = {DW_CFA_def_cfa, SP, 8, DW_CFA_remember_state};
	const struct frame_entry usual = entry_of(PROGRAM(DW_CFA_nop));
	struct frame_entry entry = usual;
	struct frame_row row;
	entry.initial = advances, entry.initial_bytes = sizeof(advances);
	CHECK(!frame_program_run(&entry, START, &row));
	entry.initial = restores, entry.initial_bytes = sizeof(restores);
	CHECK(!frame_program_run(&entry, START, &row));
	/* What a CIE remembers is not there for its FDEs. */
	entry = entry_of(PROGRAM(DW_CFA_restore_state));
	entry.initial = remembers, entry.initial_bytes = sizeof(remembers);
	CHECK(!frame_program_run(&entry, START, &row));
	entry = usual, entry.initial_bytes = 0;
	CHECK(frame_program_run(&entry, START, &row));
	CHECK_EQ(row.cfa.kind, RECOVERY_UNDEFINED);
	entry = usual, entry.data_factor = INT64_MIN;
	CHECK(!frame_program_run(&entry, START, &row));
}

int main(void)
{
	RUN(rows_of_a_function);
	RUN(what_the_cie_says_is_restored);
	RUN(rules_of_rows);
	RUN(expressions_that_are_left_to_libdw);
	RUN(programs_that_are_left_to_libdw);
	RUN(what_is_remembered_is_bounded);
	RUN(steps_are_bounded);
	RUN(programs_of_cies);
	return test_done();
}
