/* SPDX-License-Identifier: MIT */
/* What the code says about calls: which addresses they return to, and where they lead. */
#include "walk.h"

#include <ctop/machine/instruction.h>

/* A function that starts at most this far below a pc may well be the one that the pc is in. */
enum { SAME_FUNCTION_BYTES = 256 };

enum unwind_lookup walk_find(struct walk *walk, uint64_t address, struct code *code)
{
	enum unwind_lookup found =
		code_cache_find(walk->cache, walk->space, address, walk->pending_matters, code);
	if ((found == UNWIND_PENDING || found == UNWIND_UNKNOWN) && !walk->pending) {
		walk->pending = true;
		walk->pending_address = address;
	}
	return found;
}

/*
 * How well an address passes for a return address. Besides calls, what the bottom of a stack is made of counts:
 * a return address planted into a thread's first function, or into the code that ends a signal handler.
 */
enum evidence walk_return_address_evidence(struct walk *walk, uint64_t address)
{
	const uint8_t proofs = RULE_AFTER_CALL | RULE_RESTORER | RULE_SIGNAL |
			       RULE_IN_ROOT_FUNCTION | RULE_STARTS_STACK;
	struct code code;
	if (address == 0 || walk_find(walk, address - 1, &code) != UNWIND_FOUND)
		return IMPOSSIBLE;
	if (code.rule.flags & proofs)
		return PROVEN;
	return code.rule.flags & RULE_CODE_UNREADABLE ? POSSIBLE : IMPOSSIBLE;
}

bool walk_is_return_address(struct walk *walk, uint64_t address)
{
	return walk_return_address_evidence(walk, address) != IMPOSSIBLE;
}

bool walk_is_surely_return_address(struct walk *walk, uint64_t address)
{
	return walk_return_address_evidence(walk, address) == PROVEN;
}

bool walk_is_live_code(struct walk *walk, uint64_t address)
{
	struct code code;
	return walk_find(walk, address, &code) == UNWIND_FOUND && code.place->mapping.live;
}

bool walk_call_target(struct walk *walk, uint64_t return_address, uint64_t *target)
{
	uint8_t bytes[MACHINE_CALL_MAX_BYTES];
	struct code code;
	int64_t distance;
	if (walk_find(walk, return_address - 1, &code) != UNWIND_FOUND)
		return false;
	const struct unwind_mapping *mapping = &code.place->mapping;
	uint64_t first = return_address - sizeof(bytes);
	if (!mapping_read(mapping, first, bytes, sizeof(bytes)) ||
	    !machine_call_distance(bytes, sizeof(bytes), &distance))
		return false;
	*target = return_address + (uint64_t)distance;
	return true;
}

/* Where the call before a return address leads if that is just before the pc; 0 if not. */
static uint64_t called_function(struct walk *walk, uint64_t return_address, uint64_t pc)
{
	uint64_t target;
	bool leads_there = walk_call_target(walk, return_address, &target) && target <= pc &&
			   pc - target < SAME_FUNCTION_BYTES;
	return leads_there ? target : 0;
}

uint64_t walk_called_from(struct walk *walk, uint64_t return_address)
{
	return called_function(walk, return_address, walk->registers.value[UNWIND_PC]);
}

bool walk_has_called(struct walk *walk, uint64_t pc)
{
	return called_function(walk, walk->registers.value[UNWIND_PC], pc) != 0;
}

/*
 * False when the call before return_address leads to a function that cannot have led to pc: one that has CFI, where
 * the code at pc has none. Left-over return addresses are met that way: one in a hundred leaves of node's
 * built-in functions has one on top of its stack. A stub or another function without CFI may have jumped on.
 */
bool walk_call_may_lead_to(struct walk *walk, uint64_t return_address, uint64_t pc)
{
	struct code code;
	uint64_t target;
	if (!walk_call_target(walk, return_address, &target))
		return true;
	if (target <= pc && pc - target < SAME_FUNCTION_BYTES)
		return true; /* clone() has CFI up to its system call, none for what follows */
	return walk_find(walk, target, &code) == UNWIND_FOUND &&
	       (code.rule.kind == RULE_NONE || code.rule.kind == RULE_PLT);
}

static bool is_stub(struct walk *walk, uint64_t address)
{
	struct code code;
	return walk_find(walk, address, &code) == UNWIND_FOUND && code.rule.kind == RULE_PLT;
}

/*
 * True when the code that a call leads to jumps on to the function, as last calls do; or, with nothing on the stack yet, through a stub, or to who
 * knows where, where that will do. Only its beginning is read.
 */
static bool jumps_on(struct walk *walk, const struct unwind_mapping *mapping, uint64_t target,
		     uint64_t function, bool indirectly)
{
	enum { READ_BYTES = 256 };
	uint8_t code[READ_BYTES];
	struct instruction instruction;
	size_t at = 0, size = 0;
	bool is_empty = true;	 /* nothing is on the stack yet */
	bool has_jumped = false; /* what follows need not be of this function */
	/* The last function of a program ends soon. */
	for (size_t step = sizeof(code); step > 0; step /= 2)
		if (size + step <= sizeof(code) && mapping_read(mapping, target, code, size + step))
			size += step;
	while (at < size && instruction_read(code + at, size - at, &instruction)) {
		at += instruction.length;
		const uint64_t next = target + at + (uint64_t)instruction.value;
		switch ((int)instruction.kind) {
		case INSTRUCTION_JUMP:
			if (next == function || (is_empty && !has_jumped && is_stub(walk, next)))
				return true;
			has_jumped = true;
			break;
		case INSTRUCTION_RETURN:
		case INSTRUCTION_STOP:
		case INSTRUCTION_JUMP_TABLE:
		case INSTRUCTION_JUMP_INDEXED:
			has_jumped = true;
			break;
		case INSTRUCTION_JUMP_MEMORY:
		case INSTRUCTION_JUMP_REGISTER:
			return indirectly && is_empty;
		case INSTRUCTION_PUSH:
		case INSTRUCTION_PUSH_VALUE:
		case INSTRUCTION_CALL:
		case INSTRUCTION_CALL_INDIRECT:
			is_empty = false;
			break;
		default:
			is_empty = is_empty && instruction.reg != UNWIND_SP;
			break;
		}
	}
	return false;
}

/* The same, read once. What a module that is awaited says may be another thing when it is there. */
static bool leads_on(struct walk *walk, const struct code *code, uint64_t target, uint64_t function,
		     bool indirectly)
{
	const struct way way = way_from(code->place, target, function, indirectly);
	bool leads;
	if (code_cache_find_way(walk->cache, &way, &leads))
		return leads;
	leads = jumps_on(walk, &code->place->mapping, target, function, indirectly);
	if (walk->pending_matters && !walk->pending)
		code_cache_keep_way(walk->cache, &way, leads);
	return leads;
}

bool walk_calls_function(struct walk *walk, uint64_t return_address, uint64_t function,
			 bool indirectly)
{
	struct code code;
	uint64_t target;
	if (walk_call_target(walk, return_address, &target))
		return target == function ||
		       (walk_find(walk, target, &code) == UNWIND_FOUND &&
			(code.rule.kind == RULE_PLT ||
			 leads_on(walk, &code, target, function, indirectly)));
	return indirectly || (walk_find(walk, return_address - 1, &code) == UNWIND_FOUND &&
			      code.rule.flags & RULE_IN_ROOT_FUNCTION);
}
