/* SPDX-License-Identifier: MIT */
#ifndef CTOP_HISTORY_ROWS_H
#define CTOP_HISTORY_ROWS_H

/* What the history's indexes find its rows by. */

#include <ctop/history/history_internal.h>

static inline uint64_t hash_module(const struct history_module *module)
{
	return hash_two((uintptr_t)module->path,
			(uint64_t)module->kind << 32 | (uint32_t)module->pid);
}

/* By their one copies in the history. */
static inline uint64_t hash_function(const char *name, const char *module)
{
	return hash_two((uintptr_t)name, (uintptr_t)module);
}

static inline uint64_t hash_task(const struct history_task *task)
{
	return hash_two((uint64_t)(uint32_t)task->pid << 32 | (uint32_t)task->tid,
			(uintptr_t)task->comm);
}

static inline uint64_t hash_frame(uint32_t module, uint64_t address)
{
	return hash_two(address, module);
}

static inline uint64_t hash_node(uint32_t parent, uint32_t frame, uint32_t method)
{
	return hash_two((uint64_t)parent << 32 | frame, method);
}

static inline uint64_t hash_stack(const struct counted_stack *stack)
{
	return hash_two((uint64_t)stack->node << 32 | stack->leaf,
			(uint64_t)stack->task << 24 | (uint64_t)stack->event << 16 |
				(uint64_t)stack->end << 8 | stack->reason);
}

static inline bool is_same_stack(const struct counted_stack *a, const struct counted_stack *b)
{
	return a->node == b->node && a->leaf == b->leaf && a->task == b->task &&
	       a->event == b->event && a->end == b->end && a->reason == b->reason;
}

/* In a translation: a row that makes no sense, not to be looked at again. */
static const uint32_t BAD_ROW = UINT32_MAX;
/* A node's: the history was full, the node stands for an ancestor. */
static const uint32_t CUT = UINT32_C(1) << 31;

#endif
