/* SPDX-License-Identifier: MIT */
/* Modules: what is spent in their code, and below it. */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

struct adder {
	const struct history *history;
	struct selection_module *rows; /* by the history's module */
	uint64_t *below;	       /* by node: weight of the stacks that go through it */
	uint64_t *
		modules; /* by node: a bit for each module of it and its callers; 64 and more share theirs */
};

static uint32_t module_of(const struct history *history, uint32_t frame)
{
	return history->frames.items[frame].module;
}

static uint64_t bit_of(uint32_t module)
{
	return UINT64_C(1) << module % 64;
}

/* A caller, from this one on, is in the module. Whose bit is there is mostly near. */
static bool is_called_by(const struct adder *adder, uint32_t node, uint32_t module)
{
	const struct history *history = adder->history;
	if (!(adder->modules[node] & bit_of(module)))
		return false;
	for (; node; node = history->nodes.items[node].parent)
		if (module_of(history, history->nodes.items[node].frame) == module)
			return true;
	return false;
}

static void add_stack(struct adder *adder, const struct counted_stack *stack,
		      const struct stack_count *count)
{
	const struct history *history = adder->history;
	adder->below[stack->node] += count->weight;
	if (!stack->leaf)
		return;
	const uint32_t module = module_of(history, stack->leaf);
	struct selection_module *row = &adder->rows[module];
	row->self_weight += count->weight;
	if (!history->frames.items[stack->leaf].name)
		row->unnamed_weight += count->weight;
	if (!is_called_by(adder, stack->node, module))
		row->total_weight += count->weight;
}

static void find_modules(struct adder *adder)
{
	const struct history *history = adder->history;
	for (size_t i = 1; i < history->nodes.nr; i++) {
		const struct history_node *node = &history->nodes.items[i];
		adder->modules[i] =
			adder->modules[node->parent] | bit_of(module_of(history, node->frame));
	}
}

/* Callers: parents have smaller numbers than their children. Each stack counts once, where it enters the module first. */
static void add_callers(struct adder *adder)
{
	const struct history *history = adder->history;
	for (size_t i = history->nodes.nr; i-- > 1;)
		adder->below[history->nodes.items[i].parent] += adder->below[i];
	for (size_t i = 1; i < history->nodes.nr; i++) {
		const struct history_node *node = &history->nodes.items[i];
		const uint32_t module = module_of(history, node->frame);
		if (adder->below[i] && !is_called_by(adder, node->parent, module))
			adder->rows[module].total_weight += adder->below[i];
	}
}

static int compare(const void *a, const void *b)
{
	const struct selection_module *left = a, *right = b;
	if (left->self_weight != right->self_weight)
		return left->self_weight < right->self_weight ? 1 : -1;
	if (left->total_weight != right->total_weight)
		return left->total_weight < right->total_weight ? 1 : -1;
	return (left->module > right->module) - (left->module < right->module);
}

int selection_modules(const struct selection *selection, struct selection_modules *modules)
{
	const struct history *history = selection->history;
	struct adder adder = {
		.history = history,
		.rows = calloc(history->modules.nr, sizeof(*adder.rows)),
		.below = calloc(history->nodes.nr, sizeof(*adder.below)),
		.modules = calloc(history->nodes.nr, sizeof(*adder.modules)),
	};
	int result = adder.rows && adder.below && adder.modules ? 0 : -ENOMEM;
	modules->nr = 0;
	if (!result)
		find_modules(&adder);
	for (size_t i = 0; !result && i < selection->stacks.nr; i++)
		if (selection->stacks.items[i].passes && selection->counts.items[i].samples)
			add_stack(&adder, &history->stacks.items[i], &selection->counts.items[i]);
	if (!result)
		add_callers(&adder);
	for (size_t i = 0; !result && i < history->modules.nr; i++) {
		if (!adder.rows[i].total_weight)
			continue;
		adder.rows[i].module = (uint32_t)i;
		result = vec_reserve(modules, modules->nr + 1) ? -ENOMEM : 0;
		if (!result)
			modules->items[modules->nr++] = adder.rows[i];
	}
	if (!result && modules->nr)
		qsort(modules->items, modules->nr, sizeof(*modules->items), compare);
	free(adder.rows);
	free(adder.below);
	free(adder.modules);
	return result;
}
