/* SPDX-License-Identifier: MIT */
/*
 * The samples of a window, stack by stack. The buckets of a window change little from one refresh to the next: those that
 * no sample goes to any more are added once, when they settle, and subtracted when they leave.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

static const uint64_t NS_PER_SECOND = 1000000000;

/* Seconds before the end that samples may still come for. */
enum { UNSETTLED = 2 };

/* ---- since the start ---- */

static void subtract(uint64_t *from, uint64_t what)
{
	*from -= what < *from ? what : *from;
}

/* Everything, less what came before the reset and after the end. */
static void count_since_start(struct selection *selection)
{
	const struct history *history = selection->history;
	struct stack_count *fresh = selection->fresh.items;
	uint64_t last = selection->end_ns / NS_PER_SECOND;
	for (size_t i = 0; i < selection->fresh.nr; i++)
		fresh[i] = (struct stack_count){history->stacks.items[i].samples,
						history->stacks.items[i].weight};
	for (size_t i = 0; i < selection->before.nr; i++) {
		fresh[i].samples -= selection->before.items[i].samples;
		fresh[i].weight -= selection->before.items[i].weight;
	}
	size_t row = history_bucket_from(history, last + 1);
	for (; row < history->seconds.buckets.nr; row++) {
		const struct bucket *bucket = &history->seconds.buckets.items[row];
		if (bucket->second <= last) /* a merged one that the end is in */
			continue;
		for (size_t i = 0; i < bucket->counts.nr; i++) {
			const struct second_count *count = &bucket->counts.items[i];
			subtract(&fresh[count->stack].samples, count->samples);
			subtract(&fresh[count->stack].weight, count->weight);
		}
	}
	uint64_t from_ns = selection->before.nr ? selection->reset_ns : history->totals.first_ns;
	selection->totals.from_ns = from_ns < selection->end_ns ? from_ns : selection->end_ns;
	selection->totals.to_ns = selection->end_ns;
}

/* ---- the last seconds ---- */

/* Rows of the buckets that a window is made of, and of those of them that are settled. */
struct range {
	uint64_t first, last; /* seconds asked for */
	size_t from, settled, to;
};

static struct range find_range(const struct selection *selection)
{
	const struct history *history = selection->history;
	const struct bucket *items = history->seconds.buckets.items;
	struct range range = {.last = selection->end_ns / NS_PER_SECOND};
	range.first = range.last >= selection->seconds ? range.last - selection->seconds + 1 : 0;
	range.from = range.to = history_bucket_from(history, range.first);
	while (range.to < history->seconds.buckets.nr && items[range.to].second <= range.last)
		range.to++;
	range.settled = range.to;
	while (range.settled > range.from &&
	       items[range.settled - 1].second + UNSETTLED > range.last)
		range.settled--;
	return range;
}

/* What the window covers: old buckets reach further than asked, or are gone. */
static void find_limits(struct selection *selection, const struct range *range)
{
	const struct history *history = selection->history;
	const struct seconds *seconds = &history->seconds;
	const struct bucket *items = seconds->buckets.items;
	struct selection_totals *totals = &selection->totals;
	totals->from_ns = range->first * NS_PER_SECOND;
	totals->to_ns = selection->end_ns;
	if (range->from < seconds->buckets.nr &&
	    (items[range->from].second < range->first || (range->from == 0 && seconds->forgotten)))
		totals->from_ns = items[range->from].second * NS_PER_SECOND;
	if (history->totals.first_ns > totals->from_ns)
		totals->from_ns = history->totals.first_ns;
	if (range->to > range->from && items[range->to - 1].span > 1) {
		const struct bucket *bucket = &items[range->to - 1];
		uint64_t to_ns = (bucket->second + bucket->span) * NS_PER_SECOND;
		if (to_ns > totals->to_ns)
			totals->to_ns = to_ns;
	}
	if (selection->began_ns > totals->from_ns)
		totals->from_ns = selection->began_ns;
	if (totals->from_ns > totals->to_ns)
		totals->from_ns = totals->to_ns;
}

static void add_bucket(struct stack_count *sums, const struct bucket *bucket)
{
	for (size_t i = 0; i < bucket->counts.nr; i++) {
		const struct second_count *count = &bucket->counts.items[i];
		sums[count->stack].samples += count->samples;
		sums[count->stack].weight += count->weight;
	}
}

static void remove_bucket(struct stack_count *sums, const struct bucket *bucket)
{
	for (size_t i = 0; i < bucket->counts.nr; i++) {
		const struct second_count *count = &bucket->counts.items[i];
		sums[count->stack].samples -= count->samples;
		sums[count->stack].weight -= count->weight;
	}
}

static bool is_same(const struct bucket *bucket, const struct settled_bucket *settled)
{
	return bucket->serial == settled->serial && bucket->samples == settled->samples;
}

/* The bucket that was settled, as it was; NULL: it was merged, forgotten or added to. */
static const struct bucket *find_same(const struct selection *selection,
				      const struct settled_bucket *settled)
{
	const struct seconds *seconds = &selection->history->seconds;
	size_t row = history_bucket_from(selection->history, settled->second);
	if (row == seconds->buckets.nr || !is_same(&seconds->buckets.items[row], settled))
		return NULL;
	return &seconds->buckets.items[row];
}

/* Takes out what left the window. False: something is not what it was, or nothing stays. */
static bool remove_old(struct selection *selection, const struct range *range)
{
	size_t kept = 0, nr = selection->settled_buckets.nr;
	struct settled_bucket *items = selection->settled_buckets.items;
	const struct bucket *buckets = selection->history->seconds.buckets.items;
	for (size_t i = 0; i < nr; i++) {
		const struct bucket *bucket = find_same(selection, &items[i]);
		if (!bucket)
			return false;
		if (bucket >= buckets + range->from && bucket < buckets + range->settled)
			items[kept++] = items[i];
		else
			remove_bucket(selection->settled.items, bucket);
	}
	selection->settled_buckets.nr = kept;
	return kept > 0;
}

/* Both lists are in the order of time. */
static int settle(struct selection *selection, const struct range *range)
{
	const struct bucket *buckets = selection->history->seconds.buckets.items;
	size_t nr = range->settled - range->from, known = 0;
	if (vec_reserve(&selection->settled, selection->fresh.nr + 1))
		return -ENOMEM;
	while (selection->settled.nr < selection->fresh.nr)
		selection->settled.items[selection->settled.nr++] = (struct stack_count){0};
	if (!remove_old(selection, range)) {
		memset(selection->settled.items, 0,
		       selection->settled.nr * sizeof(*selection->settled.items));
		selection->settled_buckets.nr = 0;
	}
	if (vec_reserve(&selection->settled_buckets, nr))
		return -ENOMEM;
	struct settled_bucket *items = selection->settled_buckets.items;
	for (size_t i = 0; i < nr; i++) {
		const struct bucket *bucket = &buckets[range->from + i];
		if (known < selection->settled_buckets.nr && items[known].serial == bucket->serial)
			known++;
		else
			add_bucket(selection->settled.items, bucket);
	}
	for (size_t i = 0; i < nr; i++) {
		const struct bucket *bucket = &buckets[range->from + i];
		items[i] = (struct settled_bucket){bucket->second, bucket->serial, bucket->samples};
	}
	selection->settled_buckets.nr = nr;
	return 0;
}

static int count_last_seconds(struct selection *selection)
{
	const struct range range = find_range(selection);
	int result = settle(selection, &range);
	if (result)
		return result;
	find_limits(selection, &range);
	memcpy(selection->fresh.items, selection->settled.items,
	       selection->fresh.nr * sizeof(*selection->fresh.items));
	for (size_t row = range.settled; row < range.to; row++)
		add_bucket(selection->fresh.items, &selection->history->seconds.buckets.items[row]);
	return 0;
}

/* ---- from one moment to another ---- */

/* What of it lies in the range: of a wait a part. False: nothing. */
static bool take_in_range(const struct selection *selection, const struct moment *moment,
			  struct stack_count *count)
{
	const struct history *history = selection->history;
	const uint64_t time_ns = moment->time_ns & ~MOMENT_GOES_ON;
	const bool ends_later = time_ns >= selection->to_ns;
	*count = (struct stack_count){!(moment->time_ns & MOMENT_GOES_ON), moment->weight};
	if (!moment->weight ||
	    !history_is_stretch(history, history->stacks.items[moment->stack].event))
		return time_ns >= selection->from_ns && !ends_later;
	/* What goes on with it and lies in the range as well has not been counted, if this reaches out of it. */
	count->samples = count->samples || ends_later;
	count->weight =
		history_wait_within(time_ns, moment->weight, selection->from_ns, selection->to_ns);
	return count->weight;
}

/* Single samples are there from the range's beginning on. */
static bool has_moments(const struct selection *selection)
{
	const struct history *history = selection->history;
	return history->timeline && history->moments.from_ns <= selection->from_ns;
}

/* Rows of the buckets that have any of it. */
static struct range find_range_buckets(const struct selection *selection)
{
	const struct history *history = selection->history;
	struct range range = {.first = selection->from_ns / NS_PER_SECOND,
			      .last = (selection->to_ns - 1) / NS_PER_SECOND};
	range.from = range.to = history_bucket_from(history, range.first);
	while (range.to < history->seconds.buckets.nr &&
	       history->seconds.buckets.items[range.to].second <= range.last)
		range.to++;
	return range;
}

static void count_moments(struct selection *selection)
{
	const struct moments_kept *moments = &selection->history->moments;
	for (size_t i = 0; i < moments->ring.nr; i++) {
		const struct moment *moment = &moments->ring.items[i];
		struct stack_count part;
		if (moment->stack >= selection->fresh.nr ||
		    !take_in_range(selection, moment, &part))
			continue;
		selection->fresh.items[moment->stack].samples += part.samples;
		selection->fresh.items[moment->stack].weight += part.weight;
	}
	selection->totals.from_ns = selection->from_ns;
	selection->totals.to_ns = selection->to_ns;
}

/* By whole seconds, and what these were merged to: totals say so. */
static void count_range_buckets(struct selection *selection)
{
	const struct bucket *items = selection->history->seconds.buckets.items;
	const struct range range = find_range_buckets(selection);
	selection->totals.from_ns = selection->totals.to_ns = selection->from_ns;
	for (size_t row = range.from; row < range.to; row++)
		add_bucket(selection->fresh.items, &items[row]);
	if (range.to == range.from)
		return;
	selection->totals.from_ns = items[range.from].second * NS_PER_SECOND;
	selection->totals.to_ns =
		(items[range.to - 1].second + items[range.to - 1].span) * NS_PER_SECOND;
}

static void count_range(struct selection *selection)
{
	memset(selection->fresh.items, 0, selection->fresh.nr * sizeof(*selection->fresh.items));
	if (has_moments(selection))
		count_moments(selection);
	else
		count_range_buckets(selection);
}

/* ---- squares ---- */

static void add_squares(const struct selection *selection, double *squares,
			const struct bucket *bucket, double sign)
{
	for (size_t i = 0; i < bucket->counts.nr; i++) {
		const struct second_count *count = &bucket->counts.items[i];
		if (count->stack < selection->stacks.nr)
			squares[count->stack] += sign * history_count_squares(count);
	}
}

static void square_since_start(const struct selection *selection, double *squares)
{
	const struct history *history = selection->history;
	uint64_t last = selection->end_ns / NS_PER_SECOND;
	for (size_t i = 0; i < selection->stacks.nr; i++)
		squares[i] += history_stack_squares(history, i);
	for (size_t i = 0; i < selection->before_squares.nr && i < selection->stacks.nr; i++)
		squares[i] -= selection->before_squares.items[i];
	size_t row = history_bucket_from(history, last + 1);
	for (; row < history->seconds.buckets.nr; row++)
		if (history->seconds.buckets.items[row].second > last)
			add_squares(selection, squares, &history->seconds.buckets.items[row], -1);
}

static void square_range(const struct selection *selection, double *squares)
{
	const struct moments_kept *moments = &selection->history->moments;
	const struct range range = find_range_buckets(selection);
	for (size_t row = range.from; !has_moments(selection) && row < range.to; row++)
		add_squares(selection, squares, &selection->history->seconds.buckets.items[row], 1);
	for (size_t i = 0; has_moments(selection) && i < moments->ring.nr; i++) {
		const struct moment *moment = &moments->ring.items[i];
		struct stack_count part;
		if (moment->stack < selection->stacks.nr && take_in_range(selection, moment, &part))
			squares[moment->stack] += (double)part.weight * (double)part.weight;
	}
}

void selection_square_window(const struct selection *selection, double *squares)
{
	if (selection->to_ns) {
		square_range(selection, squares);
		return;
	}
	const struct bucket *buckets = selection->history->seconds.buckets.items;
	if (selection->seconds == SELECTION_SINCE_START || !selection->history->seconds.wanted) {
		square_since_start(selection, squares);
		return;
	}
	const struct range range = find_range(selection);
	for (size_t row = range.from; row < range.to; row++)
		add_squares(selection, squares, &buckets[row], 1);
}

/* ---- counts ---- */

int selection_count_window(struct selection *selection)
{
	if (selection->to_ns) {
		count_range(selection);
		return 0;
	}
	if (selection->seconds != SELECTION_SINCE_START && selection->history->seconds.wanted)
		return count_last_seconds(selection);
	count_since_start(selection);
	return 0;
}
