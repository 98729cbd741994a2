/* SPDX-License-Identifier: MIT */
#include "code_state.h"

#include <string.h>

enum { WORD = MACHINE_ADDRESS_BYTES };

struct value {
	uint8_t base;
	int32_t offset;
};

static const struct value unknown = {.base = BASE_UNKNOWN};

static struct value get(const struct code_state *state, unsigned number)
{
	if (number >= CODE_NR_REGS)
		return unknown;
	return (struct value){state->base[number], state->offset[number]};
}

static void set(struct code_state *state, unsigned number, struct value value)
{
	if (number >= CODE_NR_REGS)
		return;
	state->base[number] = value.base;
	state->offset[number] = value.base == BASE_UNKNOWN ? 0 : value.offset;
}

/* Frames are smaller, and tables nearer, than what fits. */
static struct value plus(struct value value, int64_t distance)
{
	const bool moves = value.base != BASE_UNKNOWN && value.base != BASE_TABLE &&
			   value.base != BASE_TARGET && value.base != BASE_POINTER &&
			   value.base != BASE_NEAR_POINTER && value.base != BASE_AT_SP &&
			   value.base != BASE_AT_FP;
	if (distance == 0)
		return value;
	if (!moves || distance > INT32_MAX || distance < INT32_MIN)
		return unknown;
	const int64_t sum = value.offset + distance;
	if (sum > INT32_MAX / 2 || sum < INT32_MIN / 2)
		return unknown;
	value.offset = (int32_t)sum;
	return value;
}

void code_state_of_anywhere(struct code_state *state)
{
	memset(state, 0, sizeof(*state));
	for (unsigned i = 0; i < CODE_NR_REGS; i++)
		state->base[i] = (uint8_t)(BASE_FIRST + i);
}

void code_state_of_start(struct code_state *state)
{
	code_state_of_anywhere(state);
	for (unsigned i = 0; i < CODE_NR_REGS; i++)
		if (!(MACHINE_START_MASK >> i & 1))
			set(state, i, unknown);
	set(state, UNWIND_SP, (struct value){BASE_CFA, -MACHINE_CALL_BYTES});
}

/* A register saved for the first time is saved there until it has its value back. */
static void store(struct code_state *state, struct value at, unsigned number)
{
	const struct value value = get(state, number);
	if (at.base == BASE_ALIGNED && value.base == BASE_CFA) {
		state->has_cfa_slot = true;
		state->cfa_slot = at.offset;
		state->cfa_add = value.offset;
		return;
	}
	if (at.base != BASE_CFA && at.base != BASE_ALIGNED && at.base != BASE_FIRST + UNWIND_SP)
		return;
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++)
		if (machine_saved[i] == number && state->saved_base[i] == BASE_UNKNOWN &&
		    code_state_is(state, number, BASE_FIRST + number, 0)) {
			state->saved_base[i] = at.base;
			state->saved_offset[i] = at.offset;
		}
}

/*
 * The CFA is saved on a stack whose depth is not known, as assembly does that makes room by calculating: from here on
 * that depth is what is known.
 */
static void begin_aligned(struct code_state *state)
{
	for (unsigned i = 0; i < CODE_NR_REGS; i++)
		if (state->base[i] == BASE_ALIGNED)
			set(state, i, unknown);
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++)
		if (state->saved_base[i] == BASE_ALIGNED)
			state->saved_base[i] = BASE_UNKNOWN;
	set(state, UNWIND_SP, (struct value){BASE_ALIGNED, 0});
}

static struct value load(const struct code_state *state, struct value at)
{
	if (at.base == BASE_ALIGNED && state->has_cfa_slot && at.offset == state->cfa_slot)
		return (struct value){BASE_CFA, state->cfa_add};
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++)
		if (state->saved_base[i] == at.base && state->saved_offset[i] == at.offset)
			return (struct value){(uint8_t)(BASE_FIRST + machine_saved[i]), 0};
	/* What lies below is written on the way. */
	if (at.base == BASE_FIRST + UNWIND_SP && at.offset >= 0)
		return (struct value){BASE_AT_SP, at.offset};
	if (at.base == BASE_FIRST + UNWIND_FP)
		return (struct value){BASE_AT_FP, at.offset};
	return unknown;
}

/* A register that has its first value back need not be looked for elsewhere. */
static void put_back(struct code_state *state, unsigned number, struct value value)
{
	set(state, number, value);
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++)
		if (machine_saved[i] == number && value.base == BASE_FIRST + number)
			state->saved_base[i] = BASE_UNKNOWN;
}

static void push(struct code_state *state, unsigned number)
{
	const struct value sp = plus(get(state, UNWIND_SP), -WORD);
	if (number != UNWIND_SP)
		store(state, sp, number);
	set(state, UNWIND_SP, sp);
}

static void pop(struct code_state *state, unsigned number)
{
	const struct value sp = get(state, UNWIND_SP), value = load(state, sp);
	set(state, UNWIND_SP, plus(sp, WORD));
	put_back(state, number, value);
}

static void round_down(struct code_state *state, unsigned number)
{
	const struct value value = get(state, number);
	const bool first = value.base == BASE_CFA && number == UNWIND_SP;
	set(state, number, first ? (struct value){BASE_ALIGNED, 0} : unknown);
}

static void add_register(struct code_state *state, const struct instruction *instruction)
{
	const struct value to = get(state, instruction->reg), from = get(state, instruction->base);
	if (to.base == BASE_TABLE && from.base == BASE_ADDRESS) {
		state->entry_base = from.offset;
		set(state, instruction->reg, (struct value){BASE_TARGET, to.offset});
	} else if (to.base == BASE_ADDRESS && from.base == BASE_TABLE) {
		state->entry_base = to.offset;
		set(state, instruction->reg, (struct value){BASE_TARGET, from.offset});
	} else if (from.base == BASE_CONSTANT) {
		set(state, instruction->reg,
		    plus(to, instruction->value < 0 ? -(int64_t)from.offset : from.offset));
	} else {
		set(state, instruction->reg, unknown);
	}
}

static void write_back(struct code_state *state, const struct instruction *instruction,
		       struct value base)
{
	if (instruction->writeback)
		set(state, instruction->base, plus(base, instruction->writeback));
}

static void take_load(struct code_state *state, const struct instruction *instruction)
{
	const struct value base = get(state, instruction->base);
	const struct value first = load(state, plus(base, instruction->value));
	const struct value second = load(state, plus(base, instruction->value + WORD));
	put_back(state, instruction->reg, first);
	if (instruction->second < CODE_NR_REGS)
		put_back(state, instruction->second, second);
	write_back(state, instruction, base);
}

static void take_store(struct code_state *state, const struct instruction *instruction)
{
	const struct value known = get(state, instruction->base);
	if (instruction->base == UNWIND_SP && known.base == BASE_UNKNOWN &&
	    get(state, instruction->reg).base == BASE_CFA && !state->has_cfa_slot)
		begin_aligned(state);
	const struct value base = get(state, instruction->base);
	store(state, plus(base, instruction->value), instruction->reg);
	store(state, plus(base, instruction->value + WORD), instruction->second);
	write_back(state, instruction, base);
}

static void forget(struct code_state *state, uint32_t registers)
{
	for (unsigned i = 0; i < CODE_NR_REGS; i++)
		if (registers >> i & 1)
			set(state, i, unknown);
}

void code_state_apply(struct code_state *state, const struct instruction *instruction, int64_t end)
{
	const unsigned reg = instruction->reg;
	const struct value base = get(state, instruction->base);
	const struct value origin = {BASE_ADDRESS, 0};
	struct value value;
	state->compared = 0;
	forget(state, instruction->writes);
	switch ((enum instruction_kind)instruction->kind) {
	case INSTRUCTION_PUSH:
		push(state, reg);
		break;
	case INSTRUCTION_PUSH_VALUE:
		set(state, UNWIND_SP, plus(get(state, UNWIND_SP), -WORD));
		break;
	case INSTRUCTION_POP:
		pop(state, reg);
		break;
	case INSTRUCTION_POP_VALUE:
		set(state, UNWIND_SP, plus(get(state, UNWIND_SP), WORD));
		break;
	case INSTRUCTION_LEAVE:
		set(state, UNWIND_SP, get(state, UNWIND_FP));
		pop(state, UNWIND_FP);
		break;
	case INSTRUCTION_CALL:
		if (instruction->value == 0) { /* to have its own address */
			set(state, UNWIND_SP, plus(get(state, UNWIND_SP), -MACHINE_CALL_BYTES));
			break;
		}
		forget(state, (uint32_t) ~(MACHINE_SAVED_MASK | register_bit(UNWIND_SP)));
		break;
	case INSTRUCTION_CALL_INDIRECT:
		forget(state, (uint32_t) ~(MACHINE_SAVED_MASK | register_bit(UNWIND_SP)));
		break;
	case INSTRUCTION_ADD:
		set(state, reg, plus(get(state, reg), instruction->value));
		break;
	case INSTRUCTION_ADD_REGISTER:
		add_register(state, instruction);
		break;
	case INSTRUCTION_ALIGN:
		round_down(state, reg);
		break;
	case INSTRUCTION_COPY:
		put_back(state, reg, base);
		break;
	case INSTRUCTION_SUM:
		set(state, reg, plus(base, instruction->value));
		break;
	case INSTRUCTION_ADDRESS:
		set(state, reg, plus(plus(origin, end), instruction->value));
		break;
	case INSTRUCTION_CONSTANT:
		set(state, reg, plus((struct value){BASE_CONSTANT, 0}, instruction->value));
		break;
	case INSTRUCTION_LOAD:
		take_load(state, instruction);
		break;
	case INSTRUCTION_LOAD_ENTRY:
		value = plus(base, instruction->value);
		set(state, reg,
		    value.base == BASE_ADDRESS ? (struct value){BASE_TABLE, value.offset}
					       : unknown);
		break;
	case INSTRUCTION_LOAD_POINTER:
		value = plus(base, instruction->value);
		if (instruction->base >= CODE_NR_REGS)
			value = (struct value){BASE_POINTER, (int32_t)instruction->value};
		else
			value.base = value.base == BASE_ADDRESS ? BASE_NEAR_POINTER : BASE_UNKNOWN;
		set(state, reg, value);
		break;
	case INSTRUCTION_STORE:
		take_store(state, instruction);
		break;
	case INSTRUCTION_COMPARE:
		state->compared = instruction->reg == UNWIND_SP	   ? instruction->base
				  : instruction->base == UNWIND_SP ? instruction->reg
								   : 0;
		break;
	case INSTRUCTION_COMPARE_VALUE:
		state->limit = instruction->value > 0 && instruction->value < INT32_MAX
				       ? (uint32_t)instruction->value
				       : 0;
		break;
	case INSTRUCTION_OTHER:
	case INSTRUCTION_RETURN:
	case INSTRUCTION_JUMP:
	case INSTRUCTION_BRANCH:
	case INSTRUCTION_JUMP_REGISTER:
	case INSTRUCTION_JUMP_TABLE:
	case INSTRUCTION_JUMP_INDEXED:
	case INSTRUCTION_JUMP_MEMORY:
	case INSTRUCTION_STOP:
	case INSTRUCTION_NOP:
		break;
	}
}

bool code_state_join(struct code_state *state, const struct code_state *other)
{
	bool lost = false;
	for (unsigned i = 0; i < CODE_NR_REGS; i++) {
		if (state->base[i] == BASE_UNKNOWN ||
		    code_state_is(other, i, state->base[i], state->offset[i]))
			continue;
		set(state, i, unknown);
		lost = true;
	}
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++) {
		if (state->saved_base[i] == other->saved_base[i] &&
		    (state->saved_base[i] == BASE_UNKNOWN ||
		     state->saved_offset[i] == other->saved_offset[i]))
			continue;
		/* Where it is saved on one way only, it is enough if it still has its value. */
		if (state->saved_base[i] != BASE_UNKNOWN) {
			state->saved_base[i] = BASE_UNKNOWN;
			lost = true;
		}
	}
	if (state->has_cfa_slot && (!other->has_cfa_slot || state->cfa_slot != other->cfa_slot ||
				    state->cfa_add != other->cfa_add)) {
		state->has_cfa_slot = false;
		lost = true;
	}
	if (state->limit != other->limit && state->limit != 0) {
		state->limit = 0;
		lost = true;
	}
	if (state->compared != other->compared)
		state->compared = 0;
	return lost;
}
