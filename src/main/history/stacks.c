/* SPDX-License-Identifier: MIT */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

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

/* Whether a step is no other than the one above it (0: there is none, as row 0 is no function): of modules that call themselves. */
static bool goes_on(const struct history *history, uint32_t above, uint32_t function)
{
	return history->grouping == GROUPING_MODULE && above == function;
}

/* A frame, and what was inlined there, `depth` steps from the root. How many; 0: out of memory. */
static size_t list_steps(struct history *history, uint32_t id, enum frame_method method,
			 size_t depth, struct history_frame *frames)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	const size_t nr = history_steps_of(history, id, depth, steps);
	const struct named_frame *frame = &history->frames.items[id];
	/* All of a module is at no place. */
	const bool is_place = history->grouping != GROUPING_MODULE;
	for (size_t i = 0; i < nr; i++) {
		const struct history_site *site = &history->sites.items[steps[i].site];
		frames[i] = (struct history_frame){
			.function = {steps[i].function},
			.module = frame->module,
			.module_name = frame->module_name,
			.address = is_place ? frame->address : 0,
			.offset = i || !is_place ? UINT32_MAX : frame->offset,
			.method = method,
			.file = site->file,
			.line = site->line,
			.inlined = i > 0,
		};
	}
	return nr;
}

static struct history_stack facts_of(const struct history *history,
				     const struct counted_stack *counted)
{
	const struct history_task *task = &history->tasks.items[counted->task];
	return (struct history_stack){
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
	};
}

int stack_view_set(struct stack_view *view, struct history *history,
		   const struct counted_stack *counted)
{
	view->stack = facts_of(history, counted);
	view->stack.frames = view->frames;
	const size_t nr = list_frames(history, counted, view->ids, view->methods);
	for (size_t i = 0; i < nr; i++) {
		const size_t depth = view->stack.nr_frames,
			     nr_steps = list_steps(history, view->ids[i],
						   (enum frame_method)view->methods[i], depth,
						   view->frames + depth);
		if (!nr_steps)
			return -ENOMEM;
		const uint32_t above = depth ? view->frames[depth - 1].function.index : 0;
		if (!goes_on(history, above, view->frames[depth].function.index))
			view->stack.nr_frames += nr_steps;
	}
	return 0;
}

/* ---- step by step ---- */

struct history_stack history_stack_facts(const struct history *history, uint32_t row)
{
	return facts_of(history, &history->stacks.items[row]);
}

void history_walk_release(struct history_walk *walk)
{
	free(walk->walked.items);
	walk->walked.items = NULL;
	walk->walked.nr = walk->walked.capacity = 0;
}

/* One frame further. */
static int take_step(struct history *history, struct history_walk *walk, uint32_t frame,
		     enum frame_method method, struct walked *at)
{
	struct history_frame frames[HISTORY_STEPS_MAX];
	const size_t nr = list_steps(history, frame, method, at->nr_frames, frames);
	if (!nr)
		return -ENOMEM;
	if (goes_on(history, at->function, frames[0].function.index))
		return 0;
	at->nr_frames += (uint32_t)nr;
	at->function = frames[nr - 1].function.index;
	return walk->step(walk->context, frames, nr, &at->number);
}

static int make_room(struct history_walk *walk, size_t nr)
{
	if (vec_reserve(&walk->walked, nr))
		return -ENOMEM;
	for (; walk->walked.nr < nr; walk->walked.nr++)
		walk->walked.items[walk->walked.nr] = (struct walked){0};
	return 0;
}

/* Up to the first node that was walked, and down again. */
static int walk_callers(struct history *history, struct history_walk *walk, uint32_t node,
			struct walked *at)
{
	uint32_t *path = history->path;
	size_t nr = 0;
	int result = make_room(walk, history->nodes.nr);
	if (result)
		return result;
	for (; node && !walk->walked.items[node].nr_frames;
	     node = history->nodes.items[node].parent)
		path[nr++] = node;
	*at = node ? walk->walked.items[node] : (struct walked){.number = walk->root};
	while (!result && nr) {
		const struct history_node *next = &history->nodes.items[path[--nr]];
		result = take_step(history, walk, next->frame, next->method, at);
		walk->walked.items[path[nr]] = *at;
	}
	return result;
}

int history_walk(struct history *history, struct history_walk *walk, uint32_t row, uint32_t *number)
{
	const struct counted_stack *stack = &history->stacks.items[row];
	struct walked at;
	int result = walk_callers(history, walk, stack->node, &at);
	if (!result && stack->leaf)
		result = take_step(history, walk, stack->leaf, FRAME_LEAF, &at);
	*number = at.number;
	return result;
}

/* ---- totals ---- */

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
