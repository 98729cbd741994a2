/* SPDX-License-Identifier: MIT */
#include "top_events.h"

#include <string.h>

#include "view.h"

enum { COLS_LEAST = 6, COLS_MOST = 17, GAP_COLS = 1, ROOM_COLS_LEAST = 34 };

int top_events_take(struct top_events *events, struct model *model,
		    const struct selection_groups *rows)
{
	event_columns_release(&events->of);
	if (model->nr_events < 2 || changes_known(model))
		return 0;
	return event_columns_take(&events->of, model->selection, model->history, model->grouping,
				  rows);
}

int top_events_reorder(struct top_events *events, size_t nr_rows, const size_t *order)
{
	int result = 0;
	for (size_t i = 0; !result && i < events->of.nr; i++)
		result = view_reorder(events->of.columns[i].costs.items, nr_rows,
				      sizeof(*events->of.columns[i].costs.items), order);
	return result;
}

void top_events_release(struct top_events *events)
{
	event_columns_release(&events->of);
	text_release(&events->text);
}

/* ---- where they stand ---- */

static const char *event_title(struct top_events *events, const struct model *model, size_t i)
{
	text_clear(&events->text);
	event_column_add_name(model->history, &events->of.columns[i], COLS_MOST - 1, &events->text);
	text_add(&events->text, "%");
	return text_string(&events->text);
}

static const char *ratio_title(struct top_events *events, const struct model *model, size_t i)
{
	text_clear(&events->text);
	event_ratio_add_name(model->history, &events->of, &events->of.ratios[i], COLS_MOST,
			     &events->text);
	return text_string(&events->text);
}

/* The width of one with this title; 0: there is no room. */
static int take_room(struct top_events *events, const char *title, int cols)
{
	const int needed = (int)text_cols(title), taken = needed > COLS_LEAST ? needed : COLS_LEAST;
	if (events->cols + taken + GAP_COLS + ROOM_COLS_LEAST > cols)
		return 0;
	events->cols += taken + GAP_COLS;
	return taken;
}

/* Ratios first: where it is narrow these are what is wanted. */
void top_events_fit(struct top_events *events, const struct model *model, int cols)
{
	events->cols = 0;
	for (size_t i = 0; i < events->of.nr_ratios; i++)
		events->ratio_cols[i] = take_room(events, ratio_title(events, model, i), cols);
	for (size_t i = 1; i < events->of.nr; i++)
		events->event_cols[i] = take_room(events, event_title(events, model, i), cols);
	events->cols += events->cols ? GAP_COLS : 0;
}

/* ---- drawing ---- */

/* At the right of its column; returns the columns taken. */
static int put(struct cells *cells, int row, int col, int cols, enum role role, const char *text)
{
	const int taken = (int)text_cols(text);
	cells_put(cells, row, col + (taken < cols ? cols - taken : 0), cols, role, text);
	return cols + GAP_COLS;
}

void top_events_draw_title(struct top_events *events, const struct model *model,
			   struct cells *cells, int row, int col)
{
	for (size_t i = 1; i < events->of.nr; i++)
		if (events->event_cols[i])
			col += put(cells, row, col, events->event_cols[i], ROLE_TITLE,
				   event_title(events, model, i));
	for (size_t i = 0; i < events->of.nr_ratios; i++)
		if (events->ratio_cols[i])
			col += put(cells, row, col, events->ratio_cols[i], ROLE_TITLE,
				   ratio_title(events, model, i));
}

void top_events_draw_row(struct top_events *events, const struct model *model, struct cells *cells,
			 int row, int col, size_t number)
{
	struct text *text = &events->text;
	for (size_t i = 1; i < events->of.nr; i++) {
		const struct event_column *column = &events->of.columns[i];
		const double percent = 100.0 * (double)column->costs.items[number].self_weight /
				       (double)column->whole;
		text_clear(text);
		text_addf(text, "%.1f", percent);
		if (events->event_cols[i])
			col += put(cells, row, col, events->event_cols[i],
				   model_percent_role(model, percent), text_string(text));
	}
	for (size_t i = 0; i < events->of.nr_ratios; i++) {
		text_clear(text);
		event_ratio_add(&events->of, &events->of.ratios[i], number, text);
		const bool is_unsure = strchr("~-", text_string(text)[0]);
		if (events->ratio_cols[i])
			col += put(cells, row, col, events->ratio_cols[i],
				   is_unsure ? ROLE_DIM : ROLE_TEXT, text_string(text));
	}
}
