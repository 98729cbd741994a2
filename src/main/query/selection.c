/* SPDX-License-Identifier: MIT */
/*
 * A refresh: counts of the window, stack by stack, beside those of the refresh before; what differs and
 * passes the filter is noted on its path. When names or the filter changed, all is noted again.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

/* More rows given out than this, and they are forgotten: they come back when they are asked for from the root on. */
enum { SHOWN_MOST = 1 << 18 };

/* All arrays of a selection, node_paths excepted. */
#define EACH_ROWS(DO)                                                                              \
	DO(keys)                                                                                   \
	DO(paths)                                                                                  \
	DO(pending)                                                                                \
	DO(dirty)                                                                                  \
	DO(processes)                                                                              \
	DO(task_processes)                                                                         \
	DO(path_processes)                                                                         \
	DO(stacks)                                                                                 \
	DO(counts)                                                                                 \
	DO(fresh)                                                                                  \
	DO(before)                                                                                 \
	DO(settled)                                                                                \
	DO(settled_buckets)                                                                        \
	DO(stack_squares)                                                                          \
	DO(path_squares)                                                                           \
	DO(key_squares)                                                                            \
	DO(before_squares)                                                                         \
	DO(shown)                                                                                  \
	DO(trend_masks)

struct selection *selection_new(struct history *history)
{
	struct selection *selection = calloc(1, sizeof(*selection));
	if (!selection)
		return NULL;
	selection->history = history;
	selection->new_filter = selection->has_paths = true;
	history->nr_selections++;
	if (selection_child_path(selection, 0, KEY_ALL) == 0)
		return selection;
	selection_free(selection);
	return NULL;
}

struct selection *selection_of_all(struct history *history)
{
	struct selection *selection = selection_new(history);
	if (!selection)
		return NULL;
	selection->has_paths = false; /* until somebody asks for what they tell */
	if (selection_refresh(selection, UINT64_MAX)) {
		selection_free(selection);
		return NULL;
	}
	selection->fresh.nr = 0; /* nobody counts again */
	vec_give_back(&selection->fresh);
	return selection;
}

int selection_need_paths(struct selection *selection)
{
	if (selection->has_paths)
		return 0;
	selection->has_paths = selection->new_filter = true;
	selection->stacks.nr = 0;
	return selection_refresh(selection, selection->end_ns);
}

static void tell_bytes(struct selection *selection, uint64_t bytes)
{
	selection->history->selection_bytes += bytes - selection->bytes;
	selection->bytes = bytes;
}

void selection_free(struct selection *selection)
{
	if (!selection)
		return;
	tell_bytes(selection, 0);
	selection->history->nr_selections--;
	selection_free_filter(selection);
	for (size_t i = 0; i < NR_LABELS; i++)
		free(selection->node_paths[i].items);
#define FREE(rows) free(selection->rows.items);
	EACH_ROWS(FREE)
#undef FREE
	selection_forget_beside(selection);
	free(selection->beside.items);
	free(selection->following.paths.items);
	index_release(&selection->path_index);
	index_release(&selection->shown_index);
	index_release(&selection->process_index);
	free(selection);
}

uint64_t selection_bytes(const struct selection *selection)
{
	uint64_t bytes = sizeof(*selection) + index_bytes(&selection->path_index) +
			 index_bytes(&selection->shown_index) +
			 index_bytes(&selection->process_index) +
			 vec_bytes(&selection->following.paths);
	for (size_t i = 0; i < NR_LABELS; i++)
		bytes += vec_bytes(&selection->node_paths[i]);
#define ADD_BYTES(rows) bytes += vec_bytes(&selection->rows);
	EACH_ROWS(ADD_BYTES)
#undef ADD_BYTES
	for (size_t i = 0; i < selection->beside.nr; i++)
		bytes += vec_bytes(&selection->beside.items[i].paths);
	return bytes;
}

/* ---- what was asked ---- */

int selection_set_seconds(struct selection *selection, uint32_t seconds)
{
	if (seconds > SELECTION_SECONDS_MAX)
		return -EINVAL;
	selection->new_window = selection->new_window || seconds != selection->seconds;
	selection->seconds = seconds;
	return 0;
}

void selection_set_range(struct selection *selection, uint64_t from_ns, uint64_t to_ns)
{
	to_ns = to_ns > from_ns ? to_ns : 0;
	from_ns = to_ns ? from_ns : 0;
	selection->new_window =
		selection->new_window || from_ns != selection->from_ns || to_ns != selection->to_ns;
	selection->from_ns = from_ns;
	selection->to_ns = to_ns;
}

int selection_set_filter(struct selection *selection, const struct selection_criterion *criteria,
			 size_t nr)
{
	if (nr > SELECTION_CRITERIA_MAX)
		return -E2BIG;
	if (nr && selection_need_paths(selection))
		return -ENOMEM;
	return selection_take_filter(selection, criteria, nr);
}

int selection_reset(struct selection *selection)
{
	const struct history *history = selection->history;
	if (vec_reserve(&selection->before, history->stacks.nr) ||
	    selection_keep_squares(selection))
		return -ENOMEM;
	selection->before.nr = history->stacks.nr;
	for (size_t i = 0; i < history->stacks.nr; i++)
		selection->before.items[i] = (struct stack_count){history->stacks.items[i].samples,
								  history->stacks.items[i].weight};
	selection->reset_ns = history->totals.last_ns;
	selection->new_window = true;
	return 0;
}

int selection_restart(struct selection *selection)
{
	int result = selection_forget_all(selection);
	return result ? result : selection_reset(selection);
}

/* ---- stacks ---- */

static int reserve_stacks(struct selection *selection)
{
	/* Never none at all: memset() and memcpy() mind. */
	size_t nr = selection->history->stacks.nr + 1;
	return vec_reserve(&selection->stacks, nr) || vec_reserve(&selection->counts, nr) ? -ENOMEM
											  : 0;
}

static void follow_filter(struct selection *selection, bool *all)
{
	if (!selection->new_filter)
		return;
	selection_find_hits(selection);
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		struct stack_state *state = &selection->stacks.items[i];
		const struct counted_stack *stack = &selection->history->stacks.items[i];
		state->of_event = selection_is_of_event(selection, stack);
		state->passes = selection_passes(selection, stack, state->path);
	}
	*all = true;
}

/* Those of the history's first nr stacks that are new. */
static int add_new_stacks(struct selection *selection, size_t nr)
{
	int result = reserve_stacks(selection);
	while (!result && selection->stacks.nr < nr) {
		bool moved;
		size_t row = selection->stacks.nr;
		result = selection_place_stack(selection, row, &moved);
		if (result)
			break;
		if (row == selection->counts.nr)
			selection->counts.items[selection->counts.nr++] = (struct stack_count){0};
		selection->stacks.nr = row + 1;
	}
	return result;
}

/* ---- what changed ---- */

/* Notes a stack's count, or a difference of it, that passes the filter. Differences below zero wrap around. */
static void note(struct selection *selection, size_t row, uint64_t samples, uint64_t weight,
		 bool is_difference)
{
	const struct stack_state *state = &selection->stacks.items[row];
	struct selection_totals *totals = &selection->totals;
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
	if (state->kernel)
		totals->kernel_weight += weight;
	selection_note(selection, state, samples, weight, is_difference);
}

static int note_differences(struct selection *selection)
{
	if (selection_begin_differences(selection))
		return -ENOMEM;
	for (size_t i = 0; i < selection->counts.nr; i++) {
		struct stack_count *count = &selection->counts.items[i];
		const struct stack_count *fresh = &selection->fresh.items[i];
		if (count->samples != fresh->samples || count->weight != fresh->weight)
			note(selection, i, fresh->samples - count->samples,
			     fresh->weight - count->weight, true);
		*count = *fresh;
	}
	selection_carry_differences(selection);
	return 0;
}

static void note_all(struct selection *selection)
{
	struct selection_totals window = {.from_ns = selection->totals.from_ns,
					  .to_ns = selection->totals.to_ns};
	selection_clear_costs(selection);
	selection->totals = window;
	for (size_t i = 0; i < selection->counts.nr; i++) {
		const struct stack_count *count = &selection->counts.items[i];
		if (count->samples || count->weight)
			note(selection, i, count->samples, count->weight, false);
	}
	selection_carry(selection);
}

static void forget_shown(struct selection *selection)
{
	if (selection->shown.nr < SHOWN_MOST)
		return;
	selection->shown.nr = 0;
	index_clear(&selection->shown_index);
}

int selection_refresh(struct selection *selection, uint64_t end_ns)
{
	bool all = false, recount = !selection->refreshed || selection->new_window ||
				    end_ns != selection->end_ns;
	selection_forget_beside(selection);
	int result = history_update_some_names(selection->history,
					       selection->by_parts ? NAMES_A_PART : SIZE_MAX);
	const bool more = result > 0;
	if (result < 0)
		return result;
	selection_forget(selection, end_ns);
	result = selection_follow_processes(selection);
	if (!result)
		result = selection_follow_names(selection, more, &all);
	if (!result)
		result = add_new_stacks(selection, selection->history->stacks.nr);
	if (result)
		return result;
	if (!selection->has_moved ||
	    selection
		    ->is_restarted) /* else with the next refresh: each of the two takes its time */
		selection_drop_paths(selection);
	all = all || selection->has_moved;
	follow_filter(selection, &all);
	forget_shown(selection);
	selection->nr_seen = selection->history->stacks.nr;
	selection->end_ns = end_ns;
	selection->refreshed = false; /* should this fail, everything is counted again */
	if (recount) {
		if (vec_reserve(&selection->fresh, selection->counts.nr + 1))
			return -ENOMEM;
		selection->fresh.nr = selection->counts.nr;
		result = selection_count_window(selection);
		if (result)
			return result;
	}
	if (recount && !all)
		result = note_differences(selection);
	else if (recount)
		memcpy(selection->counts.items, selection->fresh.items,
		       selection->counts.nr * sizeof(*selection->counts.items));
	if (all)
		note_all(selection);
	if (!result && (recount || all))
		result = selection_sum_squares(selection);
	if (result)
		return result;
	selection->refreshed = true;
	selection->new_window = selection->new_filter = selection->has_moved = false;
	tell_bytes(selection, selection_bytes(selection));
	return 0;
}

size_t selection_nr_paths(const struct selection *selection)
{
	return selection->paths.nr;
}

size_t selection_nr_paths_shown(const struct selection *selection)
{
	size_t nr = 1;
	for (size_t i = 1; i < selection->paths.nr; i++)
		nr += selection->paths.items[i].total > 0;
	return nr;
}

void selection_take_by_parts(struct selection *selection)
{
	selection->by_parts = true;
}

/* Of the history's first nr stacks some of those that are new. 1: there are more. */
static int add_some_stacks(struct selection *selection, size_t nr)
{
	/* Stacks, and paths that they make: 0.5 to 4 us each. */
	enum { PART = 1024, FEW = 64 };
	const size_t until = selection->stacks.nr + selection->paths.nr + PART;
	int result = selection_follow_processes(selection);
	while (!result && selection->stacks.nr < nr) {
		const size_t next = selection->stacks.nr + FEW;
		if (selection->stacks.nr + selection->paths.nr >= until)
			return 1;
		result = add_new_stacks(selection, next < nr ? next : nr);
	}
	return result;
}

int selection_advance(struct selection *selection)
{
	size_t nr = selection->nr_seen;
	selection->nr_seen = selection->history->stacks.nr;
	/* Where stacks are to go, the refresh has more to do first. */
	if (!selection->refreshed || selection->has_moved)
		return 0;
	const int names = selection->by_parts
				  ? history_update_some_names(selection->history, NAMES_A_PART)
				  : 0;
	if (names < 0)
		return names;
	const int following =
		!names && selection->following.active ? selection_follow_part(selection) : 0;
	if (following < 0)
		return following;
	/* Names may be new, and stacks go by old ones until all are followed: so it is with a refresh's, too. */
	const int stacks = add_some_stacks(selection, nr);
	return stacks < 0 ? stacks : names || following || stacks;
}

struct selection_totals selection_totals(const struct selection *selection)
{
	return selection->totals;
}

double selection_error(double effective)
{
	return effective > 0 ? 1 / sqrt(effective) : 0;
}
