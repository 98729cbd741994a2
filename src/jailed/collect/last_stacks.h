/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_LAST_STACKS_H
#define CTOP_COLLECT_LAST_STACKS_H

/*
 * Of each thread that was sampled lately its last stack as it is in the tables, root first: its next one shares most of it, and what
 * is equal is not looked up again, and of what lies behind only what no thread's stack had lately. Nothing here has to be right: a step is
 * taken only where module, address and method are the same, in the same epoch. Memory is bounded; modules must not be freed while steps
 * point to them: last_stacks_forget().
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/ids.h>
#include <ctop/stack_end.h>

struct module;
struct output;
struct stack_step;

struct last_stack {
	uint32_t epoch;	       /* in which its nodes are rows */
	uint32_t nr, capacity; /* of the steps */
	struct stack_step *steps;
	uint32_t depth;	     /* how many callers of the stack at hand were added */
	struct node_id node; /* of the last of them */
};

struct last_stacks;
struct last_stacks *last_stacks_new(void); /* NULL: out of memory */
void last_stacks_free(struct last_stacks *stacks);
void last_stacks_forget(struct last_stacks *stacks);

/* A stack of the thread begins, at its root. Borrowed until the next one begins. */
struct last_stack *last_stacks_begin(struct last_stacks *stacks, int32_t tid, uint32_t epoch);

/* The next caller, from the outermost one on: last->node is its row. 0, -ENOSPC or -ENOMEM. */
int last_stacks_add(struct last_stacks *stacks, struct last_stack *last, struct output *output,
		    struct module *module, uint64_t address, enum frame_method method);

#endif
