/* SPDX-License-Identifier: MIT */
/*
 * Weights second by second, read from the buckets that the history keeps. Rows are bits: a sample counts for each
 * row that its stack, or its task, has the bit of.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

static const uint64_t NS_PER_SECOND = 1000000000;

struct trend {
	const struct selection *selection;
	const uint64_t *masks; /* by path, by key or by the history's tasks */
	enum { OF_ALL, OF_PATHS, OF_KEYS, OF_TASKS } of;
	uint32_t seconds;
	uint64_t *counts;
};

static uint64_t mask_of(const struct trend *trend, uint32_t stack)
{
	const struct selection *selection = trend->selection;
	switch (trend->of) {
	case OF_PATHS:
		return trend->masks[selection->stacks.items[stack].path];
	case OF_KEYS:
		return trend->masks[selection->stacks.items[stack].key];
	case OF_TASKS:
		return trend->masks[selection->history->stacks.items[stack].task];
	case OF_ALL:
		break;
	}
	return 1;
}

/* A second's share of a bucket, the `nr`th of its span: all of them together make up the whole. */
static uint64_t share(uint64_t weight, uint32_t span, uint64_t nr)
{
	return weight / span + (nr < weight % span);
}

static void add_bucket(const struct trend *trend, const struct bucket *bucket, uint64_t second,
		       uint32_t column)
{
	for (size_t i = 0; i < bucket->counts.nr; i++) {
		const struct second_count *count = &bucket->counts.items[i];
		/* Stacks that came after the refresh are not known yet. */
		if (count->stack >= trend->selection->stacks.nr ||
		    !trend->selection->stacks.items[count->stack].passes)
			continue;
		uint64_t mask = mask_of(trend, count->stack);
		uint64_t weight = bucket->span == 1 ? count->weight
						    : share(count->weight, bucket->span,
							    second - bucket->second);
		for (; mask; mask &= mask - 1)
			trend->counts[(size_t)__builtin_ctzll(mask) * trend->seconds + column] +=
				weight;
	}
}

static void add_up(const struct trend *trend)
{
	const struct selection *selection = trend->selection;
	uint64_t last = selection->end_ns / NS_PER_SECOND;
	for (uint32_t i = 0; i < trend->seconds && i <= last; i++) {
		uint64_t second = last - i;
		size_t row = history_bucket_from(selection->history, second);
		if (row == selection->history->seconds.buckets.nr)
			continue;
		const struct bucket *bucket = &selection->history->seconds.buckets.items[row];
		if (bucket->second <= second)
			add_bucket(trend, bucket, second, trend->seconds - 1 - i);
	}
}

static int begin(size_t nr, uint32_t seconds, uint64_t *counts)
{
	if (nr > SELECTION_TREND_ROWS_MAX || seconds > SELECTION_TREND_SECONDS_MAX)
		return -EINVAL;
	for (size_t i = 0; i < nr * seconds; i++)
		counts[i] = 0;
	return 0;
}

int selection_trend(struct selection *selection, uint32_t seconds, uint64_t *counts)
{
	const struct trend trend = {
		.selection = selection, .of = OF_ALL, .seconds = seconds, .counts = counts};
	int result = begin(1, seconds, counts);
	if (!result)
		add_up(&trend);
	return result;
}

/* ---- functions ---- */

/* Bits of rows, by key. NULL: out of memory. */
static uint64_t *key_masks(const struct selection *selection, const struct function_id *functions,
			   size_t nr)
{
	uint64_t *masks = calloc(selection->keys.nr, sizeof(*masks));
	for (size_t i = 0; masks && i < nr; i++)
		if ((uint64_t)functions[i].index + NR_LABELS < selection->keys.nr)
			masks[key_of_function(functions[i].index)] |= UINT64_C(1) << i;
	return masks;
}

/* The bits of a path are those of what it contains. Kept for the next time, when often the same is asked of a few more paths. */
static int find_path_masks(struct selection *selection, const uint64_t *keys,
			   const struct function_id *functions, size_t nr)
{
	bool same = nr == selection->trend_nr && selection->root == selection->trend_root;
	for (size_t i = 0; same && i < nr; i++)
		same = selection->trend_of[i].index == functions[i].index;
	if (!same)
		selection->trend_masks.nr = 0;
	for (size_t i = 0; i < nr; i++)
		selection->trend_of[i] = functions[i];
	selection->trend_nr = nr;
	selection->trend_root = selection->root;
	if (vec_reserve(&selection->trend_masks, selection->paths.nr))
		return -ENOMEM;
	uint64_t *masks = selection->trend_masks.items;
	for (size_t i = selection->trend_masks.nr; i < selection->paths.nr; i++) {
		const struct path *path = &selection->paths.items[i];
		masks[i] = keys[path->key];
		if (i != selection->root && i)
			masks[i] |= masks[path->parent];
	}
	selection->trend_masks.nr = selection->paths.nr;
	return 0;
}

int selection_trend_functions(struct selection *selection, enum selection_measure measure,
			      const struct function_id *functions, size_t nr, uint32_t seconds,
			      uint64_t *counts)
{
	struct trend trend = {.selection = selection, .seconds = seconds, .counts = counts};
	int result = begin(nr, seconds, counts);
	if (!result)
		result = selection_need_paths(selection);
	if (result || !nr)
		return result;
	uint64_t *keys = key_masks(selection, functions, nr);
	if (!keys)
		return -ENOMEM;
	trend.of = OF_KEYS;
	trend.masks = keys;
	if (measure == SELECTION_TOTAL) {
		result = find_path_masks(selection, keys, functions, nr);
		trend.of = OF_PATHS;
		trend.masks = selection->trend_masks.items;
	}
	if (!result)
		add_up(&trend);
	free(keys);
	return result;
}

/* ---- tasks ---- */

/* Adds the bits of rows that name a thread, or of those that name a process, by the history's tasks. */
static int add_task_masks(const struct history *history, enum selection_tasks_of which,
			  const struct selection_task *tasks, size_t nr, uint64_t *masks)
{
	struct task_groups groups;
	int result = task_groups_init(&groups, history, which);
	uint64_t *by_group = result ? NULL : calloc(groups.ids.nr, sizeof(*by_group));
	if (!result && !by_group)
		result = -ENOMEM;
	for (size_t i = 0; !result && i < nr; i++) {
		const struct task_ids ids = {tasks[i].pid, tasks[i].tid, tasks[i].started_ns};
		uint32_t group = task_groups_find(&groups, history, &ids);
		if (group != UINT32_MAX)
			by_group[group] |= UINT64_C(1) << i;
	}
	for (size_t i = 0; !result && i < history->tasks.nr; i++)
		masks[i] |= by_group[groups.of_task[i]];
	free(by_group);
	task_groups_release(&groups);
	return result;
}

int selection_trend_tasks(struct selection *selection, const struct selection_task *tasks,
			  size_t nr, uint32_t seconds, uint64_t *counts)
{
	int result = begin(nr, seconds, counts);
	if (result || !nr)
		return result;
	uint64_t *masks = calloc(selection->history->tasks.nr, sizeof(*masks));
	if (!masks)
		return -ENOMEM;
	const struct trend trend = {.selection = selection,
				    .masks = masks,
				    .of = OF_TASKS,
				    .seconds = seconds,
				    .counts = counts};
	result = add_task_masks(selection->history, SELECTION_THREADS, tasks, nr, masks);
	if (!result)
		result = add_task_masks(selection->history, SELECTION_PROCESSES, tasks, nr, masks);
	if (!result)
		add_up(&trend);
	free(masks);
	return result;
}
