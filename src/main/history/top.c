/* SPDX-License-Identifier: MIT */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/history/history_internal.h>

/* Every frame's function, so that the loop below only looks them up. 0 or -ENOMEM. */
static int find_functions(struct history *history)
{
	int result = history_update_names(history);
	for (uint32_t i = 0; !result && i < history->frames.nr; i++)
		if (history_function_of(history, i) == UINT32_MAX)
			result = -ENOMEM;
	return result;
}

/*
 * Adds one stack. stamps[f] holds the number of the last stack that counted
 * function f in its total: recursion counts once.
 */
static void add_stack(const struct history *history, size_t number, struct function_cost *costs,
		      size_t *stamps)
{
	const struct counted_stack *stack = &history->stacks.items[number];
	uint32_t leaf = history->frames.items[stack->leaf].function;
	costs[leaf].self += stack->samples;
	costs[leaf].total += stack->samples;
	costs[leaf].self_weight += stack->weight;
	costs[leaf].total_weight += stack->weight;
	stamps[leaf] = number + 1;
	for (uint32_t node = stack->node; node; node = history->nodes.items[node].parent) {
		uint32_t function =
			history->frames.items[history->nodes.items[node].frame].function;
		if (stamps[function] == number + 1)
			continue;
		stamps[function] = number + 1;
		costs[function].total += stack->samples;
		costs[function].total_weight += stack->weight;
	}
}

static int compare(const void *a, const void *b, void *context)
{
	const struct function_cost *left = a, *right = b;
	const struct history *history = context;
	if (left->self_weight != right->self_weight)
		return left->self_weight < right->self_weight ? 1 : -1;
	if (left->total_weight != right->total_weight)
		return left->total_weight < right->total_weight ? 1 : -1;
	return history_compare_functions(history, left->function, right->function);
}

int history_top(struct history *history, struct function_cost **out, size_t *nr)
{
	*out = NULL;
	*nr = 0;
	int result = find_functions(history);
	if (result)
		return result;
	struct function_cost *costs = calloc(history->functions.nr, sizeof(*costs));
	size_t *stamps = calloc(history->functions.nr, sizeof(*stamps));
	if (!costs || !stamps) {
		free(costs);
		free(stamps);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < history->functions.nr; i++)
		costs[i].function.index = i;
	for (size_t i = 0; i < history->stacks.nr; i++)
		add_stack(history, i, costs, stamps);
	free(stamps);
	for (size_t i = 0; i < history->functions.nr; i++)
		if (costs[i].total)
			costs[(*nr)++] = costs[i];
	qsort_r(costs, *nr, sizeof(*costs), compare, history);
	*out = costs;
	return 0;
}
