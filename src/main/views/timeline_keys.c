/* SPDX-License-Identifier: MIT */
/* What keys do in the timeline. */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "timeline_view.h"

enum { ZOOM_STEP = 2 };

/* ---- a range ---- */

static void set_range(struct timeline_view *timeline, struct model *model)
{
	struct text label = {0};
	/* Marked the other way round: both cells are in it all the same. */
	if (timeline->mark_from_ns >= timeline->mark_to_ns) {
		const uint64_t from_ns = timeline->mark_from_ns;
		timeline->mark_from_ns = timeline->mark_to_ns - timeline->cell_ns;
		timeline->mark_to_ns = from_ns + timeline->cell_ns;
	}
	text_add(&label, "range ");
	timeline_view_add_time(timeline, timeline->mark_from_ns, &label);
	text_add(&label, " - ");
	timeline_view_add_time(timeline, timeline->mark_to_ns, &label);
	model_set_range(model, timeline->mark_from_ns, timeline->mark_to_ns, text_string(&label));
	text_release(&label);
}

/* The cell's beginning, or its end: a range of one cell is one. */
static void mark(struct timeline_view *timeline, struct model *model, bool is_end)
{
	if (!timeline->nr_cells)
		return;
	const uint64_t at_ns = timeline->from_ns +
			       (uint64_t)(timeline->cursor + (is_end ? 1 : 0)) * timeline->cell_ns;
	/* A range was taken back: its marks go with it. */
	if (!model_range(model) && timeline->mark_from_ns && timeline->mark_to_ns)
		timeline->mark_from_ns = timeline->mark_to_ns = 0;
	*(is_end ? &timeline->mark_to_ns : &timeline->mark_from_ns) = at_ns;
	timeline->is_placed = true;
	if (timeline->mark_from_ns && timeline->mark_to_ns)
		set_range(timeline, model);
	else
		model_tell(model, is_end ? "[ marks where the range begins"
					 : "] marks where the range ends");
}

/* ---- moments ---- */

static void go_to(struct timeline_view *timeline, const struct timeline_moment *moment,
		  uint64_t time_ns)
{
	struct view *view = &timeline->view;
	timeline->moment = *moment;
	timeline->has_moment = true;
	for (size_t line = 0; line < timeline->lines.nr; line++) {
		const struct timeline_line *of = &timeline->lines.items[line];
		for (size_t i = 0; i < of->nr; i++)
			if (timeline->rows.items[of->first + i] == moment->row) {
				view_select(view, line);
				view->chosen = true;
			}
	}
	timeline_view_go(timeline, time_ns);
}

/* So that the whole wait is on the screen, with something around it. */
static void show_length(struct timeline_view *timeline, uint64_t ns)
{
	const uint64_t shown_ns = (uint64_t)timeline->nr_cells * timeline->cell_ns;
	if (ns > shown_ns)
		timeline_view_zoom(timeline, ns / (uint64_t)timeline->nr_cells * ZOOM_STEP);
}

static bool is_listed(const struct timeline_view *timeline, size_t row)
{
	for (size_t i = 0; i < timeline->rows.nr; i++)
		if (timeline->rows.items[i] == row)
			return true;
	return false;
}

static void add_waker(const struct timeline *timeline, const struct timeline_moment *wait,
		      struct text *text)
{
	const char *kind = waker_kind(wait->waker_tid);
	if (!wait->is_woken)
		return;
	text_addf(text, ", woken by %s", kind ? kind : "");
	if (kind)
		return;
	const size_t row = timeline_row_then(timeline, timeline_thread(timeline, wait->row)->run,
					     wait->waker_tid, wait->to_ns);
	text_addf(text, "%" PRId32, wait->waker_tid);
	if (row == SIZE_MAX)
		return;
	text_add(text, " ");
	text_add_safe(text, timeline_thread(timeline, row)->name);
}

static void next_wait(struct timeline_view *timeline, struct model *model)
{
	struct timeline_moment all[TIMELINE_WAITS];
	size_t nr = 0;
	if (!timeline->timeline || !timeline->nr_cells)
		return;
	const size_t nr_all = timeline_longest_waits(timeline->timeline, all);
	for (size_t i = 0; i < nr_all; i++)
		if (is_listed(timeline, all[i].row))
			all[nr++] = all[i];
	if (!nr) {
		model_tell(model, "no thread has waited yet, as far as is known");
		return;
	}
	const size_t at = timeline->next_wait % nr;
	const struct timeline_moment *wait = &all[at];
	timeline->next_wait = at + 1;
	show_length(timeline, wait->to_ns - wait->time_ns);
	go_to(timeline, wait, wait->time_ns + (wait->to_ns - wait->time_ns) / 2);
	struct text text = {0};
	text_addf(&text, "wait %zu of the %zu longest: ", at + 1, nr);
	timeline_view_add_length(wait->to_ns - wait->time_ns, &text);
	if (wait->wait != WAIT_UNSEEN)
		text_addf(&text, ", for: %s", wait_kind_name(wait->wait));
	text_add(&text, ", from ");
	timeline_view_add_time(timeline, wait->time_ns, &text);
	add_waker(timeline->timeline, wait, &text);
	model_tell(model, text_string(&text));
	text_release(&text);
}

/* From where the cursor is: the moment that was gone to, or the cell. */
static struct timeline_moment origin(const struct timeline_view *timeline, int step,
				     bool with_selected)
{
	const uint64_t tile_ns = timeline_tile_ns(timeline->timeline);
	const uint64_t cursor_ns = timeline->cursor_ns;
	const uint64_t cell_ns = timeline->cell_ns;
	const bool is_there = timeline->has_moment &&
			      timeline->moment.time_ns + cell_ns >= cursor_ns &&
			      timeline->moment.time_ns <= cursor_ns + cell_ns;
	if (is_there && !with_selected)
		return timeline->moment;
	/* What is typed is looked for in all of it, from what is on the screen on. */
	uint64_t at_ns = with_selected ? timeline->from_ns : cursor_ns;
	if (with_selected)
		at_ns = at_ns > tile_ns ? at_ns - tile_ns : 0;
	(void)step;
	return (struct timeline_moment){.row = SIZE_MAX, .time_ns = at_ns};
}

static bool find_from(const struct timeline_view *timeline, const struct timeline_moment *from,
		      int step, struct timeline_moment *moment)
{
	return timeline_find(timeline->timeline, timeline->rows.items, timeline->rows.nr,
			     timeline->found.stacks, timeline->found.nr, from, step, moment);
}

/* Still the same call, as far as tiles tell, or nothing that is seen apart. */
static bool goes_on(const struct timeline_view *timeline, const struct timeline_moment *from,
		    const struct timeline_moment *moment)
{
	const uint64_t gap_ns = moment->time_ns > from->time_ns ? moment->time_ns - from->time_ns
								: from->time_ns - moment->time_ns;
	return moment->row == from->row &&
	       (gap_ns <= timeline_tile_ns(timeline->timeline) || gap_ns < timeline->cell_ns);
}

/* The next one that is not where the last one goes on. */
static bool find_next(const struct timeline_view *timeline, struct timeline_moment from, int step,
		      struct timeline_moment *moment)
{
	enum { TILES_MOST = 20000 };
	bool is_there = find_from(timeline, &from, step, moment);
	for (int i = 0; is_there && i < TILES_MOST && goes_on(timeline, &from, moment); i++) {
		from = *moment;
		is_there = find_from(timeline, &from, step, moment);
	}
	return is_there;
}

bool timeline_view_find(struct view *view, struct model *model, const char *wanted, int step,
			bool with_selected)
{
	struct timeline_view *timeline = timeline_view_of(view);
	struct timeline_moment moment;
	if (!timeline->timeline || !timeline->nr_cells)
		return false;
	const int result = timeline_view_look_for(timeline, model, wanted);
	if (result)
		model_failed(model, result);
	if (result || !timeline->found.nr_named)
		return false;
	struct timeline_moment from = origin(timeline, step, with_selected);
	bool is_there = find_next(timeline, from, step, &moment);
	/* Around the end. */
	from = (struct timeline_moment){.row = SIZE_MAX, .time_ns = step > 0 ? 0 : UINT64_MAX >> 2};
	if (!is_there)
		is_there = find_from(timeline, &from, step, &moment);
	if (is_there)
		go_to(timeline, &moment, moment.time_ns + (moment.to_ns - moment.time_ns) / 2);
	return is_there;
}

/* ---- keys ---- */

/* False: the row is no thread or process. */
static bool zoom_row(const struct timeline_view *timeline, struct model *model)
{
	const struct view *view = &timeline->view;
	struct text label = {0};
	if (view->selected >= view->nr_rows || timeline->grouping == TIMELINE_CGROUPS)
		return false;
	const struct timeline_line *line = &timeline->lines.items[view->selected];
	const struct timeline_thread *thread =
		timeline_thread(timeline->timeline, timeline->rows.items[line->first]);
	const bool is_thread = timeline->grouping == TIMELINE_THREADS;
	const int32_t number = is_thread ? line->tid : line->pid;
	text_addf(&label, "%s=%" PRId32 " ", is_thread ? "thread" : "process", number);
	text_add_safe(&label, thread->name);
	model_zoom(model,
		   (struct selection_criterion){.what = is_thread ? SELECTION_THREAD
								  : SELECTION_PROCESS,
						.number = number},
		   text_string(&label));
	text_release(&label);
	return true;
}

static void next_order(struct timeline_view *timeline)
{
	timeline->order = (enum timeline_order)((timeline->order + 1) % NR_TIMELINE_ORDERS);
	timeline->view.stale = true;
}

static void next_grouping(struct timeline_view *timeline, struct model *model)
{
	static const char *const words[NR_TIMELINE_GROUPINGS] = {
		"a row for each thread", "a row for each process", "a row for each cgroup"};
	const bool has_cgroups = timeline_cgroup(timeline->timeline, 1)[0];
	const bool is_last = timeline->grouping == TIMELINE_CGROUPS ||
			     (timeline->grouping == TIMELINE_PROCESSES && !has_cgroups);
	timeline->grouping = is_last ? TIMELINE_THREADS : timeline->grouping + 1;
	timeline->view.stale = true;
	view_select(&timeline->view, 0);
	model_tell(model, words[timeline->grouping]);
}

bool timeline_view_act(struct view *view, struct model *model, enum action action)
{
	struct timeline_view *timeline = timeline_view_of(view);
	/* Not drawn yet: there is no place. */
	if (!timeline->timeline || !timeline->nr_cells)
		return false;
	switch ((int)action) {
	case ACTION_OPEN:
		timeline_view_step(timeline, 1);
		break;
	case ACTION_CLOSE:
		timeline_view_step(timeline, -1);
		break;
	case ACTION_PAN_LEFT:
		timeline_view_pan(timeline, -timeline->nr_cells / 2);
		break;
	case ACTION_PAN_RIGHT:
		timeline_view_pan(timeline, timeline->nr_cells / 2);
		break;
	case ACTION_ZOOM_IN:
		timeline_view_zoom(timeline, timeline->cell_ns / ZOOM_STEP);
		break;
	case ACTION_ZOOM_OUT:
		timeline_view_zoom(timeline, timeline->cell_ns * ZOOM_STEP);
		break;
	case ACTION_RANGE_FROM:
		mark(timeline, model, false);
		break;
	case ACTION_RANGE_TO:
		mark(timeline, model, true);
		break;
	case ACTION_ZOOM_THREAD:
		return zoom_row(timeline, model);
	case ACTION_LONGEST_WAIT:
		next_wait(timeline, model);
		break;
	case ACTION_PROCESSES:
		next_grouping(timeline, model);
		break;
	case ACTION_SORT:
		next_order(timeline);
		break;
	default:
		return false;
	}
	return true;
}

bool timeline_view_click(struct view *view, int row, int col)
{
	struct timeline_view *timeline = timeline_view_of(view);
	const size_t at = view->first + (size_t)(row - timeline->rows_row);
	timeline->pressed_ns = 0;
	if (!timeline->nr_cells || row < timeline->rows_row ||
	    row >= timeline->rows_row + view->height || at >= view->nr_rows)
		return false;
	view_select(view, at);
	if (col < timeline->cells_col || col - timeline->cells_col >= timeline->nr_cells)
		return true;
	timeline_view_step(timeline, col - timeline->cells_col - timeline->cursor);
	timeline->pressed_ns = timeline->from_ns + (uint64_t)timeline->cursor * timeline->cell_ns;
	return true;
}

/* From where it was pressed to here, both cells with it, whichever is the first; all of it may have moved meanwhile. */
void timeline_view_let_go(struct view *view, struct model *model, int row, int col)
{
	struct timeline_view *timeline = timeline_view_of(view);
	const uint64_t pressed_ns = timeline->pressed_ns, cell_ns = timeline->cell_ns;
	const int last = timeline->nr_cells - 1, at = col - timeline->cells_col;
	const int cell = at < 0 ? 0 : at < last ? at : last;
	(void)row;
	timeline->pressed_ns = 0;
	if (!pressed_ns || !timeline->timeline || !timeline->nr_cells)
		return;
	const uint64_t here_ns = timeline->from_ns + (uint64_t)cell * cell_ns;
	if (here_ns == pressed_ns)
		return;
	timeline_view_step(timeline, cell - timeline->cursor);
	timeline->mark_from_ns = here_ns < pressed_ns ? here_ns : pressed_ns;
	timeline->mark_to_ns = (here_ns < pressed_ns ? pressed_ns : here_ns) + cell_ns;
	set_range(timeline, model);
}
