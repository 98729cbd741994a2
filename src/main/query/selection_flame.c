/* SPDX-License-Identifier: MIT */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

/* Lays the children of a box side by side below it. */
static int add_children(struct selection *selection, size_t parent, enum selection_order order,
			uint64_t least, struct selection_nodes *children,
			struct selection_boxes *boxes)
{
	children->nr = 0;
	int result = selection_children_from(selection, boxes->items[parent].node.id, order, least,
					     children);
	if (result)
		return result;
	if (vec_reserve(boxes, boxes->nr + children->nr))
		return -ENOMEM;
	struct selection_box *above = &boxes->items[parent];
	uint64_t at = above->at;
	for (size_t i = 0; i < children->nr; i++) {
		const struct selection_node *child = &children->items[i];
		boxes->items[boxes->nr++] =
			(struct selection_box){.node = *child, .at = at, .parent = parent};
		at += child->cost.total_weight;
	}
	const struct selection_cost *cost = &above->node.cost;
	above->hidden = cost->total_weight - cost->self_weight - (at - above->at);
	return 0;
}

int selection_flame(struct selection *selection, uint64_t id, enum selection_order order,
		    uint64_t least, uint32_t levels, struct selection_boxes *boxes)
{
	struct selection_nodes children = {0};
	struct selection_node root;
	boxes->nr = 0;
	int result = selection_node(selection, id, &root);
	if (!result && vec_reserve(boxes, 1))
		result = -ENOMEM;
	if (!result)
		boxes->items[boxes->nr++] = (struct selection_box){.node = root};
	for (size_t i = 0; !result && i < boxes->nr; i++) {
		const struct selection_node *node = &boxes->items[i].node;
		if (node->has_children && node->depth - root.depth < levels)
			result = add_children(selection, i, order, least, &children, boxes);
	}
	free(children.items);
	return result;
}
