/* SPDX-License-Identifier: MIT */
/*
 * Which paths the history's stacks are. A node of the history leads to the same path as long as no frame on its way
 * gets a name, or lines, so that a new stack costs a step or two.
 */
#include <errno.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

uint32_t selection_leaf_key(struct selection *selection, const struct counted_stack *stack)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	size_t nr = history_steps_of(selection->history, stack->leaf, 0, steps);
	uint32_t key = nr ? key_of_function(steps[nr - 1].function) : UINT32_MAX;
	return key == UINT32_MAX || selection_reserve_key(selection, key) ? UINT32_MAX : key;
}

/* Of a module that calls itself, where modules are what is shown. */
static bool goes_on(const struct selection *selection, uint32_t path, uint32_t function)
{
	return selection->history->grouping == GROUPING_MODULE && path &&
	       selection->paths.items[path].key == key_of_function(function);
}

/* The frame's function, and those inlined there. */
static uint32_t step_to_frame(struct selection *selection, uint32_t path, uint32_t frame)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	if (path == NO_PATH)
		return NO_PATH;
	size_t nr = history_steps_of(selection->history, frame, selection->paths.items[path].depth,
				     steps);
	if (nr && goes_on(selection, path, steps[0].function))
		return path;
	for (size_t i = 0; i < nr && path != NO_PATH; i++)
		path = selection_child_path(selection, path, key_of_function(steps[i].function));
	return nr ? path : NO_PATH;
}

/* Whether a path is the one that step_to_frame() leads to, by what is known by now. */
static bool leads_to(struct selection *selection, uint32_t above, uint32_t frame, uint32_t path)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	const struct path *items = selection->paths.items;
	size_t nr = history_steps_of(selection->history, frame, items[above].depth, steps);
	if (nr && goes_on(selection, above, steps[0].function))
		return path == above;
	bool same = nr > 0;
	for (; same && nr; path = items[path].parent)
		same = path && items[path].key == key_of_function(steps[--nr].function);
	return same && path == above;
}

/* Room for a path of every node, below a label. */
static int reserve_nodes(struct selection *selection, uint32_t label)
{
	size_t nr = selection->node_paths[label].nr, wanted = selection->history->nodes.nr;
	if (nr >= wanted)
		return 0;
	if (vec_reserve(&selection->node_paths[label], wanted))
		return -ENOMEM;
	uint32_t *items = selection->node_paths[label].items;
	memset(items + nr, 0, (wanted - nr) * sizeof(*items));
	selection->node_paths[label].nr = wanted;
	return 0;
}

/* The path of a node in stacks of a process, if it is known. NO_PATH: it is not. */
static uint32_t known_path(const struct selection *selection, uint32_t label, uint32_t node,
			   uint32_t process)
{
	uint32_t known = selection->node_paths[label].items[node];
	return known && selection_process_of_path(selection, known - 1) == process ? known - 1
										   : NO_PATH;
}

/* Where stacks begin. NO_PATH: out of memory. */
static uint32_t first_path(struct selection *selection, uint32_t label, uint32_t process)
{
	uint32_t path = selection_process_path(selection, process);
	return label && path != NO_PATH ? selection_child_path(selection, path, label) : path;
}

/* Up to the first node whose path is known, and down again. The history's own scratch holds the way. */
static uint32_t node_path(struct selection *selection, uint32_t label, uint32_t node,
			  uint32_t process)
{
	struct history *history = selection->history;
	uint32_t *way = history->path, *known = selection->node_paths[label].items;
	uint32_t path = NO_PATH;
	size_t nr = 0;
	for (; node && (path = known_path(selection, label, node, process)) == NO_PATH;
	     node = history->nodes.items[node].parent)
		way[nr++] = node;
	if (!node)
		path = first_path(selection, label, process);
	while (nr && path != NO_PATH) {
		node = way[--nr];
		path = step_to_frame(selection, path, history->nodes.items[node].frame);
		if (path != NO_PATH)
			known[node] = path + 1;
	}
	return path;
}

uint32_t selection_stack_path(struct selection *selection, const struct counted_stack *stack)
{
	uint32_t label = selection_end_key(stack->end);
	if (reserve_nodes(selection, label))
		return NO_PATH;
	uint32_t path = node_path(selection, label, stack->node,
				  selection_process_of_task(selection, stack->task));
	/* Where nothing at all is known, there is still [unknown]. */
	if (stack->leaf || !stack->node)
		path = step_to_frame(selection, path, stack->leaf);
	return path;
}

/*
 * Parents come before their children: what changed above is known by then. A node whose caller's path is that of
 * another process by now is forgotten.
 */
static int follow_node(struct selection *selection, uint32_t label, size_t row)
{
	uint32_t *known = &selection->node_paths[label].items[row];
	if (!*known)
		return 0;
	const struct history_node *node = &selection->history->nodes.items[row];
	const uint32_t process = selection_process_of_path(selection, *known - 1);
	const uint32_t above = node->parent ? known_path(selection, label, node->parent, process)
					    : first_path(selection, label, process);
	if (above == NO_PATH) {
		*known = 0;
		return 0;
	}
	if (leads_to(selection, above, node->frame, *known - 1))
		return 0;
	const uint32_t moved = step_to_frame(selection, above, node->frame);
	if (moved == NO_PATH)
		return -ENOMEM;
	*known = moved + 1;
	return 0;
}

int selection_follow_nodes(struct selection *selection)
{
	int result = 0;
	for (uint32_t label = 0; label < NR_LABELS; label++)
		for (size_t i = 1; !result && i < selection->node_paths[label].nr; i++)
			result = follow_node(selection, label, i);
	return result;
}

/* ---- by parts ---- */

/* Nodes and stacks: 0.1 to 0.4 us each. */
enum { PART = 8192 };

void selection_begin_following(struct selection *selection)
{
	struct following *following = &selection->following;
	following->active = true;
	following->nr_renamed = selection->history->nr_renamed;
	following->label = 0;
	following->node = 1;
	following->paths.nr = 0;
}

void selection_stop_following(struct selection *selection)
{
	selection->following.active = false;
	selection->following.paths.nr = 0;
	vec_give_back(&selection->following.paths);
}

static int follow_some_nodes(struct selection *selection, size_t *left)
{
	struct following *following = &selection->following;
	for (; following->label < NR_LABELS; following->label++, following->node = 1)
		for (; following->node < selection->node_paths[following->label].nr;
		     following->node++, (*left)--) {
			if (!*left)
				return 1;
			if (follow_node(selection, following->label, following->node))
				return -ENOMEM;
		}
	return 0;
}

int selection_follow_part(struct selection *selection)
{
	struct following *following = &selection->following;
	size_t left = PART;
	int result = follow_some_nodes(selection, &left);
	if (!result && vec_reserve(&following->paths, selection->stacks.nr + 1))
		result = -ENOMEM;
	for (; !result && following->paths.nr < selection->stacks.nr; left--) {
		if (!left)
			return 1;
		const uint32_t path = selection_stack_path(
			selection, &selection->history->stacks.items[following->paths.nr]);
		if (path == NO_PATH)
			return -ENOMEM;
		following->paths.items[following->paths.nr++] = path;
	}
	return result;
}
