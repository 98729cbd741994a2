/* SPDX-License-Identifier: MIT */
/* Which part of time the timeline shows, where its cursor is, and what is there. */
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>

#include "timeline_view.h"

/* When so much is known, what is on the screen stays as it is. */
#define SHOWN_NS      (30 * NS_PER_SECOND)
#define CELL_NS_LEAST UINT64_C(1000)

/* ---- what is on the screen ---- */

static uint64_t cells_ns(const struct timeline_view *timeline, int64_t cells)
{
	return (uint64_t)cells * timeline->cell_ns;
}

static uint64_t end_ns(const struct timeline_view *timeline)
{
	return timeline->from_ns + cells_ns(timeline, timeline->nr_cells);
}

/* In its cell's middle. */
static void put_cursor(struct timeline_view *timeline, int cell)
{
	timeline->cursor = cell;
	timeline->cursor_ns = timeline->from_ns + cells_ns(timeline, cell) + timeline->cell_ns / 2;
}

/* Its column; what has gone by is not on the screen any more. */
static void find_cursor(struct timeline_view *timeline)
{
	if (timeline->cursor_ns < timeline->from_ns)
		put_cursor(timeline, 0);
	else if (timeline->cursor_ns >= end_ns(timeline))
		put_cursor(timeline, timeline->nr_cells - 1);
	else
		timeline->cursor =
			(int)((timeline->cursor_ns - timeline->from_ns) / timeline->cell_ns);
}

/* Not far behind the end, nor before the beginning. */
static void keep_inside(struct timeline_view *timeline)
{
	const uint64_t first_ns = timeline_first_ns(timeline->timeline);
	const uint64_t last_ns = timeline_last_ns(timeline->timeline);
	const uint64_t all_ns = cells_ns(timeline, timeline->nr_cells);
	const uint64_t most_ns = last_ns + all_ns / 4;
	if (end_ns(timeline) > most_ns)
		timeline->from_ns = most_ns > all_ns ? most_ns - all_ns : 0;
	if (timeline->from_ns < first_ns)
		timeline->from_ns = first_ns;
	timeline->follows = end_ns(timeline) >= last_ns;
}

/* At first all that there is; what is on the screen stays when there is much of it. */
static void fit_all(struct timeline_view *timeline, uint64_t first_ns, uint64_t last_ns)
{
	const uint64_t cell_ns = (last_ns - first_ns) / (uint64_t)timeline->nr_cells + 1;
	timeline->cell_ns = cell_ns > CELL_NS_LEAST ? cell_ns : CELL_NS_LEAST;
	timeline->from_ns = first_ns;
	put_cursor(timeline, timeline->nr_cells - 1);
	timeline->follows = true;
	timeline->is_placed = last_ns - first_ns > SHOWN_NS / 2;
}

void timeline_view_fit(struct timeline_view *timeline, int nr_cells)
{
	const uint64_t last_ns = timeline_last_ns(timeline->timeline);
	const bool is_at_end = timeline->follows && timeline->cursor == timeline->nr_cells - 1;
	timeline->nr_cells = nr_cells > 1 ? nr_cells : 1;
	if (!timeline->is_placed) {
		fit_all(timeline, timeline_first_ns(timeline->timeline), last_ns);
		return;
	}
	/* By whole cells: what they show stays the same. */
	if (timeline->follows && last_ns > end_ns(timeline))
		timeline->from_ns +=
			((last_ns - end_ns(timeline)) / timeline->cell_ns + 1) * timeline->cell_ns;
	if (is_at_end)
		put_cursor(timeline, timeline->nr_cells - 1);
	find_cursor(timeline);
}

void timeline_view_go(struct timeline_view *timeline, uint64_t time_ns)
{
	timeline->is_placed = true;
	if (time_ns < timeline->from_ns || time_ns >= end_ns(timeline)) {
		const uint64_t half_ns = cells_ns(timeline, timeline->nr_cells / 2);
		timeline->from_ns = time_ns > half_ns ? time_ns - half_ns : 0;
		keep_inside(timeline);
	}
	timeline->cursor_ns = time_ns;
	find_cursor(timeline);
	timeline->follows = false;
}

void timeline_view_zoom(struct timeline_view *timeline, uint64_t cell_ns)
{
	/* All of it in half of the screen is as far as it goes. */
	const uint64_t all_ns =
		timeline_last_ns(timeline->timeline) - timeline_first_ns(timeline->timeline);
	const uint64_t most_ns = all_ns / (uint64_t)timeline->nr_cells * 2;
	timeline->is_placed = true;
	cell_ns = cell_ns < most_ns ? cell_ns : most_ns;
	timeline->cell_ns = cell_ns > CELL_NS_LEAST ? cell_ns : CELL_NS_LEAST;
	const uint64_t before_ns = cells_ns(timeline, timeline->cursor) + timeline->cell_ns / 2;
	timeline->from_ns = timeline->cursor_ns > before_ns ? timeline->cursor_ns - before_ns : 0;
	keep_inside(timeline);
	find_cursor(timeline);
}

void timeline_view_pan(struct timeline_view *timeline, int64_t cells)
{
	const uint64_t by_ns = cells_ns(timeline, cells < 0 ? -cells : cells);
	timeline->is_placed = true;
	if (cells < 0)
		timeline->from_ns = timeline->from_ns > by_ns ? timeline->from_ns - by_ns : 0;
	else
		timeline->from_ns += by_ns;
	keep_inside(timeline);
	put_cursor(timeline, timeline->cursor);
}

void timeline_view_step(struct timeline_view *timeline, int cells)
{
	const int at = timeline->cursor + cells;
	if (at < 0 || at >= timeline->nr_cells)
		timeline_view_pan(timeline, cells);
	else
		put_cursor(timeline, at);
	timeline->is_placed = true;
}

/* Of a process the thread that was seen nearest. */
bool timeline_view_stack(const struct timeline_view *timeline, struct timeline_seen *seen)
{
	const uint64_t cursor_ns = timeline->cursor_ns;
	const uint64_t tile_ns = timeline_tile_ns(timeline->timeline);
	uint64_t within_ns = timeline->cell_ns > tile_ns ? timeline->cell_ns : tile_ns;
	bool is_seen = false;
	if (timeline->view.selected >= timeline->lines.nr)
		return false;
	/* A wait is looked at ten times a second, about. */
	within_ns = within_ns * 4 > NS_PER_SECOND / 4 ? within_ns * 4 : NS_PER_SECOND / 4;
	const struct timeline_line *line = &timeline->lines.items[timeline->view.selected];
	for (size_t i = 0; i < line->nr; i++) {
		struct timeline_seen other;
		if (!timeline_stack_at(timeline->timeline, timeline->rows.items[line->first + i],
				       cursor_ns, within_ns, &other))
			continue;
		const uint64_t away_ns = other.time_ns > cursor_ns ? other.time_ns - cursor_ns
								   : cursor_ns - other.time_ns;
		if (is_seen && away_ns >= within_ns)
			continue;
		*seen = other;
		within_ns = away_ns;
		is_seen = true;
	}
	return is_seen;
}

/* ---- which stacks have a function ---- */

int timeline_view_look_for(struct timeline_view *timeline, struct model *model, const char *wanted)
{
	const size_t size = strlen(wanted);
	struct selection_named named;
	if (size >= sizeof(timeline->found_text))
		return 0;
	if (timeline->found.stacks && timeline->found_generation == model->generation &&
	    !strcmp(timeline->found_text, wanted))
		return 0;
	const int result = selection_stacks_named(model->selection, wanted, &named);
	if (result)
		return result;
	free(timeline->found.stacks);
	timeline->found = named;
	timeline->found_generation = model->generation;
	memcpy(timeline->found_text, wanted, size + 1);
	return 0;
}
