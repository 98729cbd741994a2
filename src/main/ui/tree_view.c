/* SPDX-License-Identifier: MIT */
/*
 * Trees of calls that open and close: from the root down, from where time is spent up, or one
 * function between its callers and its callees.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/ui/theme.h>

#include "folds.h"
#include "view.h"

struct row {
	struct selection_node node;
	const char *title; /* of a section, instead of a node; NULL */
	uint32_t depth;	   /* as shown */
	bool open;
	bool is_inverted; /* callers below: what is its own is told by the total */
};

struct section {
	enum selection_shape shape;
	const char *title; /* NULL: none */
};

enum { SECTIONS_MOST = 2, ROWS_MOST = 100000 };

struct tree_view {
	struct view view;
	const char *title;
	struct section sections[SECTIONS_MOST];
	size_t nr_sections;
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

static const struct row *row_at(const struct view *view, size_t row)
{
	return &((const struct tree_view *)view)->rows.items[row];
}

/* ---- rows ---- */

static int add_row(struct tree_view *tree, struct row row)
{
	if (vec_reserve(&tree->rows, tree->rows.nr + 1))
		return -ENOMEM;
	tree->rows.items[tree->rows.nr++] = row;
	return 0;
}

/* Nodes whose rows are still to come, the next one last. */
struct pending {
	struct selection_nodes nodes;  /* children of open rows, as they were given */
	struct selection_nodes queued; /* a stack of them */
};

/* Queues the children of a node so that the first comes off first. */
static int queue_children(struct model *model, struct pending *pending, uint64_t id)
{
	pending->nodes.nr = 0;
	int result = selection_children(model->selection, id, SELECTION_BY_TOTAL, &pending->nodes);
	if (result == -ENOENT)
		return 0;
	struct selection_nodes *queued = &pending->queued;
	if (!result)
		result = vec_reserve(queued, queued->nr + pending->nodes.nr);
	for (size_t i = pending->nodes.nr; !result && i-- > 0;)
		if (!model_hides(model, pending->nodes.items[i].cost.total_weight))
			queued->items[queued->nr++] = pending->nodes.items[i];
	return result;
}

/* Depth first without recursion: stacks are a thousand frames deep. */
static int add_rows(struct tree_view *tree, struct model *model, struct pending *pending,
		    const struct section *section, uint64_t root)
{
	bool is_inverted =
		section->shape == SELECTION_INVERTED || section->shape == SELECTION_CALLERS;
	int result = queue_children(model, pending, root);
	while (!result && pending->queued.nr && tree->rows.nr < ROWS_MOST) {
		struct selection_node node = pending->queued.items[--pending->queued.nr];
		bool open = node.has_children &&
			    folds_open(&tree->folds, node.id,
				       model_percent(model, node.cost.total_weight));
		result = add_row(tree, (struct row){node, NULL, node.depth, open, is_inverted});
		if (!result && open)
			result = queue_children(model, pending, node.id);
	}
	pending->queued.nr = 0;
	return result;
}

static int add_section(struct tree_view *tree, struct model *model, struct pending *pending,
		       const struct section *section)
{
	struct selection_node root;
	int result = selection_root(model->selection, section->shape, model->centre, &root);
	if (!result && section->title) {
		struct row row = {.node = root,
				  .title = section->title,
				  .is_inverted = section->shape == SELECTION_CALLERS};
		result = add_row(tree, row);
	}
	return result ? result : add_rows(tree, model, pending, section, root.id);
}

static int refresh(struct view *view, struct model *model)
{
	struct tree_view *tree = tree_of(view);
	struct pending pending = {0};
	int result = 0;
	/* Sections with titles are about a function. */
	size_t nr = tree->sections[0].title && !model->has_centre ? 0 : tree->nr_sections;
	tree->rows.nr = 0;
	for (size_t i = 0; !result && i < nr; i++)
		result = add_section(tree, model, &pending, &tree->sections[i]);
	free(pending.nodes.items);
	free(pending.queued.items);
	view->nr_rows = tree->rows.nr;
	return result;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return row_at(view, row)->node.id;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	*function = row_at(view, row)->node.function;
	return !row_at(view, row)->node.label;
}

static uint64_t subtree_at(const struct view *view, size_t row)
{
	return row_at(view, row)->node.id;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	const struct selection_node *node = &row_at(view, row)->node;
	return model_node_full_name(model, node);
}

static const char *process_at(const struct view *view, size_t row, int32_t *pid)
{
	const struct selection_node *node = &row_at(view, row)->node;
	*pid = node->pid;
	return node->comm;
}

/* ---- drawing ---- */

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	const struct tree_view *tree = tree_of(view);
	bool by_process = model->by_process && tree->sections[0].shape == SELECTION_TREE;
	cells_putf(cells, line.row, line.col, line.cols, ROLE_TITLE, " TOTAL%%  SELF%%  %s%s",
		   tree->title, by_process ? ", by process" : "");
}

/* The indent of a row; deeper than half the line, the depth stands there as a number. */
static int draw_indent(struct cells *cells, struct area line, uint32_t depth)
{
	int most = (line.cols - NUMBERS_COLS - NAME_COLS_LEAST) / 2;
	int indent = depth > 1 ? (int)(depth - 1) * INDENT_COLS : 0;
	if (indent <= (most > 0 ? most : 0))
		return indent;
	char number[24];
	snprintf(number, sizeof(number), "%u:", depth);
	int size = (int)strlen(number), col = most > size ? most - size : 0;
	return col + cells_put(cells, line.row, line.col + NUMBERS_COLS + col, line.cols, ROLE_DIM,
			       number);
}

static void draw_section(struct model *model, struct cells *cells, const struct row *row,
			 struct area line)
{
	int col = line.col + NUMBERS_COLS;
	cells_putf(cells, line.row, line.col + 1, 6, ROLE_TITLE, "%6.1f",
		   model_percent(model, row->node.cost.total_weight));
	if (!row->is_inverted)
		cells_putf(cells, line.row, line.col + 8, 6, ROLE_TITLE, "%6.1f",
			   model_percent(model, row->node.cost.self_weight));
	col += cells_put(cells, line.row, col, line.cols, ROLE_TITLE, row->title) + 1;
	cells_put_cut(cells, line.row, col, line.col + line.cols - col, ROLE_TITLE,
		      model_node_name(model, &row->node));
	cells_mark(cells, line, CELL_BOLD);
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t number,
		     struct area line)
{
	const struct row *row = row_at(view, number);
	const struct selection_node *node = &row->node;
	double self = model_percent(model, node->cost.self_weight);
	bool few = history_effective(node->cost.total_weight, node->squares) < FEW_SAMPLES;
	enum role role = few ? ROLE_DIM : ROLE_TEXT;
	if (number == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	if (row->title) {
		draw_section(model, cells, row, line);
		return;
	}
	cells_putf(cells, line.row, line.col + 1, 6, role, "%6.1f",
		   model_percent(model, node->cost.total_weight));
	if (!row->is_inverted)
		cells_putf(cells, line.row, line.col + 8, 6,
			   few ? ROLE_DIM : model_percent_role(self), "%6.1f", self);
	int col = line.col + NUMBERS_COLS + draw_indent(cells, line, row->depth);
	int end = line.col + line.cols;
	const char *mark = !node->has_children ? model->glyphs->leaf
			   : row->open	       ? model->glyphs->open
					       : model->glyphs->closed;
	col += cells_put(cells, line.row, col, end - col, ROLE_KEY, mark) + 1;
	if (node->comm && !few)
		role = ROLE_LABEL;
	else if (model_node_is_kernel(model, node))
		role = ROLE_KERNEL;
	view_put_name(model, cells, line.row, col, end - col, role, model_node_name(model, node));
}

/* ---- opening and closing ---- */

/* Opens a row, and what follows as long as there is only one way to go. */
static void open_row(struct tree_view *tree, struct model *model, uint64_t id)
{
	struct selection_nodes children = {0};
	int result;
	do {
		result = folds_set(&tree->folds, id, true);
		children.nr = 0;
		if (!result)
			result = selection_children(model->selection, id, SELECTION_BY_TOTAL,
						    &children);
		id = children.nr ? children.items[0].id : 0;
	} while (children.nr == 1 && children.items[0].has_children);
	free(children.items);
	model_failed(model, result);
}

/* Opens all that is below a row and not hidden. */
static void open_subtree(struct tree_view *tree, struct model *model, uint64_t id)
{
	struct pending pending = {0};
	size_t nr = 0;
	int result = folds_set(&tree->folds, id, true);
	if (!result)
		result = queue_children(model, &pending, id);
	while (!result && pending.queued.nr && nr++ < ROWS_MOST) {
		struct selection_node node = pending.queued.items[--pending.queued.nr];
		if (!node.has_children)
			continue;
		result = folds_set(&tree->folds, node.id, true);
		if (!result)
			result = queue_children(model, &pending, node.id);
	}
	model_failed(model, result);
	free(pending.nodes.items);
	free(pending.queued.items);
}

/* Follows the child of the most weight until a row keeps more for itself than it passes on. */
static void open_hot_path(struct tree_view *tree, struct model *model, struct selection_node node)
{
	struct selection_nodes children = {0};
	int result = 0;
	while (!result && node.has_children) {
		children.nr = 0;
		result = selection_children(model->selection, node.id, SELECTION_BY_TOTAL,
					    &children);
		if (result || !children.nr ||
		    model_hides(model, children.items[0].cost.total_weight) ||
		    node.cost.self_weight > children.items[0].cost.total_weight)
			break;
		result = folds_set(&tree->folds, node.id, true);
		node = children.items[0];
	}
	free(children.items);
	model_failed(model, result);
	tree->view.selected_id = node.id;
	tree->view.chosen = true;
}

static void select_parent(struct view *view)
{
	uint32_t depth = row_at(view, view->selected)->depth;
	size_t row = view->selected;
	while (row > 0 && row_at(view, row)->depth >= depth)
		row--;
	if (row_at(view, row)->depth < depth)
		view_select(view, row);
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct tree_view *tree = tree_of(view);
	if (view->selected >= tree->rows.nr)
		return false;
	struct row row = *row_at(view, view->selected);
	switch ((int)action) {
	case ACTION_OPEN:
		if (row.open || row.title)
			view_select(view, view->selected + 1);
		else if (row.node.has_children)
			open_row(tree, model, row.node.id);
		break;
	case ACTION_CLOSE:
		if (row.open)
			model_failed(model, folds_set(&tree->folds, row.node.id, false));
		else
			select_parent(view);
		break;
	case ACTION_OPEN_SUBTREE:
		open_subtree(tree, model, row.node.id);
		break;
	case ACTION_OPEN_ALL:
		folds_set_all(&tree->folds, FOLDS_OPEN);
		break;
	case ACTION_CLOSE_ALL:
		folds_set_all(&tree->folds, FOLDS_CLOSED);
		break;
	case ACTION_HOT_PATH:
		open_hot_path(tree, model, row.node);
		break;
	default:
		return false;
	}
	view->stale = true;
	return true;
}

/* ---- the three of them ---- */

static void tree_free(struct view *view)
{
	free(tree_of(view)->rows.items);
	folds_release(&tree_of(view)->folds);
	free(view);
}

#define TREE_OPS                                                                                   \
	.refresh = refresh, .id_at = id_at, .draw_title = draw_title, .draw_row = draw_row,        \
	.text_at = text_at, .function_at = function_at, .act = act, .free = tree_free

static struct view *new_tree(const struct view_ops *ops, const char *title)
{
	struct tree_view *tree = calloc(1, sizeof(*tree));
	if (!tree)
		return NULL;
	tree->view.ops = ops;
	tree->view.stale = true;
	tree->title = title;
	return &tree->view;
}

static void add_shape(struct view *view, enum selection_shape shape, const char *title)
{
	struct tree_view *tree = view ? tree_of(view) : NULL;
	if (tree)
		tree->sections[tree->nr_sections++] = (struct section){shape, title};
}

struct view *tree_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_TREE, .subtree_at = subtree_at, .process_at = process_at, TREE_OPS};
	struct view *view = new_tree(&ops, "CALL TREE");
	add_shape(view, SELECTION_TREE, NULL);
	return view;
}

struct view *callers_view_new(void)
{
	static const struct view_ops ops = {.kind = VIEW_CALLERS, TREE_OPS};
	struct view *view = new_tree(&ops, "CALLERS, from where time is spent");
	add_shape(view, SELECTION_INVERTED, NULL);
	return view;
}

struct view *sandwich_view_new(void)
{
	static const struct view_ops ops = {.kind = VIEW_SANDWICH, TREE_OPS};
	struct view *view = new_tree(&ops, "SANDWICH");
	add_shape(view, SELECTION_CALLERS, "CALLERS of");
	add_shape(view, SELECTION_CALLEES, "CALLEES of");
	return view;
}
