/* SPDX-License-Identifier: MIT */
/*
 * The step by code, of files or made by the process. Of the latter some is no function: pieces that jump to each other, and were jumped to
 * from one that is. How far up that one's frame ends follows from another piece, or from the tables of who jumped.
 */
#include "walk.h"

#include <ctop/code/live_rules.h>

/* Where a piece with a way to the return came back to: others of its kind have the same frame. */
static bool step_by_known_frame(struct walk *walk, struct live_code *live)
{
	struct registers *registers = &walk->registers;
	for (unsigned i = 0; i < LIVE_FRAMES_MAX; i++) {
		const struct live_frame *frame = live_code_frame(live, i);
		uint64_t return_address;
		if (!frame)
			return false;
		const uint64_t cfa =
			registers->value[UNWIND_SP] + (uint64_t)(int64_t)frame->rule.offset;
		if (memory_read_address(&walk->memory, cfa - MACHINE_ADDRESS_BYTES,
					&return_address) ||
		    return_address != frame->return_address)
			continue;
		walk_take_saved(walk, &frame->rule, cfa, return_address);
		return true;
	}
	return false;
}

/*
 * The function that the call before a return address leads to, if it has the frame that its table says from its first
 * byte on: it is no compiler's, but of an interpreter, which jumps to the code that it makes (LuaJIT).
 */
static const struct rule *interpreter_called(struct walk *walk, uint64_t return_address,
					     struct code *code)
{
	uint64_t target;
	const struct rule *rule = &code->rule;
	if (!walk_call_target(walk, return_address, &target) ||
	    walk_find(walk, target, code) != UNWIND_FOUND || rule->kind != RULE_OFFSET ||
	    rule->cfa_register != UNWIND_SP || rule->offset <= MACHINE_ADDRESS_BYTES)
		return NULL;
	return rule;
}

/* What was made may have moved the stack pointer further down, for words of its own. */
static bool step_by_interpreters_frame(struct walk *walk)
{
	enum { OWN_BYTES_MAX = 256, FRAME_BYTES_MAX = 512, ALIGNMENT = 16 };
	const uint64_t sp = walk->registers.value[UNWIND_SP];
	for (uint64_t cfa = sp + MACHINE_ADDRESS_BYTES; cfa <= sp + FRAME_BYTES_MAX;
	     cfa += MACHINE_ADDRESS_BYTES) {
		uint64_t return_address;
		struct code code;
		if (memory_read_address(&walk->memory, cfa - MACHINE_ADDRESS_BYTES,
					&return_address))
			return false;
		if (walk_return_address_evidence(walk, return_address) < PROVEN)
			continue;
		const struct rule *rule = interpreter_called(walk, return_address, &code);
		if (!rule || cfa < sp + (uint64_t)rule->offset)
			continue;
		const uint64_t own_bytes = cfa - sp - (uint64_t)rule->offset;
		const struct step_input input = {.rule = rule, .memory = &walk->memory};
		struct registers caller = walk->registers;
		registers_set(&caller, UNWIND_SP, cfa - (uint64_t)rule->offset);
		if (own_bytes > OWN_BYTES_MAX || own_bytes % ALIGNMENT ||
		    step_by_rule(&input, &caller) != STACK_REASON_NONE)
			continue;
		walk->registers = caller;
		return true;
	}
	return false;
}

struct step_result walk_by_code(struct walk *walk, const struct code *code,
				enum stack_reason reason)
{
	const uint64_t sp = walk->registers.value[UNWIND_SP];
	const uint64_t lookup = walk->registers.value[UNWIND_PC] - (walk->exact ? 0 : 1);
	struct live_code *live = code->place->mapping.live;
	struct step_result result = walk_by_rule_of_code(walk, code, reason);
	if (result.method == FRAME_LEAF && walk->other_sp && !walk->pending) {
		registers_set(&walk->registers, UNWIND_SP, walk->other_sp);
		result = walk_by_rule_of_code(walk, code, reason);
		if (result.method == FRAME_LEAF)
			registers_set(&walk->registers, UNWIND_SP, sp);
	}
	walk->other_sp = 0;
	if (result.method != FRAME_LEAF || !live || walk->pending)
		return result;
	if (step_by_known_frame(walk, live) || step_by_interpreters_frame(walk))
		return (struct step_result){.method = FRAME_LIKELY};
	live_code_doubt(live, lookup);
	return result;
}
