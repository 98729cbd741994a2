/* SPDX-License-Identifier: MIT */
/*
 * Trees, a row at a time. A row is a chain of keys from its root on; its samples are those of the paths that the chain
 * matches. Paths are the top-down tree already. For callers and inverted trees a chain goes up from each path of its
 * first function; for callees it goes down from each outermost one.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

/* ---- rows given out ---- */

static uint32_t find_shown(const struct selection *selection, uint64_t id)
{
	struct index_probe probe = index_find(&selection->shown_index, id);
	uint32_t row;
	while (index_next(&selection->shown_index, &probe, &row))
		if (selection->shown.items[row].id == id)
			return row;
	return UINT32_MAX;
}

/* The row with the id, as it is given out now. UINT32_MAX: out of memory. */
static uint32_t show(struct selection *selection, const struct shown_row *shown)
{
	uint32_t row = find_shown(selection, shown->id);
	if (row == UINT32_MAX) {
		if (selection->shown.nr >= UINT32_MAX - 1 ||
		    index_reserve(&selection->shown_index) ||
		    vec_reserve(&selection->shown, selection->shown.nr + 1))
			return UINT32_MAX;
		row = (uint32_t)selection->shown.nr++;
		index_add(&selection->shown_index, shown->id, row);
	}
	selection->shown.items[row] = *shown;
	if (shown->parent == UINT32_MAX)
		selection->shown.items[row].parent = row;
	return row;
}

/* ---- what a row stands for ---- */

/* What each path that is matched brings goes to each(): of the selection's event, or of another. */
struct matching {
	const struct selection *selection;
	const struct paths_beside *beside; /* NULL: its own */
	int (*each)(void *context, uint32_t path, const struct selection_amount *matched);
	void *context;
};

static struct selection_amount all_of(const struct matching *matching, uint32_t path)
{
	const struct path *row = &matching->selection->paths.items[path];
	if (matching->beside)
		return selection_path_beside(matching->beside, path);
	return (struct selection_amount){row->total, row->weight,
					 selection_path_squares(matching->selection, path)};
}

static struct selection_amount own_of(const struct matching *matching, uint32_t path)
{
	const struct selection *selection = matching->selection;
	if (matching->beside)
		return selection_path_self_beside(selection, matching->beside, path);
	const struct stack_count self = selection_path_self(selection, path);
	return (struct selection_amount){self.samples, self.weight,
					 selection_path_self_squares(selection, path)};
}

static bool has_any(const struct matching *matching, uint32_t path)
{
	return matching->beside ? selection_path_beside(matching->beside, path).samples > 0
				: matching->selection->paths.items[path].total > 0;
}

static int match_up(const struct matching *matching, const uint32_t *chain, size_t nr, bool self)
{
	const struct selection *selection = matching->selection;
	const struct path *paths = selection->paths.items;
	int result = 0;
	uint32_t from = selection->keys.items[chain[0]].first_path;
	for (; from && !result; from = paths[from].next_same) {
		if (!has_any(matching, from) ||
		    (!self && !selection_is_outermost(selection, &paths[from])))
			continue;
		uint32_t at = from;
		for (size_t i = 1; i < nr && at != NO_PATH; i++) {
			at = selection_caller(selection, at);
			if (at != NO_PATH && paths[at].key != chain[i])
				at = NO_PATH;
		}
		if (at == NO_PATH)
			continue;
		const struct selection_amount matched =
			self ? own_of(matching, from) : all_of(matching, from);
		if (matched.samples)
			result = matching->each(matching->context, at, &matched);
	}
	return result;
}

static int match_down(const struct matching *matching, const uint32_t *chain, size_t nr)
{
	const struct selection *selection = matching->selection;
	const struct path *paths = selection->paths.items;
	int result = 0;
	uint32_t from = selection->keys.items[chain[0]].first_path;
	for (; from && !result; from = paths[from].next_same) {
		if (!has_any(matching, from) || !selection_is_outermost(selection, &paths[from]))
			continue;
		uint32_t at = from;
		for (size_t i = 1; i < nr && at != NO_PATH; i++)
			at = selection_find_path(selection, at, chain[i]);
		if (at == NO_PATH || !has_any(matching, at))
			continue;
		const struct selection_amount matched = all_of(matching, at);
		result = matching->each(matching->context, at, &matched);
	}
	return result;
}

/* Every path that the row matches. */
static int match(const struct matching *matching, const struct shown_row *shown)
{
	const struct selection *selection = matching->selection;
	if (shown->shape == SELECTION_TREE) { /* outside of the subtree in force all are 0 */
		const struct selection_amount matched = all_of(matching, shown->path);
		return has_any(matching, shown->path)
			       ? matching->each(matching->context, shown->path, &matched)
			       : 0;
	}
	size_t first = shown->shape == SELECTION_INVERTED ? 1 : 0; /* its root is no function */
	size_t nr = shown->depth + 1 - first;
	uint32_t *chain = calloc(nr, sizeof(*chain));
	if (!chain)
		return -ENOMEM;
	for (size_t i = nr; i-- > 0; shown = &selection->shown.items[shown->parent])
		chain[i] = shown->key;
	int result = shown->shape == SELECTION_CALLEES
			     ? match_down(matching, chain, nr)
			     : match_up(matching, chain, nr, shown->shape == SELECTION_INVERTED);
	free(chain);
	return result;
}

static bool goes_up(uint32_t shape)
{
	return shape == SELECTION_INVERTED || shape == SELECTION_CALLERS;
}

/* ---- one row ---- */

struct sum {
	const struct selection *selection;
	struct selection_node *node;
	uint32_t shape;
};

/* Adds what a match brings to a row; what of it ends there is its own. */
static void add_cost(const struct selection *selection, struct selection_node *node, uint32_t path,
		     const struct selection_amount *matched, bool up)
{
	struct stack_count self = {0};
	if (!up)
		self = selection_path_self(selection, path);
	else if (selection_caller(selection, path) == NO_PATH)
		self = (struct stack_count){matched->samples, matched->weight};
	node->cost.total += matched->samples;
	node->cost.total_weight += matched->weight;
	node->squares += matched->squares;
	node->cost.self += self.samples;
	node->cost.self_weight += self.weight;
	node->has_children = node->has_children || self.samples < matched->samples;
}

static int add_match(void *context, uint32_t path, const struct selection_amount *matched)
{
	struct sum *sum = context;
	add_cost(sum->selection, sum->node, path, matched, goes_up(sum->shape));
	return 0;
}

static struct selection_node empty_node(const struct selection *selection, uint32_t row)
{
	const struct shown_row *shown = &selection->shown.items[row];
	struct selection_node node = {
		.id = shown->id,
		.parent = shown->parent == row ? 0 : selection->shown.items[shown->parent].id,
		.function = function_of_key(shown->key),
		.label = selection_key_label(shown->key),
		.depth = shown->depth,
	};
	if (shown->key == KEY_PROCESS) {
		const struct process *process =
			&selection->processes
				 .items[selection_process_of_path(selection, shown->path)];
		node.pid = process->pid;
		node.comm = selection_process_comm(selection, process);
	}
	return node;
}

static int fill_node(struct selection *selection, uint32_t row, struct selection_node *node)
{
	const struct shown_row *shown = &selection->shown.items[row];
	struct sum sum = {selection, node, shown->shape};
	const struct matching matching = {
		.selection = selection, .each = add_match, .context = &sum};
	*node = empty_node(selection, row);
	if (shown->shape != SELECTION_INVERTED || shown->depth)
		return match(&matching, shown);
	/* Every stack shown ends somewhere. */
	node->cost.total = selection->totals.samples;
	node->cost.total_weight = selection->totals.weight;
	node->squares = selection->totals.squares;
	node->has_children = selection->totals.samples > 0;
	return 0;
}

static int add_amount(void *context, uint32_t path, const struct selection_amount *matched)
{
	(void)path;
	selection_add_amount(context, matched);
	return 0;
}

int selection_node_beside(struct selection *selection, uint64_t id, uint32_t event,
			  struct selection_amount *amount)
{
	const uint32_t row = find_shown(selection, id);
	const struct matching matching = {
		.selection = selection,
		.beside = selection_paths_beside(selection, event),
		.each = add_amount,
		.context = amount,
	};
	*amount = (struct selection_amount){0};
	if (row == UINT32_MAX)
		return -ENOENT;
	if (!matching.beside)
		return -ENOMEM;
	const struct shown_row *shown = &selection->shown.items[row];
	if (shown->shape != SELECTION_INVERTED || shown->depth)
		return match(&matching, shown);
	*amount = selection_total_beside(selection, event);
	return 0;
}

/* The id of a path of the top-down tree: from its functions, root first. 0: out of memory. */
static uint64_t path_id(const struct selection *selection, uint32_t path)
{
	uint32_t depth = selection->paths.items[path].depth;
	uint32_t *way = calloc((size_t)depth + 1, sizeof(*way));
	if (!way)
		return 0;
	for (uint32_t i = depth; path; path = selection->paths.items[path].parent)
		way[--i] = path;
	uint64_t id = selection_root_id(SELECTION_TREE, KEY_ALL);
	for (uint32_t i = 0; i < depth; i++)
		id = selection_path_id(selection, id, way[i]);
	free(way);
	return id;
}

int selection_root(struct selection *selection, enum selection_shape shape,
		   struct function_id function, struct selection_node *root)
{
	struct shown_row shown = {.parent = UINT32_MAX, .shape = shape};
	if (selection_need_paths(selection))
		return -ENOMEM;
	if (shape == SELECTION_TREE) {
		shown.path = selection->root;
		shown.key = selection->paths.items[selection->root].key;
		shown.id = path_id(selection, selection->root);
		if (!shown.id)
			return -ENOMEM;
	} else {
		if (shape != SELECTION_INVERTED) {
			if (function.index >= selection->history->functions.nr)
				return -ENOENT;
			shown.key = key_of_function(function.index);
			if (selection_reserve_key(selection, shown.key))
				return -ENOMEM;
		}
		shown.id = selection_root_id(shape, shown.key);
	}
	uint32_t row = show(selection, &shown);
	return row == UINT32_MAX ? -ENOMEM : fill_node(selection, row, root);
}

int selection_node(struct selection *selection, uint64_t id, struct selection_node *node)
{
	uint32_t row = find_shown(selection, id);
	return row == UINT32_MAX ? -ENOENT : fill_node(selection, row, node);
}

/* ---- children ---- */

struct children {
	struct selection *selection;
	uint32_t parent, shape;
	struct selection_nodes *nodes;
	uint64_t least; /* those of less weight may be left out */
	size_t first;	/* node; they are appended */
	/* Node of a key, less first, plus 1; 0: none yet. NULL: each path is a row of its own. */
	uint32_t *of_key;
};

static int add_row(struct children *children, uint32_t path)
{
	struct selection *selection = children->selection;
	struct selection_nodes *nodes = children->nodes;
	const struct shown_row *parent = &selection->shown.items[children->parent];
	const struct shown_row shown = {
		.id = selection_path_id(selection, parent->id, path),
		.parent = children->parent,
		.key = selection->paths.items[path].key,
		.path = children->shape == SELECTION_TREE ? path : 0,
		.depth = parent->depth + 1,
		.shape = children->shape,
	};
	uint32_t row = show(selection, &shown);
	if (row == UINT32_MAX || vec_reserve(nodes, nodes->nr + 1))
		return -ENOMEM;
	nodes->items[nodes->nr++] = empty_node(selection, row);
	return 0;
}

static int add_child(struct children *children, uint32_t path,
		     const struct selection_amount *matched)
{
	struct selection *selection = children->selection;
	uint32_t key = selection->paths.items[path].key;
	struct selection_nodes *nodes = children->nodes;
	uint32_t row = children->of_key ? children->of_key[key] : 0;
	if (!row) {
		int result = add_row(children, path);
		if (result)
			return result;
		row = (uint32_t)(nodes->nr - children->first);
	}
	if (children->of_key)
		children->of_key[key] = row;
	add_cost(selection, &nodes->items[children->first + row - 1], path, matched,
		 goes_up(children->shape));
	return 0;
}

static int add_children_below(void *context, uint32_t path, const struct selection_amount *matched)
{
	struct children *children = context;
	const struct selection *selection = children->selection;
	const struct matching own = {.selection = selection};
	int result = 0;
	(void)matched;
	for (uint32_t child = selection->paths.items[path].first_child; child && !result;
	     child = selection->paths.items[child].next_sibling) {
		if (!selection->paths.items[child].total)
			continue;
		const struct selection_amount below = all_of(&own, child);
		if (children->of_key || below.weight >= children->least)
			result = add_child(children, child, &below);
	}
	return result;
}

static int add_caller(void *context, uint32_t path, const struct selection_amount *matched)
{
	struct children *children = context;
	uint32_t caller = selection_caller(children->selection, path);
	return caller == NO_PATH ? 0 : add_child(children, caller, matched);
}

/* The ends of all stacks, those left out whose functions have too little in all: the rows below the inverted tree's root. */
static int add_leaves(struct children *children)
{
	const struct selection *selection = children->selection;
	int result = 0;
	for (size_t i = 0; !result && i < selection->stacks.nr; i++) {
		const struct stack_state *state = &selection->stacks.items[i];
		const struct stack_count *count = &selection->counts.items[i];
		if (!state->passes || !count->samples ||
		    selection->keys.items[state->key].cost.self_weight < children->least)
			continue;
		const struct selection_amount matched = {count->samples, count->weight,
							 selection_stack_squares(selection, i)};
		result = add_child(children, state->path, &matched);
	}
	return result;
}

struct sorting {
	const struct selection *selection;
	enum selection_order order;
};

static uint32_t key_of_node(const struct selection_node *node)
{
	if (!node->label)
		return key_of_function(node->function.index);
	for (uint32_t key = 0; key < NR_LABELS; key++)
		if (selection_key_label(key) == node->label)
			return key;
	return KEY_ALL;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct selection_node *left = a, *right = b;
	const struct sorting *sorting = context;
	const struct selection_cost *one = &left->cost, *two = &right->cost;
	if (sorting->order == SELECTION_BY_SELF && one->self_weight != two->self_weight)
		return one->self_weight < two->self_weight ? 1 : -1;
	if (sorting->order == SELECTION_BY_MODULE) {
		const struct history *history = sorting->selection->history;
		int order = strcmp(history_function_module(history, left->function),
				   history_function_module(history, right->function));
		if (order)
			return order;
	}
	if (sorting->order != SELECTION_BY_NAME && one->total_weight != two->total_weight)
		return one->total_weight < two->total_weight ? 1 : -1;
	if (left->comm && right->comm) {
		int order = strcmp(left->comm, right->comm);
		return order ? order : (left->pid > right->pid) - (left->pid < right->pid);
	}
	return selection_compare_keys(sorting->selection, key_of_node(left), key_of_node(right));
}

int selection_children_from(struct selection *selection, uint64_t id, enum selection_order order,
			    uint64_t least, struct selection_nodes *nodes)
{
	uint32_t row = find_shown(selection, id);
	if (row == UINT32_MAX)
		return -ENOENT;
	const struct shown_row shown = selection->shown.items[row];
	struct children children = {
		.selection = selection,
		.parent = row,
		.shape = shown.shape,
		.nodes = nodes,
		.least = least,
		.first = nodes->nr,
	};
	const struct matching matching = {
		.selection = selection,
		.each = goes_up(shown.shape) ? add_caller : add_children_below,
		.context = &children,
	};
	if (shown.shape != SELECTION_TREE &&
	    !(children.of_key = calloc(selection->keys.nr, sizeof(uint32_t))))
		return -ENOMEM;
	int result;
	if (shown.shape == SELECTION_INVERTED && shown.depth == 0)
		result = add_leaves(&children);
	else
		result = match(&matching, &shown);
	free(children.of_key);
	/* What was added up by functions is known only now. */
	size_t nr = children.first;
	for (size_t i = children.first; i < nodes->nr; i++)
		if (nodes->items[i].cost.total_weight >= least)
			nodes->items[nr++] = nodes->items[i];
	nodes->nr = nr;
	struct sorting sorting = {selection, order};
	if (!result && nodes->nr - children.first > 1)
		qsort_r(nodes->items + children.first, nodes->nr - children.first,
			sizeof(*nodes->items), compare, &sorting);
	return result;
}

int selection_children(struct selection *selection, uint64_t id, enum selection_order order,
		       struct selection_nodes *nodes)
{
	return selection_children_from(selection, id, order, 0, nodes);
}
