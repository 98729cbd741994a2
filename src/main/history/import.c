/* SPDX-License-Identifier: MIT */
/*
 * Samples of an epoch become counts of the history. Each row of the epoch's tables is looked at
 * once and translated (import_rows.h); from then on a sample costs four array look-ups and one probe of a hash.
 */
#include <ctop/history/history.h>

#include <errno.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "import_rows.h"

/*
 * Events are few, and are taken over before the first sample: their order is that of the table, the
 * one they were asked in, and not that of who was sampled first.
 */
static int read_events(struct history *history)
{
	int result = 0;
	for (; result != -ENOMEM && history->nr_events_read < history->reader.nr[TABLE_EVENTS];
	     history->nr_events_read++) {
		uint32_t event;
		if (history->nr_events_read != 0) /* none */
			result = translate(history, TABLE_EVENTS, history->nr_events_read, &event);
	}
	return result == -ENOMEM ? result : 0;
}

/* ---- epochs ---- */

/* What the epoch had to tell last. */
static int leave_epoch(struct history *history)
{
	if (!history->has_epoch)
		return 0;
	tables_reader_refresh(&history->reader);
	int result = history_update_names(history);
	return result ? result : history_read_metadata(history);
}

int history_begin_epoch(struct history *history, const struct tables *tables,
			const struct symbols *symbols)
{
	int result = leave_epoch(history);
	if (!result && history->frames.nr > NR_FIXED)
		result = history_begin_merging(history);
	tables_reader_init(&history->reader, tables);
	history->symbols = symbols;
	history->has_epoch = true;
	history->symbols_version = 0;
	history->nr_metadata_read = history->nr_events_read = history->nr_tasks_read = 0;
	history->unnamed.nr = history->unnamed.nr_looked_at = 0;
	history->unlined.nr = history->unlined.nr_looked_at = 0;
	history->lines_taken = history->name_bytes_taken = history->line_bytes_taken = 0;
	history_begin_code(history);
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++) {
		history->of[kind].nr = 0;
		/* Row 0 means none, in the history as well; but an event is always one. */
		if (kind != TABLE_EVENTS && !result)
			result = history_remember_row(&history->of[kind], 0, 0 + 1);
	}
	return result;
}

/* ---- samples ---- */

static void note_leaf(struct history *history, const struct counted_stack *stack)
{
	history->modules.items[history->frames.items[stack->leaf].module].has_leaves = true;
}

static bool count_at(struct history *history, uint32_t row, const struct counted_stack *stack)
{
	struct counted_stack *known = &history->stacks.items[row];
	if (!is_same_stack(known, stack))
		return false;
	known->samples += stack->samples;
	known->weight += stack->weight;
	return true;
}

/* Adds one sample to its stack, whose row is then *row, and may be that already. 0, -ENOMEM, or -ENOSPC: the history is full, and the stack would be a new one. */
static int count(struct history *history, const struct counted_stack *stack, uint32_t *row)
{
	if (*row < history->stacks.nr && count_at(history, *row, stack))
		return 0;
	uint64_t hash = hash_stack(stack);
	struct index_probe probe = index_find(&history->stacks_index, hash);
	while (index_next(&history->stacks_index, &probe, row))
		if (count_at(history, *row, stack))
			return 0;
	if ((stack->leaf != FOLDED_FRAME || stack->task != FOLDED_TASK) &&
	    !history_has_room_for(history, &history->stacks))
		return -ENOSPC;
	if (index_reserve(&history->stacks_index) ||
	    vec_reserve(&history->stacks, history->stacks.nr + 1))
		return -ENOMEM;
	note_leaf(history, stack);
	*row = (uint32_t)history->stacks.nr;
	index_add(&history->stacks_index, hash, *row);
	history->stacks.items[history->stacks.nr++] = *stack;
	return 0;
}

/* Fills in the stack that a sample fell on. -EINVAL when the sample makes no sense. */
static int stack_of(struct history *history, const struct sample *sample,
		    struct counted_stack *stack)
{
	uint32_t event;
	if (sample->end >= NR_STACK_ENDS || sample->reason >= NR_STACK_REASONS)
		return -EINVAL;
	if (sample->node.index && !sample->leaf.index) /* callers of nothing */
		return -EINVAL;
	*stack = (struct counted_stack){
		.end = sample->end,
		.reason = sample->reason,
		.samples = 1,
	};
	int result = translate(history, TABLE_EVENTS, sample->event, &event);
	if (!result)
		result = translate(history, TABLE_TASKS, sample->task.index, &stack->task);
	if (!result)
		result = translate(history, TABLE_NODES, sample->node.index, &stack->node);
	if (!result)
		result = translate(history, TABLE_FRAMES, sample->leaf.index, &stack->leaf);
	stack->event = (uint8_t)event;
	return result ? result : history_move_state(history, stack);
}

/* A sample that passed: its stack's row, or that of its known callers where it is new and there is no room. */
static int count_known(struct history *history, const struct sample *sample,
		       struct counted_stack *stack, uint32_t *row)
{
	if (is_cut(history, sample->node.index))
		stack->leaf = FOLDED_FRAME;
	int result = count(history, stack, row);
	if (result == -ENOSPC) {
		stack->leaf = FOLDED_FRAME;
		stack->task = FOLDED_TASK;
		result = count(history, stack, row);
	}
	return result;
}

/*
 * What a sample counts for. A file may say anything: what all weights together have no room for is left out, so that
 * what is a sum of some of them needs no look at overflows.
 */
static uint64_t count_weight(struct history *history, uint64_t weight)
{
	uint64_t room = WEIGHTS_MOST - history->weight_before;
	history->totals.cut_weights += weight > room;
	weight = weight < room ? weight : room;
	history->weight_before += weight;
	return weight;
}

static void add_to_totals(struct history *history, const struct sample *sample,
			  const struct counted_stack *stack)
{
	struct history_totals *totals = &history->totals;
	if (!totals->samples || sample->time_ns < totals->first_ns)
		totals->first_ns = sample->time_ns;
	if (sample->time_ns > totals->last_ns)
		totals->last_ns = sample->time_ns;
	totals->samples++;
	totals->weight += stack->weight;
	history->events.items[stack->event].weight_shown += stack->weight;
	totals->ends[sample->end]++;
	totals->unplaced += sample->end == STACK_KERNEL_ONLY && !sample->node.index &&
			    history_is_wait(history, stack->event);
	totals->reasons[sample->reason]++;
}

/* What the filter leaves of it. False: nothing. */
static bool passes(const struct history *history, struct sample *sample,
		   const struct counted_stack *stack)
{
	return history_passes(history, sample, stack) &&
	       history_cut_to_time(history, stack->event, sample);
}

/* One that was counted when its source was read first. */
static int follow_one(struct history *history, const struct sample *sample,
		      struct counted_stack *stack, uint32_t row)
{
	struct sample part = *sample;
	if (history->filtered && !passes(history, &part, stack))
		return 0;
	stack->samples = 0;
	int result = count_known(history, sample, stack, &row);
	return result ? result : history_keep_sample(history, &part, row, stack->event);
}

/* Returns whether its samples have different weights. */
static bool count_event(struct event *event, uint64_t weight)
{
	if (!event->samples || weight < event->weight_least)
		event->weight_least = weight;
	if (weight > event->weight_most)
		event->weight_most = weight;
	event->samples++;
	event->weight += weight;
	return event->weight_least != event->weight_most;
}

static int import_one(struct history *history, const struct sample *sample,
		      struct counted_stack *stack, uint32_t row)
{
	struct history_totals *totals = &history->totals;
	struct sample part;
	int result = 0;
	totals->samples_before++;
	stack->weight = count_weight(history, sample->weight);
	if (count_event(&history->events.items[stack->event], stack->weight) &&
	    !history->weights_differ)
		result = history_begin_squares(history);
	if (result)
		return result;
	if (history->filtered) {
		note_leaf(history, stack);
		part = *sample;
		if (!passes(history, &part, stack))
			return 0;
		sample = &part;
		stack->weight = part.weight < stack->weight ? part.weight : stack->weight;
	}
	const bool is_beside = !history_counts_event(history, stack->event);
	if (!is_beside)
		add_to_totals(history, sample, stack);
	result = count_known(history, sample, stack, &row);
	if (!result && history->weights_differ)
		result = history_add_square(history, row, stack->weight);
	if (!is_beside) {
		totals->folded += stack->leaf == FOLDED_FRAME;
		totals->frames += history_stack_depth(history, stack);
		totals->unsymbolized_frames += history_stack_unnamed(history, stack);
	}
	if (!result && history->seconds.wanted)
		result = history_count_second(history, sample->time_ns, row, stack->weight);
	if (!result && history->timeline)
		result = history_note_moment(history, sample, row);
	return result || !history->samples.most
		       ? result
		       : history_keep_sample(history, sample, row, stack->event);
}

/*
 * Where a sample fell is looked up some samples before it is counted: what that will read of the rows is anywhere in
 * memory, and is asked for meanwhile.
 */
enum { LOOKED_UP_AHEAD = 16 };

struct looked_up {
	struct counted_stack stack;
	uint64_t hash;
	uint32_t row; /* likely; UINT32_MAX: there is none yet */
	int result;   /* of stack_of() */
};

static void look_up(struct history *history, const struct sample *sample, struct looked_up *found)
{
	struct counted_stack *stack = &found->stack;
	found->result = stack_of(history, sample, stack);
	if (found->result)
		return;
	if (!history->origin_ns)
		history->origin_ns = sample->time_ns;
	__builtin_prefetch(&history->nodes.items[stack->node]);
	__builtin_prefetch(&history->frames.items[stack->leaf]);
	found->hash = hash_stack(stack);
	index_prefetch(&history->stacks_index, found->hash);
}

static void find_row(const struct history *history, struct looked_up *found)
{
	struct index_probe probe = index_find(&history->stacks_index, found->hash);
	if (!index_next(&history->stacks_index, &probe, &found->row)) {
		found->row = UINT32_MAX;
		return;
	}
	__builtin_prefetch(&history->stacks.items[found->row], 1);
	if (found->row < history->seconds.slots.nr)
		__builtin_prefetch(&history->seconds.slots.items[found->row], 1);
}

static int count_sample(struct history *history, const struct sample *sample,
			struct looked_up *found)
{
	if (!found->result)
		return (history_follows(history) ? follow_one : import_one)(
			history, sample, &found->stack, found->row);
	if (found->result == -EINVAL)
		history->totals.bad_samples += !history_follows(history);
	return found->result == -EINVAL ? 0 : found->result;
}

static int import_some(struct history *history, const struct sample *samples, size_t nr)
{
	struct looked_up found[LOOKED_UP_AHEAD];
	int result = 0;
	for (size_t i = 0; i < nr; i++)
		look_up(history, &samples[i], &found[i]);
	for (size_t i = 0; i < nr; i++)
		if (!found[i].result)
			find_row(history, &found[i]);
	for (size_t i = 0; !result && i < nr; i++)
		result = count_sample(history, &samples[i], &found[i]);
	return result;
}

int history_import(struct history *history, const struct sample *samples, size_t nr)
{
	if (!history->has_epoch)
		return -EINVAL;
	tables_reader_refresh(&history->reader);
	int result = history_read_metadata(history);
	history_follow_run(history);
	if (!result)
		result = read_events(history);
	if (!result && !history->full)
		result = history_read_processes(history);
	for (size_t i = 0; !result && i < nr; i += LOOKED_UP_AHEAD)
		result = import_some(history, samples + i,
				     nr - i < LOOKED_UP_AHEAD ? nr - i : LOOKED_UP_AHEAD);
	return result;
}
