/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UNWIND_STEP_H
#define CTOP_UNWIND_STEP_H

/* One step from a frame to its caller, by a rule of its module's tables. */

#include <ctop/cfi/cfi.h>
#include <ctop/machine/machine.h>
#include <ctop/machine/memory.h>

struct step_input {
	const struct rule *rule; /* of any kind but NONE, BAD and ROOT */
	const struct cfi *cfi;	 /* where the rule came from */
	const struct memory *memory;
	bool exact; /* the innermost frame, or one that a signal interrupted */
};

/*
 * Replaces the registers by the caller's. On failure they are unchanged: DUMP_END, BAD_ADDRESS, BAD_CFI,
 * NOT_ADVANCING, or NO_RULE when the rule needs a register that is not known.
 */
enum stack_reason step_by_rule(const struct step_input *input, struct registers *registers);

/* The same by a short rule (any but RULE_LONG) whose CFA is known already. */
enum stack_reason step_to_cfa(const struct step_input *input, struct registers *registers,
			      uint64_t cfa);

#endif
