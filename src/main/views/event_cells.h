/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_EVENT_CELLS_H
#define CTOP_VIEWS_EVENT_CELLS_H

/*
 * Columns of a list or a tree, where several events are sampled: shares of the others in each row, and the ratios that they make, each
 * with the number of samples behind it. As many as a line has room for: ratios first, then what these rest on.
 */

#include <ctop/query/event_columns.h>
#include <ctop/screen/model.h>
#include <ctop/terminal/cells.h>

struct event_cells {
	struct event_columns of;
	int cols; /* of all that are drawn, and a gap behind them; 0: none are */
	int event_cols[1 + EVENT_COLUMNS_MAX]; /* 0: no room */
	int ratio_cols[EVENT_RATIOS_MAX], count_cols[EVENT_RATIOS_MAX];
	struct text text; /* scratch */
};

/* Of the rows, in their order. 0 or -ENOMEM. */
int event_cells_take(struct event_cells *events, struct model *model,
		     const struct selection_groups *rows);
/* Without rows yet: event_columns_begin(). */
void event_cells_begin(struct event_cells *events, const struct model *model);
int event_cells_reorder(struct event_cells *events, size_t nr_rows, const size_t *order);
/* Finds which have room in so many columns of a line, of which names and what goes with them need some. */
void event_cells_fit(struct event_cells *events, const struct model *model, int cols);
void event_cells_draw_title(struct event_cells *events, const struct model *model,
			    struct cells *cells, int row, int col);
void event_cells_draw_row(struct event_cells *events, const struct model *model,
			  struct cells *cells, int row, int col, size_t number);
void event_cells_release(struct event_cells *events);

#endif
