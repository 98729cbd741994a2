/* SPDX-License-Identifier: MIT */
#include <ctop/views/views.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>

#include "timeline_view.h"

enum { CELLS_USUAL = 80 };
/* A live profile begins with so much on the screen. */
#define SHOWN_NS (30 * NS_PER_SECOND)

/* ---- rows ---- */

/* Filters of threads and processes choose rows. */
static bool passes(const struct model *model, const struct timeline_thread *thread)
{
	for (size_t i = 0; i < model->nr_zooms; i++) {
		const struct selection_criterion *criterion = &model->zooms[i].criterion;
		const bool is_process = criterion->what == SELECTION_PROCESS;
		if (model->zooms[i].is_range ||
		    (!is_process && criterion->what != SELECTION_THREAD))
			continue;
		const int32_t number = is_process ? thread->pid : thread->tid;
		if ((number == criterion->number) == criterion->drop)
			return false;
	}
	return true;
}

static int compare_lines(const void *a, const void *b, void *state)
{
	const struct timeline_line *left = a, *right = b;
	const uint64_t left_ns = left->ns[*(enum thread_state *)state];
	const uint64_t right_ns = right->ns[*(enum thread_state *)state];
	if (left_ns != right_ns)
		return left_ns > right_ns ? -1 : 1;
	return (left->first > right->first) - (left->first < right->first);
}

static int compare_cgroups(const void *a, const void *b, void *timeline)
{
	const uint32_t left = timeline_thread(timeline, *(const size_t *)a)->cgroup;
	const uint32_t right = timeline_thread(timeline, *(const size_t *)b)->cgroup;
	const int order = left == right ? 0
					: strcmp(timeline_cgroup(timeline, left),
						 timeline_cgroup(timeline, right));
	return order ? order : timeline_compare_rows(a, b, timeline);
}

static int find_rows(struct timeline_view *timeline, const struct model *model)
{
	const size_t nr = timeline_nr_threads(timeline->timeline);
	timeline->rows.nr = 0;
	if (vec_reserve(&timeline->rows, nr + 1))
		return -ENOMEM;
	for (size_t row = 0; row < nr; row++)
		if (passes(model, timeline_thread(timeline->timeline, row)))
			timeline->rows.items[timeline->rows.nr++] = row;
	qsort_r(timeline->rows.items, timeline->rows.nr, sizeof(*timeline->rows.items),
		timeline->grouping == TIMELINE_CGROUPS ? compare_cgroups : timeline_compare_rows,
		(void *)(uintptr_t)timeline->timeline);
	return 0;
}

static void add_to_line(struct timeline_line *line, const struct timeline_thread *thread)
{
	line->nr++;
	for (int state = 0; state < NR_THREAD_STATES; state++)
		line->ns[state] += thread->ns[state];
}

/* The number that threads of one row have in common, and no others. */
static uint64_t id_of(const struct timeline_view *timeline, const struct timeline_thread *thread)
{
	if (timeline->grouping == TIMELINE_PROCESSES)
		return UINT64_C(1) << 63 | (uint64_t)thread->run << 32 | (uint32_t)thread->pid;
	return timeline->grouping == TIMELINE_CGROUPS ? UINT64_C(1) << 62 | thread->cgroup
						      : thread->serial;
}

static int find_lines(struct timeline_view *timeline)
{
	struct timeline_line *line = NULL;
	timeline->lines.nr = 0;
	if (vec_reserve(&timeline->lines, timeline->rows.nr + 1))
		return -ENOMEM;
	for (size_t i = 0; i < timeline->rows.nr; i++) {
		const struct timeline_thread *thread =
			timeline_thread(timeline->timeline, timeline->rows.items[i]);
		const uint64_t id = id_of(timeline, thread);
		if (!line || line->id != id) {
			line = &timeline->lines.items[timeline->lines.nr++];
			*line = (struct timeline_line){
				.first = i,
				.pid = thread->pid,
				.tid = timeline->grouping == TIMELINE_THREADS ? thread->tid : -1,
				.id = id,
			};
		}
		add_to_line(line, thread);
	}
	enum thread_state state =
		timeline->order == TIMELINE_BY_WAITING ? THREAD_WAITS : THREAD_COMPUTES;
	if (timeline->order != TIMELINE_BY_NUMBER)
		qsort_r(timeline->lines.items, timeline->lines.nr, sizeof(*timeline->lines.items),
			compare_lines, &state);
	return 0;
}

static int refresh(struct view *view, struct model *model)
{
	struct timeline_view *timeline = timeline_view_of(view);
	timeline->timeline = model->history ? history_timeline(model->history) : NULL;
	int result = timeline->timeline ? find_rows(timeline, model) : 0;
	if (!result && timeline->timeline)
		result = find_lines(timeline);
	view->nr_rows = result || !timeline->timeline ? 0 : timeline->lines.nr;
	return result;
}

static uint64_t id_at(const struct view *view, size_t row)
{
	return ((const struct timeline_view *)view)->lines.items[row].id;
}

/* ---- the view ---- */

static bool function_at(const struct view *view, size_t row, struct function_id *function)
{
	const struct timeline_view *timeline = (const struct timeline_view *)view;
	(void)row;
	*function = timeline->leaf;
	return timeline->leaf.index != 0;
}

static const char *text_at(struct view *view, struct model *model, size_t row)
{
	struct timeline_view *timeline = timeline_view_of(view);
	const struct timeline_line *line = &timeline->lines.items[row];
	const struct timeline_thread *thread =
		timeline_thread(timeline->timeline, timeline->rows.items[line->first]);
	(void)model;
	text_clear(&timeline->text);
	if (timeline->grouping == TIMELINE_CGROUPS) {
		text_add(&timeline->text, "cgroup ");
		text_add_safe(&timeline->text, timeline_view_cgroup(timeline, line));
	} else {
		text_addf(&timeline->text, "%d ", line->tid == -1 ? line->pid : line->tid);
		timeline_add_run(thread, &timeline->text);
		text_add_safe(&timeline->text, thread->name);
	}
	for (int state = 0; state < THREAD_UNKNOWN; state++) {
		static const char *const words[] = {"computed ", "queued ", "waited "};
		text_add(&timeline->text, state ? ", " : ": ");
		text_add(&timeline->text, words[state]);
		timeline_view_add_length(line->ns[state], &timeline->text);
	}
	return text_string(&timeline->text);
}

static void release(struct view *view)
{
	struct timeline_view *timeline = timeline_view_of(view);
	view_release(view);
	free(timeline->lines.items);
	free(timeline->rows.items);
	free(timeline->found.stacks);
	free(timeline->cells.items);
	text_release(&timeline->text);
	free(view);
}

struct view *timeline_view_new(void)
{
	static const struct view_ops ops = {
		.kind = VIEW_TIMELINE,
		.refresh = refresh,
		.id_at = id_at,
		.draw = timeline_view_draw,
		.text_at = text_at,
		.function_at = function_at,
		.act = timeline_view_act,
		.find = timeline_view_find,
		.click = timeline_view_click,
		.let_go = timeline_view_let_go,
		.free = release,
	};
	struct view *view = view_new(&ops, sizeof(struct timeline_view));
	if (view)
		timeline_view_of(view)->cell_ns = SHOWN_NS / CELLS_USUAL;
	return view;
}
