/* SPDX-License-Identifier: MIT */
/* A tree of calls that opens and closes: from the root down, or from where time is spent up. */
#include <ctop/ui/theme.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "folds.h"
#include "view.h"

struct row {
	uint64_t id; /* of the path from the root */
	uint32_t node;
	uint32_t nr_children; /* that are not hidden */
	bool open;
};

struct tree_view {
	struct view view;
	const struct tree_node *nodes; /* the model's */
	size_t nr_nodes;
	struct {
		struct row *items;
		size_t nr, capacity;
	} rows;
	struct folds folds;
};

enum { NUMBERS_COLS = 16, INDENT_COLS = 2, NAME_COLS_LEAST = 16 };

static struct tree_view *tree_of(struct view *view)
{
	return (struct tree_view *)view;
}

/* ---- rows ---- */

static uint64_t label_hash(const char *label)
{
	uint64_t hash = 1;
	for (; *label; label++)
		hash = hash_u64(hash ^ (unsigned char)*label);
	return hash;
}

static uint64_t path_id(uint64_t parent, const struct tree_node *node)
{
	return hash_u64(parent ^
			(node->label ? label_hash(node->label)
				     : hash_u64(UINT64_C(1) << 32 | node->function.index)));
}

static bool hidden(const struct model *model, const struct tree_node *node)
{
	return model_percent(model, node->total) < model->least_percent;
}

static uint32_t count_children(const struct tree_view *tree, const struct model *model,
			       uint32_t node)
{
	uint32_t nr = 0;
	for (uint32_t child = tree->nodes[node].first_child; child;
	     child = tree->nodes[child].next_sibling)
		nr += !hidden(model, &tree->nodes[child]);
	return nr;
}

static int add_row(struct tree_view *tree, struct model *model, uint32_t node, uint64_t id)
{
	if (vec_reserve(&tree->rows, tree->rows.nr + 1))
		return -ENOMEM;
	struct row row = {.id = id, .node = node};
	row.nr_children = count_children(tree, model, node);
	row.open = row.nr_children &&
		   folds_open(&tree->folds, id, model_percent(model, tree->nodes[node].total));
	tree->rows.items[tree->rows.nr++] = row;
	return 0;
}

/* Path ids of the open rows above the one in hand, by depth. */
struct path {
	uint64_t *items;
	size_t nr, capacity;
};

/* Depth first without recursion: stacks are a thousand frames deep. */
static int add_rows(struct tree_view *tree, struct model *model, struct path *path)
{
	const struct tree_node *nodes = tree->nodes;
	uint32_t at = tree->nr_nodes ? nodes[0].first_child : 0;
	while (at) {
		bool descend = false;
		if (!hidden(model, &nodes[at])) {
			uint32_t depth = nodes[at].depth;
			if (vec_reserve(path, depth + 1))
				return -ENOMEM;
			path->items[0] = 0;
			path->items[depth] = path_id(path->items[depth - 1], &nodes[at]);
			if (add_row(tree, model, at, path->items[depth]))
				return -ENOMEM;
			descend = tree->rows.items[tree->rows.nr - 1].open;
		}
		uint32_t next = descend ? nodes[at].first_child : 0;
		while (at && !next) {
			next = nodes[at].next_sibling;
			if (!next)
				at = nodes[at].parent;
		}
		at = next;
	}
	return 0;
}

static int refresh(struct view *view, struct model *model)
{
	struct tree_view *tree = tree_of(view);
	struct path path = {0};
	int result = model_tree(model);
	if (result)
		return result;
	tree->nodes = model->tree;
	tree->nr_nodes = model->nr_tree;
	tree->rows.nr = 0;
	result = add_rows(tree, model, &path);
	free(path.items);
	view->nr_rows = tree->rows.nr;
	return result;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return ((const struct tree_view *)view)->rows.items[row].id;
}

static const struct tree_node *node_at(const struct view *view, size_t row)
{
	const struct tree_view *tree = (const struct tree_view *)view;
	return &tree->nodes[tree->rows.items[row].node];
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	*function = node_at(view, row)->function;
	return !node_at(view, row)->label;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	const struct tree_node *node = node_at(view, row);
	return node->label ? node->label : model_full_name(model, node->function);
}

/* ---- drawing ---- */

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	(void)view;
	(void)model;
	cells_put(cells, line.row, line.col, line.cols, ROLE_TITLE, " TOTAL%  SELF%  CALL TREE");
}

/* The indent of a row; deeper than half the line, the depth stands there as a number. */
static int draw_indent(struct cells *cells, struct area line, uint32_t depth)
{
	int most = (line.cols - NUMBERS_COLS - NAME_COLS_LEAST) / 2;
	int indent = (int)(depth - 1) * INDENT_COLS;
	if (indent <= (most > 0 ? most : 0))
		return indent;
	char number[24];
	snprintf(number, sizeof(number), "%u:", depth);
	int col = most > (int)strlen(number) ? most - (int)strlen(number) : 0;
	return col + cells_put(cells, line.row, line.col + NUMBERS_COLS + col, line.cols, ROLE_DIM,
			       number);
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t number,
		     struct area line)
{
	const struct row *row = &tree_of(view)->rows.items[number];
	const struct tree_node *node = node_at(view, number);
	double total = model_percent(model, node->total), self = model_percent(model, node->self);
	bool few = node->total < FEW_SAMPLES;
	enum role role = few ? ROLE_DIM : ROLE_TEXT;
	if (number == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	cells_putf(cells, line.row, line.col + 1, 6, role, "%6.1f", total);
	cells_putf(cells, line.row, line.col + 8, 6, few ? ROLE_DIM : model_percent_role(self),
		   "%6.1f", self);
	int col = line.col + NUMBERS_COLS + draw_indent(cells, line, node->depth);
	int end = line.col + line.cols;
	const char *mark = !row->nr_children ? model->glyphs->leaf
			   : row->open	     ? model->glyphs->open
					     : model->glyphs->closed;
	col += cells_put(cells, line.row, col, end - col, ROLE_KEY, mark) + 1;
	bool kernel = !node->label && history_function_kernel(model->history, node->function);
	const char *name = node->label ? node->label : model_name(model, node->function);
	char more[24] = "";
	if (row->nr_children && !row->open)
		snprintf(more, sizeof(more), " (+%u)", row->nr_children);
	int room = end - col - (int)strlen(more);
	view_put_name(model, cells, line.row, col, room, kernel ? ROLE_KERNEL : role, name);
	col += (int)text_cols(name) < room ? (int)text_cols(name) : room;
	cells_put(cells, line.row, col, end - col, ROLE_DIM, more);
}

/* ---- opening and closing ---- */

/* Opens a row, and what follows as long as there is only one way to go. */
static void open_row(struct tree_view *tree, const struct model *model, const struct row *row)
{
	uint32_t node = row->node;
	uint64_t id = row->id;
	folds_set(&tree->folds, id, true);
	while (count_children(tree, model, node) == 1) {
		node = tree->nodes[node].first_child;
		id = path_id(id, &tree->nodes[node]);
		folds_set(&tree->folds, id, true);
	}
}

/* Opens everything below a node. Out of memory: as far as it went. */
static void open_subtree(struct tree_view *tree, uint32_t top, uint64_t top_id)
{
	const struct tree_node *nodes = tree->nodes;
	struct path path = {0};
	uint32_t at = top, depth = nodes[top].depth;
	if (vec_reserve(&path, depth + 1))
		return;
	path.items[depth] = top_id;
	while (at) {
		depth = nodes[at].depth;
		if (at != top && vec_reserve(&path, depth + 1))
			break;
		if (at != top)
			path.items[depth] = path_id(path.items[depth - 1], &nodes[at]);
		uint32_t next = nodes[at].first_child;
		if (next)
			folds_set(&tree->folds, path.items[depth], true);
		while (at != top && !next) {
			next = nodes[at].next_sibling;
			if (!next)
				at = nodes[at].parent;
		}
		at = next;
	}
	free(path.items);
}

/* Follows the child with the most samples until one keeps more for itself than it passes on. */
static void open_hot_path(struct tree_view *tree, const struct model *model, struct row row)
{
	uint32_t at = row.node;
	uint64_t id = row.id;
	for (;;) {
		const struct tree_node *node = &tree->nodes[at];
		if (!node->first_child || hidden(model, &tree->nodes[node->first_child]) ||
		    node->self > tree->nodes[node->first_child].total)
			break;
		folds_set(&tree->folds, id, true);
		at = node->first_child;
		id = path_id(id, &tree->nodes[at]);
	}
	tree->view.selected_id = id;
	tree->view.chosen = true;
}

static void select_parent(struct view *view)
{
	uint32_t depth = node_at(view, view->selected)->depth;
	size_t row = view->selected;
	while (row > 0 && node_at(view, row)->depth >= depth)
		row--;
	if (node_at(view, row)->depth < depth)
		view_select(view, row);
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct tree_view *tree = tree_of(view);
	if (view->selected >= tree->rows.nr)
		return false;
	struct row row = tree->rows.items[view->selected];
	switch ((int)action) {
	case ACTION_OPEN:
		if (row.open)
			view_select(view, view->selected + 1);
		else if (row.nr_children)
			open_row(tree, model, &row);
		break;
	case ACTION_CLOSE:
		if (row.open)
			folds_set(&tree->folds, row.id, false);
		else
			select_parent(view);
		break;
	case ACTION_OPEN_SUBTREE:
		open_subtree(tree, row.node, row.id);
		break;
	case ACTION_OPEN_ALL:
		folds_set_all(&tree->folds, FOLDS_OPEN);
		break;
	case ACTION_CLOSE_ALL:
		folds_set_all(&tree->folds, FOLDS_CLOSED);
		break;
	case ACTION_HOT_PATH:
		open_hot_path(tree, model, row);
		break;
	default:
		return false;
	}
	view->stale = true;
	return true;
}

static void tree_free(struct view *view)
{
	free(tree_of(view)->rows.items);
	folds_release(&tree_of(view)->folds);
	free(view);
}

struct view *tree_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_TREE,
		.refresh = refresh,
		.id_at = id_at,
		.draw_title = draw_title,
		.draw_row = draw_row,
		.text_at = text_at,
		.function_at = function_at,
		.act = act,
		.free = tree_free,
	};
	struct tree_view *tree = calloc(1, sizeof(*tree));
	if (!tree)
		return NULL;
	tree->view.ops = &ops;
	tree->view.stale = true;
	return &tree->view;
}
