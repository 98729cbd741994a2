/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_EVENTS_H
#define CTOP_REPORT_REPORT_EVENTS_H

/*
 * Columns of the other events beside the numbers of a row: the share of each, and the ratios that they make, each with the number of
 * samples behind it. As many as a line has room for: ratios first, then what these rest on.
 */

#include <ctop/query/event_columns.h>

struct report_events {
	struct event_columns of;
	size_t event_cols[1 + EVENT_COLUMNS_MAX]; /* 0: no room */
	size_t ratio_cols[EVENT_RATIOS_MAX], count_cols[EVENT_RATIOS_MAX];
	size_t cols;	  /* of all that are there, and the gaps in front of them */
	struct text text; /* scratch */
};

/* All zero but for `of`. In lines of so many columns (0: as many as it takes), of which others take so many. */
void report_events_fit(struct report_events *events, const struct history *history,
		       size_t line_cols, size_t taken_cols);
void report_events_add_heading(struct report_events *events, const struct history *history,
			       struct text *out);
void report_events_add_row(struct report_events *events, size_t row, struct text *out);
/* Where a row has no numbers. */
void report_events_add_nothing(const struct report_events *events, struct text *out);
void report_events_release(struct report_events *events);

#endif
