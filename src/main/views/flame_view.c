/* SPDX-License-Identifier: MIT */
/* A flame graph upside down: the root on top, a box as wide as its share, callees below. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/vec.h>
#include <ctop/screen/header.h>
#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>
#include <ctop/views/views.h>

#include "chain.h"
#include "flame_places.h"

enum { LEVELS_MOST = 512, ZOOMS_MOST = 64, MODULES_MOST = 64 };
/* A box that is this wide has its share in it, in so many columns. */
enum { SHARE_FROM_COLS = 14, SHARE_COLS = 5, BOX_CHANGE_COLS = 7 };
/* Below so many rows boxes have them all. */
enum { LEGEND_FROM_ROWS = 6 };
/* In less a name is but its first letter. */
enum { NAME_COLS_LEAST = 4 };

/* A box that fills the width. */
struct flame_zoom {
	uint64_t id;
	uint32_t depth;
};

struct flame_view {
	struct view view;
	struct selection_boxes boxes;
	struct flame_places places;
	struct flame_zoom zooms[ZOOMS_MOST]; /* outermost first: each is below the one before */
	size_t nr_zooms;
	size_t root;	     /* the box that fills the width: its callers come before it */
	bool by_weight;	     /* else by name: boxes stay where they are */
	int cols, rows, row; /* as drawn last */
	uint32_t first_level;
	/* Paths of modules, in the order in which they were met: each keeps its tone. */
	uint64_t modules[MODULES_MOST];
	size_t nr_modules;
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

/* Puts the callers of the first box in front of it, outermost first. */
static int add_callers(struct flame_view *flame, struct model *model)
{
	struct selection_boxes *boxes = &flame->boxes;
	struct selection_node node = boxes->items[0].node, caller;
	const size_t nr_boxes = boxes->nr;
	size_t nr = 0;
	/* Behind the boxes, innermost first, until all are known. */
	for (; node.parent && !selection_node(model->selection, node.parent, &caller); nr++) {
		if (vec_reserve(boxes, boxes->nr + 1))
			return -ENOMEM;
		boxes->items[boxes->nr++] = (struct selection_box){.node = caller};
		node = caller;
	}
	if (vec_reserve(boxes, boxes->nr + nr))
		return -ENOMEM;
	memmove(boxes->items + nr, boxes->items, boxes->nr * sizeof(*boxes->items));
	for (size_t i = nr; i < nr + nr_boxes; i++)
		boxes->items[i].parent += i > nr ? nr : nr - (nr > 0);
	for (size_t i = 0; i < nr; i++) {
		boxes->items[i] = boxes->items[nr + boxes->nr - 1 - i];
		boxes->items[i].parent = i ? i - 1 : 0;
	}
	flame->root = nr;
	return 0;
}

/* A third of the screen is theirs. */
static size_t caller_rows(const struct flame_view *flame)
{
	return flame->rows >= 6 ? (size_t)flame->rows / 3 : 2;
}

static int fill(struct flame_view *flame, struct model *model, const struct selection_node *root)
{
	enum selection_order order = flame->by_weight ? SELECTION_BY_TOTAL : SELECTION_BY_NAME;
	flame->root = 0;
	int result = selection_flame(model->selection, root->id, order,
				     least_weight(flame, root->cost.total_weight), LEVELS_MOST,
				     &flame->boxes);
	if (!result && flame->nr_zooms)
		result = add_callers(flame, model);
	if (!result)
		result = flame_places_set(&flame->places, model, &flame->boxes, flame->root,
					  caller_rows(flame), flame->cols > 0 ? flame->cols : 80);
	return result;
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
		const uint64_t id = flame->zooms[flame->nr_zooms - 1].id;
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

/* What is selected is drawn: the first of its chain. */
static size_t chosen(const struct flame_view *flame)
{
	return flame->places.items[flame->view.selected].head;
}

/* ---- drawing ---- */

/* Modules that are met first, the program's own among them, have tones of their own; there are only so many. */
static unsigned module_tone(struct flame_view *flame, const char *path)
{
	const uint64_t hash = hash_bytes(path, strlen(path));
	size_t i = 0;
	while (i < flame->nr_modules && flame->modules[i] != hash)
		i++;
	if (i == flame->nr_modules && i < MODULES_MOST)
		flame->modules[flame->nr_modules++] = hash;
	return TONE_MODULE + (unsigned)(i % (TONE_MORE - TONE_MODULE));
}

static enum role box_role(struct flame_view *flame, struct model *model, size_t number)
{
	const struct selection_node *node = &flame->boxes.items[number].node;
	const uint32_t shade = flame->places.items[number].level % 2;
	struct ui_change change;
	unsigned tone = TONE_LABEL;
	if (changes_known(model))
		tone = changes_of_path(model, node, &change) ? changes_tone(&change) : TONE_LABEL;
	else if (number < flame->root)
		tone = TONE_LABEL; /* a caller, whose width says nothing */
	else if (model_node_is_kernel(model, node))
		tone = TONE_KERNEL;
	else if (!node->label && !node->comm)
		tone = module_tone(flame, history_function_module(model->history, node->function));
	return (enum role)(ROLE_BOX + 2 * tone + shade);
}

static const char *box_name(struct flame_view *flame, struct model *model, size_t number, int cols)
{
	const struct flame_place *place = &flame->places.items[number];
	const struct selection_node *node = &flame->boxes.items[number].node;
	if (place->nr > 1)
		return chain_fit_name(model, node, &flame->boxes.items[place->last].node, place->nr,
				      cols);
	return model_fit_node_name(model, node, cols);
}

static void fill_cells(struct cells *cells, struct area line, enum role role)
{
	for (int col = 0; col < line.cols; col++)
		cells_put(cells, line.row, line.col + col, 1, role, " ");
}

/* A box with its edge, its name and, where there is room, its share. */
static void draw_box(struct flame_view *flame, struct model *model, struct cells *cells,
		     size_t number, struct area line)
{
	const bool is_chosen = number == chosen(flame);
	const enum role role = is_chosen ? ROLE_CHOSEN_BOX : box_role(flame, model, number);
	const struct selection_node *node = &flame->boxes.items[number].node;
	struct ui_change change;
	int room = line.cols - 1;
	fill_cells(cells, line, role);
	cells_put(cells, line.row, line.col, 1, role,
		  is_chosen ? model->glyphs->selected : model->glyphs->edge);
	if (line.cols >= SHARE_FROM_COLS && changes_of_path(model, node, &change) &&
	    change.total_beyond) {
		room -= BOX_CHANGE_COLS;
		cells_putf(cells, line.row, line.col + line.cols - BOX_CHANGE_COLS, BOX_CHANGE_COLS,
			   role, "%+6.1f ", change.total);
	} else if (line.cols >= SHARE_FROM_COLS) {
		room -= SHARE_COLS;
		cells_putf(cells, line.row, line.col + line.cols - SHARE_COLS, SHARE_COLS, role,
			   "%3.0f%% ", model_percent(model, node->cost.total_weight));
	}
	if (room >= NAME_COLS_LEAST)
		cells_put(cells, line.row, line.col + 1, room, role,
			  box_name(flame, model, number, room));
}

/* Boxes side by side that are too narrow. */
struct slivers {
	int row, from, to;
	unsigned nr;
};

static void draw_slivers(const struct flame_view *flame, struct cells *cells, struct area area,
			 struct slivers *slivers)
{
	const struct area line = {slivers->row, area.col + slivers->from, 1,
				  slivers->to - slivers->from};
	(void)flame;
	if (slivers->nr && line.cols > 0) {
		fill_cells(cells, line, (enum role)(ROLE_BOX + 2 * TONE_LABEL));
		if (line.cols > 3)
			cells_putf(cells, line.row, line.col, line.cols,
				   (enum role)(ROLE_BOX + 2 * TONE_LABEL), "+%u", slivers->nr);
		else
			cells_put(cells, line.row, line.col, 1,
				  (enum role)(ROLE_BOX + 2 * TONE_LABEL), ":");
	}
	slivers->nr = 0;
}

static void add_sliver(struct slivers *slivers, int row, const struct flame_place *place)
{
	if (!slivers->nr++)
		*slivers = (struct slivers){row, place->from, place->from, 1};
	slivers->to = place->to;
}

static void draw_boxes(struct flame_view *flame, struct model *model, struct cells *cells,
		       struct area area)
{
	struct slivers slivers = {0};
	for (size_t i = 0; i < flame->boxes.nr; i++) {
		const struct flame_place *place = &flame->places.items[i];
		const struct flame_place *above =
			&flame->places.items[flame->boxes.items[i].parent];
		const int row = area.row + (int)place->level - (int)flame->first_level;
		const bool on_screen = row >= area.row && row < area.row + area.rows;
		const bool continues = place->is_sliver && slivers.nr && slivers.row == row &&
				       slivers.to == place->from;
		if (slivers.nr && !continues)
			draw_slivers(flame, cells, area, &slivers);
		if (!on_screen || place->head != i)
			continue;
		if (!place->is_sliver || i == flame->view.selected)
			draw_box(flame, model, cells, i,
				 (struct area){row, area.col + place->from, 1,
					       place->to > place->from ? place->to - place->from
								       : 1});
		else if (!above->is_sliver)
			add_sliver(&slivers, row, place);
	}
	draw_slivers(flame, cells, area, &slivers);
}

static void draw(struct view *view, struct model *model, struct cells *cells, struct area area)
{
	struct flame_view *flame = flame_of(view);
	if (flame->cols != area.cols || flame->rows != area.rows) {
		flame->cols = area.cols;
		flame->rows = area.rows;
		view->stale = true;
		(void)view_refresh(view, model); /* out of memory: told with the next one */
	}
	if (changes_known(model) && area.rows >= LEGEND_FROM_ROWS) {
		area.rows--;
		changes_put_legend(cells,
				   (struct area){area.row + area.rows, area.col, 1, area.cols});
	}
	flame->row = area.row;
	view->height = area.rows;
	if (!view->nr_rows || area.rows < 1)
		return;
	uint32_t selected = flame->places.items[chosen(flame)].level, rows = (uint32_t)area.rows;
	if (selected < flame->first_level)
		flame->first_level = selected;
	if (selected >= flame->first_level + rows)
		flame->first_level = selected - rows + 1;
	draw_boxes(flame, model, cells, area);
}

/* "name · 47.1%, self 3.2% · 3.8k samples · module" */
static void draw_selected(struct view *view, struct model *model, struct cells *cells, int row)
{
	struct flame_view *flame = flame_of(view);
	struct text facts = {0};
	if (view->selected >= view->nr_rows)
		return;
	const size_t number = chosen(flame);
	const struct selection_node *node =
		&flame->boxes.items[flame->places.items[number].last].node;
	struct ui_change change;
	text_addf(&facts, " · %.1f%%, self %.1f%%", model_percent(model, node->cost.total_weight),
		  model_percent(model, node->cost.self_weight));
	if (changes_of_path(model, node, &change))
		text_addf(&facts, " · change %+.1f%s", change.total,
			  change.total_beyond ? "" : "~");
	text_add(&facts, " · ");
	header_add_count(&facts, node->cost.total);
	text_add(&facts, " samples");
	if (!node->label && !node->comm)
		text_addf(&facts, " · %s", model_module(model, node->function));
	const int room = cells->cols - (int)text_cols(text_string(&facts));
	int col = cells_put_cut(cells, row, 0, room, ROLE_TITLE,
				box_name(flame, model, number, room));
	cells_put_cut(cells, row, col, cells->cols - col, ROLE_TEXT, text_string(&facts));
	text_release(&facts);
}

/* ---- moving: up to the caller, down to a callee, sideways along a level ---- */

static void choose(struct view *view, size_t box)
{
	if (!flame_is_shown(&flame_of(view)->places, box))
		return;
	view_select(view, box);
	view->chosen = true;
}

static void select_parent(struct view *view)
{
	const struct flame_view *flame = flame_of(view);
	const size_t parent = flame->boxes.items[chosen(flame)].parent;
	choose(view, flame->places.items[parent].head);
}

static void select_child(struct view *view)
{
	const struct flame_view *flame = flame_of(view);
	const size_t last = flame->places.items[chosen(flame)].last;
	size_t best = 0;
	for (size_t i = last + 1; i < flame->boxes.nr; i++)
		if (flame->boxes.items[i].parent == last &&
		    (!best || flame->boxes.items[i].node.cost.total_weight >
				      flame->boxes.items[best].node.cost.total_weight))
			best = i;
	if (best)
		choose(view, best);
}

static void select_beside(struct view *view, bool to_right)
{
	const struct flame_view *flame = flame_of(view);
	const struct flame_place *here = &flame->places.items[chosen(flame)];
	size_t best = chosen(flame);
	for (size_t i = 0; i < flame->boxes.nr; i++) {
		const struct flame_place *place = &flame->places.items[i];
		const int at = place->from, best_at = flame->places.items[best].from;
		const bool beyond = to_right ? at > here->from : at < here->from;
		const bool nearer =
			best == chosen(flame) || (to_right ? at < best_at : at > best_at);
		if (flame_is_shown(&flame->places, i) && place->level == here->level && beyond &&
		    nearer)
			best = i;
	}
	choose(view, best);
}

/* The chosen box fills the width; if it is a caller of the one that did, that is taken back. */
static void zoom(struct flame_view *flame)
{
	const size_t number = chosen(flame);
	const struct selection_node *node = &flame->boxes.items[number].node;
	while (flame->nr_zooms && flame->zooms[flame->nr_zooms - 1].depth >= node->depth)
		flame->nr_zooms--;
	if (number && flame->nr_zooms < ZOOMS_MOST)
		flame->zooms[flame->nr_zooms++] = (struct flame_zoom){node->id, node->depth};
	flame->first_level = 0;
	flame->view.stale = true;
}

static bool zoom_out(struct flame_view *flame)
{
	if (!flame->nr_zooms)
		return false;
	flame->nr_zooms--;
	flame->first_level = 0;
	flame->view.stale = true;
	return true;
}

/* Chooses a box; the chosen one fills the width, and the one that does so already no longer. */
static bool click(struct view *view, int row, int col)
{
	struct flame_view *flame = flame_of(view);
	const uint32_t level = flame->first_level + (uint32_t)(row - flame->row);
	for (size_t i = 0; i < view->nr_rows && row >= flame->row; i++) {
		const struct flame_place *place = &flame->places.items[i];
		if (!flame_is_shown(&flame->places, i) || place->level != level ||
		    col < place->from || col >= place->to)
			continue;
		if (i != chosen(flame))
			choose(view, i);
		else if (i != flame->root || !flame->nr_zooms)
			zoom(flame);
		else
			zoom_out(flame);
		return true;
	}
	return false;
}

static bool act(struct view *view, struct model *model, enum action action)
{
	struct flame_view *flame = flame_of(view);
	(void)model;
	if (!view->nr_rows)
		return false;
	switch ((int)action) {
	case ACTION_UP:
		select_parent(view);
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
		return zoom_out(flame);
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
	flame_places_release(&flame_of(view)->places);
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
		.click = click,
		.draw_selected = draw_selected,
		.draw = draw,
		.free = flame_free,
	};
	return view_new(&ops, sizeof(struct flame_view));
}
