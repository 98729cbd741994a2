/* SPDX-License-Identifier: MIT */
#include "step.h"

#include <string.h>

/*
 * Below the stack pointer of running code lies what it has popped already: CFI goes on naming the slot until
 * the function ends, but the register has its value back (and the bytes were not dumped).
 */
static bool is_popped(const struct step_input *input, const struct registers *registers,
		      uint64_t slot)
{
	return input->exact && slot < registers->value[UNWIND_SP];
}

/* ---- the short rules: the caller's stack pointer is the CFA ---- */

static enum stack_reason short_cfa(const struct step_input *input,
				   const struct registers *registers, uint64_t *cfa)
{
	const struct rule *rule = input->rule;
	if (!registers_know(registers, rule->cfa_register))
		return STACK_REASON_NO_RULE;
	*cfa = registers->value[rule->cfa_register] + (uint64_t)(int64_t)rule->offset;
	if (rule->kind == RULE_PLT && (registers->value[UNWIND_PC] & 15) >= (uint64_t)rule->add)
		*cfa += MACHINE_ADDRESS_BYTES;
	if (rule->kind == RULE_DEREF) {
		enum stack_reason reason = memory_read_address(input->memory, *cfa, cfa);
		*cfa += (uint64_t)(int64_t)rule->add;
		return reason;
	}
	return STACK_REASON_NONE;
}

/*
 * The whole frame record lies in the dump, above the stack pointer: one check for all of it, then loads without
 * branches (a branch a register, guessed wrong half of the time, would cost more than all else).
 */
static bool load_frame(const struct step_input *input, struct registers *registers, uint64_t cfa)
{
	const struct rule *rule = input->rule;
	const struct memory *memory = input->memory;
	uint64_t record_bytes = (uint64_t)rule->deepest * MACHINE_ADDRESS_BYTES;
	if (cfa < memory->start || cfa > memory->end || cfa - memory->start < record_bytes ||
	    cfa - registers->value[UNWIND_SP] < record_bytes)
		return false;
	const uint8_t *top = memory->stack + (cfa - memory->start);
	uint64_t restored = 0;
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++) {
		unsigned number = machine_saved[i], slot = rule->saved[i];
		uint64_t value;
		memcpy(&value, top - (slot ? slot : 1) * (size_t)MACHINE_ADDRESS_BYTES,
		       sizeof(value));
		registers->value[number] = slot ? value : registers->value[number];
		restored |= (uint64_t)(slot != 0) << number;
	}
	registers->known = (registers->known & MACHINE_SAVED_MASK) | restored;
	registers_set(registers, UNWIND_SP, cfa);
	machine_return_to(registers, machine_loaded_return(registers, top));
	return true;
}

static enum stack_reason find_return_address(const struct step_input *input,
					     const struct registers *registers, uint64_t cfa,
					     uint64_t *return_address)
{
	unsigned slot = machine_return_slot(input->rule->saved);
	uint64_t location = cfa - slot * (uint64_t)MACHINE_ADDRESS_BYTES;
	if (slot != 0 && !(MACHINE_HAS_LINK && is_popped(input, registers, location)))
		return memory_read_address(input->memory, location, return_address);
	return machine_link(registers, return_address) ? STACK_REASON_NONE : STACK_REASON_NO_RULE;
}

/* The same, slot by slot: some of them cannot be read. */
static enum stack_reason load_partial_frame(const struct step_input *input,
					    struct registers *registers, uint64_t cfa)
{
	const struct rule *rule = input->rule;
	uint64_t return_address;
	enum stack_reason reason = find_return_address(input, registers, cfa, &return_address);
	if (reason)
		return reason;
	uint64_t known = registers->known & MACHINE_SAVED_MASK;
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++) {
		unsigned number = machine_saved[i];
		uint64_t slot = cfa - (uint64_t)rule->saved[i] * MACHINE_ADDRESS_BYTES;
		if (!rule->saved[i] || is_popped(input, registers, slot))
			continue;
		/* A register that cannot be had matters only if somebody needs it. */
		if (memory_read_address(input->memory, slot, &registers->value[number]))
			known &= ~register_bit(number);
		else
			known |= register_bit(number);
	}
	registers->known = known;
	registers_set(registers, UNWIND_SP, cfa);
	machine_return_to(registers, return_address);
	return STACK_REASON_NONE;
}

enum stack_reason step_to_cfa(const struct step_input *input, struct registers *registers,
			      uint64_t cfa)
{
	const uint64_t sp = registers->value[UNWIND_SP];
	uint64_t return_address;
	bool in_link = machine_return_slot(input->rule->saved) == 0;
	if (in_link && !machine_link(registers, &return_address))
		return STACK_REASON_NO_RULE;
	/* What leaves its return address in a register may have nothing on the stack. */
	if (cfa < sp || (cfa == sp && !in_link))
		return STACK_REASON_NOT_ADVANCING;
	return load_frame(input, registers, cfa) ? STACK_REASON_NONE
						 : load_partial_frame(input, registers, cfa);
}

static enum stack_reason step_short(const struct step_input *input, struct registers *registers)
{
	uint64_t cfa;
	enum stack_reason reason = short_cfa(input, registers, &cfa);
	return reason ? reason : step_to_cfa(input, registers, cfa);
}

/* ---- long rules ---- */

static enum stack_reason evaluate(const struct long_rule *rule, const struct recovery *recovery,
				  const struct expression_input *input, uint64_t *value)
{
	return expression_evaluate(rule->ops + recovery->first_op, recovery->nr_ops, input, value);
}

static enum stack_reason same_value(const struct registers *registers, unsigned number,
				    uint64_t *value)
{
	*value = registers->value[number];
	return registers_know(registers, number) ? STACK_REASON_NONE : STACK_REASON_NO_RULE;
}

/* reg + offset, of the registers before the step. */
static enum stack_reason register_plus(const struct recovery *recovery,
				       const struct registers *registers, uint64_t *value)
{
	if (!registers_know(registers, recovery->reg))
		return STACK_REASON_NO_RULE;
	*value = registers->value[recovery->reg] + (uint64_t)recovery->offset;
	return STACK_REASON_NONE;
}

/* The caller's value of a register. STACK_REASON_NO_RULE: it cannot be known. */
static enum stack_reason recover(const struct step_input *step, const struct long_rule *rule,
				 unsigned number, const struct expression_input *input,
				 uint64_t *value)
{
	const struct recovery *recovery = &rule->registers[number];
	const struct registers *registers = input->registers;
	enum stack_reason reason = STACK_REASON_NONE;
	uint64_t location = *input->cfa + (uint64_t)recovery->offset;
	switch ((enum recovery_kind)recovery->kind) {
	case RECOVERY_UNDEFINED:
		return STACK_REASON_NO_RULE;
	case RECOVERY_SAME:
		return same_value(registers, number, value);
	case RECOVERY_CFA:
		*value = location;
		return STACK_REASON_NONE;
	case RECOVERY_REGISTER:
		return register_plus(recovery, registers, value);
	case RECOVERY_EXPRESSION:
		return evaluate(rule, recovery, input, value);
	case RECOVERY_AT_CFA:
		if (!is_popped(step, registers, location))
			break;
		if (number < UNWIND_PC)
			return same_value(registers, number, value);
		if (machine_link(registers, value))
			return STACK_REASON_NONE;
		break;
	case RECOVERY_AT_REGISTER:
		reason = register_plus(recovery, registers, &location);
		break;
	case RECOVERY_AT_EXPRESSION:
		reason = evaluate(rule, recovery, input, &location);
		break;
	}
	return reason ? reason : memory_read_address(input->memory, location, value);
}

static enum stack_reason long_cfa(const struct long_rule *rule,
				  const struct expression_input *input, uint64_t *cfa)
{
	if (rule->cfa.kind == RECOVERY_REGISTER)
		return register_plus(&rule->cfa, input->registers, cfa);
	return evaluate(rule, &rule->cfa, input, cfa);
}

static bool is_in_memory(const struct recovery *recovery)
{
	return recovery->kind == RECOVERY_AT_CFA || recovery->kind == RECOVERY_AT_REGISTER ||
	       recovery->kind == RECOVERY_AT_EXPRESSION;
}

/*
 * The caller's stack lies above. It may start where this one does when the return address is
 * in a register (vfork takes it off the stack), and anywhere when a signal came between.
 */
static bool advances(const struct step_input *input, const struct long_rule *rule, uint64_t before,
		     uint64_t after)
{
	if (input->rule->flags & RULE_SIGNAL)
		return true;
	if (input->exact && (MACHINE_HAS_LINK || !is_in_memory(&rule->registers[UNWIND_PC])))
		return after >= before;
	return after > before;
}

static enum stack_reason step_long(const struct step_input *input, struct registers *registers)
{
	const struct long_rule *rule = cfi_long_rule(input->cfi, input->rule->offset);
	struct expression_input expression = {.registers = registers, .memory = input->memory};
	uint64_t cfa;
	enum stack_reason reason = long_cfa(rule, &expression, &cfa);
	if (reason)
		return reason;
	expression.cfa = &cfa;
	struct registers caller = {.known = 0};
	for (unsigned i = 0; i < UNWIND_NR_REGS; i++) {
		uint64_t value;
		reason = recover(input, rule, i, &expression, &value);
		if (!reason)
			registers_set(&caller, i,
				      i == UNWIND_PC ? machine_code_address(value) : value);
		else if (i == UNWIND_SP || i == UNWIND_PC)
			return reason;
	}
	if (!advances(input, rule, registers->value[UNWIND_SP], caller.value[UNWIND_SP]))
		return STACK_REASON_NOT_ADVANCING;
	*registers = caller;
	return STACK_REASON_NONE;
}

enum stack_reason step_by_rule(const struct step_input *input, struct registers *registers)
{
	if (input->rule->kind == RULE_LONG)
		return step_long(input, registers);
	return step_short(input, registers);
}
