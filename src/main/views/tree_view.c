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
#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>
#include <ctop/views/views.h>

#include "chain.h"
#include "event_cells.h"
#include "folds.h"

struct row {
	struct selection_node node; /* of a chain the first */
	struct selection_node last; /* of a chain; else the same */
	size_t nr;		    /* nodes that it stands for */
	bool is_parted;		    /* a chain begins here, and is shown row by row */
	const char *title;	    /* of a section, instead of a node; NULL */
	uint32_t depth;		    /* as shown */
	bool open;
	bool is_inverted; /* callers below: its own share shows in the total */
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
	struct folds parted;	   /* chains, by their first nodes */
	struct event_cells events; /* of what is on the screen */
	size_t first;		   /* row of it */
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
	struct selection_nodes chain;  /* of the row that is made */
};

static void release_pending(struct pending *pending)
{
	free(pending->nodes.items);
	free(pending->queued.items);
	free(pending->chain.items);
}

/* The children of a node that are shown. */
static int find_children(struct model *model, struct pending *pending, uint64_t id)
{
	struct selection_nodes *nodes = &pending->nodes;
	nodes->nr = 0;
	int result = selection_children_from(model->selection, id, SELECTION_BY_TOTAL,
					     model_least_weight(model), nodes);
	size_t nr = 0;
	for (size_t i = 0; i < nodes->nr; i++)
		if (!model_hides(model, nodes->items[i].cost.total_weight))
			nodes->items[nr++] = nodes->items[i];
	nodes->nr = nr;
	return result == -ENOENT ? 0 : result;
}

/* Queues the children that were found so that the first comes off first. */
static int queue_found(struct pending *pending, uint32_t depth)
{
	const struct selection_nodes *nodes = &pending->nodes;
	struct selection_nodes *queued = &pending->queued;
	int result = vec_reserve(queued, queued->nr + nodes->nr);
	for (size_t i = nodes->nr; !result && i-- > 0;) {
		queued->items[queued->nr] = nodes->items[i];
		queued->items[queued->nr++].depth = depth;
	}
	return result;
}

static int queue_children(struct model *model, struct pending *pending, uint64_t id, uint32_t depth)
{
	int result = find_children(model, pending, id);
	return result ? result : queue_found(pending, depth);
}

static bool is_open(struct tree_view *tree, const struct model *model,
		    const struct selection_node *node)
{
	return node->has_children &&
	       folds_open(&tree->folds, node->id, model_percent(model, node->cost.total_weight));
}

static bool begins_chain(const struct section *section, const struct selection_node *node)
{
	/* The function that everything here is about stands alone. */
	return section->shape != SELECTION_INVERTED || node->depth > 1;
}

/* The way from a node as long as it is open and does not branch; *open: the last one is, and its children were found. */
static int follow_chain(struct tree_view *tree, struct model *model, struct pending *pending,
			const struct section *section, struct selection_node node, bool *open)
{
	struct selection_nodes *chain = &pending->chain;
	const bool may_go_on = begins_chain(section, &node);
	int result = 0;
	for (chain->nr = 0;;) {
		result = vec_reserve(chain, chain->nr + 1);
		if (result)
			return result;
		chain->items[chain->nr++] = node;
		*open = is_open(tree, model, &node);
		result = *open ? find_children(model, pending, node.id) : 0;
		if (result || !*open || pending->nodes.nr != 1 || !may_go_on ||
		    !selection_chain_goes_on(model->selection, &chain->items[0],
					     &pending->nodes.items[0]))
			return result;
		node = pending->nodes.items[0];
	}
}

/* One row; what is selected of its nodes is the row. */
static int add_as_one(struct tree_view *tree, const struct selection_nodes *chain, struct row row)
{
	for (size_t i = 1; i < chain->nr; i++)
		if (tree->view.selected_id == chain->items[i].id)
			tree->view.selected_id = chain->items[0].id;
	row.node = chain->items[0];
	row.last = chain->items[chain->nr - 1];
	row.nr = chain->nr;
	return add_row(tree, row);
}

static int add_one_by_one(struct tree_view *tree, const struct selection_nodes *chain,
			  struct row row)
{
	int result = 0;
	for (size_t i = 0; i < chain->nr && !result; i++) {
		struct row one = row;
		one.node = one.last = chain->items[i];
		one.nr = 1;
		one.depth += (uint32_t)i;
		one.open = row.open || i + 1 < chain->nr;
		one.is_parted = row.is_parted && i == 0;
		result = add_row(tree, one);
	}
	return result;
}

/* Depth first without recursion: stacks are a thousand frames deep. */
static int add_rows(struct tree_view *tree, struct model *model, struct pending *pending,
		    const struct section *section, uint64_t root)
{
	struct row row = {.is_inverted = section->shape == SELECTION_INVERTED ||
					 section->shape == SELECTION_CALLERS};
	const struct selection_nodes *chain = &pending->chain;
	int result = queue_children(model, pending, root, 1);
	while (!result && pending->queued.nr && tree->rows.nr < ROWS_MOST) {
		const struct selection_node node = pending->queued.items[--pending->queued.nr];
		row.depth = node.depth;
		result = follow_chain(tree, model, pending, section, node, &row.open);
		if (result)
			break;
		row.is_parted =
			chain->nr >= SELECTION_CHAIN_LEAST && folds_open(&tree->parted, node.id, 0);
		bool as_one = chain->nr >= SELECTION_CHAIN_LEAST && !row.is_parted;
		result = as_one ? add_as_one(tree, chain, row) : add_one_by_one(tree, chain, row);
		if (!result && row.open)
			result = queue_found(pending,
					     row.depth + (as_one ? 1 : (uint32_t)chain->nr));
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
				  .last = root,
				  .nr = 1,
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
	release_pending(&pending);
	view->nr_rows = tree->rows.nr;
	event_cells_begin(&tree->events, model);
	return result;
}

/* There may be very many rows. */
static void prepare(struct view *view, struct model *model, size_t first, size_t nr)
{
	struct tree_view *tree = tree_of(view);
	int result = 0;
	tree->first = first;
	event_columns_clear_rows(&tree->events.of);
	for (size_t i = first; !result && i < first + nr; i++)
		result = event_columns_add_node(&tree->events.of, model->selection,
						&tree->rows.items[i].node);
	if (result) /* not the rows: columns are shown as long as there is memory for them */
		event_columns_release(&tree->events.of);
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return row_at(view, row)->node.id;
}

/* Of a chain where it goes on, away from the root; upside down that is the first. */
static const struct selection_node *main_node(const struct row *row)
{
	return row->is_inverted ? &row->node : &row->last;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	const struct selection_node *node = main_node(row_at(view, row));
	*function = node->function;
	return !node->label;
}

static uint64_t subtree_at(const struct view *view, size_t row)
{
	return row_at(view, row)->node.id;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	const struct row *shown = row_at(view, row);
	return shown->nr > 1 ? chain_full_name(model, &shown->node, shown->nr)
			     : model_node_full_name(model, &shown->node);
}

static const char *process_at(const struct view *view, size_t row, int32_t *pid)
{
	const struct selection_node *node = &row_at(view, row)->node;
	*pid = node->pid;
	return node->comm;
}

/* ---- drawing ---- */

/* Of paths from the root: upside down they are other ones. */
static bool shows_changes(const struct tree_view *tree, const struct model *model)
{
	return changes_known(model) && tree->sections[0].shape == SELECTION_TREE;
}

static int numbers_cols(const struct tree_view *tree, const struct model *model)
{
	return NUMBERS_COLS + (shows_changes(tree, model) ? CHANGE_COLS : 0) + tree->events.cols;
}

static void draw_title(struct view *view, struct model *model, struct cells *cells,
		       struct area line)
{
	struct tree_view *tree = tree_of(view);
	bool by_process = model->by_process && tree->sections[0].shape == SELECTION_TREE;
	event_cells_fit(&tree->events, model, line.cols - NUMBERS_COLS);
	const int numbers = numbers_cols(tree, model);
	cells_putf(cells, line.row, line.col, line.cols, ROLE_TITLE, " TOTAL%%  SELF%%  %s",
		   shows_changes(tree, model) ? " CHANGE  " : "");
	event_cells_draw_title(&tree->events, model, cells, line.row, line.col + NUMBERS_COLS);
	cells_putf(cells, line.row, line.col + numbers, line.cols - numbers, ROLE_TITLE, "%s%s",
		   tree->title, by_process ? ", by process" : "");
}

/* The indent of a row; deeper than half the line, the depth stands there as a number. */
static int draw_indent(struct cells *cells, struct area line, int numbers, uint32_t depth)
{
	int most = (line.cols - numbers - NAME_COLS_LEAST) / 2;
	int indent = depth > 1 ? (int)(depth - 1) * INDENT_COLS : 0;
	if (indent <= (most > 0 ? most : 0))
		return indent;
	char number[24];
	snprintf(number, sizeof(number), "%u:", depth);
	int size = (int)strlen(number), col = most > size ? most - size : 0;
	return col +
	       cells_put(cells, line.row, line.col + numbers + col, line.cols, ROLE_DIM, number);
}

static void draw_section(struct model *model, struct cells *cells, const struct row *row,
			 struct area line, int numbers)
{
	int col = line.col + numbers;
	cells_putf(cells, line.row, line.col + 1, 6, ROLE_TITLE, "%6.1f",
		   model_percent(model, row->node.cost.total_weight));
	if (!row->is_inverted)
		cells_putf(cells, line.row, line.col + 8, 6, ROLE_TITLE, "%6.1f",
			   model_percent(model, row->node.cost.self_weight));
	col += cells_put(cells, line.row, col, line.cols, ROLE_TITLE, row->title) + 1;
	cells_put_cut(cells, line.row, col, line.col + line.cols - col, ROLE_TITLE,
		      model_fit_node_name(model, &row->node, line.col + line.cols - col));
	cells_mark(cells, line, CELL_BOLD);
}

/* Of a chain that of all its nodes. */
static uint64_t row_self(const struct row *row)
{
	return row->node.cost.total_weight - row->last.cost.total_weight +
	       row->last.cost.self_weight;
}

static const char *row_name(struct model *model, const struct row *row, int cols)
{
	return row->nr > 1 ? chain_fit_name(model, &row->node, &row->last, row->nr, cols)
			   : model_fit_node_name(model, &row->node, cols);
}

static void draw_row(struct view *view, struct model *model, struct cells *cells, size_t number,
		     struct area line)
{
	struct tree_view *tree = tree_of(view);
	const struct row *row = row_at(view, number);
	const struct selection_node *node = &row->node;
	double self = model_percent(model, row_self(row));
	bool few = history_effective(node->cost.total_weight, node->squares) < FEW_SAMPLES;
	enum role role = few ? ROLE_DIM : ROLE_TEXT;
	if (number == view->selected)
		cells_put(cells, line.row, line.col, 1, ROLE_TEXT, model->glyphs->selected);
	event_cells_draw_row(&tree->events, model, cells, line.row, line.col + NUMBERS_COLS,
			     number - tree->first);
	const int numbers = numbers_cols(tree, model);
	if (row->title) {
		draw_section(model, cells, row, line, numbers);
		return;
	}
	cells_putf(cells, line.row, line.col + 1, 6, role, "%6.1f",
		   model_percent(model, node->cost.total_weight));
	if (!row->is_inverted)
		cells_putf(cells, line.row, line.col + 8, 6,
			   few ? ROLE_DIM : model_percent_role(model, self), "%6.1f", self);
	struct ui_change change = {0};
	const bool is_compared =
		shows_changes(tree, model) && changes_of_path(model, node, &change);
	if (is_compared)
		changes_put(cells, line.row, line.col + NUMBERS_COLS, change.total,
			    change.total_beyond);
	int col = line.col + numbers + draw_indent(cells, line, numbers, row->depth);
	int end = line.col + line.cols;
	const char *mark = !node->has_children ? model->glyphs->leaf
			   : row->open	       ? model->glyphs->open
					       : model->glyphs->closed;
	col += cells_put(cells, line.row, col, end - col, ROLE_KEY, mark) + 1;
	if (node->comm && !few)
		role = ROLE_LABEL;
	else if (is_compared && change.total_beyond)
		role = changes_role(change.total, true);
	else if (model_node_is_kernel(model, node))
		role = ROLE_KERNEL;
	view_put_name(model, cells, line.row, col, end - col, role,
		      row_name(model, row, end - col));
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

/* The row, and the chain that may begin at it. */
static int open_fully(struct tree_view *tree, uint64_t id)
{
	int result = folds_set(&tree->folds, id, true);
	return result ? result : folds_set(&tree->parted, id, true);
}

/* Opens all that is below a row and not hidden. */
static void open_subtree(struct tree_view *tree, struct model *model, uint64_t id)
{
	struct pending pending = {0};
	size_t nr = 0;
	int result = open_fully(tree, id);
	if (!result)
		result = queue_children(model, &pending, id, 0);
	while (!result && pending.queued.nr && nr++ < ROWS_MOST) {
		struct selection_node node = pending.queued.items[--pending.queued.nr];
		if (!node.has_children)
			continue;
		result = open_fully(tree, node.id);
		if (!result)
			result = queue_children(model, &pending, node.id, 0);
	}
	model_failed(model, result);
	release_pending(&pending);
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

/* A row's children; then a chain's rows; then on to the first of them. */
static void open_more(struct tree_view *tree, struct model *model, const struct row *row)
{
	if (!row->open && !row->title && row->last.has_children)
		open_row(tree, model, row->last.id);
	else if (row->nr > 1)
		model_failed(model, folds_set(&tree->parted, row->node.id, true));
	else if (row->open || row->title)
		view_select(&tree->view, tree->view.selected + 1);
}

static void close_some(struct tree_view *tree, struct model *model, const struct row *row)
{
	if (row->is_parted)
		model_failed(model, folds_set(&tree->parted, row->node.id, false));
	else if (row->open)
		model_failed(model, folds_set(&tree->folds, row->last.id, false));
	else
		select_parent(&tree->view);
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct tree_view *tree = tree_of(view);
	if (view->selected >= tree->rows.nr)
		return false;
	struct row row = *row_at(view, view->selected);
	switch ((int)action) {
	case ACTION_OPEN:
		open_more(tree, model, &row);
		break;
	case ACTION_CLOSE:
		close_some(tree, model, &row);
		break;
	case ACTION_OPEN_SUBTREE:
		open_subtree(tree, model, row.node.id);
		break;
	case ACTION_OPEN_ALL:
		folds_set_all(&tree->folds, FOLDS_OPEN);
		folds_set_all(&tree->parted, FOLDS_OPEN);
		break;
	case ACTION_CLOSE_ALL:
		folds_set_all(&tree->folds, FOLDS_CLOSED);
		folds_set_all(&tree->parted, FOLDS_CLOSED);
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
	folds_release(&tree_of(view)->parted);
	event_cells_release(&tree_of(view)->events);
	free(view);
}

#define TREE_OPS                                                                                   \
	.refresh = refresh, .id_at = id_at, .prepare = prepare, .draw_title = draw_title,          \
	.draw_row = draw_row, .text_at = text_at, .function_at = function_at, .act = act,          \
	.free = tree_free

static struct view *new_tree(const struct view_ops *ops, const char *title)
{
	struct view *view = view_new(ops, sizeof(struct tree_view));
	if (view) {
		tree_of(view)->title = title;
		tree_of(view)->parted.rest = FOLDS_CLOSED;
	}
	return view;
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
