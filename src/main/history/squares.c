/* SPDX-License-Identifier: MIT */
/*
 * Sums of the squares of weights, by stack: they tell how much samples are worth. As long as the samples of each event have one
 * weight, as those of a clock, they follow from what is counted anyway, and nothing is kept.
 */
#include <errno.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "internal.h"

double history_effective(uint64_t weight, double squares)
{
	return squares > 0 ? (double)weight * (double)weight / squares : 0;
}

/* Of samples that weigh the same. */
static double even_squares(const struct counted_stack *stack)
{
	double weight = (double)stack->weight;
	return stack->samples ? weight * weight / (double)stack->samples : 0;
}

double history_stack_squares(const struct history *history, size_t stack)
{
	if (!history->weights_differ)
		return even_squares(&history->stacks.items[stack]);
	return stack < history->squares.nr ? history->squares.items[stack] : 0;
}

int history_begin_squares(struct history *history)
{
	size_t nr = history->stacks.nr;
	if (vec_reserve(&history->squares, nr + 1))
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++)
		history->squares.items[i] = even_squares(&history->stacks.items[i]);
	history->squares.nr = nr;
	history->weights_differ = true;
	return 0;
}

int history_add_square(struct history *history, uint32_t stack, uint64_t weight)
{
	if (vec_reserve(&history->squares, (size_t)stack + 1))
		return -ENOMEM;
	for (; history->squares.nr <= stack; history->squares.nr++)
		history->squares.items[history->squares.nr] = 0;
	history->squares.items[stack] += (double)weight * (double)weight;
	return 0;
}

void history_move_squares(struct history *history, size_t from, size_t to, bool is_new)
{
	double *squares = history->squares.items;
	if (!history->weights_differ || from >= history->squares.nr)
		return;
	const double moved = squares[from];
	squares[to] = is_new ? moved : squares[to] + moved;
}

double history_squares(const struct history *history)
{
	double sum = 0;
	for (size_t i = 0; i < history->stacks.nr; i++)
		if (history_counts_event(history, history->stacks.items[i].event))
			sum += history_stack_squares(history, i);
	return sum;
}
