/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UNWIND_WALK_H
#define CTOP_UNWIND_WALK_H

/* The state of one stack being unwound, and what a step may do to it. */

#include <ctop/cfi/cfi.h>
#include <ctop/machine/machine.h>
#include <ctop/machine/memory.h>

#include "code_cache.h"
#include "memo.h"
#include "step.h"

struct walk {
	struct code_cache *cache;
	struct code_reader *code_reader;
	const struct unwind_space *space;
	struct registers registers;
	struct memory memory;
	struct unwind_evidence *evidence; /* NULL: not wanted */
	struct memos *memos;		  /* NULL: the thread's last stack is of no use */
	bool by_rule;	 /* the last step was made by a short rule, and by nothing else */
	size_t nr_taken; /* frames of that last stack */
	bool exact; /* rip is the pc itself, not a return address: a leaf, or interrupted by a signal */
	bool elsewhere;	       /* a signal interrupted code on a stack that was not dumped */
	bool called_evaluator; /* the frame called FUNCTION_EVALUATOR */
	/* What else the stack pointer may be, where it was found by a frame record; 0: nothing. */
	uint64_t other_sp;
	/* The kernel's chain, and the frame pointer that it began with; see unwind_input. */
	const uint64_t *chain;
	size_t nr_chain;
	uint64_t chain_fp;
	bool frame_pointers_only;
	bool pending_matters;
	bool unread_matters; /* code that has to be read first is pending */
	bool unread;	     /* stopped for that */
	bool pending;	     /* stopped: pending_address has to be had first */
	uint64_t pending_address;
};

/* How a step went: a caller (its registers are in the walk), or why there is none. */
struct step_result {
	enum stack_reason reason; /* STACK_REASON_NONE: there is one */
	enum frame_method method;
	bool bottom; /* the return address was there and is 0: no caller, and no failure */
};

/* ---- calls.c ---- */

/* Finds the code at an address; records when it is pending. */
enum unwind_lookup walk_find(struct walk *walk, uint64_t address, struct code *code);

/* True when address is plausible as one that a call returns to: the code before it is a call, as far as it can be read. */
bool walk_is_return_address(struct walk *walk, uint64_t address);

/* True when it certainly is one: the code before it is a call, or it is where a stack begins. */
bool walk_is_surely_return_address(struct walk *walk, uint64_t address);

/* Where the direct call before a return address leads; false when it is another kind of call, or cannot be read. */
bool walk_call_target(struct walk *walk, uint64_t return_address, uint64_t *target);
/* True in code that a process has made, as far as there is a copy of it. */
bool walk_is_live_code(struct walk *walk, uint64_t address);

/* Where the call that returns there leads, if that is the very function that the pc is in, as its nearness shows; else 0. */
uint64_t walk_called_from(struct walk *walk, uint64_t return_address);
/* True when the code that the pc returns to has called the function that another pc, its callee's, is in. */
bool walk_has_called(struct walk *walk, uint64_t pc);
/* How well an address passes for a return address. */
enum evidence { IMPOSSIBLE, POSSIBLE, PROVEN };
enum evidence walk_return_address_evidence(struct walk *walk, uint64_t address);
/* False when the call before return_address leads to a function that cannot have led to pc. */
bool walk_call_may_lead_to(struct walk *walk, uint64_t return_address, uint64_t pc);
/*
 * True when the call before return_address leads to the function's first byte, or to code that jumps there, or through a
 * stub to who knows where; or is an indirect one, or leads to an indirect jump, where that will do, as it does of roots.
 */
bool walk_calls_function(struct walk *walk, uint64_t return_address, uint64_t function,
			 bool indirectly);

/* ---- fallback.c ---- */

/*
 * The step where no table has a rule (or only the one given as `reason` for failing): a leaf's return
 * address on top of its stack, or the frame pointer, each only as far as it can be checked.
 */
struct step_result walk_without_rule(struct walk *walk, const struct code *code,
				     enum stack_reason reason);

/* The step by the frame pointer to a caller that has called the very function that the pc is in; else false. */
bool walk_over_own_record(struct walk *walk);

/* ---- code_step.c ---- */

/*
 * The step by what the function's own instructions say, to a caller that has called it (FRAME_CODE) or may have
 * (FRAME_LIKELY). Else fails with the reason, unless it is that the dump ends.
 */
struct step_result walk_by_rule_of_code(struct walk *walk, const struct code *code,
					enum stack_reason reason);

/* The rule's registers, with that CFA and return address, become the caller's. */
void walk_take_saved(struct walk *walk, const struct code_rule *rule, uint64_t cfa,
		     uint64_t return_address);

/* ---- live_step.c ---- */

/* The same, or what else the code says where it was made by the process. */
struct step_result walk_by_code(struct walk *walk, const struct code *code,
				enum stack_reason reason);

/* ---- behind_switch.c ---- */

/*
 * Appends what is behind a switch of stacks in code, as far up as a root, by the kernel's chain: true, when all of that is
 * proved. leaves_out: the function's caller cannot be known, and a frame FRAME_SWITCHED stands for it. *nr: the frames that there are.
 */
bool walk_behind_switch(struct walk *walk, const struct code *code, bool leaves_out,
			struct unwind_frame *frames, size_t *nr);

/* ---- lost_cfa.c ---- */

/*
 * The step by a rule whose CFA is nowhere where the rule says; false when it cannot be had otherwise either. What
 * is found has a return address below it, as far as code can prove one.
 */
bool walk_to_lost_cfa(struct walk *walk, const struct step_input *input);

#endif
