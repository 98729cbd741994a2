/* SPDX-License-Identifier: MIT */
#include "report_events.h"

#include <ctop/base/text.h>

#include "report_internal.h"

enum {
	COLS_LEAST = 6,
	COLS_MOST = 17,
	GAP_COLS = 2,
	COUNT_COLS = 6, /* "12.3k" behind its ratio */
};

void report_events_release(struct report_events *events)
{
	event_columns_release(&events->of);
	text_release(&events->text);
}

/* ---- where they stand ---- */

static const char *event_heading(struct report_events *events, const struct history *history,
				 size_t i)
{
	text_clear(&events->text);
	event_column_add_name(history, &events->of.columns[i], COLS_MOST - 1, &events->text);
	text_add(&events->text, "%");
	return text_string(&events->text);
}

static const char *ratio_heading(struct report_events *events, const struct history *history,
				 size_t i)
{
	text_clear(&events->text);
	event_ratio_add_name(history, &events->of, &events->of.ratios[i], COLS_MOST, &events->text);
	return text_string(&events->text);
}

struct room {
	size_t line_cols, taken_cols;
};

/* The width with a gap in front, if there is room for it; 0: there is none. */
static size_t take(struct report_events *events, const struct room *room, size_t cols)
{
	if (room->line_cols && room->taken_cols + events->cols + cols > room->line_cols)
		return 0;
	events->cols += cols;
	return cols;
}

static size_t take_column(struct report_events *events, const struct room *room,
			  const char *heading)
{
	const size_t cols = text_cols(heading);
	return take(events, room, GAP_COLS + (cols > COLS_LEAST ? cols : COLS_LEAST));
}

void report_events_fit(struct report_events *events, const struct history *history,
		       size_t line_cols, size_t taken_cols)
{
	const struct room room = {line_cols, taken_cols};
	const size_t nr_ratios = events->of.nr_ratios;
	events->cols = 0;
	for (size_t i = 0; i < nr_ratios; i++)
		events->ratio_cols[i] =
			take_column(events, &room, ratio_heading(events, history, i));
	for (size_t i = 0; i < nr_ratios; i++)
		events->count_cols[i] = events->ratio_cols[i] ? take(events, &room, COUNT_COLS) : 0;
	for (size_t i = 1; i < events->of.nr; i++)
		events->event_cols[i] =
			take_column(events, &room, event_heading(events, history, i));
}

/* ---- as text ---- */

/* To the right of its column, which may not be there. */
static void add_right(struct text *out, const char *string, size_t cols)
{
	const size_t taken = text_cols(string);
	if (!cols)
		return;
	report_add_blanks(out, taken < cols ? cols - taken : 0);
	text_add(out, string);
}

void report_events_add_heading(struct report_events *events, const struct history *history,
			       struct text *out)
{
	for (size_t i = 1; i < events->of.nr; i++)
		add_right(out, event_heading(events, history, i), events->event_cols[i]);
	for (size_t i = 0; i < events->of.nr_ratios; i++) {
		add_right(out, ratio_heading(events, history, i), events->ratio_cols[i]);
		add_right(out, "n", events->count_cols[i]);
	}
}

void report_events_add_row(struct report_events *events, size_t row, struct text *out)
{
	const struct event_columns *of = &events->of;
	struct text *text = &events->text;
	for (size_t i = 1; i < of->nr; i++) {
		const struct event_column *column = &of->columns[i];
		text_clear(text);
		report_add_share(text, column->costs.items[row].weight, column->whole);
		add_right(out, text_string(text), events->event_cols[i]);
	}
	for (size_t i = 0; i < of->nr_ratios; i++) {
		text_clear(text);
		event_ratio_add(of, &of->ratios[i], row, text);
		add_right(out, text_string(text), events->ratio_cols[i]);
		text_clear(text);
		event_ratio_add_count(of, &of->ratios[i], row, text);
		add_right(out, text_string(text), events->count_cols[i]);
	}
	out->failed |= text->failed;
}

void report_events_add_nothing(const struct report_events *events, struct text *out)
{
	report_add_blanks(out, events->cols);
}
