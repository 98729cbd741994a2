/* SPDX-License-Identifier: MIT */
/* The screen: what stands around the views, and where there is room for what. */
#include <ctop/views/views.h>

#include <stdio.h>
#include <string.h>

#include <ctop/screen/header.h>

#include "ui_internal.h"

/* A list and a pane beside it need so much. */
enum { DETAIL_FROM_COLS = 110, LIST_COLS_LEAST = 76, DETAIL_COLS_USUAL = 60 };

/* Keys of use in this view, from the left, as many as fit. */
static void draw_bar(const struct ui *ui, struct cells *cells, int row)
{
	int col = 0;
	for (size_t i = 0; i < nr_key_rows; i++) {
		const struct key_row *key = &key_rows[i];
		char label[16];
		if (!key->bar || !(key->views & VIEW_BIT(ui->current)))
			continue;
		snprintf(label, sizeof(label), "%.*s", (int)strcspn(key->label, " "), key->label);
		int cols = (int)(strlen(label) + 1 + strlen(key->bar));
		if (col + cols > cells->cols)
			continue;
		col += cells_put(cells, row, col, cols, ROLE_KEY, label);
		col += cells_putf(cells, row, col, cols, ROLE_TEXT, ":%s", key->bar) + 2;
	}
}

static void draw_status(struct ui *ui, struct cells *cells, int row)
{
	struct view *view = ui_view(ui);
	if (view && view->ops->draw_status)
		view->ops->draw_status(view, cells, row);
	else if (ui->asking == PROMPT_FIND)
		prompt_draw(&ui->prompt, cells, row, "find: ");
	else if (ui->asking == PROMPT_FILTER)
		prompt_draw(&ui->prompt, cells, row, "filter: ");
	else if (ui->asking == PROMPT_EXPORT)
		prompt_draw(&ui->prompt, cells, row,
			    cells->cols < 60 ? "to: " : "write what is shown (Tab: format) to: ");
	else if (ui->message.size)
		cells_put_cut(cells, row, 0, cells->cols, ROLE_TITLE, text_string(&ui->message));
	else if (view && view->ops->draw_selected)
		view->ops->draw_selected(view, &ui->model, cells, row);
	else
		cells_put_cut(cells, row, 0, cells->cols, ROLE_TEXT, ui_selected_text(ui));
}

/* Takes rows from an area's top. */
static int take_rows(struct area *area, int rows)
{
	int row = area->row;
	area->row += rows;
	area->rows -= rows;
	return row;
}

static bool is_profile(enum view_kind kind)
{
	return (int)kind < NR_VIEWS || kind == VIEW_CALLS || kind == VIEW_MODULES ||
	       kind == VIEW_CODE || kind == VIEW_TIMELINE;
}

/* Small screens give up what is least needed: the bar, the tabs, the header. */
static struct area draw_frame(struct ui *ui)
{
	struct cells *cells = &ui->cells;
	struct model *model = &ui->model;
	struct area body = cells_area(cells);
	if (ui->current == VIEW_PICKER) {
		cells_put(
			cells, take_rows(&body, 1), 0, cells->cols, ROLE_TITLE,
			"ctop: which process? Type to filter, Space marks, * all, Enter profiles");
		take_rows(&body,
			  cells_put_wrapped(cells, body, ROLE_WARN, text_string(&ui->message)));
	} else if (ui->current != VIEW_REFUSAL) {
		if (cells->rows >= 5)
			header_draw(model, cells, take_rows(&body, header_rows(model)));
		if (cells->rows >= 8)
			header_draw_tabs(model, is_profile(ui->current) ? ui->current : ui->beneath,
					 cells, take_rows(&body, 1));
		if (header_has_banner(model) && cells->rows >= 8)
			header_draw_banner(model, cells, take_rows(&body, 1));
		if (header_has_notices(model) && cells->rows >= 6)
			header_draw_notices(model, cells, take_rows(&body, 1));
		if (model->nr_zooms && cells->rows >= 6)
			header_draw_filters(model, cells, take_rows(&body, 1));
	}
	if (cells->rows >= 10)
		draw_bar(ui, cells, body.row + --body.rows);
	if (cells->rows >= 3)
		draw_status(ui, cells, body.row + --body.rows);
	return body;
}

/* What the pane is of: a function, or a row of a view that knows more of its rows. False: there is none. */
static bool has_pane(struct ui *ui, struct view *view, struct pane_subject *subject)
{
	bool is_list = ui->current == VIEW_TOP || ui->current == VIEW_TREE ||
		       ui->current == VIEW_CALLERS || ui->current == VIEW_THREADS ||
		       ui->current == VIEW_CALLS || ui->current == VIEW_MODULES;
	if (!is_list || ui->cells.cols < DETAIL_FROM_COLS)
		return false;
	*subject = (struct pane_subject){.view = view->ops->draw_pane ? view : NULL};
	if (!subject->view)
		return ui_selected_function(ui, &subject->function);
	if (view->selected >= view->nr_rows)
		return false;
	subject->row = view->ops->id_at(view, view->selected);
	return true;
}

static bool is_same_subject(const struct pane_subject *a, const struct pane_subject *b)
{
	return a->view == b->view && a->row == b->row && a->function.index == b->function.index;
}

static void draw_subject(struct ui *ui, const struct pane_subject *subject)
{
	struct cells *cells = &ui->pane.cells;
	cells_clear(cells);
	if (subject->view)
		subject->view->ops->draw_pane(subject->view, &ui->model, cells, cells_area(cells));
	else
		detail_draw(&ui->model, cells, cells_area(cells), subject->function);
}

static void draw_pane(struct ui *ui, struct area area, const struct pane_subject *subject)
{
	struct side_pane *pane = &ui->pane;
	bool fits = pane->cells.rows == area.rows && pane->cells.cols == area.cols;
	bool is_other = !is_same_subject(&pane->subject, subject);
	bool same = fits && !is_other && pane->generation == ui->model.generation;
	pane->due = fits && !same && (pane->late || pane->wait);
	if (!fits && cells_resize(&pane->cells, area.rows, area.cols)) {
		cells_put(&ui->cells, area.row, area.col, area.cols, ROLE_BAD, "out of memory!");
		return;
	}
	if (!pane->due) {
		draw_subject(ui, subject);
		pane->subject = *subject;
		pane->generation = ui->model.generation;
	}
	if (pane->due && is_other && pane->wait && !subject->view)
		detail_draw_name(&ui->model, &pane->cells, cells_area(&pane->cells),
				 subject->function);
	cells_copy(&ui->cells, area.row, area.col, &pane->cells);
}

static void draw_view(struct ui *ui, struct view *view, struct area body)
{
	struct cells *cells = &ui->cells;
	struct model *model = &ui->model;
	struct pane_subject subject;
	const bool lists_sleepers =
		(ui->current == VIEW_THREADS || ui->current == VIEW_TIMELINE) && view->nr_rows;
	if (is_profile(ui->current) && !model->totals.samples && !lists_sleepers) {
		header_draw_empty(model, cells, body);
	} else if (ui->current == VIEW_SANDWICH && !model->has_centre) {
		cells_put(cells, body.row + body.rows / 3, 2, cells->cols - 2, ROLE_TEXT,
			  "No function is chosen: select one in another view, and press 4.");
	} else if (ui->current == VIEW_CALLS && !view->nr_rows) {
		cells_put(cells, body.row + body.rows / 3, 2, cells->cols - 2, ROLE_TEXT,
			  "No system calls among the samples shown, or the kernel's part is not "
			  "sampled.");
	} else if (has_pane(ui, view, &subject)) {
		int cols = cells->cols - LIST_COLS_LEAST;
		/* Of wide screens two fifths. */
		int most = cells->cols * 2 / 5;
		most = most > DETAIL_COLS_USUAL ? most : DETAIL_COLS_USUAL;
		cols = cols < most ? cols : most;
		struct area pane = {body.row, body.col + body.cols - cols, body.rows, cols};
		body.cols -= cols + 1;
		view_draw(view, model, cells, body);
		draw_pane(ui, pane, &subject);
	} else {
		view_draw(view, model, cells, body);
	}
}

const struct cells *ui_draw(struct ui *ui)
{
	struct cells *cells = &ui->cells;
	struct view *view = ui_view(ui);
	ui->dirty = ui->pane.due = false;
	cells_clear(cells);
	/* What the frame says of the selected row is to be of the rows as they are now. */
	int result = view ? view_refresh(view, &ui->model) : -1;
	struct area body = draw_frame(ui);
	if (result)
		cells_put(cells, body.row, 0, cells->cols, ROLE_BAD, "out of memory!");
	else if (body.rows > 0)
		draw_view(ui, view, body);
	ui->pane.late = false;
	return cells;
}
