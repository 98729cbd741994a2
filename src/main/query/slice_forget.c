/* SPDX-License-Identifier: MIT */
/*
 * A slice follows its history when that forgets stacks: counts go where the stacks went, so that they stay those of the last
 * refresh, even while the end stands. Paths that nothing leads to any more are dropped with the next refresh.
 */
#include <ctop/query/slice.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "slice_internal.h"

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

static void move_node_paths(struct slice *slice, uint32_t label, const uint32_t *rows)
{
	uint32_t *items = slice->node_paths[label].items;
	size_t nr = slice->node_paths[label].nr, nr_moved = nr ? 1 : 0;
	for (size_t i = 1; i < nr; i++) {
		if (!rows[i])
			continue;
		items[rows[i]] = items[i];
		nr_moved = (size_t)rows[i] + 1;
	}
	slice->node_paths[label].nr = nr_moved;
}

/* Nothing here can fail; the stacks find their paths at the next refresh. */
static void follow(struct slice *slice, const struct forgotten_rows *gone)
{
	slice->counts.nr = move_counts(slice->counts.items, slice->counts.nr, gone->stacks);
	slice->before.nr = move_counts(slice->before.items, slice->before.nr, gone->stacks);
	slice_move_squares(slice, gone->stacks);
	slice->nr_seen = slice->stacks.nr = slice->settled.nr = slice->settled_buckets.nr = 0;
	for (uint32_t label = 0; label < NR_LABELS; label++)
		move_node_paths(slice, label, gone->nodes);
	slice->task_processes.nr = 0; /* tasks have other rows */
	slice->has_moved = slice->has_old_paths = true;
}

/* Stacks of the window as it is shown. NULL: out of memory. */
static bool *find_shown(const struct slice *slice)
{
	bool *shown = calloc(slice->history->stacks.nr + 1, sizeof(*shown));
	for (size_t i = 0; shown && i < slice->counts.nr; i++)
		shown[i] = slice->seconds != SLICE_SINCE_START && slice->counts.items[i].samples;
	return shown;
}

void slice_forget(struct slice *slice, uint64_t end_ns)
{
	struct forgotten_rows gone = {0};
	uint64_t span_ns = slice->seconds * NS_PER_SECOND;
	if (!history_wants_to_forget(slice->history))
		return;
	bool *shown = find_shown(slice);
	if (shown && !history_forget(slice->history, end_ns - (span_ns < end_ns ? span_ns : end_ns),
				     end_ns, shown, &gone))
		follow(slice, &gone);
	forgotten_rows_release(&gone);
	free(shown);
}

/* ---- from now on ---- */

#define TRIM(rows)                                                                                 \
	vec_trim((void **)&(rows)->items, &(rows)->capacity, (rows)->nr, sizeof(*(rows)->items))

static void give_back(struct slice *slice)
{
	slice->fresh.nr = 0;
	TRIM(&slice->counts);
	TRIM(&slice->before);
	TRIM(&slice->before_squares);
	slice->stack_squares.nr = slice->path_squares.nr = 0;
	TRIM(&slice->stack_squares);
	TRIM(&slice->path_squares);
	TRIM(&slice->stacks);
	TRIM(&slice->fresh);
	TRIM(&slice->settled);
	for (uint32_t label = 0; label < NR_LABELS; label++)
		TRIM(&slice->node_paths[label]);
}

static void give_paths_back(struct slice *slice)
{
	TRIM(&slice->paths);
	TRIM(&slice->pending);
	TRIM(&slice->dirty);
	TRIM(&slice->path_processes);
	TRIM(&slice->trend_masks);
	TRIM(&slice->shown);
	index_trim(&slice->path_index);
	index_trim(&slice->shown_index);
	slice->is_restarted = false;
}

int slice_restart(struct slice *slice)
{
	struct forgotten_rows gone = {0};
	int result = 0;
	if (history_can_forget(slice->history)) {
		result = history_forget_all(slice->history, &gone);
		if (!result) {
			follow(slice, &gone);
			give_back(slice);
			slice->is_restarted = true;
			slice->began_ns = slice->history->totals.last_ns;
		}
		forgotten_rows_release(&gone);
	}
	return result ? result : slice_reset(slice);
}

/* ---- paths ---- */

/* Those that stacks, nodes and criteria lead to, and what is above them. Parents come before their children. */
static void mark_paths(const struct slice *slice, uint32_t *marks)
{
	marks[0] = marks[slice->root] = 1;
	for (size_t i = 0; i < slice->nr_criteria; i++)
		marks[slice->criteria[i].path] = 1;
	for (size_t i = 0; i < slice->stacks.nr; i++)
		marks[slice->stacks.items[i].path] = 1;
	for (uint32_t label = 0; label < NR_LABELS; label++)
		for (size_t i = 0; i < slice->node_paths[label].nr; i++)
			if (slice->node_paths[label].items[i])
				marks[slice->node_paths[label].items[i] - 1] = 1;
	for (size_t i = slice->paths.nr; i-- > 1;)
		if (marks[i])
			marks[slice->paths.items[i].parent] = 1;
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
static void move_path(struct slice *slice, size_t from, const uint32_t *rows)
{
	struct path *items = slice->paths.items;
	uint32_t row = rows[from];
	struct path path = items[from];
	struct key *key = &slice->keys.items[path.key];
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
	if (slice->by_process)
		slice->path_processes.items[row] = slice->path_processes.items[from];
}

static void follow_rows(struct slice *slice, const uint32_t *rows)
{
	slice->root = rows[slice->root];
	for (size_t i = 0; i < slice->processes.nr;
	     i++) /* 0, if its stacks are gone: it is not made yet */
		slice->processes.items[i].path = rows[slice->processes.items[i].path];
	for (size_t i = 0; i < slice->nr_criteria; i++)
		slice->criteria[i].path = rows[slice->criteria[i].path];
	for (size_t i = 0; i < slice->stacks.nr; i++)
		slice->stacks.items[i].path = rows[slice->stacks.items[i].path];
	for (uint32_t label = 0; label < NR_LABELS; label++)
		for (size_t i = 0; i < slice->node_paths[label].nr; i++) {
			uint32_t *path = &slice->node_paths[label].items[i];
			*path = *path ? rows[*path - 1] + 1 : 0;
		}
}

void slice_drop_paths(struct slice *slice)
{
	size_t nr = slice->paths.nr;
	uint32_t *rows = slice->has_old_paths ? calloc(nr, sizeof(*rows)) : NULL;
	if (!rows)
		return;
	mark_paths(slice, rows);
	size_t nr_kept = number(rows, nr);
	for (size_t i = 0; i < slice->keys.nr; i++)
		slice->keys.items[i].first_path = 0;
	for (size_t i = 0; i < nr; i++)
		if (!i || rows[i])
			move_path(slice, i, rows);
	follow_rows(slice, rows);
	free(rows);
	slice->paths.nr = slice->pending.nr = nr_kept;
	slice->path_processes.nr = slice->by_process ? nr_kept : 0;
	slice_index_paths(slice);
	slice->dirty.nr = nr_kept / 64 + 1;
	slice->trend_nr = slice->trend_masks.nr = 0;
	slice->shown.nr = 0;
	index_clear(&slice->shown_index);
	slice->has_old_paths = false;
	if (slice->is_restarted)
		give_paths_back(slice);
}
