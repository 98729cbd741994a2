/* SPDX-License-Identifier: MIT */
/*
 * Rows that came twice. The collector has interned what it hands over: a frame or a node of its tables is new to us, and is
 * copied without a look at others. Only rows of another epoch, and those of a module that two rows of the tables describe,
 * may be there already. From the first of these on frames and nodes are found by what they are.
 */
#include <errno.h>

#include "internal.h"

/* Rows between asking the memory for a place in an index and taking it. */
enum { AHEAD = 16 };

static uint64_t module_hash(const struct history *history, uint32_t row)
{
	return hash_module(&history->modules.items[row]);
}

static uint64_t task_hash(const struct history *history, uint32_t row)
{
	return hash_task(&history->tasks.items[row]);
}

static uint64_t frame_hash(const struct history *history, uint32_t row)
{
	const struct named_frame *frame = &history->frames.items[row];
	return hash_frame(frame->module, frame->address);
}

static uint64_t node_hash(const struct history *history, uint32_t row)
{
	const struct history_node *node = &history->nodes.items[row];
	return hash_node(node->parent, node->frame, node->method);
}

static void fill(struct index *index, const struct history *history, uint32_t first, size_t nr,
		 uint64_t (*hash)(const struct history *history, uint32_t row))
{
	index_clear(index);
	for (uint32_t row = first; row < nr; row++) {
		if (row + AHEAD < nr)
			index_prefetch(index, hash(history, row + AHEAD));
		index_add(index, hash(history, row), row);
	}
}

static void fill_for_merging(struct history *history)
{
	fill(&history->frames_index, history, NR_FIXED, history->frames.nr, frame_hash);
	fill(&history->nodes_index, history, 1, history->nodes.nr, node_hash);
}

void history_index_rows(struct history *history)
{
	fill(&history->modules_index, history, NR_FIXED, history->modules.nr, module_hash);
	fill(&history->tasks_index, history, NR_FIXED, history->tasks.nr, task_hash);
	if (history->merges)
		fill_for_merging(history);
}

int history_begin_merging(struct history *history)
{
	if (history->merges)
		return 0;
	if (index_reserve_rows(&history->frames_index, history->frames.nr) ||
	    index_reserve_rows(&history->nodes_index, history->nodes.nr))
		return -ENOMEM;
	fill_for_merging(history);
	history->merges = true;
	return 0;
}

void history_stop_merging(struct history *history)
{
	index_release(&history->frames_index);
	index_release(&history->nodes_index);
	history->merges = false;
}
