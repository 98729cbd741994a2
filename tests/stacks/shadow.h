/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_SHADOW_H
#define CTOP_TEST_SHADOW_H

/*
 * What a thread's stack has to be, known by watching its instructions one by one: a call adds a return address, a
 * return takes one, a signal adds what it interrupted. Knows nothing of unwinding, of CFI or of modules.
 *
 * A thread may have several stacks: its first, and those that were declared. Which one it is on is where its
 * stack pointer is.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

enum { SHADOW_MAX_CALLS = 2048, SHADOW_MAX_STACKS = 6, SHADOW_ON_STACK_BELOW = 256 };

struct shadow_call {
	/* Where the return address was put; of what a signal interrupted: its stack pointer. */
	uint64_t slot;
	uint64_t address;  /* look-up address */
	bool interrupted;  /* by a signal */
	bool starts_stack; /* what came before it is on another stack, or is not known */
};

struct shadow_stack {
	uint64_t start, end; /* of the first stack: 0, all that is not declared */
	struct shadow_call calls[SHADOW_MAX_CALLS]; /* outermost first */
	size_t nr;
	bool over; /* what was planted was returned to: a coroutine's function has ended */
};

struct shadow {
	struct shadow_stack stacks[SHADOW_MAX_STACKS];
	size_t nr_stacks;
	struct shadow_stack *current;
	size_t nr_jumps; /* ways out of functions that were no return: longjmp, exceptions, switches */
};

static inline void shadow_init(struct shadow *shadow)
{
	shadow->nr_stacks = 1;
	shadow->nr_jumps = 0;
	shadow->current = &shadow->stacks[0];
	shadow->stacks[0].start = shadow->stacks[0].end = 0;
	shadow->stacks[0].nr = 0;
	shadow->stacks[0].over = false;
}

static inline struct shadow_stack *shadow_stack_at(struct shadow *shadow, uint64_t sp)
{
	for (size_t i = 1; i < shadow->nr_stacks; i++)
		/* Full to its first byte, it is still this one. */
		if (sp > shadow->stacks[i].start && sp <= shadow->stacks[i].end)
			return &shadow->stacks[i];
	return &shadow->stacks[0];
}

/* Memory that is a stack of its own from now on. False: too many of them. */
static inline bool shadow_declare(struct shadow *shadow, uint64_t start, uint64_t bytes)
{
	for (size_t i = 1; i < shadow->nr_stacks; i++)
		if (shadow->stacks[i].start == start) {
			if (shadow->current != &shadow->stacks[i])
				shadow->stacks[i].nr = 0;
			return true;
		}
	if (shadow->nr_stacks == SHADOW_MAX_STACKS)
		return false;
	struct shadow_stack *stack = &shadow->stacks[shadow->nr_stacks++];
	stack->start = start;
	stack->end = start + bytes;
	stack->nr = 0;
	stack->over = false;
	return true;
}

static inline bool shadow_push(struct shadow *shadow, struct shadow_call call)
{
	struct shadow_stack *stack = shadow->current;
	if (stack->nr == SHADOW_MAX_CALLS)
		return false;
	stack->calls[stack->nr++] = call;
	return true;
}

/* Forgets calls whose return addresses lie below the stack pointer, and interruptions that are left behind. */
static inline void shadow_drop_below(struct shadow *shadow, uint64_t sp)
{
	struct shadow_stack *stack = shadow->current;
	while (stack->nr > 0) {
		const struct shadow_call *call = &stack->calls[stack->nr - 1];
		if (call->slot > sp || (call->slot == sp && !call->interrupted))
			break;
		stack->nr--;
	}
}

/*
 * The stack pointer is at sp by something else than a call or a return. On a stack that was empty there is
 * a return address on top that nobody was seen to put there: planted is it.
 */
static inline bool shadow_moved(struct shadow *shadow, uint64_t sp, uint64_t planted)
{
	struct shadow_stack *stack = shadow_stack_at(shadow, sp);
	bool switches = stack != shadow->current;
	size_t before = stack->nr;
	shadow->current = stack;
	if (switches && stack->nr == 0 && stack != &shadow->stacks[0]) {
		shadow->nr_jumps++;
		stack->over = false;
		/* Nothing called it: the address is exact. */
		return shadow_push(
			shadow,
			(struct shadow_call){.slot = sp, .address = planted, .starts_stack = true});
	}
	shadow_drop_below(shadow, sp);
	shadow->nr_jumps += switches || stack->nr != before;
	return true;
}

/* A return that took its address from slot, and went to target. */
static inline void shadow_return(struct shadow *shadow, uint64_t slot, uint64_t target)
{
	struct shadow_stack *stack = shadow->current;
	shadow_drop_below(shadow, slot);
	if (stack->nr == 0 || stack->calls[stack->nr - 1].slot != slot) {
		shadow->nr_jumps++;
		return;
	}
	const struct shadow_call *call = &stack->calls[--stack->nr];
	stack->over = call->starts_stack;
	shadow->nr_jumps += target != call->address + 1 && target != call->address;
}

/* The innermost thing that a signal interrupted, and all that came after it, are done with. */
static inline bool shadow_resume(struct shadow *shadow)
{
	struct shadow_stack *stack = shadow->current;
	while (stack->nr > 0)
		if (stack->calls[--stack->nr].interrupted)
			return true;
	return false;
}

/* The callers, innermost first: how many; *whole is false when the stack goes on elsewhere. */
static inline size_t shadow_callers(const struct shadow *shadow, const struct shadow_call **callers,
				    bool *whole)
{
	const struct shadow_stack *stack = shadow->current;
	size_t nr = 0;
	*whole = true;
	for (size_t i = stack->nr; i-- > 0 && *whole;) {
		callers[nr++] = &stack->calls[i];
		*whole = !stack->calls[i].starts_stack;
	}
	return nr;
}

#endif
