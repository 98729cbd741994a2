/* SPDX-License-Identifier: MIT */
#include "event_cells.h"

#include <string.h>

#include <ctop/screen/shares.h>
#include <ctop/screen/view.h>

enum { COLS_LEAST = 6, COLS_MOST = 17, COUNT_COLS = 5, GAP_COLS = 1, ROOM_COLS_LEAST = 34 };

static bool has_several(const struct model *model)
{
	return (model->nr_events > 1 || model->time) && !changes_known(model);
}

int event_cells_take(struct event_cells *events, struct model *model,
		     const struct selection_groups *rows)
{
	event_columns_release(&events->of);
	if (!has_several(model))
		return 0;
	return event_columns_take(&events->of, model->selection, model->history, model->grouping,
				  rows);
}

void event_cells_begin(struct event_cells *events, const struct model *model)
{
	event_columns_release(&events->of);
	if (has_several(model))
		event_columns_begin(&events->of, model->selection, model->history);
}

int event_cells_reorder(struct event_cells *events, size_t nr_rows, const size_t *order)
{
	int result = 0;
	for (size_t i = 0; !result && i < events->of.nr; i++)
		result = view_reorder(events->of.columns[i].costs.items, nr_rows,
				      sizeof(*events->of.columns[i].costs.items), order);
	return result;
}

void event_cells_release(struct event_cells *events)
{
	event_columns_release(&events->of);
	text_release(&events->text);
}

/* ---- where they stand ---- */

static const char *event_title(struct event_cells *events, const struct model *model, size_t i)
{
	text_clear(&events->text);
	event_column_add_name(model->history, &events->of.columns[i], COLS_MOST - 1, &events->text);
	text_add(&events->text, "%");
	return text_string(&events->text);
}

static const char *ratio_title(struct event_cells *events, const struct model *model, size_t i)
{
	text_clear(&events->text);
	event_ratio_add_name(model->history, &events->of, &events->of.ratios[i], COLS_MOST,
			     &events->text);
	return text_string(&events->text);
}

/* So many columns and a gap; 0: there is no room. */
static int take_room(struct event_cells *events, int needed, int cols)
{
	if (events->cols + needed + GAP_COLS + ROOM_COLS_LEAST > cols)
		return 0;
	events->cols += needed + GAP_COLS;
	return needed;
}

static int take_column(struct event_cells *events, const char *title, int cols)
{
	const int needed = (int)text_cols(title);
	return take_room(events, needed > COLS_LEAST ? needed : COLS_LEAST, cols);
}

/* Where it is narrow ratios are what is wanted. */
void event_cells_fit(struct event_cells *events, const struct model *model, int cols)
{
	events->cols = 0;
	for (size_t i = 0; i < events->of.nr_ratios; i++)
		events->ratio_cols[i] = take_column(events, ratio_title(events, model, i), cols);
	for (size_t i = 0; i < events->of.nr_ratios; i++)
		events->count_cols[i] =
			events->ratio_cols[i] ? take_room(events, COUNT_COLS, cols) : 0;
	for (size_t i = 1; i < events->of.nr; i++)
		events->event_cols[i] = take_column(events, event_title(events, model, i), cols);
	events->cols += events->cols ? GAP_COLS : 0;
}

/* ---- drawing ---- */

/* At the right of its column, if there is one; returns the columns taken. */
static int put(struct cells *cells, int row, int col, int cols, enum role role, const char *text)
{
	const int taken = (int)text_cols(text);
	if (!cols)
		return 0;
	cells_put(cells, row, col + (taken < cols ? cols - taken : 0), cols, role, text);
	return cols + GAP_COLS;
}

void event_cells_draw_title(struct event_cells *events, const struct model *model,
			    struct cells *cells, int row, int col)
{
	for (size_t i = 1; i < events->of.nr; i++)
		col += put(cells, row, col, events->event_cols[i], ROLE_TITLE,
			   event_title(events, model, i));
	for (size_t i = 0; i < events->of.nr_ratios; i++) {
		col += put(cells, row, col, events->ratio_cols[i], ROLE_TITLE,
			   ratio_title(events, model, i));
		col += put(cells, row, col, events->count_cols[i], ROLE_TITLE, "n");
	}
}

void event_cells_draw_row(struct event_cells *events, const struct model *model,
			  struct cells *cells, int row, int col, size_t number)
{
	struct text *text = &events->text;
	for (size_t i = 1; i < events->of.nr; i++) {
		const struct event_column *column = &events->of.columns[i];
		const double weight = (double)column->costs.items[number].weight,
			     whole = (double)column->whole;
		const double percent = column->whole ? 100.0 * weight / whole : 0;
		text_clear(text);
		text_addf(text, "%.1f", percent);
		col += put(cells, row, col, events->event_cols[i],
			   model_percent_role(model, percent), text_string(text));
	}
	for (size_t i = 0; i < events->of.nr_ratios; i++) {
		text_clear(text);
		event_ratio_add(&events->of, &events->of.ratios[i], number, text);
		const bool is_unsure = strchr("~-", text_string(text)[0]);
		col += put(cells, row, col, events->ratio_cols[i], is_unsure ? ROLE_DIM : ROLE_TEXT,
			   text_string(text));
		text_clear(text);
		event_ratio_add_count(&events->of, &events->of.ratios[i], number, text);
		col += put(cells, row, col, events->count_cols[i], ROLE_DIM, text_string(text));
	}
}
