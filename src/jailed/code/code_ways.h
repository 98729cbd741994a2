/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CODE_CODE_WAYS_H
#define CTOP_CODE_CODE_WAYS_H

/*
 * All ways through code from one instruction on: which instructions are met, and what is known before each. The code
 * is untrusted: what is met is bounded, and every instruction is paid for.
 */

#include <ctop/code/code_rule.h>

#include "code_state.h"

enum {
	NODES_MAX =
		1
		<< 14, /* instructions of one function; gcc's largest are more, and remain without */
	SLOT_BITS = 15,
	NR_SLOTS = 1 << SLOT_BITS,
	RESTARTS_MAX = 12 /* a call that does not return costs one at most */
};

struct node {
	struct code_state state; /* before the instruction */
	uint32_t at;		 /* from the view's start */
	uint8_t length;
	bool queued;
	bool doubtful; /* only met by falling into where another function may begin */
};

/* What is taken first: what follows a call may be another function. */
enum trust { SURE, AFTER_CALL, DOUBTFUL, NR_TRUSTS };

struct list {
	uint32_t items[NODES_MAX];
	size_t nr;
};

struct ways {
	struct node nodes[NODES_MAX];
	size_t nr;
	uint32_t slots[NR_SLOTS]; /* number of a node + 1 */
	struct list lists[NR_TRUSTS];
	uint32_t no_return[RESTARTS_MAX]; /* calls that do not come back */
	size_t nr_no_return;
	const struct code_view *view;
	uint64_t low, high; /* the function, from the view's start */
	size_t nodes_max;
	uint64_t *steps;
	bool failed;	/* the budget is gone, or the code makes no sense */
	bool again;	/* another call was found not to return */
	bool to_return; /* from anywhere to the returns */
	bool found;
	struct code_state returned; /* to_return, found: the state at the first return */
};

/* From the function's first instruction, low, which a call has led to; its end is high. Takes what it costs from *steps. */
void code_ways_from_start(struct ways *ways, const struct code_view *view, uint64_t low,
			  uint64_t high, uint64_t *steps);
/* From any instruction to the returns; true when all that were found agree on the stack pointer. */
bool code_ways_to_return(struct ways *ways, const struct code_view *view, uint64_t at,
			 uint64_t *steps);

/* Whether another function, or a part of one, may begin there. */
bool code_ways_may_begin(const struct code_view *view, uint64_t at);

/* The instruction that begins at an address, or the call that ends with it; NULL: no way leads there. */
const struct node *code_ways_at(const struct ways *ways, uint64_t at, bool after_call);
/* The first instruction behind the function that was read and what fills the gap to it. */
uint64_t code_ways_next_function(struct ways *ways);

#endif
