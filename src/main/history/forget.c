/* SPDX-License-Identifier: MIT */
/*
 * What a full history forgets. First it is marked what stays; then rows move together, parents before children as ever, and
 * stacks that go are counted at the nearest caller that matters. All memory that this takes is taken before anything changes.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "internal.h"

static const uint64_t NS_PER_SECOND = 1000000000;

/* What is less than this part of all samples does not matter by itself. */
enum { PARTS = 4096 };

struct keeping {
	struct history *history;
	/* By row: 1 where it stays; then the row that it becomes, 0: none. */
	uint32_t *nodes, *stacks, *frames, *tasks, *modules;
	uint64_t *
		below; /* by node: samples there and below; then the node that what goes is counted at */
	uint64_t *of_task; /* samples */
	uint64_t least;	   /* samples that matter */
	size_t nr_nodes, nr_stacks, most_nodes, most_stacks;
};

void forgotten_rows_release(struct forgotten_rows *gone)
{
	free(gone->stacks);
	free(gone->nodes);
	*gone = (struct forgotten_rows){0};
}

static int begin(struct keeping *keeping, struct history *history, struct forgotten_rows *gone)
{
	*gone = (struct forgotten_rows){
		.stacks = calloc(history->stacks.nr + 1, sizeof(*gone->stacks)),
		.nodes = calloc(history->nodes.nr, sizeof(*gone->nodes)),
		.nr_stacks = history->stacks.nr,
		.nr_nodes = history->nodes.nr,
	};
	*keeping = (struct keeping){
		.history = history,
		.nodes = gone->nodes,
		.stacks = gone->stacks,
		.frames = calloc(history->frames.nr, sizeof(*keeping->frames)),
		.tasks = calloc(history->tasks.nr, sizeof(*keeping->tasks)),
		.modules = calloc(history->modules.nr, sizeof(*keeping->modules)),
		.below = calloc(history->nodes.nr, sizeof(*keeping->below)),
		.of_task = calloc(history->tasks.nr, sizeof(*keeping->of_task)),
	};
	return gone->stacks && gone->nodes && keeping->frames && keeping->tasks &&
			       keeping->modules && keeping->below && keeping->of_task
		       ? 0
		       : -ENOMEM;
}

static void end(struct keeping *keeping)
{
	free(keeping->frames);
	free(keeping->tasks);
	free(keeping->modules);
	free(keeping->below);
	free(keeping->of_task);
}

/* ---- what stays ---- */

static void add_up(struct keeping *keeping)
{
	const struct history *history = keeping->history;
	uint64_t all = 0;
	for (size_t i = 0; i < history->stacks.nr; i++) {
		const struct counted_stack *stack = &history->stacks.items[i];
		keeping->below[stack->node] += stack->samples;
		keeping->of_task[stack->task] += stack->samples;
		if (stack->node || stack->leaf != FOLDED_FRAME)
			all += stack->samples;
	}
	for (size_t i = history->nodes.nr; i-- > 1;)
		keeping->below[history->nodes.items[i].parent] += keeping->below[i];
	keeping->least = all / PARTS + 1;
}

/* Parents have no fewer samples than their children. */
static void keep_callers(struct keeping *keeping)
{
	const struct history *history = keeping->history;
	for (size_t i = 1; i < history->nodes.nr && keeping->nr_nodes < keeping->most_nodes; i++) {
		keeping->nodes[i] = keeping->below[i] >= keeping->least;
		keeping->nr_nodes += keeping->nodes[i];
	}
}

static void keep_stack(struct keeping *keeping, uint32_t row)
{
	const struct history *history = keeping->history;
	if (keeping->stacks[row] || keeping->nr_stacks >= keeping->most_stacks ||
	    keeping->nr_nodes >= keeping->most_nodes)
		return;
	keeping->stacks[row] = 1;
	keeping->nr_stacks++;
	for (uint32_t node = history->stacks.items[row].node; node && !keeping->nodes[node];
	     node = history->nodes.items[node].parent) {
		keeping->nodes[node] = 1;
		keeping->nr_nodes++;
	}
}

static void keep_stacks(struct keeping *keeping)
{
	const struct history *history = keeping->history;
	for (size_t i = 0; i < history->stacks.nr; i++)
		if (history->stacks.items[i].samples >= keeping->least)
			keep_stack(keeping, (uint32_t)i);
}

static void keep_wanted(struct keeping *keeping, const bool *wanted)
{
	for (size_t i = keeping->history->stacks.nr; i-- > 0;)
		if (wanted[i])
			keep_stack(keeping, (uint32_t)i);
}

/* The newest first, from a second on back to another. */
static void keep_seconds(struct keeping *keeping, uint64_t from, uint64_t to)
{
	const struct history *history = keeping->history;
	size_t row = history_bucket_from(history, to + 1);
	while (row-- > 0 && keeping->nr_nodes < keeping->most_nodes &&
	       keeping->nr_stacks < keeping->most_stacks) {
		const struct bucket *bucket = &history->seconds.buckets.items[row];
		if (bucket->second + bucket->span <= from)
			break;
		for (size_t i = bucket->counts.nr; i-- > 0;)
			keep_stack(keeping, bucket->counts.items[i].stack);
	}
}

/* ---- rows move together ---- */

/* From marks to rows; returns their number. */
static size_t number(uint32_t *map, size_t nr, size_t nr_fixed)
{
	size_t to = 0;
	for (size_t i = 0; i < nr; i++)
		map[i] = i < nr_fixed || map[i] ? (uint32_t)to++ : 0;
	return to;
}

static bool matters(const struct keeping *keeping, const struct counted_stack *stack)
{
	return keeping->of_task[stack->task] >= keeping->least;
}

/* What nodes and stacks that stay are made of. */
static void mark_parts(struct keeping *keeping)
{
	const struct history *history = keeping->history;
	for (size_t i = 1; i < history->nodes.nr; i++)
		if (keeping->nodes[i])
			keeping->frames[history->nodes.items[i].frame] = 1;
	for (size_t i = 0; i < history->stacks.nr; i++) {
		const struct counted_stack *stack = &history->stacks.items[i];
		if (keeping->stacks[i])
			keeping->frames[stack->leaf] = 1;
		if (keeping->stacks[i] || matters(keeping, stack))
			keeping->tasks[stack->task] = 1;
	}
	for (size_t i = 0; i < history->frames.nr; i++)
		if (i < NR_FIXED || keeping->frames[i])
			keeping->modules[history->frames.items[i].module] = 1;
}

/* What goes is counted at the nearest node above that matters. */
static void find_places(struct keeping *keeping)
{
	const struct history *history = keeping->history;
	keeping->below[0] = 0;
	for (size_t i = 1; i < history->nodes.nr; i++) {
		uint32_t to = keeping->nodes[i];
		bool is_place = to && keeping->below[i] >= keeping->least;
		keeping->below[i] = is_place ? to : keeping->below[history->nodes.items[i].parent];
	}
}

/* None moves behind where it was. */
#define MOVE(rows, map, nr_moved)                                                                  \
	do {                                                                                       \
		for (size_t i = 0; i < (rows)->nr; i++)                                            \
			if ((map)[i])                                                              \
				(rows)->items[(map)[i]] = (rows)->items[i];                        \
		(rows)->nr = (nr_moved);                                                           \
	} while (0)

static void move_parts(struct keeping *keeping)
{
	struct history *history = keeping->history;
	size_t nr_modules = number(keeping->modules, history->modules.nr, NR_FIXED),
	       nr_tasks = number(keeping->tasks, history->tasks.nr, NR_FIXED),
	       nr_frames = number(keeping->frames, history->frames.nr, NR_FIXED),
	       nr_nodes = number(keeping->nodes, history->nodes.nr, 1);
	find_places(keeping);
	MOVE(&history->modules, keeping->modules, nr_modules);
	MOVE(&history->tasks, keeping->tasks, nr_tasks);
	MOVE(&history->frames, keeping->frames, nr_frames);
	MOVE(&history->nodes, keeping->nodes, nr_nodes);
	for (size_t i = 0; i < nr_frames; i++) {
		struct named_frame *frame = &history->frames.items[i];
		frame->module = keeping->modules[frame->module];
	}
	for (size_t i = 1; i < nr_nodes; i++) {
		struct history_node *node = &history->nodes.items[i];
		node->parent = keeping->nodes[node->parent];
		node->frame = keeping->frames[node->frame];
	}
	history_move_sites(history, keeping->modules);
	history_move_code(history, keeping->modules);
	history_index_rows(history);
}

static struct counted_stack moved(const struct keeping *keeping, const struct counted_stack *stack,
				  bool stays)
{
	struct counted_stack to = *stack;
	bool has_room = keeping->history->stacks.nr < keeping->most_stacks;
	to.task = keeping->tasks[stack->task];
	if (stays) {
		to.node = keeping->nodes[stack->node];
		to.leaf = keeping->frames[stack->leaf];
		return to;
	}
	to.node = has_room ? (uint32_t)keeping->below[stack->node] : 0;
	to.leaf = FOLDED_FRAME;
	if (!has_room || (stack->task && !matters(keeping, stack)))
		to.task = FOLDED_TASK;
	return to;
}

/* The row of a stack that has moved, a new one if need be: there never are more than before. */
static uint32_t place(struct history *history, const struct counted_stack *stack)
{
	uint64_t hash = hash_stack(stack);
	struct index_probe probe = index_find(&history->stacks_index, hash);
	uint32_t row;
	while (index_next(&history->stacks_index, &probe, &row)) {
		struct counted_stack *known = &history->stacks.items[row];
		if (!is_same_stack(known, stack))
			continue;
		known->samples += stack->samples;
		known->weight += stack->weight;
		return row;
	}
	row = (uint32_t)history->stacks.nr++;
	history->stacks.items[row] = *stack;
	index_add(&history->stacks_index, hash, row);
	return row;
}

/* Returns how many samples were folded that were not before. */
static uint64_t move_stacks(struct keeping *keeping)
{
	struct history *history = keeping->history;
	size_t nr = history->stacks.nr;
	uint64_t folded = 0;
	history->stacks.nr = 0;
	index_clear(&history->stacks_index);
	for (size_t i = 0; i < nr; i++) {
		const struct counted_stack stack = history->stacks.items[i];
		bool stays = keeping->stacks[i];
		const struct counted_stack to = moved(keeping, &stack, stays);
		if (!stays && stack.leaf != FOLDED_FRAME)
			folded += stack.samples;
		size_t nr_placed = history->stacks.nr;
		keeping->stacks[i] = place(history, &to);
		history_move_squares(history, i, keeping->stacks[i],
				     history->stacks.nr > nr_placed);
	}
	if (history->squares.nr > history->stacks.nr)
		history->squares.nr = history->stacks.nr;
	return folded;
}

/* Rows that are gone, and those that only stood for want of room, are looked at again when they come. */
static void move_translation(translation *map, const uint32_t *rows, uint32_t nr_fixed)
{
	for (size_t i = 1; i < map->nr; i++) {
		uint32_t place = map->items[i];
		if (!place || place == BAD_ROW || place == 1)
			continue;
		uint32_t row = place & CUT || place <= nr_fixed ? 0 : rows[place - 1];
		map->items[i] = row ? row + 1 : 0;
	}
}

/* Frames that are met again are looked at for a name, and lines, again. */
static void drop_awaiting(const struct history *history, struct awaiting_frames *frames)
{
	const translation *map = &history->of[TABLE_FRAMES];
	size_t kept = 0, looked_at = 0;
	for (size_t i = 0; i < frames->nr; i++) {
		uint32_t id = frames->items[i];
		if (!map->items[id])
			continue;
		frames->items[kept++] = id;
		looked_at += i < frames->nr_looked_at;
	}
	frames->nr = kept;
	frames->nr_looked_at = looked_at;
}

/* Nothing here can fail. Returns as move_stacks(). */
static uint64_t move_all(struct keeping *keeping)
{
	struct history *history = keeping->history;
	mark_parts(keeping);
	move_parts(keeping);
	uint64_t folded = move_stacks(keeping);
	move_translation(&history->of[TABLE_MODULES], keeping->modules, NR_FIXED);
	move_translation(&history->of[TABLE_TASKS], keeping->tasks, NR_FIXED);
	move_translation(&history->of[TABLE_FRAMES], keeping->frames, NR_FIXED);
	move_translation(&history->of[TABLE_NODES], keeping->nodes, 1);
	drop_awaiting(history, &history->unnamed);
	drop_awaiting(history, &history->unlined);
	history->frames_changed = true;
	history->pressed = false;
	history->forgot_ns = history->totals.last_ns;
	return folded;
}

int history_forget(struct history *history, uint64_t from_ns, uint64_t end_ns, const bool *wanted,
		   struct forgotten_rows *gone)
{
	struct keeping keeping;
	int result = begin(&keeping, history, gone);
	if (!result) {
		size_t most = history->nodes.capacity / 2;
		add_up(&keeping);
		keeping.most_stacks = history->stacks.capacity / 2;
		keeping.most_nodes = most / 4;
		keep_callers(&keeping);
		keeping.most_nodes = most / 2;
		keep_stacks(&keeping);
		keeping.most_nodes = most;
		keep_seconds(&keeping, from_ns / NS_PER_SECOND, end_ns / NS_PER_SECOND);
		if (wanted)
			keep_wanted(&keeping, wanted);
		keep_seconds(&keeping, 0, UINT64_MAX - 1);
		history->totals.folded += move_all(&keeping);
		history_move_seconds(history, gone->stacks);
		history_move_moments(history, gone->stacks);
	}
	end(&keeping);
	return result;
}

/* ---- all ---- */

static void give_back(struct history *history)
{
	vec_give_back(&history->modules);
	vec_give_back(&history->tasks);
	vec_give_back(&history->frames);
	vec_give_back(&history->sites);
	vec_give_back(&history->nodes);
	vec_give_back(&history->stacks);
	vec_give_back(&history->squares);
	index_trim(&history->modules_index);
	index_trim(&history->tasks_index);
	index_trim(&history->stacks_index);
	index_trim(&history->sites_index);
	history_stop_merging(history);
	history->full = false;
}

int history_forget_all(struct history *history, struct forgotten_rows *gone)
{
	struct keeping keeping;
	int result = begin(&keeping, history, gone);
	if (!result) {
		keeping.least = UINT64_MAX;
		history_drop_seconds(history);
		history_drop_moments(history);
		move_all(&keeping);
		give_back(history);
	}
	end(&keeping);
	return result;
}
