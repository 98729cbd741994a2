/* SPDX-License-Identifier: MIT */
/* A function's code: at which of its addresses samples were taken. */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

static int compare(const void *a, const void *b)
{
	const struct selection_address *left = a, *right = b;
	if (left->module != right->module)
		return left->module < right->module ? -1 : 1;
	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (left->address > right->address) - (left->address < right->address);
}

/* The innermost function that was put in at a frame; index 0: there is none. */
static struct function_id inlined_at(struct history *history, uint32_t frame)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	const size_t nr =
		history->frames.items[frame].site ? history_steps_of(history, frame, 0, steps) : 0;
	return (struct function_id){nr > 1 ? steps[nr - 1].function : 0};
}

/* Several stacks end at an address. */
static void merge(struct selection_code *code)
{
	size_t kept = 0;
	if (!code->nr)
		return;
	qsort(code->items, code->nr, sizeof(*code->items), compare);
	for (size_t i = 1; i < code->nr; i++) {
		if (compare(&code->items[kept], &code->items[i]) != 0) {
			code->items[++kept] = code->items[i];
			continue;
		}
		code->items[kept].samples += code->items[i].samples;
		code->items[kept].weight += code->items[i].weight;
		code->items[kept].squares += code->items[i].squares;
	}
	code->nr = kept + 1;
}

static bool counts(const struct selection *selection, size_t stack, int32_t event)
{
	return selection->history->stacks.items[stack].leaf &&
	       selection->counts.items[stack].samples && selection_counts(selection, stack, event);
}

int selection_code(struct selection *selection, struct function_id function, int32_t event,
		   struct selection_code *code)
{
	struct history *history = selection->history;
	code->nr = 0;
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		const struct counted_stack *stack = &history->stacks.items[i];
		if (!counts(selection, i, event))
			continue;
		const uint32_t own = history_function_of(history, stack->leaf);
		const struct named_frame *frame = &history->frames.items[stack->leaf];
		if (own == UINT32_MAX || vec_reserve(code, code->nr + 1))
			return -ENOMEM;
		if (own != function.index || frame->offset == UINT32_MAX ||
		    frame->offset > frame->address)
			continue;
		code->items[code->nr++] = (struct selection_address){
			.module = frame->module,
			.pid = history->tasks.items[stack->task].pid,
			.start = frame->address - frame->offset,
			.address = frame->address,
			.inlined = inlined_at(history, stack->leaf),
			.site = frame->site,
			.samples = selection->counts.items[i].samples,
			.weight = selection->counts.items[i].weight,
			.squares = selection_squares_of(selection, i, event),
		};
	}
	merge(code);
	return 0;
}

static bool is_put_in(struct history *history, uint32_t frame, struct function_id function)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	const size_t nr = history_steps_of(history, frame, 0, steps);
	for (size_t i = 1; i < nr; i++)
		if (steps[i].function == function.index)
			return true;
	return false;
}

struct function_id selection_code_holder(struct selection *selection, struct function_id function)
{
	struct history *history = selection->history;
	struct function_id best = function;
	if (!history_function_inlined(history, function))
		return function;
	const size_t nr = history->functions.nr;
	uint64_t *weights = calloc(nr, sizeof(*weights));
	uint64_t most = 0;
	for (size_t i = 0; weights && i < selection->stacks.nr; i++) {
		const uint32_t leaf = history->stacks.items[i].leaf;
		if (!counts(selection, i, SELECTION_OWN_EVENT) ||
		    !is_put_in(history, leaf, function))
			continue;
		const uint32_t own = history_function_of(history, leaf);
		if (own >= nr)
			continue;
		weights[own] += selection->counts.items[i].weight;
		if (weights[own] > most) {
			most = weights[own];
			best.index = own;
		}
	}
	free(weights);
	return best;
}
