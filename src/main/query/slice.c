/* SPDX-License-Identifier: MIT */
/*
 * A refresh: counts of the window, stack by stack, beside those of the refresh before; what differs and
 * passes the filter is noted on its path. When names or the filter changed, all is noted anew.
 */
#include <ctop/query/slice.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "slice_internal.h"

/* More rows given out than this, and they are forgotten: they come back when they are asked for from the root on. */
enum { SHOWN_MOST = 1 << 18 };

struct slice *slice_new(struct history *history)
{
	struct slice *slice = calloc(1, sizeof(*slice));
	if (!slice)
		return NULL;
	slice->history = history;
	slice->new_filter = true;
	history->nr_slices++;
	if (slice_child_path(slice, 0, KEY_ALL) == 0)
		return slice;
	slice_free(slice);
	return NULL;
}

static void tell_bytes(struct slice *slice, uint64_t bytes)
{
	slice->history->slice_bytes += bytes - slice->bytes;
	slice->bytes = bytes;
}

void slice_free(struct slice *slice)
{
	if (!slice)
		return;
	tell_bytes(slice, 0);
	slice->history->nr_slices--;
	slice_free_filter(slice);
	slice_free_processes(slice);
	free(slice->keys.items);
	free(slice->paths.items);
	index_release(&slice->path_index);
	free(slice->pending.items);
	free(slice->dirty.items);
	for (size_t i = 0; i < NR_LABELS; i++)
		free(slice->node_paths[i].items);
	free(slice->stacks.items);
	free(slice->counts.items);
	free(slice->fresh.items);
	free(slice->before.items);
	slice_free_squares(slice);
	free(slice->settled.items);
	free(slice->settled_buckets.items);
	free(slice->shown.items);
	index_release(&slice->shown_index);
	free(slice->trend_masks.items);
	free(slice);
}

static uint64_t index_bytes(const struct index *index)
{
	return index->slots ? ((uint64_t)index->mask + 1) * sizeof(*index->slots) : 0;
}

uint64_t slice_bytes(const struct slice *slice)
{
	uint64_t bytes = sizeof(*slice);
	bytes += slice->keys.capacity * sizeof(*slice->keys.items);
	bytes += slice->paths.capacity * sizeof(*slice->paths.items);
	bytes += slice->pending.capacity * sizeof(*slice->pending.items);
	bytes += slice->dirty.capacity * sizeof(*slice->dirty.items);
	for (size_t i = 0; i < NR_LABELS; i++)
		bytes += slice->node_paths[i].capacity * sizeof(*slice->node_paths[i].items);
	bytes += slice->stacks.capacity * sizeof(*slice->stacks.items);
	bytes += slice->counts.capacity * sizeof(*slice->counts.items);
	bytes += slice->fresh.capacity * sizeof(*slice->fresh.items);
	bytes += slice->settled.capacity * sizeof(*slice->settled.items);
	bytes += slice->settled_buckets.capacity * sizeof(*slice->settled_buckets.items);
	bytes += slice->before.capacity * sizeof(*slice->before.items);
	bytes += slice->shown.capacity * sizeof(*slice->shown.items);
	bytes += slice->trend_masks.capacity * sizeof(*slice->trend_masks.items);
	return bytes + index_bytes(&slice->path_index) + index_bytes(&slice->shown_index) +
	       slice_processes_bytes(slice) + slice_squares_bytes(slice);
}

/* ---- what was asked ---- */

int slice_set_seconds(struct slice *slice, uint32_t seconds)
{
	if (seconds > SLICE_SECONDS_MAX)
		return -EINVAL;
	slice->new_window = slice->new_window || seconds != slice->seconds;
	slice->seconds = seconds;
	return 0;
}

int slice_reset(struct slice *slice)
{
	const struct history *history = slice->history;
	if (vec_reserve(&slice->before, history->stacks.nr) || slice_keep_squares(slice))
		return -ENOMEM;
	slice->before.nr = history->stacks.nr;
	for (size_t i = 0; i < history->stacks.nr; i++)
		slice->before.items[i] = (struct stack_count){history->stacks.items[i].samples,
							      history->stacks.items[i].weight};
	slice->reset_ns = history->totals.last_ns;
	slice->new_window = true;
	return 0;
}

/* ---- stacks ---- */

static int reserve_stacks(struct slice *slice)
{
	/* Never none at all: memset() and memcpy() mind. */
	size_t nr = slice->history->stacks.nr + 1;
	if (vec_reserve(&slice->stacks, nr) || vec_reserve(&slice->counts, nr) ||
	    vec_reserve(&slice->fresh, nr) || vec_reserve(&slice->settled, nr))
		return -ENOMEM;
	return 0;
}

/* The path of a stack; *moved: it is another one than before. */
static int place_stack(struct slice *slice, size_t row, bool *moved)
{
	const struct counted_stack *stack = &slice->history->stacks.items[row];
	struct stack_state *state = &slice->stacks.items[row];
	uint32_t path = slice_stack_path(slice, stack);
	if (path == NO_PATH)
		return -ENOMEM;
	*moved = path != state->path;
	*state = (struct stack_state){
		.path = path,
		.key = slice->paths.items[path].key,
		.end = stack->end,
		.of_event = slice_is_of_event(slice, stack),
		.passes = slice_passes(slice, stack, path),
		.unnamed = !slice->history->frames.items[stack->leaf].name,
		.folded = stack->leaf == FOLDED_FRAME,
	};
	return 0;
}

/* Names have come: some stacks may be other functions' now. */
static int follow_names(struct slice *slice, bool *all)
{
	uint64_t nr_renamed = slice->history->nr_renamed;
	if (nr_renamed == slice->nr_renamed)
		return 0;
	int result = slice_follow_names(slice);
	for (size_t i = 0; !result && i < slice->stacks.nr; i++) {
		bool moved = false;
		result = place_stack(slice, i, &moved);
		*all = *all || moved;
	}
	if (!result)
		slice->nr_renamed = nr_renamed;
	return result;
}

static void follow_filter(struct slice *slice, bool *all)
{
	if (!slice->new_filter)
		return;
	slice_find_hits(slice);
	for (size_t i = 0; i < slice->stacks.nr; i++) {
		struct stack_state *state = &slice->stacks.items[i];
		const struct counted_stack *stack = &slice->history->stacks.items[i];
		state->of_event = slice_is_of_event(slice, stack);
		state->passes = slice_passes(slice, stack, state->path);
	}
	*all = true;
}

/* Those of the history's first nr stacks that are new. */
static int add_new_stacks(struct slice *slice, size_t nr)
{
	int result = reserve_stacks(slice);
	while (!result && slice->stacks.nr < nr) {
		bool moved;
		size_t row = slice->stacks.nr;
		result = place_stack(slice, row, &moved);
		if (result)
			break;
		if (row == slice->counts.nr)
			slice->counts.items[slice->counts.nr++] = (struct stack_count){0};
		slice->stacks.nr = row + 1;
	}
	return result;
}

/* ---- what changed ---- */

/* Notes a difference of a stack's count that passes the filter. Differences below zero wrap around. */
static void note(struct slice *slice, size_t row, uint64_t samples, uint64_t weight)
{
	const struct stack_state *state = &slice->stacks.items[row];
	struct slice_totals *totals = &slice->totals;
	if (!state->of_event)
		return;
	totals->all_samples += samples;
	totals->all_weight += weight;
	if (!state->passes)
		return;
	totals->samples += samples;
	totals->weight += weight;
	totals->ends[state->end] += samples;
	if (state->unnamed)
		totals->unnamed += samples;
	if (state->folded)
		totals->folded += samples;
	slice_note(slice, state, samples, weight);
}

static void note_differences(struct slice *slice)
{
	for (size_t i = 0; i < slice->counts.nr; i++) {
		struct stack_count *count = &slice->counts.items[i];
		const struct stack_count *fresh = &slice->fresh.items[i];
		if (count->samples != fresh->samples || count->weight != fresh->weight)
			note(slice, i, fresh->samples - count->samples,
			     fresh->weight - count->weight);
		*count = *fresh;
	}
}

static void note_all(struct slice *slice)
{
	struct slice_totals window = {.from_ns = slice->totals.from_ns,
				      .to_ns = slice->totals.to_ns};
	slice_clear_costs(slice);
	slice->totals = window;
	for (size_t i = 0; i < slice->counts.nr; i++) {
		const struct stack_count *count = &slice->counts.items[i];
		if (count->samples || count->weight)
			note(slice, i, count->samples, count->weight);
	}
}

static void forget_shown(struct slice *slice)
{
	if (slice->shown.nr < SHOWN_MOST)
		return;
	slice->shown.nr = 0;
	index_clear(&slice->shown_index);
}

int slice_refresh(struct slice *slice, uint64_t end_ns)
{
	bool all = false,
	     recount = !slice->refreshed || slice->new_window || end_ns != slice->end_ns;
	int result = history_update_names(slice->history);
	if (!result)
		slice_forget(slice, end_ns);
	if (!result)
		result = slice_follow_processes(slice);
	if (!result)
		result = follow_names(slice, &all);
	if (!result)
		result = add_new_stacks(slice, slice->history->stacks.nr);
	if (result)
		return result;
	if (!slice->has_moved ||
	    slice->is_restarted) /* else with the next refresh: each of the two takes its time */
		slice_drop_paths(slice);
	all = all || slice->has_moved;
	follow_filter(slice, &all);
	forget_shown(slice);
	slice->nr_seen = slice->history->stacks.nr;
	slice->end_ns = end_ns;
	slice->refreshed = false; /* should this fail, everything is counted again */
	if (recount) {
		slice->fresh.nr = slice->counts.nr;
		result = slice_count_window(slice);
		if (result)
			return result;
	}
	if (recount && !all)
		note_differences(slice);
	else if (recount)
		memcpy(slice->counts.items, slice->fresh.items,
		       slice->counts.nr * sizeof(*slice->counts.items));
	if (all)
		note_all(slice);
	slice_carry(slice);
	if (recount || all)
		result = slice_sum_squares(slice);
	if (result)
		return result;
	slice->refreshed = true;
	slice->new_window = slice->new_filter = slice->has_moved = false;
	tell_bytes(slice, slice_bytes(slice));
	return 0;
}

size_t slice_nr_paths(const struct slice *slice)
{
	return slice->paths.nr;
}

int slice_advance(struct slice *slice)
{
	size_t nr = slice->nr_seen;
	slice->nr_seen = slice->history->stacks.nr;
	/* Where names have come, or stacks are to go, the refresh has more to do first. */
	if (!slice->refreshed || slice->has_moved ||
	    slice->nr_renamed != slice->history->nr_renamed)
		return 0;
	int result = slice_follow_processes(slice);
	return result ? result : add_new_stacks(slice, nr);
}

struct slice_totals slice_totals(const struct slice *slice)
{
	return slice->totals;
}

double slice_error(double effective)
{
	return effective > 0 ? 1 / sqrt(effective) : 0;
}
