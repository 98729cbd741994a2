/* SPDX-License-Identifier: MIT */
#include "frame_program.h"

#include <dwarf.h>

#include <ctop/cfi/rule.h>
#include <ctop/elf/dwarf_bytes.h>

enum {
	STEPS_MAX = 1 << 14, /* the longest programs of clang's and gcc's libraries take some 600 */
	REMEMBERED_MAX = 4,  /* compilers remember one */
	COLUMNS_MAX = 1 << 10, /* arm64's go up to 128 */
	ACTION_MASK = 0xc0,    /* in the opcode itself, with an operand */
	OPERAND_MASK = 0x3f
};

struct columns {
	struct frame_column cfa;
	struct frame_column registers[UNWIND_NR_REGS];
};

struct state {
	const struct frame_entry *entry;
	struct dwarf_bytes program;
	uint64_t location, wanted;    /* elf addresses */
	struct columns now, *initial; /* initial: NULL while the CIE's own program runs */
	struct columns remembered[REMEMBERED_MAX];
	size_t nr_remembered;
	bool odd; /* not plain */
};

static void give_up(struct state *state)
{
	state->odd = true;
}

static int32_t narrow(struct state *state, int64_t offset)
{
	if (offset < INT32_MIN || offset > INT32_MAX)
		give_up(state);
	return (int32_t)offset;
}

/* An offset that is given as a number of data alignment factors. */
static int32_t factored(struct state *state, int64_t number)
{
	int64_t offset;
	if (__builtin_mul_overflow(number, state->entry->data_factor, &offset))
		give_up(state);
	return narrow(state, offset);
}

/* As DW_CFA_offset counts: never more than what dwarf_uleb() reads, which is less than INT64_MAX. */
static int32_t factored_unsigned(struct state *state)
{
	return factored(state, (int64_t)dwarf_uleb(&state->program));
}

static int32_t factored_signed(struct state *state)
{
	return factored(state, dwarf_sleb(&state->program));
}

static uint8_t own_register(struct state *state, uint64_t number)
{
	if (number >= UNWIND_NR_REGS)
		give_up(state);
	return (uint8_t)number;
}

static void set_column(struct state *state, uint64_t number, struct frame_column column)
{
	if (number >= COLUMNS_MAX)
		give_up(state);
	else if (number < UNWIND_NR_REGS)
		state->now.registers[number] = column;
}

static void set_offset(struct state *state, uint64_t number, enum recovery_kind kind,
		       int32_t offset)
{
	set_column(state, number, (struct frame_column){.kind = (uint8_t)kind, .offset = offset});
}

static struct frame_column take_expression(struct state *state, enum recovery_kind kind)
{
	const uint64_t size = dwarf_uleb(&state->program);
	const ptrdiff_t at = state->program.at - state->entry->section;
	dwarf_skip(&state->program, size);
	if (size == 0 || size > UINT16_MAX)
		give_up(state);
	return (struct frame_column){.kind = (uint8_t)kind,
				     .offset = narrow(state, at),
				     .expression_bytes = (uint16_t)size};
}

static void set_cfa(struct state *state, uint64_t number, int64_t offset)
{
	state->now.cfa = (struct frame_column){.kind = RECOVERY_REGISTER,
					       .reg = own_register(state, number),
					       .offset = narrow(state, offset)};
}

/* Another register or offset is only for a CFA that has both. */
static struct frame_column *cfa_of_register(struct state *state)
{
	if (state->now.cfa.kind != RECOVERY_REGISTER)
		give_up(state);
	return &state->now.cfa;
}

static void restore(struct state *state, uint64_t number)
{
	if (!state->initial || number >= COLUMNS_MAX)
		give_up(state);
	else if (number < UNWIND_NR_REGS)
		state->now.registers[number] = state->initial->registers[number];
}

static void remember(struct state *state)
{
	if (state->nr_remembered == REMEMBERED_MAX)
		give_up(state);
	else
		state->remembered[state->nr_remembered++] = state->now;
}

static void return_to_remembered(struct state *state)
{
	if (state->nr_remembered == 0)
		give_up(state);
	else
		state->now = state->remembered[--state->nr_remembered];
}

/* False when the next row begins beyond the wanted address. */
static bool advance(struct state *state, uint64_t delta)
{
	state->location += delta * state->entry->code_factor;
	if (!state->initial)
		give_up(state);
	return state->location <= state->wanted;
}

static void change_cfa(struct state *state, uint8_t opcode)
{
	struct dwarf_bytes *program = &state->program;
	uint64_t number;
	switch (opcode) {
	case DW_CFA_def_cfa:
		number = dwarf_uleb(program);
		set_cfa(state, number, (int64_t)dwarf_uleb(program));
		break;
	case DW_CFA_def_cfa_sf:
		number = dwarf_uleb(program);
		set_cfa(state, number, factored_signed(state));
		break;
	case DW_CFA_def_cfa_register:
		number = dwarf_uleb(program);
		cfa_of_register(state)->reg = own_register(state, number);
		break;
	case DW_CFA_def_cfa_offset:
		cfa_of_register(state)->offset = narrow(state, (int64_t)dwarf_uleb(program));
		break;
	case DW_CFA_def_cfa_offset_sf:
		cfa_of_register(state)->offset = factored_signed(state);
		break;
	default:
		state->now.cfa = take_expression(state, RECOVERY_EXPRESSION);
		break;
	}
}

static void change_register(struct state *state, uint8_t opcode)
{
	const uint64_t number = dwarf_uleb(&state->program);
	switch (opcode) {
	case DW_CFA_undefined:
		set_offset(state, number, RECOVERY_UNDEFINED, 0);
		break;
	case DW_CFA_same_value:
		set_offset(state, number, RECOVERY_SAME, 0);
		break;
	case DW_CFA_offset_extended:
		set_offset(state, number, RECOVERY_AT_CFA, factored_unsigned(state));
		break;
	case DW_CFA_offset_extended_sf:
		set_offset(state, number, RECOVERY_AT_CFA, factored_signed(state));
		break;
	case DW_CFA_val_offset:
		set_offset(state, number, RECOVERY_CFA, factored_unsigned(state));
		break;
	case DW_CFA_val_offset_sf:
		set_offset(state, number, RECOVERY_CFA, factored_signed(state));
		break;
	case DW_CFA_register: {
		const uint64_t other = dwarf_uleb(&state->program);
		set_column(state, number,
			   (struct frame_column){.kind = RECOVERY_REGISTER,
						 .reg = own_register(state, other)});
		break;
	}
	case DW_CFA_expression:
		set_column(state, number, take_expression(state, RECOVERY_AT_EXPRESSION));
		break;
	case DW_CFA_val_expression:
		set_column(state, number, take_expression(state, RECOVERY_EXPRESSION));
		break;
	default:
		restore(state, number);
		break;
	}
}

/* False when the row is complete. */
static bool step(struct state *state)
{
	struct dwarf_bytes *program = &state->program;
	const uint8_t opcode = dwarf_u8(program), operand = opcode & OPERAND_MASK;
	switch (opcode & ACTION_MASK) {
	case DW_CFA_advance_loc:
		return advance(state, operand);
	case DW_CFA_offset:
		set_offset(state, operand, RECOVERY_AT_CFA, factored_unsigned(state));
		return true;
	case DW_CFA_restore:
		restore(state, operand);
		return true;
	default:
		break;
	}
	switch (opcode) {
	case DW_CFA_nop:
		return true;
	case DW_CFA_advance_loc1:
		return advance(state, dwarf_fixed(program, 1));
	case DW_CFA_advance_loc2:
		return advance(state, dwarf_fixed(program, 2));
	case DW_CFA_advance_loc4:
		return advance(state, dwarf_fixed(program, 4));
	case DW_CFA_remember_state:
		remember(state);
		return true;
	case DW_CFA_restore_state:
		return_to_remembered(state);
		return true;
	case DW_CFA_def_cfa:
	case DW_CFA_def_cfa_sf:
	case DW_CFA_def_cfa_register:
	case DW_CFA_def_cfa_offset:
	case DW_CFA_def_cfa_offset_sf:
	case DW_CFA_def_cfa_expression:
		change_cfa(state, opcode);
		return true;
	case DW_CFA_undefined:
	case DW_CFA_same_value:
	case DW_CFA_offset_extended:
	case DW_CFA_offset_extended_sf:
	case DW_CFA_val_offset:
	case DW_CFA_val_offset_sf:
	case DW_CFA_register:
	case DW_CFA_expression:
	case DW_CFA_val_expression:
	case DW_CFA_restore_extended:
		change_register(state, opcode);
		return true;
	case DW_CFA_GNU_args_size:
		dwarf_uleb(program);
		return true;
	case DW_CFA_AARCH64_negate_ra_state: /* the same number is another instruction elsewhere */
		if (!MACHINE_HAS_LINK)
			give_up(state);
		return true;
	default:
		give_up(state);
		return true;
	}
}

/* False when the program is not plain. */
static bool run(struct state *state, const uint8_t *program, size_t size)
{
	state->program = dwarf_bytes(program, size);
	state->nr_remembered = 0;
	for (unsigned steps = 0; state->program.at < state->program.end; steps++) {
		const bool goes_on = step(state);
		if (state->odd || state->program.bad || steps == STEPS_MAX)
			return false;
		if (!goes_on)
			return true;
	}
	state->location = state->entry->end;
	return true;
}

bool frame_program_run(const struct frame_entry *entry, uint64_t address, struct frame_row *row)
{
	struct columns initial;
	struct state state = {.entry = entry, .location = entry->start, .wanted = address};
	/* The ABI's own rules. */
	state.now.registers[UNWIND_SP].kind = RECOVERY_CFA;
	if (entry->return_column < UNWIND_NR_REGS)
		state.now.registers[entry->return_column].kind = RECOVERY_SAME;
	if (!run(&state, entry->initial, entry->initial_bytes))
		return false;
	initial = state.now;
	state.initial = &initial;
	state.location = entry->start;
	if (!run(&state, entry->program, (size_t)(entry->end_of_program - entry->program)))
		return false;
	row->end = state.location;
	row->section = entry->section;
	row->return_column = entry->return_column;
	row->cfa = state.now.cfa;
	memcpy(row->registers, state.now.registers, sizeof(row->registers));
	return true;
}
