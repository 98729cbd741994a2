/* SPDX-License-Identifier: MIT */
/* What is known of one function, in a pane beside a list. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <ctop/terminal/theme.h>

#include "header.h"
#include "view.h"

enum { SHARE_COLS = 7, NAME_COLS_LEAST = 12 };

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
	cells_putf(pane->cells, pane->row, col, 6, model_percent_role(pane->model, percent),
		   "%5.1f", percent);
	cells_put_cut(pane->cells, pane->row, col + SHARE_COLS, end - col - SHARE_COLS, role, name);
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

/* "work.c:12": the file without its directories, which are long and much the same. */
static void add_line(struct text *text, const struct selection_line *line)
{
	const char *slash = strrchr(line->file, '/');
	text_add_safe(text, slash ? slash + 1 : line->file);
	text_addf(text, ":%" PRIu32, line->line);
}

/* At the end of the row, where that leaves room for the name; how many columns it takes. NULL: nothing stands there. */
static int put_line(struct pane *pane, const struct selection_line *line)
{
	struct text place = {0};
	int cols = 0;
	if (line && !full(pane)) {
		add_line(&place, line);
		cols = (int)text_cols(text_string(&place));
		if (SHARE_COLS + NAME_COLS_LEAST + 1 + cols > pane->area.cols)
			cols = 0;
	}
	if (cols)
		cells_put(pane->cells, pane->row, pane->area.col + pane->area.cols - cols, cols,
			  ROLE_MODULE, text_string(&place));
	text_release(&place);
	return cols ? cols + 1 : 0;
}

/* Sorted: the first one is the hottest. */
static const struct selection_line *line_of(const struct selection_lines *lines,
					    const struct selection_node *node)
{
	for (size_t i = 0; lines && node->function.index && i < lines->nr; i++)
		if (lines->items[i].function.index == node->function.index)
			return &lines->items[i];
	return NULL;
}

/* sites: where in these the next function is called; NULL: not known. */
static void put_nodes(struct pane *pane, const char *title, const struct selection_nodes *nodes,
		      const struct selection_lines *sites, uint64_t own, uint64_t whole, int most)
{
	put_title(pane, title);
	if (own)
		put_share(pane, share(own, whole), ROLE_DIM, "[self]");
	for (size_t i = 0; i < nodes->nr && (int)i < most; i++) {
		const struct selection_node *node = &nodes->items[i];
		const int taken = put_line(pane, line_of(sites, node));
		pane->area.cols -= taken;
		put_share(pane, share(node->cost.total_weight, whole),
			  model_node_is_kernel(pane->model, node) ? ROLE_KERNEL : ROLE_TEXT,
			  model_fit_node_name(pane->model, node, pane->area.cols - SHARE_COLS));
		pane->area.cols += taken;
	}
}

static void put_lines(struct pane *pane, const struct selection_lines *lines, uint64_t whole,
		      int most)
{
	struct text place = {0};
	if (lines->nr)
		put_title(pane, "    %  LINES");
	for (size_t i = 0; i < lines->nr && (int)i < most; i++) {
		text_clear(&place);
		add_line(&place, &lines->items[i]);
		put_share(pane, share(lines->items[i].weight, whole), ROLE_TEXT,
			  text_string(&place));
	}
	text_release(&place);
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
	text_addf(&line, "self %.1f%%  total %.1f%% +-%.1f  ",
		  model_percent(model, detail->cost.self_weight),
		  model_percent(model, detail->cost.total_weight),
		  /* In points, as the shares are. */
		  model_percent(model, detail->cost.total_weight) * detail->error);
	header_add_count(&line, detail->cost.total);
	text_add(&line, " samples");
	cells_put_cut(pane->cells, pane->row++, pane->area.col, pane->area.cols, ROLE_TEXT,
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
		      model_fit_name(pane->model, function, pane->area.cols));
	cells_put_cut(pane->cells, pane->row++, pane->area.col, pane->area.cols, ROLE_MODULE,
		      model_module(pane->model, function));
}

static void fill(struct pane *pane, struct function_id function,
		 const struct selection_detail *detail)
{
	const int most = pane->area.rows / (detail->lines.nr ? 4 : 3) - 2;
	uint64_t whole = detail->cost.total_weight;
	put_name(pane, function);
	put_cost(pane, detail);
	put_lines(pane, &detail->lines, whole, most);
	put_nodes(pane, "    %  CALLERS", &detail->callers, &detail->call_sites, 0, whole, most);
	put_nodes(pane, "    %  CALLEES", &detail->callees, NULL, detail->own, whole, most);
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
