/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UNWIND_WALK_H
#define CTOP_UNWIND_WALK_H

/* The state of one stack being unwound, and what a step may do to it. */

#include "code_cache.h"
#include "machine.h"
#include "memory.h"
#include "step.h"

struct walk {
	struct code_cache *cache;
	const struct unwind_space *space;
	struct registers registers;
	struct memory memory;
	struct unwind_evidence *evidence; /* NULL: not wanted */
	bool exact; /* rip is the pc itself, not a return address: a leaf, or interrupted by a signal */
	bool elsewhere;	       /* a signal interrupted code on a stack that was not dumped */
	bool called_evaluator; /* the frame called FUNCTION_EVALUATOR */
	bool frame_pointers_only;
	bool pending_matters;
	bool pending; /* stopped: pending_address has to be had first */
	uint64_t pending_address;
};

/* How a step went: a caller (its registers are in the walk), or why there is none. */
struct step_result {
	enum stack_reason reason; /* STACK_REASON_NONE: there is one */
	enum frame_method method;
	bool bottom; /* the return address was there and is 0: no caller, and no failure */
};

/* Finds the code at an address; records when it is pending. */
enum unwind_lookup walk_find(struct walk *walk, uint64_t address, struct code *code);

/*
 * The step where no table has a rule (or only the one given as `reason` for failing): a leaf's return
 * address on top of its stack, or the frame pointer, each only as far as it can be checked.
 */
struct step_result walk_without_rule(struct walk *walk, const struct code *code,
				     enum stack_reason reason);

/*
 * The step by a rule whose CFA is nowhere where the rule says; false when it cannot be had otherwise either. What
 * is found has a return address below it, as far as code can prove one.
 */
bool walk_to_lost_cfa(struct walk *walk, const struct step_input *input);

/* True when address is plausible as one that a call returns to: the code before it is a call, as far as it can be read. */
bool walk_is_return_address(struct walk *walk, uint64_t address);

/* True when it certainly is one: the code before it is a call, or it is where a stack begins. */
bool walk_is_surely_return_address(struct walk *walk, uint64_t address);

/* True when the call that returns there leads to the very function that the pc is in, as its nearness shows. */
bool walk_is_called_from(struct walk *walk, uint64_t return_address);
/* True when the code that the pc returns to has called the function that another pc, its callee's, is in. */
bool walk_has_called(struct walk *walk, uint64_t pc);
/* The step by the frame pointer to a caller that has called the very function that the pc is in; else false. */
bool walk_over_own_record(struct walk *walk);
/* The function that it leads to then; 0 when it does not. */
uint64_t walk_called_from(struct walk *walk, uint64_t return_address);

#endif
