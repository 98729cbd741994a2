/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_TREND_H
#define CTOP_VIEWS_TREND_H

/*
 * The last seconds of the rows on the screen, as sparklines: shares of all samples of each second, on one scale, so that rows can be
 * compared. A row that never reaches an eighth of the highest has none.
 */

#include <ctop/screen/model.h>

enum { TREND_ROWS_MOST = 2 * SELECTION_TREND_ROWS_MAX };

struct trends {
	uint64_t weights[TREND_ROWS_MOST * MODEL_TREND_SECONDS];
	size_t first, nr; /* rows; as many as were there */
	uint32_t seconds;
	double top; /* the highest share */
};

/* Columns that trends take on this screen; 0: they would say nothing. */
uint32_t trend_cols(const struct model *model);
/* Begins with no rows from `first` on. */
void trends_begin(struct trends *trends, const struct model *model, size_t first);
/* Where the weights of the next `nr` rows belong. */
uint64_t *trends_room(struct trends *trends);
void trends_add(struct trends *trends, size_t nr);
/* All rows are there. */
void trends_scale(struct trends *trends, const struct model *model);
void trends_put(const struct trends *trends, const struct model *model, struct cells *cells,
		int line, int col, size_t row);

#endif
