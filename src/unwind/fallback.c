/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include <ctop/object/object.h>

/* A frame pointer this far above the dump may still be one: then it is the dump that ended. */
enum { STACK_BEYOND_DUMP_BYTES = 8 << 20 };
/* A function that starts at most this far below a pc may well be the one that the pc is in. */
enum { SAME_FUNCTION_BYTES = 256 };

enum evidence { IMPOSSIBLE, POSSIBLE, PROVEN };

/*
 * How well an address passes for a return address. Besides calls, what the bottom of a stack is made of counts:
 * a return address planted into a thread's first function, or into the code that ends a signal handler.
 */
static enum evidence return_address_evidence(struct walk *walk, uint64_t address)
{
	const uint8_t proofs =
		RULE_AFTER_CALL | RULE_RESTORER | RULE_SIGNAL | RULE_IN_ROOT_FUNCTION;
	struct code code;
	if (address == 0 || walk_find(walk, address - 1, &code) != UNWIND_FOUND)
		return IMPOSSIBLE;
	if (code.rule.flags & proofs)
		return PROVEN;
	return code.rule.flags & RULE_CODE_UNREADABLE ? POSSIBLE : IMPOSSIBLE;
}

bool walk_is_return_address(struct walk *walk, uint64_t address)
{
	return return_address_evidence(walk, address) != IMPOSSIBLE;
}

/*
 * False when the call before return_address leads to a function that cannot have led to pc: one that has CFI, where
 * the code at pc has none. Left-over return addresses are met that way: one in a hundred leaves of node's
 * built-in functions has one on top of its stack. A stub or another function without CFI may have jumped on.
 */
static bool call_may_lead_to(struct walk *walk, uint64_t return_address, uint64_t pc)
{
	uint8_t bytes[MACHINE_CALL_MAX_BYTES];
	struct code code;
	int64_t distance;
	if (walk_find(walk, return_address - 1, &code) != UNWIND_FOUND)
		return false;
	const struct unwind_mapping *mapping = &code.place->mapping;
	uint64_t first = return_address - sizeof(bytes);
	if (!mapping->object ||
	    !object_read(mapping->object, first - mapping->bias, bytes, sizeof(bytes)) ||
	    !machine_call_distance(bytes, sizeof(bytes), &distance))
		return true;
	uint64_t target = return_address + (uint64_t)distance;
	if (target <= pc && pc - target < SAME_FUNCTION_BYTES)
		return true; /* clone() has CFI up to its system call, none for what follows */
	return walk_find(walk, target, &code) == UNWIND_FOUND &&
	       (code.rule.kind == RULE_NONE || code.rule.kind == RULE_PLT);
}

/* A leaf that has pushed nothing: its return address is on top of the stack. */
static bool step_to_top_of_stack(struct walk *walk, enum evidence wanted)
{
	struct registers *registers = &walk->registers;
	uint64_t sp = registers->value[UNWIND_RSP], return_address;
	if (memory_read_address(&walk->memory, sp, &return_address) ||
	    return_address_evidence(walk, return_address) < wanted ||
	    !call_may_lead_to(walk, return_address, registers->value[UNWIND_RIP]))
		return false;
	/* Having pushed nothing, it has kept what it must give back. */
	registers->known &= MACHINE_SAVED_MASK;
	registers_set(registers, UNWIND_RSP, sp + MACHINE_ADDRESS_BYTES);
	registers_set(registers, UNWIND_RIP, return_address);
	return true;
}

/* A function at its end: the instructions up to its return say where it returns to. */
static bool step_by_epilogue(struct walk *walk, const struct code *code)
{
	uint8_t bytes[MACHINE_EPILOGUE_MAX_BYTES];
	struct registers caller = walk->registers;
	const struct unwind_mapping *mapping = &code->place->mapping;
	uint64_t elf_address = walk->registers.value[UNWIND_RIP] - mapping->bias;
	size_t size = sizeof(bytes);
	/* Fewer only where the segment ends. */
	while (size > 0 && !object_read(mapping->object, elf_address, bytes, size))
		size /= 2;
	if (!machine_run_epilogue(bytes, size, &walk->memory, &caller) ||
	    return_address_evidence(walk, caller.value[UNWIND_RIP]) < PROVEN)
		return false;
	caller.known &= MACHINE_SAVED_MASK | 1U << UNWIND_RSP | 1U << UNWIND_RIP;
	walk->registers = caller;
	return true;
}

static enum stack_reason read_frame_record(const struct walk *walk, uint64_t fp, uint64_t *saved_fp,
					   uint64_t *return_address)
{
	enum stack_reason reason =
		memory_read_address(&walk->memory, fp + MACHINE_ADDRESS_BYTES, return_address);
	if (!reason)
		reason = memory_read_address(&walk->memory, fp, saved_fp);
	return reason;
}

/* The frame record that rbp points to: the caller's rbp, then the return address. */
static struct step_result step_by_frame_pointer(struct walk *walk, enum stack_reason reason)
{
	struct step_result failed = {.reason = reason};
	struct registers *registers = &walk->registers;
	uint64_t fp = registers->value[UNWIND_RBP], sp = registers->value[UNWIND_RSP];
	uint64_t saved_fp, return_address;
	if (!registers_know(registers, UNWIND_RBP) || fp < sp || fp % MACHINE_ADDRESS_BYTES != 0)
		return failed;
	if (read_frame_record(walk, fp, &saved_fp, &return_address)) {
		if (fp - sp < walk->memory.end - sp + STACK_BEYOND_DUMP_BYTES)
			failed.reason = STACK_REASON_DUMP_END;
		return failed;
	}
	if (return_address == 0)
		return (struct step_result){.method = FRAME_FP, .bottom = true};
	if (!walk_is_return_address(walk, return_address))
		return failed;
	registers->known = 0;
	registers_set(registers, UNWIND_RSP, fp + 2 * MACHINE_ADDRESS_BYTES);
	registers_set(registers, UNWIND_RBP, saved_fp);
	registers_set(registers, UNWIND_RIP, return_address);
	return (struct step_result){.method = FRAME_FP};
}

struct step_result walk_without_rule(struct walk *walk, const struct code *code,
				     enum stack_reason reason)
{
	const struct step_result by_return = {.method = FRAME_RETURN};
	bool leaf = walk->exact && !walk->frame_pointers_only;
	/* Code that was made at run time has frame pointers; what lies on top of its stack may be anything. */
	bool generated = code->place && !code->place->mapping.object;
	bool has_code = code->place && !generated;
	if (has_code && !walk->frame_pointers_only && step_by_epilogue(walk, code))
		return by_return;
	if (leaf && !generated && step_to_top_of_stack(walk, PROVEN))
		return by_return;
	struct step_result result = step_by_frame_pointer(walk, reason);
	if (!result.reason || walk->pending)
		return result;
	if (leaf && step_to_top_of_stack(walk, generated ? POSSIBLE : PROVEN))
		return by_return;
	return result;
}
