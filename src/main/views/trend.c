/* SPDX-License-Identifier: MIT */
#include "trend.h"

#include <ctop/terminal/theme.h>

enum { LEVELS = 8 };
/* Below this width there is no room; from the other on there is room for more seconds. */
enum { FROM_COLS = 70, WIDE_FROM_COLS = 160, SECONDS = 8, WIDE_SECONDS = MODEL_TREND_SECONDS };

/* Of a single second nothing rises or falls. */
static bool has_course(const struct model *model)
{
	unsigned nr = 0;
	for (size_t i = 0; i < MODEL_TREND_SECONDS; i++)
		nr += model->trend[i] > 0;
	return nr > 1;
}

uint32_t trend_cols(const struct model *model)
{
	if (model->cols < FROM_COLS || !has_course(model))
		return 0;
	return model->cols < WIDE_FROM_COLS ? SECONDS : WIDE_SECONDS;
}

void trends_begin(struct trends *trends, const struct model *model, size_t first)
{
	trends->first = first;
	trends->nr = 0;
	trends->seconds = trend_cols(model);
}

uint64_t *trends_room(struct trends *trends)
{
	return &trends->weights[trends->nr * trends->seconds];
}

void trends_add(struct trends *trends, size_t nr)
{
	trends->nr += nr;
}

/* Of all samples of that second. */
static double share(const struct trends *trends, const struct model *model, size_t row,
		    uint32_t second)
{
	uint64_t all = model->trend[MODEL_TREND_SECONDS - trends->seconds + second];
	return all ? (double)trends->weights[row * trends->seconds + second] / (double)all : 0;
}

void trends_scale(struct trends *trends, const struct model *model)
{
	trends->top = 0;
	for (size_t row = 0; row < trends->nr; row++)
		for (uint32_t i = 0; i < trends->seconds; i++) {
			double height = share(trends, model, row, i);
			trends->top = height > trends->top ? height : trends->top;
		}
}

static int level(const struct trends *trends, double height)
{
	int level = trends->top > 0 ? (int)(height / trends->top * LEVELS) : 0;
	return level < LEVELS ? level : LEVELS - 1;
}

void trends_put(const struct trends *trends, const struct model *model, struct cells *cells,
		int line, int col, size_t row)
{
	const size_t item = row - trends->first;
	double highest = 0;
	if (row < trends->first || item >= trends->nr)
		return;
	for (uint32_t i = 0; i < trends->seconds; i++) {
		double height = share(trends, model, item, i);
		highest = height > highest ? height : highest;
	}
	if (!level(trends, highest))
		return;
	for (uint32_t i = 0; i < trends->seconds; i++) {
		double height = share(trends, model, item, i);
		if (height > 0)
			cells_put(cells, line, col + (int)i, 1, ROLE_LABEL,
				  model->glyphs->dots[level(trends, height)]);
	}
}
