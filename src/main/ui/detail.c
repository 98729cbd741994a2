/* SPDX-License-Identifier: MIT */
/* What is known of one function, in a pane beside a list. */
#include <errno.h>

#include <ctop/ui/theme.h>

#include "header.h"
#include "view.h"

/* A pane that is filled from top to bottom. */
struct pane {
	struct model *model;
	struct cells *cells;
	struct area area;
	int row;
};

static bool full(const struct pane *pane)
{
	return pane->row >= pane->area.row + pane->area.rows;
}

static void put_share(struct pane *pane, double percent, enum role role, const char *name)
{
	int col = pane->area.col, end = col + pane->area.cols;
	if (full(pane))
		return;
	cells_putf(pane->cells, pane->row, col, 6, model_percent_role(percent), "%5.1f", percent);
	cells_put_cut(pane->cells, pane->row, col + 7, end - col - 7, role, name);
	pane->row++;
}

static void put_title(struct pane *pane, const char *title)
{
	pane->row++;
	if (full(pane))
		return;
	struct area line = {pane->row, pane->area.col, 1, pane->area.cols};
	cells_put(pane->cells, pane->row, pane->area.col, pane->area.cols, ROLE_TITLE, title);
	cells_mark(pane->cells, line, CELL_UNDERLINE);
	pane->row++;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void put_nodes(struct pane *pane, const char *title, const struct selection_nodes *nodes,
		      uint64_t own, uint64_t whole, int most)
{
	put_title(pane, title);
	if (own)
		put_share(pane, share(own, whole), ROLE_DIM, "[self]");
	for (size_t i = 0; i < nodes->nr && (int)i < most; i++)
		put_share(pane, share(nodes->items[i].cost.total_weight, whole),
			  model_node_is_kernel(pane->model, &nodes->items[i]) ? ROLE_KERNEL
									      : ROLE_TEXT,
			  model_node_name(pane->model, &nodes->items[i]));
}

static void put_threads(struct pane *pane, const struct selection_tasks *threads, uint64_t whole,
			int most)
{
	struct text name = {0};
	put_title(pane, "    %  THREADS");
	for (size_t i = 0; i < threads->nr && (int)i < most; i++) {
		text_clear(&name);
		text_addf(&name, "%d ", threads->items[i].tid);
		text_add_safe(&name, threads->items[i].comm);
		put_share(pane, share(threads->items[i].weight, whole), ROLE_TEXT,
			  text_string(&name));
	}
	text_release(&name);
}

static void put_cost(struct pane *pane, const struct selection_detail *detail)
{
	struct model *model = pane->model;
	struct text line = {0};
	text_addf(&line, "self %.1f%%  total %.1f%%  ",
		  model_percent(model, detail->cost.self_weight),
		  model_percent(model, detail->cost.total_weight));
	header_add_count(&line, detail->cost.total);
	/* In points, as the shares are. */
	text_addf(&line, " samples  +-%.1f",
		  model_percent(model, detail->cost.total_weight) * detail->error);
	cells_put(pane->cells, pane->row++, pane->area.col, pane->area.cols, ROLE_TEXT,
		  text_string(&line));
	if (detail->incomplete && !full(pane))
		cells_putf(pane->cells, pane->row++, pane->area.col, pane->area.cols, ROLE_WARN,
			   "%.1f%% of its stacks are incomplete!",
			   share(detail->incomplete, detail->cost.total_weight));
	text_release(&line);
}

static void put_name(struct pane *pane, struct function_id function)
{
	cells_put_cut(pane->cells, pane->row++, pane->area.col, pane->area.cols, ROLE_TITLE,
		      model_name(pane->model, function));
	cells_put_cut(pane->cells, pane->row++, pane->area.col, pane->area.cols, ROLE_MODULE,
		      model_module(pane->model, function));
}

static void fill(struct pane *pane, struct function_id function,
		 const struct selection_detail *detail)
{
	int most = pane->area.rows / 3 - 2;
	uint64_t whole = detail->cost.total_weight;
	put_name(pane, function);
	put_cost(pane, detail);
	put_nodes(pane, "    %  CALLERS", &detail->callers, 0, whole, most);
	put_nodes(pane, "    %  CALLEES", &detail->callees, detail->own, whole, most);
	put_threads(pane, &detail->threads, whole, most);
}

/* Empty, beside its border. */
static struct pane pane_of(struct model *model, struct cells *cells, struct area area)
{
	struct pane pane = {model, cells, area, area.row};
	for (int row = area.row; row < area.row + area.rows; row++)
		cells_put(cells, row, area.col, 1, ROLE_DIM, model->glyphs->vertical);
	pane.area.col += 2;
	pane.area.cols -= 2;
	return pane;
}

void detail_draw_name(struct model *model, struct cells *cells, struct area area,
		      struct function_id function)
{
	cells_clear(cells);
	struct pane pane = pane_of(model, cells, area);
	if (area.rows > 4)
		put_name(&pane, function);
}

void detail_draw(struct model *model, struct cells *cells, struct area area,
		 struct function_id function)
{
	struct selection_detail detail = {0};
	struct pane pane = pane_of(model, cells, area);
	int result = selection_detail(model->selection, function, &detail);
	if (result == -ENOMEM)
		cells_put(cells, area.row, pane.area.col, pane.area.cols, ROLE_BAD,
			  "out of memory!");
	else if (!result && area.rows > 4)
		fill(&pane, function, &detail);
	selection_detail_release(&detail);
}
