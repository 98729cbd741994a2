/* SPDX-License-Identifier: MIT */
/* The step by a rule that was read from code: only what proves itself counts. */
#include "walk.h"

#include <ctop/code/live_rules.h>

static bool find_cfa(const struct walk *walk, const struct code_rule *rule, uint64_t *cfa)
{
	const struct registers *registers = &walk->registers;
	if (!registers_know(registers, rule->cfa_register))
		return false;
	*cfa = registers->value[rule->cfa_register] + (uint64_t)(int64_t)rule->offset;
	if (!rule->in_memory)
		return true;
	if (memory_read_address(&walk->memory, *cfa, cfa))
		return false;
	*cfa += (uint64_t)(int64_t)rule->add;
	return true;
}

static void take_saved(const struct walk *walk, const struct code_rule *rule, uint64_t cfa,
		       struct registers *caller)
{
	const struct registers *registers = &walk->registers;
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++) {
		const struct code_location *saved = &rule->saved[i];
		const unsigned number = machine_saved[i];
		uint64_t value;
		if (saved->lost)
			registers_forget(caller, number);
		if (!saved->known)
			continue;
		const uint64_t base = saved->reg == UNWIND_PC ? cfa : registers->value[saved->reg];
		registers_forget(caller, number);
		if ((saved->reg == UNWIND_PC || registers_know(registers, saved->reg)) &&
		    !memory_read_address(&walk->memory, base + (uint64_t)(int64_t)saved->offset,
					 &value))
			registers_set(caller, number, value);
	}
}

void walk_take_saved(struct walk *walk, const struct code_rule *rule, uint64_t cfa,
		     uint64_t return_address)
{
	struct registers caller = walk->registers;
	caller.known &= MACHINE_SAVED_MASK;
	take_saved(walk, rule, cfa, &caller);
	registers_set(&caller, UNWIND_SP, cfa);
	machine_return_to(&caller, return_address);
	walk->registers = caller;
}

/* Below the CFA; or where the rule has the link register, which only the innermost frame may still have itself. */
static enum stack_reason find_return_address(const struct walk *walk, const struct code_rule *rule,
					     uint64_t cfa, uint64_t *return_address)
{
	const struct registers *registers = &walk->registers;
	const struct code_location *link = &rule->saved[MACHINE_LINK_INDEX];
	const uint64_t sp = registers->value[UNWIND_SP];
	if (MACHINE_HAS_LINK && !link->known)
		return walk->exact && cfa >= sp && machine_link(registers, return_address)
			       ? STACK_REASON_NONE
			       : STACK_REASON_NO_RULE;
	if (cfa <= sp)
		return STACK_REASON_NOT_ADVANCING;
	if (!MACHINE_HAS_LINK)
		return memory_read_address(&walk->memory, cfa - MACHINE_CALL_BYTES, return_address);
	if (link->reg != UNWIND_PC && !registers_know(registers, link->reg))
		return STACK_REASON_NO_RULE;
	const uint64_t base = link->reg == UNWIND_PC ? cfa : registers->value[link->reg];
	const enum stack_reason failure = memory_read_address(
		&walk->memory, base + (uint64_t)(int64_t)link->offset, return_address);
	*return_address = machine_code_address(*return_address);
	return failure;
}

static bool find_rule(struct walk *walk, const struct code *code, struct code_rule *rule)
{
	const struct unwind_mapping *mapping = &code->place->mapping;
	const uint64_t lookup = walk->registers.value[UNWIND_PC] - (walk->exact ? 0 : 1);
	enum code_found found = CODE_NO_RULE;
	if (mapping->live)
		found = live_rule_find(mapping->live, walk->code_reader, lookup, !walk->exact,
				       rule);
	else if (mapping->cfi)
		found = cfi_code_rule(mapping->cfi, walk->code_reader, lookup - mapping->bias,
				      !walk->exact, rule);
	if (found == CODE_UNREAD && walk->unread_matters && !walk->pending) {
		walk->pending = walk->unread = true;
		walk->pending_address = lookup;
	}
	return found == CODE_RULE;
}

/*
 * What an interpreter jumps to returns to an address that it put there itself: no call is before it. Then the frame
 * pointer that comes back with it is the interpreter's, and its record holds.
 */
static bool returns_to_interpreter(struct walk *walk, const struct registers *caller, uint64_t cfa,
				   uint64_t return_address)
{
	const uint64_t fp = caller->value[UNWIND_FP];
	uint64_t of_caller;
	return walk_is_live_code(walk, return_address - 1) && registers_know(caller, UNWIND_FP) &&
	       fp >= cfa && fp % MACHINE_ADDRESS_BYTES == 0 &&
	       !memory_read_address(&walk->memory, fp + MACHINE_ADDRESS_BYTES, &of_caller) &&
	       (walk_is_surely_return_address(walk, of_caller) ||
		walk_is_live_code(walk, of_caller - 1));
}

struct step_result walk_by_rule_of_code(struct walk *walk, const struct code *code,
					enum stack_reason reason)
{
	const struct step_result failed = {.reason = reason};
	const struct unwind_mapping *mapping = &code->place->mapping;
	const uint64_t pc = walk->registers.value[UNWIND_PC], bias = mapping->bias;
	struct registers caller = walk->registers;
	struct code_rule rule;
	uint64_t cfa, return_address;
	if (!find_rule(walk, code, &rule) || !find_cfa(walk, &rule, &cfa))
		return failed;
	const enum stack_reason failure = find_return_address(walk, &rule, cfa, &return_address);
	if (failure == STACK_REASON_DUMP_END)
		return (struct step_result){.reason = failure};
	if (failure)
		return failed;
	caller.known &= MACHINE_SAVED_MASK;
	take_saved(walk, &rule, cfa, &caller);
	const bool is_called = rule.ways & CODE_FROM_START &&
			       walk_calls_function(walk, return_address, rule.start + bias, false);
	/* A call that leads to this very function leads to all of it, however long it is. */
	if (walk_return_address_evidence(walk, return_address) < PROVEN
		    ? !mapping->live || !returns_to_interpreter(walk, &caller, cfa, return_address)
		    : !is_called && !walk_call_may_lead_to(walk, return_address, pc))
		return failed;
	/* What only half of the function says, the call has to say too. */
	if (rule.ways == CODE_FROM_START && !is_called && !mapping->live &&
	    !walk_calls_function(walk, return_address, rule.start + bias, !rule.guessed))
		return failed;
	if (mapping->live && rule.ways == CODE_TO_RETURN && rule.cfa_register == UNWIND_SP &&
	    !rule.in_memory && !walk_is_live_code(walk, return_address - 1))
		live_code_keep_frame(mapping->live, &(struct live_frame){return_address, rule});
	registers_set(&caller, UNWIND_SP, cfa);
	machine_return_to(&caller, return_address);
	walk->registers = caller;
	return (struct step_result){.method = is_called ? FRAME_CODE : FRAME_LIKELY};
}
