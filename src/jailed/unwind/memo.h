/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UNWIND_MEMO_H
#define CTOP_UNWIND_MEMO_H

/*
 * Of each thread the outer part of its last complete stack, and what unwinding it has read: most of a thread's stack is still there
 * when it is sampled next, and reading the same again leads to the same.
 *
 * This is a proof, no guess. A frame is the same when its pc, its stack pointer and the registers that the rules of its callers
 * take as they find them are. From there on, unwinding is a function of the address space (its generation tells), of the rules
 * (the rule cache trusts the generation likewise; modules whose files are still to come have no rules, and are never remembered)
 * and of words of the dump: if all words that were read then, and mattered, have the same values in the new dump, then what was
 * found is what would be found. A word that the new dump does not hold is not the same.
 *
 * Remembered are frames that are return addresses and have an ordinary rule of a table (any but RULE_LONG), which was all
 * that the step took, and found what it names in the dump; from a root inwards, up to the first one that is anything else. So nothing is
 * inherited that might be found better now: what is missing, pending, generated, interrupted, or leads to another stack.
 *
 * With evidence (unwind_input) all registers that callees give back must be the same, not only those that rules take.
 *
 * Memory is bounded, for all threads together. Modules that frames point to must outlive this.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/cfi/rule.h>
#include <ctop/machine/machine.h>
#include <ctop/machine/memory.h>
#include <ctop/unwind/unwind.h>

struct memos;
struct memos *memos_new(void); /* NULL: out of memory */
void memos_free(struct memos *memos);

/*
 * A stack of the thread begins (any number that tells threads apart: of two that share a place each forgets the other's). The
 * memory is its dump, borrowed until memos_keep(), or until the next one begins.
 */
void memos_begin(struct memos *memos, uint64_t thread, uint64_t generation, bool with_evidence,
		 const struct memory *memory);

/*
 * How many frames there are from this one on, which is a return address with these registers, if they are known to be the same
 * as last time; 0: they are not. Here and below, evidence is the frame's, or what there is room for, with_evidence; else NULL.
 */
size_t memos_find(struct memos *memos, const struct registers *registers,
		  const struct unwind_evidence *evidence);

/* Takes what memos_find() has found, its first frame by that method. */
void memos_take(struct memos *memos, enum frame_method method, struct unwind_frame *frames,
		struct unwind_evidence *evidence);

/*
 * Notes a frame that was not taken, in turn from the leaf on, before the step from it (rule: NULL when it is none to be remembered);
 * and after the step that it was made by the rule alone, and led to that stack pointer, or that it is a root by itself. What
 * neither was said of is not remembered.
 */
void memos_note(struct memos *memos, const struct registers *registers, const struct rule *rule);
void memos_note_step(struct memos *memos, uint64_t cfa);
void memos_note_root(struct memos *memos);

/* The stack is complete: its outer part is remembered in place of the last one's. frames, evidence: of those that were noted. */
void memos_keep(struct memos *memos, const struct unwind_frame *frames,
		const struct unwind_evidence *evidence);

#endif
