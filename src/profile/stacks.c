/* SPDX-License-Identifier: MIT */
#include <ctop/profile/history.h>

#include <errno.h>
#include <stdlib.h>

#include "history_internal.h"

size_t history_stack_frames(const struct history *history, const struct counted_stack *stack,
			    uint32_t *frames, uint32_t *methods)
{
	size_t depth = history->nodes.items[stack->node].depth;
	size_t nr = depth;
	for (uint32_t node = stack->node; node; node = history->nodes.items[node].parent) {
		depth--;
		frames[depth] = history->nodes.items[node].frame;
		methods[depth] = history->nodes.items[node].method;
	}
	if (stack->leaf) {
		bool kernel =
			history->modules.items[history->frames.items[stack->leaf].module].kind ==
			MODULE_KERNEL;
		frames[nr] = stack->leaf;
		methods[nr++] = kernel ? FRAME_KERNEL : FRAME_LEAF;
	}
	return nr;
}

int history_each_stack(struct history *history,
		       int (*each)(void *context, const struct history_stack *stack), void *context)
{
	int result = history_update_names(history);
	enum { ROOM = HISTORY_DEPTH_MAX + 1 };
	struct history_frame *frames = calloc(ROOM, sizeof(*frames));
	uint32_t *ids = calloc(ROOM, sizeof(*ids)), *methods = calloc(ROOM, sizeof(*methods));
	if (!frames || !ids || !methods)
		result = -ENOMEM;
	for (size_t i = 0; !result && i < history->stacks.nr; i++) {
		const struct counted_stack counted = history->stacks.items[i];
		const struct history_task *task = &history->tasks.items[counted.task];
		struct history_stack stack = {
			.pid = task->pid,
			.tid = task->tid,
			.comm = task->comm,
			.event = counted.event,
			.end = counted.end,
			.reason = counted.reason,
			.samples = counted.samples,
			.weight = counted.weight,
			.frames = frames,
			.nr_frames = history_stack_frames(history, &counted, ids, methods),
		};
		for (size_t j = 0; j < stack.nr_frames; j++) {
			uint32_t function = history_function_of(history, ids[j]);
			if (function == UINT32_MAX)
				result = -ENOMEM;
			const struct named_frame *frame = &history->frames.items[ids[j]];
			frames[j] = (struct history_frame){
				.function = {function},
				.address = frame->address,
				.offset = frame->offset,
				.method = (enum frame_method)methods[j],
			};
		}
		if (!result)
			result = each(context, &stack);
	}
	free(frames);
	free(ids);
	free(methods);
	return result;
}

/* Frames without a name, over all samples: per node the sum along its callers, parents first. */
static uint64_t count_unsymbolized(const struct history *history)
{
	uint32_t *unnamed = calloc(history->nodes.nr, sizeof(*unnamed));
	uint64_t sum = 0;
	if (!unnamed)
		return 0;
	for (size_t i = 1; i < history->nodes.nr; i++) {
		const struct history_node *node = &history->nodes.items[i];
		unnamed[i] = unnamed[node->parent] + !history->frames.items[node->frame].name;
	}
	for (size_t i = 0; i < history->stacks.nr; i++) {
		const struct counted_stack *stack = &history->stacks.items[i];
		bool leaf = stack->leaf && !history->frames.items[stack->leaf].name;
		sum += stack->samples * (unnamed[stack->node] + leaf);
	}
	free(unnamed);
	return sum;
}

struct history_totals history_totals(struct history *history)
{
	history_update_names(history);
	struct history_totals *totals = &history->totals;
	totals->frames = 0;
	for (size_t i = 0; i < history->stacks.nr; i++) {
		const struct counted_stack *stack = &history->stacks.items[i];
		totals->frames += stack->samples *
				  (history->nodes.items[stack->node].depth + (stack->leaf != 0));
	}
	totals->unsymbolized_frames = count_unsymbolized(history);
	return *totals;
}
