/* SPDX-License-Identifier: MIT */
/*
 * How much the samples of a row are worth: sums of the squares of their weights, for history_effective(). Where all samples of
 * the event have one weight, as those of a clock, it follows from their weight, and nothing is summed or kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "slice_internal.h"

/* The one weight of all samples that may be shown; 0: they differ. */
static uint64_t find_one_weight(const struct slice *slice)
{
	const struct history *history = slice->history;
	uint64_t one = 0;
	for (size_t i = 0; i < history->events.nr; i++) {
		const struct event *event = &history->events.items[i];
		if (!event->samples || !slice_keeps_event(slice, (uint32_t)i))
			continue;
		if (event->weight_least != event->weight_most ||
		    (one && one != event->weight_least))
			return 0;
		one = event->weight_least;
	}
	return one;
}

static int reserve(struct slice *slice)
{
	if (vec_reserve(&slice->stack_squares, slice->stacks.nr + 1) ||
	    vec_reserve(&slice->path_squares, slice->paths.nr + 1) ||
	    vec_reserve(&slice->key_squares, slice->keys.nr + 1))
		return -ENOMEM;
	slice->stack_squares.nr = slice->stacks.nr;
	slice->path_squares.nr = slice->paths.nr;
	slice->key_squares.nr = slice->keys.nr;
	memset(slice->stack_squares.items, 0, slice->stacks.nr * sizeof(double));
	memset(slice->path_squares.items, 0, slice->paths.nr * sizeof(double));
	memset(slice->key_squares.items, 0, slice->keys.nr * sizeof(double));
	return 0;
}

/* What is subtracted and rounded may come out a little off: never below what equal weights have, nor above what a single one has. */
static double bounded(double squares, const struct stack_count *count)
{
	double most = (double)count->weight * (double)count->weight;
	double least = count->samples ? most / (double)count->samples : 0;
	return squares < least ? least : squares > most ? most : squares;
}

/* From the ends of stacks towards the root: paths come after their parents. */
static void carry(struct slice *slice)
{
	double *squares = slice->path_squares.items;
	for (size_t i = slice->paths.nr; i-- > 0;) {
		const struct path *path = &slice->paths.items[i];
		if (slice_is_outermost(slice, path))
			slice->key_squares.items[path->key] += squares[i];
		if (i && i != slice->root)
			squares[path->parent] += squares[i];
	}
}

int slice_sum_squares(struct slice *slice)
{
	slice->one_weight = find_one_weight(slice);
	slice->stack_squares.nr = slice->path_squares.nr = slice->key_squares.nr = 0;
	if (slice->one_weight) {
		slice->totals.squares = (double)slice->one_weight * (double)slice->totals.weight;
		return 0;
	}
	int result = reserve(slice);
	if (result)
		return result;
	slice_square_window(slice, slice->stack_squares.items);
	slice->totals.squares = 0;
	for (size_t i = 0; i < slice->stacks.nr; i++) {
		const struct stack_state *state = &slice->stacks.items[i];
		double *squares = &slice->stack_squares.items[i];
		*squares = bounded(*squares, &slice->counts.items[i]);
		if (!state->of_event || !state->passes)
			continue;
		slice->totals.squares += *squares;
		slice->path_squares.items[state->path] += *squares;
	}
	carry(slice);
	return 0;
}

/* ---- of a row ---- */

double slice_stack_squares(const struct slice *slice, size_t stack)
{
	if (slice->one_weight)
		return (double)slice->one_weight * (double)slice->counts.items[stack].weight;
	return stack < slice->stack_squares.nr ? slice->stack_squares.items[stack] : 0;
}

double slice_path_squares(const struct slice *slice, uint32_t path)
{
	if (slice->one_weight)
		return (double)slice->one_weight * (double)slice->paths.items[path].weight;
	return path < slice->path_squares.nr ? slice->path_squares.items[path] : 0;
}

double slice_path_self_squares(const struct slice *slice, uint32_t path)
{
	const struct path *items = slice->paths.items;
	double squares = slice_path_squares(slice, path);
	for (uint32_t child = items[path].first_child; child; child = items[child].next_sibling)
		squares -= slice_path_squares(slice, child);
	const struct stack_count self = slice_path_self(slice, path);
	return bounded(squares, &self);
}

double slice_key_squares(const struct slice *slice, uint32_t key)
{
	if (slice->one_weight)
		return (double)slice->one_weight * (double)slice->keys.items[key].cost.total_weight;
	return key < slice->key_squares.nr ? slice->key_squares.items[key] : 0;
}

/* ---- before a reset ---- */

int slice_keep_squares(struct slice *slice)
{
	const struct history *history = slice->history;
	if (vec_reserve(&slice->before_squares, history->stacks.nr))
		return -ENOMEM;
	slice->before_squares.nr = history->stacks.nr;
	for (size_t i = 0; i < history->stacks.nr; i++)
		slice->before_squares.items[i] = history_stack_squares(history, i);
	return 0;
}

void slice_move_squares(struct slice *slice, const uint32_t *rows)
{
	double *squares = slice->before_squares.items;
	size_t nr = 0;
	for (size_t i = 0; i < slice->before_squares.nr; i++) {
		const double moved = squares[i];
		if (rows[i] == nr)
			squares[nr++] = moved;
		else
			squares[rows[i]] += moved;
	}
	slice->before_squares.nr = nr;
}

void slice_free_squares(struct slice *slice)
{
	free(slice->stack_squares.items);
	free(slice->path_squares.items);
	free(slice->key_squares.items);
	free(slice->before_squares.items);
}

uint64_t slice_squares_bytes(const struct slice *slice)
{
	return (slice->stack_squares.capacity + slice->path_squares.capacity +
		slice->key_squares.capacity + slice->before_squares.capacity) *
	       sizeof(double);
}
