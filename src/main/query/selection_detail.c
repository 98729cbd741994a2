/* SPDX-License-Identifier: MIT */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>

#include "selection_internal.h"

static bool is_containing(void *context, uint32_t path)
{
	const bool *containing = context;
	return containing[path];
}

static void add_quality(const struct selection *selection, const bool *containing,
			struct selection_detail *detail)
{
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		const struct stack_state *state = &selection->stacks.items[i];
		uint64_t weight = selection->counts.items[i].weight;
		if (!state->passes || !containing[state->path])
			continue;
		if (selection_end_key(state->end) != KEY_ALL)
			detail->incomplete += weight;
		if (selection->paths.items[state->path].unnamed)
			detail->unnamed += weight;
	}
}

static int add_half(struct selection *selection, enum selection_shape shape,
		    struct function_id function, struct selection_node *root,
		    struct selection_nodes *nodes)
{
	int result = selection_root(selection, shape, function, root);
	nodes->nr = 0;
	return result ? result : selection_children(selection, root->id, SELECTION_BY_TOTAL, nodes);
}

int selection_detail(struct selection *selection, struct function_id function,
		     struct selection_detail *detail)
{
	int result = selection_need_paths(selection);
	if (result)
		return result;
	detail->cost = selection_function_cost(selection, function);
	detail->squares = selection_function_squares(selection, function);
	detail->error =
		selection_error(history_effective(detail->cost.total_weight, detail->squares));
	detail->incomplete = detail->unnamed = 0;
	struct selection_node root;
	result = add_half(selection, SELECTION_CALLERS, function, &root, &detail->callers);
	if (!result)
		result = add_half(selection, SELECTION_CALLEES, function, &root, &detail->callees);
	if (result)
		return result;
	detail->own = root.cost.self_weight;
	bool *containing = selection_find_containing(selection, key_of_function(function.index));
	if (!containing)
		return -ENOMEM;
	result = selection_tasks_where(selection, SELECTION_THREADS, -1, is_containing, containing,
				       &detail->threads);
	add_quality(selection, containing, detail);
	/* Most functions are on few stacks. */
	if (!result)
		result = selection_lines(selection, function, containing, &detail->lines,
					 &detail->call_sites);
	free(containing);
	return result;
}

void selection_detail_release(struct selection_detail *detail)
{
	free(detail->callers.items);
	free(detail->callees.items);
	free(detail->threads.items);
	free(detail->lines.items);
	free(detail->call_sites.items);
	*detail = (struct selection_detail){0};
}
