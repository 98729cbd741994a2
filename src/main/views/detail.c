/* SPDX-License-Identifier: MIT */
/* What is known of one function, in a pane beside a list. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/task_id.h>
#include <ctop/screen/header.h>
#include <ctop/screen/shares.h>
#include <ctop/terminal/theme.h>
#include <ctop/views/views.h>

#include "event_cells.h"

enum { SHARE_COLS = 7, NAME_COLS_LEAST = 12 };

/* A pane that is filled from top to bottom. */
struct pane {
	struct model *model;
	struct cells *cells;
	struct area area;
	int row;
	int beside_cols; /* between shares and names: of other events */
};

static bool full(const struct pane *pane)
{
	return pane->row >= pane->area.row + pane->area.rows;
}

static int name_col(const struct pane *pane)
{
	return SHARE_COLS + pane->beside_cols;
}

static void put_share(struct pane *pane, double percent, enum role role, const char *name)
{
	int col = pane->area.col, end = col + pane->area.cols;
	if (full(pane))
		return;
	cells_putf(pane->cells, pane->row, col, 6, model_percent_role(pane->model, percent),
		   "%5.1f", percent);
	col += name_col(pane);
	cells_put_cut(pane->cells, pane->row, col, end - col, role, name);
	pane->row++;
}

/* False: there is no room for it. */
static bool put_title(struct pane *pane, const char *numbers, const char *name)
{
	const int col = pane->area.col;
	pane->row++;
	if (full(pane))
		return false;
	struct area line = {pane->row, col, 1, pane->area.cols};
	const int taken = cells_put(pane->cells, pane->row, col, line.cols, ROLE_TITLE, numbers);
	const int next = taken + 2 > name_col(pane) ? taken + 2 : name_col(pane);
	cells_put(pane->cells, pane->row, col + next, line.cols - next, ROLE_TITLE, name);
	cells_mark(pane->cells, line, CELL_UNDERLINE);
	pane->row++;
	return true;
}

static double share(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

/* "work.c:12": the file without its directories, which are long and much the same. */
static void add_line(struct text *text, const struct selection_line *line)
{
	text_add_safe(text, base_name(line->file));
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
		if (name_col(pane) + NAME_COLS_LEAST + 1 + cols > pane->area.cols)
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

/* ---- several events ---- */

/* "12.0%   30.1%": of the rows, what the function costs itself and in all; then whose that is, and how many samples it rests on. */
static void put_pair(struct pane *pane, const struct text *self, const struct text *total,
		     const struct text *name)
{
	enum { PAIR_COLS = 16, EACH_COLS = 7 };
	const int col = pane->area.col, room = pane->area.cols - PAIR_COLS;
	if (full(pane) || room <= 0)
		return;
	cells_putf(pane->cells, pane->row, col, EACH_COLS, ROLE_TEXT, "%6s", text_string(self));
	cells_putf(pane->cells, pane->row, col + EACH_COLS, EACH_COLS, ROLE_TEXT, "%7s",
		   text_string(total));
	cells_put_cut(pane->cells, pane->row++, col + PAIR_COLS, room, ROLE_TEXT,
		      text_string(name));
}

static void put_event(struct pane *pane, const struct event_column *column)
{
	struct text texts[2] = {0}, name = {0};
	const struct selection_amount *costs = column->costs.items;
	for (size_t i = 0; i < 2; i++)
		text_addf(&texts[i], "%.1f%%", share(costs[i].weight, column->whole));
	event_column_add_name(pane->model->history, column, (size_t)pane->area.cols, &name);
	text_add(&name, ", ");
	header_add_count(&name, costs[1].samples);
	text_add(&name, costs[1].samples == 1 ? " sample" : " samples");
	put_pair(pane, &texts[0], &texts[1], &name);
	text_release(&texts[0]);
	text_release(&texts[1]);
	text_release(&name);
}

static void put_ratio(struct pane *pane, const struct event_columns *columns,
		      const struct event_ratio *ratio)
{
	struct text texts[2] = {0}, name = {0};
	for (size_t i = 0; i < 2; i++)
		event_ratio_add(columns, ratio, i, &texts[i]);
	event_ratio_add_name(pane->model->history, columns, ratio, (size_t)pane->area.cols, &name);
	if (event_ratio_is_known(columns, ratio, 1)) {
		text_add(&name, ", n ");
		event_ratio_add_count(columns, ratio, 1, &name);
	}
	put_pair(pane, &texts[0], &texts[1], &name);
	text_release(&texts[0]);
	text_release(&texts[1]);
	text_release(&name);
}

static void put_events(struct pane *pane, struct function_id function)
{
	struct event_cells events = {0};
	struct event_columns *columns = &events.of;
	event_cells_begin(&events, pane->model);
	int result = event_columns_add_function(columns, pane->model->selection, function);
	if (!result && columns->nr)
		put_title(pane, "  SELF   TOTAL", "EVENTS");
	for (size_t i = 0; !result && i < columns->nr; i++)
		put_event(pane, &columns->columns[i]);
	for (size_t i = 0; !result && i < columns->nr_ratios; i++)
		put_ratio(pane, columns, &columns->ratios[i]);
	event_cells_release(&events);
}

/* Between the shares and the names of rows that come. */
static void begin_columns(struct pane *pane, struct event_cells *events,
			  const struct selection_nodes *nodes, int most)
{
	int result = 0;
	event_cells_begin(events, pane->model);
	for (size_t i = 0; !result && i < nodes->nr && (int)i < most; i++)
		result = event_columns_add_node(&events->of, pane->model->selection,
						&nodes->items[i]);
	if (result)
		event_columns_release(&events->of);
	event_cells_fit(events, pane->model, pane->area.cols - SHARE_COLS);
	pane->beside_cols = events->cols;
}

/* sites: where in these the next function is called; NULL: not known. */
static void put_nodes(struct pane *pane, const char *title, const struct selection_nodes *nodes,
		      const struct selection_lines *sites, uint64_t own, uint64_t whole, int most)
{
	struct event_cells events = {0};
	const int col = pane->area.col + SHARE_COLS - 1;
	begin_columns(pane, &events, nodes, most);
	if (put_title(pane, "    %", title))
		event_cells_draw_title(&events, pane->model, pane->cells, pane->row - 1, col);
	if (own)
		put_share(pane, share(own, whole), ROLE_DIM, "[self]");
	for (size_t i = 0; i < nodes->nr && (int)i < most && !full(pane); i++) {
		const struct selection_node *node = &nodes->items[i];
		const int taken = put_line(pane, line_of(sites, node));
		event_cells_draw_row(&events, pane->model, pane->cells, pane->row, col, i);
		pane->area.cols -= taken;
		put_share(pane, share(node->cost.total_weight, whole),
			  model_node_is_kernel(pane->model, node) ? ROLE_KERNEL : ROLE_TEXT,
			  model_fit_node_name(pane->model, node, pane->area.cols - name_col(pane)));
		pane->area.cols += taken;
	}
	pane->beside_cols = 0;
	event_cells_release(&events);
}

static void put_lines(struct pane *pane, const struct selection_lines *lines, uint64_t whole,
		      int most)
{
	struct text place = {0};
	if (lines->nr)
		put_title(pane, "    %", "LINES");
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
	put_title(pane, "    %", "THREADS");
	for (size_t i = 0; i < threads->nr && (int)i < most; i++) {
		text_clear(&name);
		task_id_add(&name, threads->items[i].tid);
		text_add(&name, " ");
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
	text_addf(&line, "self %.1f%%  total %.1f%%",
		  model_percent(model, detail->cost.self_weight),
		  model_percent(model, detail->cost.total_weight));
	/* In points, as the shares are. Waits are measured, not sampled. */
	if (model->time == TIME_SHOWN_CPU)
		text_addf(&line, " +-%.1f",
			  model_percent(model, detail->cost.total_weight) * detail->error);
	text_add(&line, "  ");
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
	struct text module = {0};
	text_add(&module, model_module(pane->model, function));
	/* A row that is a line, or has what was inlined in it, has costs of its own. */
	if (pane->model->grouping != GROUPING_INLINE)
		text_add(&module, ", the function by itself");
	cells_put_cut(pane->cells, pane->row++, pane->area.col, pane->area.cols, ROLE_MODULE,
		      text_string(&module));
	text_release(&module);
}

static void fill(struct pane *pane, struct function_id function,
		 const struct selection_detail *detail)
{
	uint64_t whole = detail->cost.total_weight;
	put_name(pane, function);
	put_cost(pane, detail);
	const int above = pane->row;
	put_events(pane, function);
	const int rows = pane->area.rows - (pane->row - above);
	const int most = rows / (detail->lines.nr ? 4 : 3) - 2;
	put_lines(pane, &detail->lines, whole, most);
	put_nodes(pane, "CALLERS", &detail->callers, &detail->call_sites, 0, whole, most);
	put_nodes(pane, "CALLEES", &detail->callees, NULL, detail->own, whole, most);
	put_threads(pane, &detail->threads, whole, most);
}

/* Empty, beside its border. */
static struct pane pane_of(struct model *model, struct cells *cells, struct area area)
{
	struct pane pane = {model, cells, area, area.row, 0};
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
