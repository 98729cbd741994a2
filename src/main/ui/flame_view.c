/* SPDX-License-Identifier: MIT */
/* A flame graph upside down: the root on top, a box as wide as its share, callees below. */
#include <stdlib.h>
#include <string.h>

#include <ctop/ui/theme.h>

#include "view.h"

enum { LEVELS_MOST = 512, ZOOMS_MOST = 64 };

struct flame_view {
	struct view view;
	struct selection_boxes boxes;
	uint64_t zooms[ZOOMS_MOST]; /* ids of the boxes that fill the width, outermost first */
	size_t nr_zooms;
	bool by_weight; /* else by name: boxes stay where they are */
	int cols;	/* as drawn last */
	uint32_t first_level;
};

static struct flame_view *flame_of(struct view *view)
{
	return (struct flame_view *)view;
}

static const struct selection_box *box_at(const struct view *view, size_t row)
{
	return &((const struct flame_view *)view)->boxes.items[row];
}

/* ---- boxes ---- */

static uint64_t least_weight(const struct flame_view *flame, uint64_t whole)
{
	uint64_t cols = flame->cols > 0 ? (uint64_t)flame->cols : 80;
	return whole / cols ? whole / cols : 1;
}

static int fill(struct flame_view *flame, struct model *model, const struct selection_node *root)
{
	enum selection_order order = flame->by_weight ? SELECTION_BY_TOTAL : SELECTION_BY_NAME;
	return selection_flame(model->selection, root->id, order,
			       least_weight(flame, root->cost.total_weight), LEVELS_MOST,
			       &flame->boxes);
}

static int refresh(struct view *view, struct model *model)
{
	struct flame_view *flame = flame_of(view);
	struct selection_node root, zoomed;
	struct function_id none = {0};
	flame->boxes.nr = 0;
	int result = selection_root(model->selection, SELECTION_TREE, none, &root);
	/* A box that has gone no longer fills the width. */
	while (!result && flame->nr_zooms) {
		uint64_t id = flame->zooms[flame->nr_zooms - 1];
		if (!selection_node(model->selection, id, &zoomed) && zoomed.cost.total) {
			root = zoomed;
			break;
		}
		flame->nr_zooms--;
	}
	if (!result)
		result = fill(flame, model, &root);
	view->nr_rows = result ? 0 : flame->boxes.nr;
	return result;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return box_at(view, row)->node.id;
}

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	*function = box_at(view, row)->node.function;
	return !box_at(view, row)->node.label;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	const struct selection_node *node = &box_at(view, row)->node;
	return model_node_full_name(model, node);
}

static const char *process_at(const struct view *view, size_t row, int32_t *pid)
{
	const struct selection_node *node = &box_at(view, row)->node;
	*pid = node->pid;
	return node->comm;
}

/* ---- drawing ---- */

static uint32_t level_of(const struct flame_view *flame, size_t box)
{
	return flame->boxes.items[box].node.depth - flame->boxes.items[0].node.depth;
}

/* Columns from the left end to a weight. */
static int col_of(const struct flame_view *flame, uint64_t weight, int cols)
{
	uint64_t whole = flame->boxes.items[0].node.cost.total_weight;
	return whole ? (int)((double)weight * (double)cols / (double)whole + 0.5) : 0;
}

static void draw_box(const struct flame_view *flame, struct model *model, struct cells *cells,
		     size_t number, struct area area)
{
	const struct selection_box *box = &flame->boxes.items[number];
	uint32_t level = level_of(flame, number);
	int row = area.row + (int)(level - flame->first_level);
	if (level < flame->first_level || row >= area.row + area.rows)
		return;
	int from = col_of(flame, box->at, area.cols);
	int to = col_of(flame, box->at + box->node.cost.total_weight, area.cols);
	struct area line = {row, area.col + from, 1, to - from};
	if (line.cols < 2) {
		cells_put(cells, row, line.col, 1, ROLE_DIM, ":");
		line.cols = 1;
	} else {
		double percent = model_percent(model, box->node.cost.self_weight);
		enum role role = box->node.comm ? ROLE_LABEL
				 : model_node_is_kernel(model, &box->node)
					 ? ROLE_KERNEL
					 : model_percent_role(percent);
		cells_put(cells, row, line.col, 1, ROLE_DIM, model->glyphs->vertical);
		cells_put_cut(cells, row, line.col + 1, line.cols - 1, role,
			      model_node_name(model, &box->node));
	}
	if (number == flame->view.selected)
		cells_mark(cells, line, CELL_REVERSE);
	else if (level % 2)
		cells_mark(cells, line, CELL_UNDERLINE);
}

static void draw(struct view *view, struct model *model, struct cells *cells, struct area area)
{
	struct flame_view *flame = flame_of(view);
	flame->cols = area.cols;
	view->height = area.rows;
	if (!view->nr_rows || area.rows < 1)
		return;
	uint32_t selected = level_of(flame, view->selected), rows = (uint32_t)area.rows;
	if (selected < flame->first_level)
		flame->first_level = selected;
	if (selected >= flame->first_level + rows)
		flame->first_level = selected - rows + 1;
	for (size_t i = 0; i < flame->boxes.nr; i++)
		draw_box(flame, model, cells, i, area);
}

/* ---- moving: up to the caller, down to a callee, sideways along a level ---- */

static void select_child(struct view *view)
{
	const struct flame_view *flame = flame_of(view);
	size_t best = 0;
	for (size_t i = 1; i < flame->boxes.nr; i++)
		if (flame->boxes.items[i].parent == view->selected &&
		    (!best || flame->boxes.items[i].node.cost.total_weight >
				      flame->boxes.items[best].node.cost.total_weight))
			best = i;
	if (best)
		view_select(view, best);
}

static void select_beside(struct view *view, bool to_right)
{
	const struct flame_view *flame = flame_of(view);
	const struct selection_box *here = &flame->boxes.items[view->selected];
	uint32_t level = level_of(flame, view->selected);
	size_t best = view->selected;
	for (size_t i = 0; i < flame->boxes.nr; i++) {
		uint64_t at = flame->boxes.items[i].at, best_at = flame->boxes.items[best].at;
		bool beyond = to_right ? at > here->at : at < here->at;
		bool nearer = best == view->selected || (to_right ? at < best_at : at > best_at);
		if (level_of(flame, i) == level && beyond && nearer)
			best = i;
	}
	view_select(view, best);
}

static void zoom(struct flame_view *flame)
{
	uint64_t id = id_at(&flame->view, flame->view.selected);
	if (flame->view.selected && flame->nr_zooms < ZOOMS_MOST)
		flame->zooms[flame->nr_zooms++] = id;
	flame->view.stale = true;
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct flame_view *flame = flame_of(view);
	(void)model;
	if (!view->nr_rows)
		return false;
	switch ((int)action) {
	case ACTION_UP:
		view_select(view, box_at(view, view->selected)->parent);
		return true;
	case ACTION_DOWN:
		select_child(view);
		return true;
	case ACTION_OPEN:
		select_beside(view, true);
		return true;
	case ACTION_CLOSE:
		select_beside(view, false);
		return true;
	case ACTION_ENTER:
		zoom(flame);
		return true;
	case ACTION_BACK:
		if (!flame->nr_zooms)
			return false;
		flame->nr_zooms--;
		view->stale = true;
		return true;
	case ACTION_SORT:
		flame->by_weight = !flame->by_weight;
		view->stale = true;
		return true;
	default:
		return false;
	}
}

static uint64_t subtree_at(const struct view *view, size_t row)
{
	return box_at(view, row)->node.id;
}

static void flame_free(struct view *view)
{
	free(flame_of(view)->boxes.items);
	free(view);
}

struct view *flame_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_FLAME,
		.refresh = refresh,
		.id_at = id_at,
		.text_at = text_at,
		.function_at = function_at,
		.process_at = process_at,
		.subtree_at = subtree_at,
		.act = act,
		.draw = draw,
		.free = flame_free,
	};
	struct flame_view *flame = calloc(1, sizeof(*flame));
	if (!flame)
		return NULL;
	flame->view.ops = &ops;
	flame->view.stale = true;
	return &flame->view;
}
