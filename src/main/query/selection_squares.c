/* SPDX-License-Identifier: MIT */
/*
 * How much the samples of a row are worth: sums of the squares of their weights, for history_effective(). Where all samples of
 * the event have one weight, as those of a clock, it follows from their weight, and nothing is summed or kept.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

/* The one weight of all samples that may be shown; 0: they differ. */
static uint64_t find_one_weight(const struct selection *selection)
{
	const struct history *history = selection->history;
	uint64_t one = 0;
	for (size_t i = 0; i < history->events.nr; i++) {
		const struct event *event = &history->events.items[i];
		if (!event->samples || !selection_keeps_event(selection, (uint32_t)i))
			continue;
		if (event->weight_least != event->weight_most ||
		    (one && one != event->weight_least))
			return 0;
		one = event->weight_least;
	}
	return one;
}

static int reserve(struct selection *selection)
{
	if (vec_reserve(&selection->stack_squares, selection->stacks.nr + 1) ||
	    vec_reserve(&selection->path_squares, selection->paths.nr + 1) ||
	    vec_reserve(&selection->key_squares, selection->keys.nr + 1))
		return -ENOMEM;
	selection->stack_squares.nr = selection->stacks.nr;
	selection->path_squares.nr = selection->paths.nr;
	selection->key_squares.nr = selection->keys.nr;
	memset(selection->stack_squares.items, 0, selection->stacks.nr * sizeof(double));
	memset(selection->path_squares.items, 0, selection->paths.nr * sizeof(double));
	memset(selection->key_squares.items, 0, selection->keys.nr * sizeof(double));
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
static void carry(struct selection *selection)
{
	double *squares = selection->path_squares.items;
	for (size_t i = selection->paths.nr; i-- > 0;) {
		const struct path *path = &selection->paths.items[i];
		if (!squares[i]) /* no sample of the window is below it */
			continue;
		if (selection_is_outermost(selection, path))
			selection->key_squares.items[path->key] += squares[i];
		if (i && i != selection->root)
			squares[path->parent] += squares[i];
	}
}

int selection_sum_squares(struct selection *selection)
{
	selection->one_weight = find_one_weight(selection);
	selection->stack_squares.nr = selection->path_squares.nr = selection->key_squares.nr = 0;
	if (selection->one_weight) {
		selection->totals.squares =
			(double)selection->one_weight * (double)selection->totals.weight;
		return 0;
	}
	int result = reserve(selection);
	if (result)
		return result;
	selection_square_window(selection, selection->stack_squares.items);
	selection->totals.squares = 0;
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		const struct stack_state *state = &selection->stacks.items[i];
		double *squares = &selection->stack_squares.items[i];
		*squares = bounded(*squares, &selection->counts.items[i]);
		if (!state->of_event || !state->passes)
			continue;
		selection->totals.squares += *squares;
		selection->path_squares.items[state->path] += *squares;
	}
	carry(selection);
	return 0;
}

/* ---- of a row ---- */

double selection_stack_squares(const struct selection *selection, size_t stack)
{
	if (selection->one_weight)
		return (double)selection->one_weight *
		       (double)selection->counts.items[stack].weight;
	return stack < selection->stack_squares.nr ? selection->stack_squares.items[stack] : 0;
}

double selection_path_squares(const struct selection *selection, uint32_t path)
{
	if (selection->one_weight)
		return (double)selection->one_weight * (double)selection->paths.items[path].weight;
	return path < selection->path_squares.nr ? selection->path_squares.items[path] : 0;
}

double selection_path_self_squares(const struct selection *selection, uint32_t path)
{
	const struct path *items = selection->paths.items;
	double squares = selection_path_squares(selection, path);
	for (uint32_t child = items[path].first_child; child; child = items[child].next_sibling)
		squares -= selection_path_squares(selection, child);
	const struct stack_count self = selection_path_self(selection, path);
	return bounded(squares, &self);
}

double selection_key_squares(const struct selection *selection, uint32_t key)
{
	if (selection->one_weight)
		return (double)selection->one_weight *
		       (double)selection->keys.items[key].cost.total_weight;
	return key < selection->key_squares.nr ? selection->key_squares.items[key] : 0;
}

/* ---- before a reset ---- */

int selection_keep_squares(struct selection *selection)
{
	const struct history *history = selection->history;
	if (vec_reserve(&selection->before_squares, history->stacks.nr))
		return -ENOMEM;
	selection->before_squares.nr = history->stacks.nr;
	for (size_t i = 0; i < history->stacks.nr; i++)
		selection->before_squares.items[i] = history_stack_squares(history, i);
	return 0;
}

void selection_move_squares(struct selection *selection, const uint32_t *rows)
{
	double *squares = selection->before_squares.items;
	size_t nr = 0;
	for (size_t i = 0; i < selection->before_squares.nr; i++) {
		const double moved = squares[i];
		if (rows[i] == nr)
			squares[nr++] = moved;
		else
			squares[rows[i]] += moved;
	}
	selection->before_squares.nr = nr;
}
