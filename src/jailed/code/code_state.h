/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CODE_CODE_STATE_H
#define CTOP_CODE_CODE_STATE_H

/*
 * What is known of the registers at an instruction, and what instructions make of that: values are a base that
 * somebody else knows (the CFA, what a register held at first) and a distance.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/machine/instruction.h>
#include <ctop/machine/machine.h>

enum { CODE_NR_REGS = UNWIND_PC }; /* all but the last, which is the pc */

enum code_base {
	BASE_UNKNOWN,
	BASE_CFA,
	BASE_ALIGNED, /* the stack pointer as it was just after it was rounded down, or when the CFA was saved on it */
	BASE_ADDRESS,	   /* code_state_apply()'s origin */
	BASE_CONSTANT,	   /* none: distance itself */
	BASE_TABLE,	   /* an entry of a jump table at origin + distance */
	BASE_TARGET,	   /* the same, to which the state's entry_base was added: where it leads */
	BASE_POINTER,	   /* an entry, of 8 bytes, of the jump table at address distance */
	BASE_NEAR_POINTER, /* the same, of the table at origin + distance */
	BASE_AT_SP,	   /* 8 bytes that lay at the first stack pointer + distance */
	BASE_AT_FP,	   /* and the first frame pointer's */
	BASE_FIRST	   /* + register: what it held at first */
};

struct code_state {
	int32_t offset[CODE_NR_REGS];
	uint8_t base[CODE_NR_REGS];
	/* Where machine_saved[] registers were saved: BASE_UNKNOWN: nowhere. */
	int32_t saved_offset[MACHINE_NR_SAVED];
	uint8_t saved_base[MACHINE_NR_SAVED];
	/* A word at the aligned stack pointer + cfa_slot holds CFA + cfa_add. */
	bool has_cfa_slot;
	int32_t cfa_slot, cfa_add;
	int32_t entry_base; /* from the origin */
	uint32_t
		limit; /* what something was compared with last: the last entry of a table; 0: none */
	uint8_t compared; /* a register that was just compared with the stack pointer; 0: none */
	uint32_t call;	  /* the way here came last back from the call there; 0: from none */
};

/* At a function's first instruction, a call's return address on top of the stack. */
void code_state_of_start(struct code_state *state);
/* Anywhere: every register holds what it holds. */
void code_state_of_anywhere(struct code_state *state);

/* What comes after the instruction, which ends at origin + end. */
void code_state_apply(struct code_state *state, const struct instruction *instruction, int64_t end);

static inline bool code_state_is(const struct code_state *state, unsigned number, unsigned base,
				 int32_t offset)
{
	return state->base[number] == base && state->offset[number] == offset;
}

/* Keeps what two states have in common; true when anything was lost. */
bool code_state_join(struct code_state *state, const struct code_state *other);

#endif
