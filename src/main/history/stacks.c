/* SPDX-License-Identifier: MIT */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdlib.h>

#include "internal.h"

enum { FRAMES_ROOM = HISTORY_DEPTH_MAX + 1, SHOWN_ROOM = HISTORY_DEPTH_SHOWN_MAX };

/* The frames of a stack, root first, leaf included: room for FRAMES_ROOM. Returns their number. */
static size_t list_frames(const struct history *history, const struct counted_stack *stack,
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

int stack_view_init(struct stack_view *view)
{
	*view = (struct stack_view){
		.frames = calloc(SHOWN_ROOM, sizeof(*view->frames)),
		.ids = calloc(FRAMES_ROOM, sizeof(*view->ids)),
		.methods = calloc(FRAMES_ROOM, sizeof(*view->methods)),
	};
	return view->frames && view->ids && view->methods ? 0 : -ENOMEM;
}

void stack_view_release(struct stack_view *view)
{
	free(view->frames);
	free(view->ids);
	free(view->methods);
}

/* A frame, and what was inlined there. */
static int add_steps(struct stack_view *view, struct history *history, uint32_t id,
		     enum frame_method method)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	const size_t nr = history_steps_of(history, id, view->stack.nr_frames, steps);
	const struct named_frame *frame = &history->frames.items[id];
	for (size_t i = 0; i < nr; i++) {
		const struct history_site *site = &history->sites.items[steps[i].site];
		view->frames[view->stack.nr_frames++] = (struct history_frame){
			.function = {steps[i].function},
			.module = frame->module,
			.module_name = frame->module_name,
			.address = frame->address,
			.offset = i ? UINT32_MAX : frame->offset,
			.method = method,
			.file = site->file,
			.line = site->line,
			.inlined = i > 0,
		};
	}
	return nr ? 0 : -ENOMEM;
}

int stack_view_set(struct stack_view *view, struct history *history,
		   const struct counted_stack *counted)
{
	const struct history_task *task = &history->tasks.items[counted->task];
	view->stack = (struct history_stack){
		.pid = task->pid,
		.tid = task->tid,
		.started_ns = task->started_ns,
		.comm = task->comm,
		.run = task->run,
		.event = counted->event,
		.end = counted->end,
		.reason = counted->reason,
		.samples = counted->samples,
		.weight = counted->weight,
		.frames = view->frames,
	};
	const size_t nr = list_frames(history, counted, view->ids, view->methods);
	for (size_t i = 0; i < nr; i++)
		if (add_steps(view, history, view->ids[i], (enum frame_method)view->methods[i]))
			return -ENOMEM;
	return 0;
}

/* Parents come first. */
static void count_frames(struct history *history)
{
	struct history_totals *totals = &history->totals;
	totals->frames = totals->unsymbolized_frames = 0;
	for (size_t i = 1; i < history->nodes.nr; i++) {
		struct history_node *node = &history->nodes.items[i];
		node->unnamed = (uint16_t)(history->nodes.items[node->parent].unnamed +
					   !history->frames.items[node->frame].name);
	}
	for (size_t i = 0; i < history->stacks.nr; i++) {
		const struct counted_stack *stack = &history->stacks.items[i];
		if (!history_counts_event(history, stack->event))
			continue;
		totals->frames += stack->samples * history_stack_depth(history, stack);
		totals->unsymbolized_frames +=
			stack->samples * history_stack_unnamed(history, stack);
	}
	history->frames_changed = false;
}

struct history_totals history_totals(struct history *history)
{
	history_update_names(history);
	if (history->frames_changed)
		count_frames(history);
	return history->totals;
}
