/* SPDX-License-Identifier: MIT */
/*
 * The samples of a window, stack by stack. The buckets of a window change little from one refresh to the next: those that
 * no sample goes to any more are added once, when they settle, and subtracted when they leave.
 */
#include <ctop/query/slice.h>

#include <errno.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "slice_internal.h"

static const uint64_t NS_PER_SECOND = 1000000000;

/* Seconds before the end that samples may still come for. */
enum { UNSETTLED = 2 };

/* ---- since the start ---- */

static void subtract(uint64_t *from, uint64_t what)
{
	*from -= what < *from ? what : *from;
}

/* Everything, less what came before the reset and after the end. */
static void count_since_start(struct slice *slice)
{
	const struct history *history = slice->history;
	struct stack_count *fresh = slice->fresh.items;
	uint64_t last = slice->end_ns / NS_PER_SECOND;
	for (size_t i = 0; i < slice->fresh.nr; i++)
		fresh[i] = (struct stack_count){history->stacks.items[i].samples,
						history->stacks.items[i].weight};
	for (size_t i = 0; i < slice->before.nr; i++) {
		fresh[i].samples -= slice->before.items[i].samples;
		fresh[i].weight -= slice->before.items[i].weight;
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
	uint64_t from_ns = slice->before.nr ? slice->reset_ns : history->totals.first_ns;
	slice->totals.from_ns = from_ns < slice->end_ns ? from_ns : slice->end_ns;
	slice->totals.to_ns = slice->end_ns;
}

/* ---- the last seconds ---- */

/* Rows of the buckets that a window is made of, and of those of them that are settled. */
struct range {
	uint64_t first, last; /* seconds asked for */
	size_t from, settled, to;
};

static struct range find_range(const struct slice *slice)
{
	const struct history *history = slice->history;
	const struct bucket *items = history->seconds.buckets.items;
	struct range range = {.last = slice->end_ns / NS_PER_SECOND};
	range.first = range.last >= slice->seconds ? range.last - slice->seconds + 1 : 0;
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
static void find_limits(struct slice *slice, const struct range *range)
{
	const struct history *history = slice->history;
	const struct seconds *seconds = &history->seconds;
	const struct bucket *items = seconds->buckets.items;
	struct slice_totals *totals = &slice->totals;
	totals->from_ns = range->first * NS_PER_SECOND;
	totals->to_ns = slice->end_ns;
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
	if (slice->began_ns > totals->from_ns)
		totals->from_ns = slice->began_ns;
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
static const struct bucket *find_same(const struct slice *slice,
				      const struct settled_bucket *settled)
{
	const struct seconds *seconds = &slice->history->seconds;
	size_t row = history_bucket_from(slice->history, settled->second);
	if (row == seconds->buckets.nr || !is_same(&seconds->buckets.items[row], settled))
		return NULL;
	return &seconds->buckets.items[row];
}

/* Takes out what left the window. False: something is not what it was, or nothing stays. */
static bool remove_old(struct slice *slice, const struct range *range)
{
	size_t kept = 0, nr = slice->settled_buckets.nr;
	struct settled_bucket *items = slice->settled_buckets.items;
	const struct bucket *buckets = slice->history->seconds.buckets.items;
	for (size_t i = 0; i < nr; i++) {
		const struct bucket *bucket = find_same(slice, &items[i]);
		if (!bucket)
			return false;
		if (bucket >= buckets + range->from && bucket < buckets + range->settled)
			items[kept++] = items[i];
		else
			remove_bucket(slice->settled.items, bucket);
	}
	slice->settled_buckets.nr = kept;
	return kept > 0;
}

/* Both lists are in the order of time. */
static int settle(struct slice *slice, const struct range *range)
{
	const struct bucket *buckets = slice->history->seconds.buckets.items;
	size_t nr = range->settled - range->from, known = 0;
	while (slice->settled.nr < slice->fresh.nr)
		slice->settled.items[slice->settled.nr++] = (struct stack_count){0};
	if (!remove_old(slice, range)) {
		memset(slice->settled.items, 0, slice->settled.nr * sizeof(*slice->settled.items));
		slice->settled_buckets.nr = 0;
	}
	if (vec_reserve(&slice->settled_buckets, nr))
		return -ENOMEM;
	struct settled_bucket *items = slice->settled_buckets.items;
	for (size_t i = 0; i < nr; i++) {
		const struct bucket *bucket = &buckets[range->from + i];
		if (known < slice->settled_buckets.nr && items[known].serial == bucket->serial)
			known++;
		else
			add_bucket(slice->settled.items, bucket);
	}
	for (size_t i = 0; i < nr; i++) {
		const struct bucket *bucket = &buckets[range->from + i];
		items[i] = (struct settled_bucket){bucket->second, bucket->serial, bucket->samples};
	}
	slice->settled_buckets.nr = nr;
	return 0;
}

static int count_last_seconds(struct slice *slice)
{
	const struct range range = find_range(slice);
	int result = settle(slice, &range);
	if (result)
		return result;
	find_limits(slice, &range);
	memcpy(slice->fresh.items, slice->settled.items,
	       slice->fresh.nr * sizeof(*slice->fresh.items));
	for (size_t row = range.settled; row < range.to; row++)
		add_bucket(slice->fresh.items, &slice->history->seconds.buckets.items[row]);
	return 0;
}

/* ---- squares ---- */

static void add_squares(const struct slice *slice, double *squares, const struct bucket *bucket,
			double sign)
{
	for (size_t i = 0; i < bucket->counts.nr; i++) {
		const struct second_count *count = &bucket->counts.items[i];
		if (count->stack < slice->stacks.nr)
			squares[count->stack] += sign * history_count_squares(count);
	}
}

static void square_since_start(const struct slice *slice, double *squares)
{
	const struct history *history = slice->history;
	uint64_t last = slice->end_ns / NS_PER_SECOND;
	for (size_t i = 0; i < slice->stacks.nr; i++)
		squares[i] += history_stack_squares(history, i);
	for (size_t i = 0; i < slice->before_squares.nr && i < slice->stacks.nr; i++)
		squares[i] -= slice->before_squares.items[i];
	size_t row = history_bucket_from(history, last + 1);
	for (; row < history->seconds.buckets.nr; row++)
		if (history->seconds.buckets.items[row].second > last)
			add_squares(slice, squares, &history->seconds.buckets.items[row], -1);
}

void slice_square_window(const struct slice *slice, double *squares)
{
	const struct bucket *buckets = slice->history->seconds.buckets.items;
	if (slice->seconds == SLICE_SINCE_START || !slice->history->seconds.wanted) {
		square_since_start(slice, squares);
		return;
	}
	const struct range range = find_range(slice);
	for (size_t row = range.from; row < range.to; row++)
		add_squares(slice, squares, &buckets[row], 1);
}

/* ---- counts ---- */

int slice_count_window(struct slice *slice)
{
	if (slice->seconds != SLICE_SINCE_START && slice->history->seconds.wanted)
		return count_last_seconds(slice);
	count_since_start(slice);
	return 0;
}
