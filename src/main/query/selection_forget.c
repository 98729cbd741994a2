/* SPDX-License-Identifier: MIT */
/*
 * A selection follows its history when that forgets stacks: counts go where the stacks went, so that they stay those of the last
 * refresh, even while the end stands. Paths that nothing leads to any more are dropped with the next refresh.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

static const uint64_t NS_PER_SECOND = 1000000000;

/* ---- by the history's rows ---- */

/* New rows come in the order of the first that became them. Returns their number. */
static size_t move_counts(struct stack_count *counts, size_t nr, const uint32_t *rows)
{
	size_t nr_moved = 0;
	for (size_t i = 0; i < nr; i++) {
		const struct stack_count count = counts[i];
		if (rows[i] == nr_moved) {
			counts[nr_moved++] = count;
			continue;
		}
		counts[rows[i]].samples += count.samples;
		counts[rows[i]].weight += count.weight;
	}
	return nr_moved;
}

static void move_node_paths(struct selection *selection, uint32_t label, const uint32_t *rows)
{
	uint32_t *items = selection->node_paths[label].items;
	size_t nr = selection->node_paths[label].nr, nr_moved = nr ? 1 : 0;
	for (size_t i = 1; i < nr; i++) {
		if (!rows[i])
			continue;
		items[rows[i]] = items[i];
		nr_moved = (size_t)rows[i] + 1;
	}
	selection->node_paths[label].nr = nr_moved;
}

/* Nothing here can fail; the stacks find their paths at the next refresh. */
static void follow(struct selection *selection, const struct forgotten_rows *gone)
{
	selection->counts.nr =
		move_counts(selection->counts.items, selection->counts.nr, gone->stacks);
	selection->before.nr =
		move_counts(selection->before.items, selection->before.nr, gone->stacks);
	selection_move_squares(selection, gone->stacks);
	selection->nr_seen = selection->stacks.nr = selection->settled.nr =
		selection->settled_buckets.nr = 0;
	for (uint32_t label = 0; label < NR_LABELS; label++)
		move_node_paths(selection, label, gone->nodes);
	selection->task_processes.nr = 0; /* tasks have other rows */
	selection_stop_following(selection);
	selection->has_moved = selection->has_old_paths = true;
}

/* Stacks of the window as it is shown. NULL: out of memory. */
static bool *find_shown(const struct selection *selection)
{
	bool *shown = calloc(selection->history->stacks.nr + 1, sizeof(*shown));
	for (size_t i = 0; shown && i < selection->counts.nr; i++)
		shown[i] = (selection->seconds != SELECTION_SINCE_START || selection->to_ns) &&
			   selection->counts.items[i].samples;
	return shown;
}

void selection_forget(struct selection *selection, uint64_t end_ns)
{
	struct forgotten_rows gone = {0};
	uint64_t span_ns = selection->seconds * NS_PER_SECOND;
	if (!history_wants_to_forget(selection->history))
		return;
	bool *shown = find_shown(selection);
	if (shown &&
	    !history_forget(selection->history, end_ns - (span_ns < end_ns ? span_ns : end_ns),
			    end_ns, shown, &gone))
		follow(selection, &gone);
	forgotten_rows_release(&gone);
	free(shown);
}

/* ---- from now on ---- */

static void give_back(struct selection *selection)
{
	selection->fresh.nr = 0;
	vec_give_back(&selection->counts);
	vec_give_back(&selection->before);
	vec_give_back(&selection->before_squares);
	selection->stack_squares.nr = selection->path_squares.nr = 0;
	vec_give_back(&selection->stack_squares);
	vec_give_back(&selection->path_squares);
	vec_give_back(&selection->stacks);
	vec_give_back(&selection->fresh);
	vec_give_back(&selection->settled);
	for (uint32_t label = 0; label < NR_LABELS; label++)
		vec_give_back(&selection->node_paths[label]);
}

static void give_paths_back(struct selection *selection)
{
	vec_give_back(&selection->paths);
	vec_give_back(&selection->pending);
	vec_give_back(&selection->dirty);
	vec_give_back(&selection->path_processes);
	vec_give_back(&selection->trend_masks);
	vec_give_back(&selection->shown);
	index_trim(&selection->path_index);
	index_trim(&selection->shown_index);
	selection->is_restarted = false;
}

int selection_forget_all(struct selection *selection)
{
	struct forgotten_rows gone = {0};
	if (!history_can_forget(selection->history))
		return 0;
	int result = history_forget_all(selection->history, &gone);
	if (!result) {
		follow(selection, &gone);
		give_back(selection);
		selection->is_restarted = true;
		selection->began_ns = selection->history->totals.last_ns;
	}
	forgotten_rows_release(&gone);
	return result;
}

/* ---- paths ---- */

/* Those that stacks, nodes and criteria lead to, and what is above them. Parents come before their children. */
static void mark_paths(const struct selection *selection, uint32_t *marks)
{
	marks[0] = marks[selection->root] = 1;
	for (size_t i = 0; i < selection->nr_criteria; i++)
		marks[selection->criteria[i].path] = 1;
	for (size_t i = 0; i < selection->stacks.nr; i++)
		marks[selection->stacks.items[i].path] = 1;
	for (uint32_t label = 0; label < NR_LABELS; label++)
		for (size_t i = 0; i < selection->node_paths[label].nr; i++)
			if (selection->node_paths[label].items[i])
				marks[selection->node_paths[label].items[i] - 1] = 1;
	for (size_t i = selection->paths.nr; i-- > 1;)
		if (marks[i])
			marks[selection->paths.items[i].parent] = 1;
}

/* From marks to rows; returns their number. */
static size_t number(uint32_t *map, size_t nr)
{
	size_t to = 0;
	for (size_t i = 0; i < nr; i++)
		map[i] = map[i] ? (uint32_t)to++ : 0;
	return to;
}

/* Its children, and others of its key, come to it later, as they were made. */
static void move_path(struct selection *selection, size_t from, const uint32_t *rows)
{
	struct path *items = selection->paths.items;
	uint32_t row = rows[from];
	struct path path = items[from];
	struct key *key = &selection->keys.items[path.key];
	path.parent = rows[path.parent];
	path.same = rows[path.same];
	path.first_child = path.next_sibling = 0;
	path.next_same = key->first_path;
	key->first_path = row;
	if (row) {
		path.next_sibling = items[path.parent].first_child;
		items[path.parent].first_child = row;
	}
	items[row] = path;
	if (selection->by_process)
		selection->path_processes.items[row] = selection->path_processes.items[from];
}

static void follow_rows(struct selection *selection, const uint32_t *rows)
{
	selection->root = rows[selection->root];
	for (size_t i = 0; i < selection->processes.nr;
	     i++) /* 0, if its stacks are gone: it is not made yet */
		selection->processes.items[i].path = rows[selection->processes.items[i].path];
	for (size_t i = 0; i < selection->nr_criteria; i++)
		selection->criteria[i].path = rows[selection->criteria[i].path];
	for (size_t i = 0; i < selection->stacks.nr; i++)
		selection->stacks.items[i].path = rows[selection->stacks.items[i].path];
	for (uint32_t label = 0; label < NR_LABELS; label++)
		for (size_t i = 0; i < selection->node_paths[label].nr; i++) {
			uint32_t *path = &selection->node_paths[label].items[i];
			*path = *path ? rows[*path - 1] + 1 : 0;
		}
}

void selection_drop_paths(struct selection *selection)
{
	size_t nr = selection->paths.nr;
	uint32_t *rows = selection->has_old_paths ? calloc(nr, sizeof(*rows)) : NULL;
	if (!rows)
		return;
	selection_stop_following(selection);
	mark_paths(selection, rows);
	size_t nr_kept = number(rows, nr);
	for (size_t i = 0; i < selection->keys.nr; i++)
		selection->keys.items[i].first_path = 0;
	for (size_t i = 0; i < nr; i++)
		if (!i || rows[i])
			move_path(selection, i, rows);
	follow_rows(selection, rows);
	free(rows);
	selection->paths.nr = nr_kept;
	selection->path_processes.nr = selection->by_process ? nr_kept : 0;
	selection_index_paths(selection);
	/* Nothing is pending between refreshes. */
	selection->pending.nr = selection->dirty.nr = 0;
	selection->trend_nr = selection->trend_masks.nr = 0;
	selection->shown.nr = 0;
	index_clear(&selection->shown_index);
	selection->has_old_paths = false;
	if (selection->is_restarted)
		give_paths_back(selection);
}
