/* SPDX-License-Identifier: MIT */
#include <ctop/query/slice.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

/* Lays the children of a box side by side below it. */
static int add_children(struct slice *slice, size_t parent, enum slice_order order, uint64_t least,
			struct slice_nodes *children, struct slice_boxes *boxes)
{
	children->nr = 0;
	int result = slice_children(slice, boxes->items[parent].node.id, order, children);
	if (result)
		return result;
	if (vec_reserve(boxes, boxes->nr + children->nr))
		return -ENOMEM;
	struct slice_box *above = &boxes->items[parent];
	uint64_t at = above->at;
	for (size_t i = 0; i < children->nr; i++) {
		const struct slice_node *child = &children->items[i];
		if (child->cost.total_weight < least) {
			above->hidden += child->cost.total_weight;
			continue;
		}
		boxes->items[boxes->nr++] =
			(struct slice_box){.node = *child, .at = at, .parent = parent};
		at += child->cost.total_weight;
	}
	return 0;
}

int slice_flame(struct slice *slice, uint64_t id, enum slice_order order, uint64_t least,
		uint32_t levels, struct slice_boxes *boxes)
{
	struct slice_nodes children = {0};
	struct slice_node root;
	boxes->nr = 0;
	int result = slice_node(slice, id, &root);
	if (!result && vec_reserve(boxes, 1))
		result = -ENOMEM;
	if (!result)
		boxes->items[boxes->nr++] = (struct slice_box){.node = root};
	for (size_t i = 0; !result && i < boxes->nr; i++) {
		const struct slice_node *node = &boxes->items[i].node;
		if (node->has_children && node->depth - root.depth < levels)
			result = add_children(slice, i, order, least, &children, boxes);
	}
	free(children.items);
	return result;
}
