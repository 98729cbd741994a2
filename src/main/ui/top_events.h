/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UI_TOP_EVENTS_H
#define CTOP_UI_TOP_EVENTS_H

/* Columns of the list of functions, where several events are sampled: shares of the others in each row, and ratios. */

#include <ctop/query/event_columns.h>
#include <ctop/terminal/cells.h>

#include "model.h"

struct top_events {
	struct event_columns of;
	int cols; /* of all that are drawn; 0: none are */
	int event_cols[1 + EVENT_COLUMNS_MAX], ratio_cols[EVENT_RATIOS_MAX]; /* 0: no room */
	struct text text;						     /* scratch */
};

/* Of the rows, in their order. 0 or -ENOMEM. */
int top_events_take(struct top_events *events, struct model *model,
		    const struct selection_groups *rows);
int top_events_reorder(struct top_events *events, size_t nr_rows, const size_t *order);
/* Finds which have room in a line of so many columns, beside names and modules. */
void top_events_fit(struct top_events *events, const struct model *model, int cols);
void top_events_draw_title(struct top_events *events, const struct model *model,
			   struct cells *cells, int row, int col);
void top_events_draw_row(struct top_events *events, const struct model *model, struct cells *cells,
			 int row, int col, size_t number);
void top_events_release(struct top_events *events);

#endif
