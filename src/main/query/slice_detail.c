/* SPDX-License-Identifier: MIT */
#include <ctop/query/slice.h>

#include <errno.h>
#include <stdlib.h>

#include "slice_internal.h"

/* By path: does it, as shown, contain the function? One pass, parents first. NULL: out of memory. */
static bool *find_containing(const struct slice *slice, uint32_t key)
{
	bool *containing = calloc(slice->paths.nr, sizeof(*containing));
	if (!containing)
		return NULL;
	for (uint32_t i = 0; i < slice->paths.nr; i++) {
		const struct path *path = &slice->paths.items[i];
		containing[i] = path->key == key || (i != slice->root && containing[path->parent]);
	}
	return containing;
}

static bool is_containing(void *context, uint32_t path)
{
	const bool *containing = context;
	return containing[path];
}

static void add_quality(const struct slice *slice, const bool *containing,
			struct slice_detail *detail)
{
	for (size_t i = 0; i < slice->stacks.nr; i++) {
		const struct stack_state *state = &slice->stacks.items[i];
		uint64_t weight = slice->counts.items[i].weight;
		if (!state->passes || !containing[state->path])
			continue;
		if (history_end_label(state->end))
			detail->incomplete += weight;
		if (slice->paths.items[state->path].unnamed)
			detail->unnamed += weight;
	}
}

static int add_half(struct slice *slice, enum slice_shape shape, struct function_id function,
		    struct slice_node *root, struct slice_nodes *nodes)
{
	int result = slice_root(slice, shape, function, root);
	nodes->nr = 0;
	return result ? result : slice_children(slice, root->id, SLICE_BY_TOTAL, nodes);
}

int slice_detail(struct slice *slice, struct function_id function, struct slice_detail *detail)
{
	detail->cost = slice_function_cost(slice, function);
	detail->squares = slice_function_squares(slice, function);
	detail->error = slice_error(history_effective(detail->cost.total_weight, detail->squares));
	detail->incomplete = detail->unnamed = 0;
	struct slice_node root;
	int result = add_half(slice, SLICE_CALLERS, function, &root, &detail->callers);
	if (!result)
		result = add_half(slice, SLICE_CALLEES, function, &root, &detail->callees);
	if (result)
		return result;
	detail->own = root.cost.self_weight;
	bool *containing = find_containing(slice, key_of_function(function.index));
	if (!containing)
		return -ENOMEM;
	result = slice_tasks_where(slice, SLICE_THREADS, -1, is_containing, containing,
				   &detail->threads);
	add_quality(slice, containing, detail);
	free(containing);
	return result;
}

void slice_detail_release(struct slice_detail *detail)
{
	free(detail->callers.items);
	free(detail->callees.items);
	free(detail->threads.items);
	*detail = (struct slice_detail){0};
}
