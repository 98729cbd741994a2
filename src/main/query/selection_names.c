/* SPDX-License-Identifier: MIT */
/* Which paths stacks are at, and where they go when names come: at once where they are few, else by parts, all together in the end. */
#include <errno.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

/* Returns whether it is another path than before. */
static bool place_at(struct selection *selection, size_t row, uint32_t path, uint32_t key)
{
	const struct counted_stack *stack = &selection->history->stacks.items[row];
	struct stack_state *state = &selection->stacks.items[row];
	const bool moved = path != state->path;
	*state = (struct stack_state){
		.path = path,
		.key = key,
		.end = stack->end,
		.of_event = selection_is_of_event(selection, stack),
		.passes = selection_passes(selection, stack, path),
		.unnamed = !selection->history->frames.items[stack->leaf].name,
		.folded = stack->leaf == FOLDED_FRAME,
		.kernel = selection_is_kernel(selection, stack),
	};
	return moved;
}

int selection_place_stack(struct selection *selection, size_t row, bool *moved)
{
	const struct counted_stack *stack = &selection->history->stacks.items[row];
	uint32_t path = 0, key = UINT32_MAX;
	if (!selection->has_paths)
		key = selection_leaf_key(selection, stack);
	else if ((path = selection_stack_path(selection, stack)) != NO_PATH)
		key = selection->paths.items[path].key;
	if (key == UINT32_MAX)
		return -ENOMEM;
	*moved = place_at(selection, row, path, key);
	return 0;
}

/* ---- names that come ---- */

/* Of up to so many nodes and stacks all are looked at at once: some ms. */
enum { FEW_ROWS = 16384 };

static int follow_all_names(struct selection *selection, bool *all)
{
	const uint64_t nr_renamed = selection->history->nr_renamed;
	selection_stop_following(selection);
	int result = selection_follow_nodes(selection);
	for (size_t i = 0; !result && i < selection->stacks.nr; i++) {
		bool moved = false;
		result = selection_place_stack(selection, i, &moved);
		*all = *all || moved;
	}
	if (result)
		return result;
	selection->nr_renamed = nr_renamed;
	selection->unplaced = false;
	return 0;
}

static void adopt_paths(struct selection *selection, bool *all)
{
	const struct following *following = &selection->following;
	for (size_t i = 0; i < following->paths.nr; i++) {
		const uint32_t path = following->paths.items[i];
		if (place_at(selection, i, path, selection->paths.items[path].key))
			*all = true;
	}
	selection->nr_renamed = following->nr_renamed;
	selection_stop_following(selection);
}

int selection_follow_names(struct selection *selection, bool more, bool *all)
{
	const struct history *history = selection->history;
	if (history->nr_renamed == selection->nr_renamed)
		return 0;
	if (!selection->by_parts || !selection->has_paths || selection->unplaced ||
	    history->nodes.nr + history->stacks.nr < FEW_ROWS)
		return follow_all_names(selection, all);
	if (!selection->following.active && !more)
		selection_begin_following(selection);
	if (!selection->following.active)
		return 0;
	const int result = selection_follow_part(selection);
	if (!result)
		adopt_paths(selection, all);
	return result < 0 ? result : 0;
}
