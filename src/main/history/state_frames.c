/* SPDX-License-Identifier: MIT */
/* Where in a stack it stands what a thread waits for: --state-frames. */
#include "internal.h"

#include <string.h>

#include <ctop/wait_kind.h>

/* Only waits, and what ended them, have frames of no module with a name at their innermost end. */
static bool is_state(const struct history *history, const struct counted_stack *stack)
{
	const struct named_frame *leaf = &history->frames.items[stack->leaf];
	return (history_is_wait(history, stack->event) ||
		history_is_apart(history, stack->event)) &&
	       history->modules.items[leaf->module].kind == MODULE_NONE && leaf->name;
}

bool history_wait_kinds(const struct history *history, uint64_t ns[NR_WAIT_KINDS])
{
	bool is_any = false;
	memset(ns, 0, NR_WAIT_KINDS * sizeof(*ns));
	for (size_t i = 0; !history->state_frames && i < history->stacks.nr; i++) {
		const struct counted_stack *stack = &history->stacks.items[i];
		if (!history_is_wait(history, stack->event) || !is_state(history, stack))
			continue;
		const char *name = history->frames.items[stack->leaf].name;
		for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
			if (!strcmp(name, wait_kind_frame((enum wait_kind)kind))) {
				ns[kind] += stack->weight;
				is_any = true;
			}
	}
	return is_any;
}

int history_move_state(struct history *history, struct counted_stack *stack)
{
	if (!history->state_frames || !stack->node || !is_state(history, stack))
		return 0;
	uint32_t *path = history->path;
	size_t nr = 0;
	bool cut = false;
	int result = 0;
	uint32_t at = stack->node, to = 0;
	const uint32_t leaf = history->nodes.items[at].frame;
	if (history->state_frames == STATE_FRAMES_ROOT) {
		for (uint32_t node = history->nodes.items[at].parent;
		     node && nr < HISTORY_DEPTH_MAX; node = history->nodes.items[node].parent)
			path[nr++] = node;
		result = history_add_node(history, 0, stack->leaf, FRAME_KERNEL, &to, &cut);
		while (!result && !cut && nr) {
			const struct history_node node = history->nodes.items[path[--nr]];
			result = history_add_node(history, to, node.frame, node.method, &to, &cut);
		}
	} else {
		to = history->nodes.items[at].parent;
	}
	stack->node = to;
	stack->leaf = cut ? FOLDED_FRAME : leaf;
	return result;
}
