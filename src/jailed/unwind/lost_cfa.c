/* SPDX-License-Identifier: MIT */
#include "walk.h"

/* How far up a copy may be: 1.3 KiB in sha512_block_data_order_avx2, which has the largest such frame. */
enum { COPY_WITHIN_BYTES = 4096 };

/* Steps to a CFA that was found otherwise than the rule says, if there is a return address below it. */
static bool step_if_proven(struct walk *walk, const struct step_input *input, uint64_t cfa)
{
	uint64_t slot = machine_return_slot(input->rule->saved);
	uint64_t return_address;
	return slot != 0 && cfa > walk->registers.value[UNWIND_SP] &&
	       !memory_read_address(&walk->memory, cfa - slot * MACHINE_ADDRESS_BYTES,
				    &return_address) &&
	       walk_is_surely_return_address(walk, machine_code_address(return_address)) &&
	       step_to_cfa(input, &walk->registers, cfa) == STACK_REASON_NONE;
}

/*
 * A function keeps its caller's stack pointer below its own, where no dump reaches (libcrypto's hashes for AVX2). A
 * word further up that points to a return address on the stack is the copy that it made at its start: the one whose
 * call is seen to lead nearest before here, for left-over ones of its neighbours may lie there too; or else the first.
 */
static bool step_by_copy(struct walk *walk, const struct step_input *input)
{
	const struct rule *rule = input->rule;
	uint64_t sp = walk->registers.value[UNWIND_SP], best = 0, nearest = 0;
	if (!walk->exact || rule->cfa_register != UNWIND_SP || rule->add != MACHINE_ADDRESS_BYTES ||
	    rule->offset >= 0 || rule->offset < -MACHINE_RED_ZONE_BYTES)
		return false;
	for (uint64_t slot = sp; slot < sp + COPY_WITHIN_BYTES; slot += MACHINE_ADDRESS_BYTES) {
		uint64_t copy, return_address;
		if (memory_read_address(&walk->memory, slot, &copy))
			break;
		if (copy <= slot || copy >= walk->memory.end ||
		    memory_read_address(&walk->memory, copy, &return_address) ||
		    !walk_is_surely_return_address(walk, return_address))
			continue;
		uint64_t function = walk_called_from(walk, return_address);
		if (!best || function > nearest)
			best = copy;
		if (function > nearest)
			nearest = function;
	}
	return best && step_if_proven(walk, input, best + MACHINE_ADDRESS_BYTES);
}

/*
 * The stack pointer is lost after a step by a frame record that did not end its frame. A function that saved frame
 * pointer and return address side by side has made that its own record before it called anything.
 */
static bool step_by_record(struct walk *walk, const struct step_input *input)
{
	const uint8_t *saved = input->rule->saved;
	unsigned slot = saved[MACHINE_FP_INDEX];
	return registers_know(&walk->registers, UNWIND_FP) && slot != 0 &&
	       slot == machine_return_slot(saved) + 1 &&
	       step_if_proven(walk, input,
			      walk->registers.value[UNWIND_FP] +
				      slot * (uint64_t)MACHINE_ADDRESS_BYTES);
}

bool walk_to_lost_cfa(struct walk *walk, const struct step_input *input)
{
	const struct rule *rule = input->rule;
	if (rule->kind == RULE_DEREF)
		return step_by_copy(walk, input);
	if (rule->kind == RULE_OFFSET && rule->cfa_register == UNWIND_SP)
		return !registers_know(&walk->registers, UNWIND_SP) && step_by_record(walk, input);
	/*
	 * A register that calls need not keep, while another function is called that leaves it alone (libcrypto's
	 * AES-GCM): the value is still what it was, unless the callee used it after all.
	 */
	if (rule->kind == RULE_OFFSET && !registers_know(&walk->registers, rule->cfa_register))
		return step_if_proven(walk, input,
				      walk->registers.value[rule->cfa_register] +
					      (uint64_t)(int64_t)rule->offset);
	return false;
}
