/* SPDX-License-Identifier: MIT */
/* Stacks as a tree: each node is a frame, its parent the caller. */
#include "internal.h"

#include <errno.h>

#include <ctop/base/vec.h>

int history_add_node(struct history *history, uint32_t parent, uint32_t frame, uint32_t method,
		     uint32_t *to, bool *cut)
{
	const uint32_t depth = history->nodes.items[parent].depth + 1;
	if (method >= NR_FRAME_METHODS || depth > HISTORY_DEPTH_MAX)
		return -EINVAL;
	uint64_t hash = hash_node(parent, frame, method);
	struct index_probe probe = index_find(&history->nodes_index, hash);
	while (index_next(&history->nodes_index, &probe, to)) {
		const struct history_node *known = &history->nodes.items[*to];
		if (known->parent == parent && known->frame == frame && known->method == method)
			return 0;
	}
	if (frame == FOLDED_FRAME || !history_has_room_for(history, &history->nodes)) {
		*cut = true;
		*to = parent;
		return 0;
	}
	if ((history->merges && index_reserve(&history->nodes_index)) ||
	    vec_reserve(&history->nodes, history->nodes.nr + 1))
		return -ENOMEM;
	*to = (uint32_t)history->nodes.nr;
	if (history->merges)
		index_add(&history->nodes_index, hash, *to);
	const struct history_node *above = &history->nodes.items[parent];
	history->nodes.items[history->nodes.nr++] = (struct history_node){
		.parent = parent,
		.frame = frame,
		.depth = (uint16_t)depth,
		.unnamed = (uint16_t)(above->unnamed + !history->frames.items[frame].name),
		.method = (uint8_t)method,
	};
	return 0;
}
