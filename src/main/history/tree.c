/* SPDX-License-Identifier: MIT */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/history/history_internal.h>

struct builder {
	struct history *history;
	ROWS(struct tree_node) nodes;
	struct index index;	    /* (parent, function or label) */
	uint32_t *frames, *methods; /* of one stack */
};

const char *history_end_label(enum stack_end end)
{
	switch (end) {
	case STACK_TRUNCATED:
		return "[truncated]";
	case STACK_BROKEN:
		return "[broken]";
	case STACK_SWITCHED:
		return "[switched]";
	case STACK_COMPLETE:
	case STACK_JOINED:
	case STACK_KERNEL_ONLY:
	case NR_STACK_ENDS:
		break;
	}
	return NULL;
}

/* The child of a node, made when it is not there. UINT32_MAX: out of memory. */
static uint32_t child_of(struct builder *builder, uint32_t parent, uint32_t function,
			 const char *label)
{
	uint64_t hash = hash_two((uint64_t)parent << 32 | function, (uintptr_t)label);
	struct index_probe probe = index_find(&builder->index, hash);
	uint32_t row;
	while (index_next(&builder->index, &probe, &row)) {
		const struct tree_node *node = &builder->nodes.items[row];
		if (node->parent == parent && node->function.index == function &&
		    node->label == label)
			return row;
	}
	if (index_reserve(&builder->index) || vec_reserve(&builder->nodes, builder->nodes.nr + 1))
		return UINT32_MAX;
	row = (uint32_t)builder->nodes.nr;
	index_add(&builder->index, hash, row);
	struct tree_node *items = builder->nodes.items;
	items[row] = (struct tree_node){
		.function = {function},
		.label = label,
		.parent = parent,
		.next_sibling = items[parent].first_child,
		.depth = items[parent].depth + 1,
	};
	items[parent].first_child = row;
	builder->nodes.nr++;
	return row;
}

static void add_total(struct builder *builder, uint32_t at, const struct counted_stack *stack)
{
	builder->nodes.items[at].total += stack->samples;
	builder->nodes.items[at].total_weight += stack->weight;
}

static int add_stack(struct builder *builder, const struct counted_stack *stack)
{
	struct history *history = builder->history;
	uint32_t at = 0;
	add_total(builder, 0, stack);
	const char *label = history_end_label(stack->end);
	if (label) {
		at = child_of(builder, at, 0, label);
		if (at == UINT32_MAX)
			return -ENOMEM;
		add_total(builder, at, stack);
	}
	size_t nr = history_stack_frames(history, stack, builder->frames, builder->methods);
	if (!nr)
		builder->frames[nr++] = 0; /* nothing is known: [unknown] */
	for (size_t i = 0; i < nr; i++) {
		uint32_t function = history_function_of(history, builder->frames[i]);
		at = function == UINT32_MAX ? UINT32_MAX : child_of(builder, at, function, NULL);
		if (at == UINT32_MAX)
			return -ENOMEM;
		add_total(builder, at, stack);
	}
	builder->nodes.items[at].self += stack->samples;
	builder->nodes.items[at].self_weight += stack->weight;
	return 0;
}

static const char *shown_name(const struct builder *builder, const struct tree_node *node)
{
	return node->label ? node->label : history_function_name(builder->history, node->function);
}

static int compare(const void *a, const void *b, void *context)
{
	const struct builder *builder = context;
	const struct tree_node *left = &builder->nodes.items[*(const uint32_t *)a];
	const struct tree_node *right = &builder->nodes.items[*(const uint32_t *)b];
	if (left->total_weight != right->total_weight)
		return left->total_weight < right->total_weight ? 1 : -1;
	int order = strcmp(shown_name(builder, left), shown_name(builder, right));
	if (order)
		return order;
	return history_compare_functions(builder->history, left->function, right->function);
}

/* Children by total. order has room for every node. */
static void sort_children(struct builder *builder, uint32_t parent, uint32_t *order)
{
	struct tree_node *items = builder->nodes.items;
	size_t nr = 0;
	for (uint32_t child = items[parent].first_child; child; child = items[child].next_sibling)
		order[nr++] = child;
	if (nr < 2)
		return;
	qsort_r(order, nr, sizeof(*order), compare, builder);
	items[parent].first_child = order[0];
	for (size_t i = 0; i < nr; i++)
		items[order[i]].next_sibling = i + 1 < nr ? order[i + 1] : 0;
}

static int build(struct builder *builder)
{
	struct history *history = builder->history;
	int result = history_update_names(history);
	builder->frames = calloc(HISTORY_DEPTH_MAX + 1, sizeof(uint32_t));
	builder->methods = calloc(HISTORY_DEPTH_MAX + 1, sizeof(uint32_t));
	if (!builder->frames || !builder->methods || vec_reserve(&builder->nodes, 1))
		return -ENOMEM;
	builder->nodes.items[builder->nodes.nr++] = (struct tree_node){.label = "[all]"};
	for (size_t i = 0; !result && i < history->stacks.nr; i++)
		result = add_stack(builder, &history->stacks.items[i]);
	uint32_t *order = result ? NULL : calloc(builder->nodes.nr, sizeof(*order));
	if (!order)
		return result ? result : -ENOMEM;
	for (uint32_t i = 0; i < builder->nodes.nr; i++)
		sort_children(builder, i, order);
	free(order);
	return 0;
}

int history_tree(struct history *history, struct tree_node **out, size_t *nr)
{
	struct builder builder = {.history = history};
	int result = build(&builder);
	free(builder.frames);
	free(builder.methods);
	index_release(&builder.index);
	if (result) {
		free(builder.nodes.items);
		builder.nodes.items = NULL;
		builder.nodes.nr = 0;
	}
	*out = builder.nodes.items;
	*nr = builder.nodes.nr;
	return result;
}
