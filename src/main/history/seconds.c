/* SPDX-License-Identifier: MIT */
/*
 * How many samples fell on which stack in which second. Seconds lie in buckets, in the order of time; the one that samples
 * go to, nearly always the newest, is open: a sample finds its stack's count there by one look-up. Old buckets
 * are merged into coarser ones, and forgotten, by number and by memory.
 */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "internal.h"

static const uint64_t NS_PER_SECOND = 1000000000;

enum { FINE = 1, COARSE = 10, COARSEST = 60 };
/* How many buckets of a kind are kept. */
enum { FINE_MOST = 300, COARSE_MOST = 180, COARSEST_MOST = 120 };
/* What is kept of them as long as merging others can save memory. */
enum { FINE_LEAST = 20, COARSE_LEAST = 12 };
enum {
	DEFAULT_BYTES = 64 << 20,
	/* So many samples in a row of another second, and that is opened: a few late ones are none. */
	LATE_MOST = 64
};

void history_keep_seconds(struct history *history)
{
	history->seconds.wanted = true;
}

void history_free_seconds(struct history *history)
{
	struct seconds *seconds = &history->seconds;
	for (size_t i = 0; i < seconds->buckets.nr; i++)
		free(seconds->buckets.items[i].counts.items);
	free(seconds->buckets.items);
	free(seconds->slots.items);
}

uint64_t history_seconds_bytes(const struct history *history)
{
	const struct seconds *seconds = &history->seconds;
	return seconds->bytes + seconds->buckets.capacity * sizeof(*seconds->buckets.items) +
	       seconds->slots.capacity * sizeof(*seconds->slots.items);
}

uint64_t history_seconds_bound(const struct history *history)
{
	if (!history->seconds.wanted)
		return 0;
	return history->limit_bytes ? history->limit_bytes / 4 : DEFAULT_BYTES;
}

size_t history_bucket_from(const struct history *history, uint64_t second)
{
	const struct seconds *seconds = &history->seconds;
	size_t low = 0, high = seconds->buckets.nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct bucket *bucket = &seconds->buckets.items[middle];
		if (bucket->second + bucket->span <= second)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

struct history_seconds history_seconds(const struct history *history)
{
	const struct seconds *seconds = &history->seconds;
	struct history_seconds facts = {
		.forgotten = seconds->forgotten,
		.bytes = history_seconds_bytes(history),
		.nr = seconds->buckets.nr,
	};
	bool fine = true;
	for (size_t i = seconds->buckets.nr; i-- > 0;) {
		const struct bucket *bucket = &seconds->buckets.items[i];
		facts.first_ns = bucket->second * NS_PER_SECOND;
		if (!facts.end_ns)
			facts.end_ns = facts.fine_ns =
				(bucket->second + bucket->span) * NS_PER_SECOND;
		fine = fine && bucket->span == FINE;
		if (fine)
			facts.fine_ns = facts.first_ns;
	}
	return facts;
}

/* ---- the spread of weights ---- */

/*
 * samples x sum of squares / (sum)^2: 1 where all weights are equal, at most the number of samples, which 16 bits count. It is
 * kept as the upper bits of a float, less those of 1.0: 4 of the exponent, 12 of the fraction.
 */
enum { ONE_BITS = 0x3f800000, SPREAD_SHIFT = 11 };

static uint16_t spread_of(uint64_t samples, uint64_t weight, double squares)
{
	if (!weight)
		return 0;
	double sum = (double)weight;
	float spread = (float)((double)samples * squares / sum / sum);
	uint32_t bits;
	memcpy(&bits, &spread, sizeof(bits));
	if (spread <= 1)
		return 0;
	bits = (bits - ONE_BITS + (1 << (SPREAD_SHIFT - 1))) >> SPREAD_SHIFT;
	return bits < UINT16_MAX ? (uint16_t)bits : UINT16_MAX;
}

double history_count_squares(const struct second_count *count)
{
	uint32_t bits = ((uint32_t)count->spread << SPREAD_SHIFT) + ONE_BITS;
	float spread;
	memcpy(&spread, &bits, sizeof(spread));
	double sum = (double)count->weight;
	return count->samples ? (double)spread * sum * sum / count->samples : 0;
}

/* Adds one count to another of the same stack. */
static void add_count(struct second_count *to, const struct second_count *count)
{
	uint64_t samples = (uint64_t)to->samples + count->samples;
	/* As a rule all weights are equal, and stay so. */
	bool is_even = !to->spread && !count->spread &&
		       to->weight * count->samples == count->weight * to->samples;
	double squares = is_even ? 0 : history_count_squares(to) + history_count_squares(count);
	to->weight += count->weight;
	to->samples = (uint16_t)samples;
	to->spread = is_even ? 0 : spread_of(samples, to->weight, squares);
}

/* ---- counts of a bucket ---- */

static int reserve_slots(struct seconds *seconds, uint32_t stack)
{
	size_t nr = seconds->slots.nr;
	if (stack < nr)
		return 0;
	if (vec_reserve(&seconds->slots, (size_t)stack + 1))
		return -ENOMEM;
	seconds->slots.nr = seconds->slots.capacity;
	memset(seconds->slots.items + nr, 0,
	       (seconds->slots.nr - nr) * sizeof(*seconds->slots.items));
	return 0;
}

/* A serial that no slot has. */
static void begin_slots(struct seconds *seconds)
{
	if (++seconds->serial)
		return;
	memset(seconds->slots.items, 0, seconds->slots.nr * sizeof(*seconds->slots.items));
	seconds->serial = 1;
}

static int append(struct seconds *seconds, struct bucket *bucket, struct second_count count)
{
	size_t before = bucket->counts.capacity;
	if (vec_reserve(&bucket->counts, bucket->counts.nr + 1))
		return -ENOMEM;
	seconds->bytes += (bucket->counts.capacity - before) * sizeof(count);
	bucket->counts.items[bucket->counts.nr++] = count;
	return 0;
}

/* Adds a count where the slots say that the stack is, or as a new one. The slots are the bucket's. */
static int add(struct seconds *seconds, struct bucket *bucket, struct second_count count)
{
	struct second_slot *slot = &seconds->slots.items[count.stack];
	if (slot->serial == seconds->serial) {
		struct second_count *known = &bucket->counts.items[slot->at];
		if (known->samples <= UINT16_MAX - count.samples) {
			add_count(known, &count);
			return 0;
		}
	}
	*slot = (struct second_slot){seconds->serial, (uint32_t)bucket->counts.nr};
	return append(seconds, bucket, count);
}

static void trim_counts(struct seconds *seconds, struct bucket *bucket)
{
	size_t nr = bucket->counts.nr ? bucket->counts.nr : 1;
	void *items = reallocarray(bucket->counts.items, nr, sizeof(*bucket->counts.items));
	if (!items)
		return;
	seconds->bytes -= (bucket->counts.capacity - nr) * sizeof(*bucket->counts.items);
	bucket->counts.items = items;
	bucket->counts.capacity = nr;
}

static void close_bucket(struct seconds *seconds)
{
	if (seconds->has_open)
		trim_counts(seconds, &seconds->buckets.items[seconds->open]);
	seconds->has_open = false;
}

/* The slots become the bucket's; counts of the same stack become one. */
static void open_bucket(struct seconds *seconds, size_t row)
{
	close_bucket(seconds);
	begin_slots(seconds);
	struct bucket *bucket = &seconds->buckets.items[row];
	size_t nr = bucket->counts.nr;
	bucket->counts.nr = 0;
	for (size_t i = 0; i < nr; i++) /* never more than were there: nothing is allocated */
		add(seconds, bucket, bucket->counts.items[i]);
	seconds->has_open = true;
	seconds->open = row;
	seconds->open_from_ns = bucket->second * NS_PER_SECOND;
	seconds->open_for_ns = bucket->span * NS_PER_SECOND;
	seconds->nr_late = 0;
}

/* ---- old buckets ---- */

static void remove_buckets(struct seconds *seconds, size_t first, size_t nr)
{
	struct bucket *items = seconds->buckets.items;
	for (size_t i = first; i < first + nr; i++) {
		seconds->bytes -= items[i].counts.capacity * sizeof(*items[i].counts.items);
		free(items[i].counts.items);
	}
	memmove(items + first, items + first + nr,
		(seconds->buckets.nr - first - nr) * sizeof(*items));
	seconds->buckets.nr -= nr;
}

static void forget_oldest(struct seconds *seconds)
{
	close_bucket(seconds);
	seconds->forgotten += seconds->buckets.items[0].samples;
	remove_buckets(seconds, 0, 1);
}

/* All buckets in the span of one of them become one. 0 or -ENOMEM. */
static int merge(struct history *history, uint64_t second, uint32_t span)
{
	struct seconds *seconds = &history->seconds;
	struct bucket merged = {
		.second = second - second % span,
		.span = span,
		.serial = ++seconds->nr_made,
	};
	close_bucket(seconds);
	begin_slots(seconds);
	size_t first = history_bucket_from(history, merged.second), end = first;
	int result = 0;
	for (; !result && end < seconds->buckets.nr; end++) {
		const struct bucket *bucket = &seconds->buckets.items[end];
		if (bucket->second >= merged.second + span)
			break;
		merged.samples += bucket->samples;
		for (size_t i = 0; !result && i < bucket->counts.nr; i++)
			result = add(seconds, &merged, bucket->counts.items[i]);
	}
	if (result) {
		seconds->bytes -= merged.counts.capacity * sizeof(*merged.counts.items);
		free(merged.counts.items);
		return result;
	}
	trim_counts(seconds, &merged);
	remove_buckets(seconds, first + 1, end - first - 1);
	struct bucket *place = &seconds->buckets.items[first];
	seconds->bytes -= place->counts.capacity * sizeof(*place->counts.items);
	free(place->counts.items);
	*place = merged;
	return 0;
}

struct bucket_numbers {
	size_t fine, coarse, coarsest;
	uint64_t first_fine, first_coarse; /* seconds */
};

static struct bucket_numbers count_buckets(const struct seconds *seconds)
{
	struct bucket_numbers numbers = {0};
	for (size_t i = seconds->buckets.nr; i-- > 0;) {
		const struct bucket *bucket = &seconds->buckets.items[i];
		if (bucket->span == FINE) {
			numbers.fine++;
			numbers.first_fine = bucket->second;
		} else if (bucket->span == COARSE) {
			numbers.coarse++;
			numbers.first_coarse = bucket->second;
		} else {
			numbers.coarsest++;
		}
	}
	return numbers;
}

/* Each step leaves fewer buckets, or coarser ones. */
static int age(struct history *history)
{
	struct seconds *seconds = &history->seconds;
	int result = 0;
	while (!result) {
		struct bucket_numbers numbers = count_buckets(seconds);
		bool full = seconds->bytes > history_seconds_bound(history);
		if (numbers.fine > (full ? FINE_LEAST : FINE_MOST))
			result = merge(history, numbers.first_fine, COARSE);
		else if (numbers.coarse > (full ? COARSE_LEAST : COARSE_MOST))
			result = merge(history, numbers.first_coarse, COARSEST);
		else if (numbers.coarsest > COARSEST_MOST || (full && seconds->buckets.nr > 1))
			forget_oldest(seconds);
		else
			break;
	}
	return result;
}

/* ---- forgotten stacks ---- */

static void move_counts(struct bucket *bucket, const uint32_t *stacks)
{
	for (size_t i = 0; i < bucket->counts.nr; i++)
		bucket->counts.items[i].stack = stacks[bucket->counts.items[i].stack];
}

/* Many stacks may have become one, so that fewer counts will do. */
void history_move_seconds(struct history *history, const uint32_t *stacks)
{
	struct seconds *seconds = &history->seconds;
	close_bucket(seconds);
	for (size_t i = 0; i < seconds->buckets.nr; i++) {
		move_counts(&seconds->buckets.items[i], stacks);
		open_bucket(seconds, i);
	}
	close_bucket(seconds);
}

void history_drop_seconds(struct history *history)
{
	while (history->seconds.buckets.nr)
		forget_oldest(&history->seconds);
}

/* ---- a sample ---- */

/* The bucket of a second, a new one if need be. 0 or -ENOMEM. */
static int bucket_of(struct history *history, uint64_t second, size_t *row)
{
	struct seconds *seconds = &history->seconds;
	*row = history_bucket_from(history, second);
	if (*row < seconds->buckets.nr && seconds->buckets.items[*row].second <= second)
		return 0;
	int result = age(history);
	if (result || vec_reserve(&seconds->buckets, seconds->buckets.nr + 1))
		return -ENOMEM;
	*row = history_bucket_from(history, second); /* rows have moved; a merged one may hold it */
	struct bucket *items = seconds->buckets.items;
	if (*row < seconds->buckets.nr && items[*row].second <= second)
		return 0;
	memmove(items + *row + 1, items + *row, (seconds->buckets.nr - *row) * sizeof(*items));
	items[*row] = (struct bucket){
		.second = second,
		.span = FINE,
		.serial = ++seconds->nr_made,
	};
	seconds->buckets.nr++;
	if (seconds->has_open && seconds->open >= *row)
		seconds->open++;
	return 0;
}

/* Counts apart from the open bucket, which stays open unless this is a newer second, or where samples go now. */
static int count_elsewhere(struct history *history, uint64_t second, struct second_count count)
{
	struct seconds *seconds = &history->seconds;
	size_t row;
	int result = bucket_of(history, second, &row);
	if (result)
		return result;
	seconds->nr_late = second == seconds->late_second ? seconds->nr_late + 1 : 0;
	seconds->late_second = second;
	struct bucket *bucket = &seconds->buckets.items[row];
	bucket->samples++;
	if (seconds->has_open && row < seconds->open && seconds->nr_late < LATE_MOST)
		return append(seconds, bucket, count);
	open_bucket(seconds, row);
	return add(seconds, bucket, count);
}

int history_count_second(struct history *history, uint64_t time_ns, uint32_t stack, uint64_t weight)
{
	struct seconds *seconds = &history->seconds;
	const struct second_count count = {stack, 1, 0, weight};
	uint64_t bytes = seconds->bytes;
	int result = reserve_slots(seconds, stack);
	if (result)
		return result;
	if (seconds->has_open && time_ns - seconds->open_from_ns < seconds->open_for_ns) {
		struct bucket *bucket = &seconds->buckets.items[seconds->open];
		bucket->samples++;
		result = add(seconds, bucket, count);
	} else {
		result = count_elsewhere(history, time_ns / NS_PER_SECOND, count);
	}
	if (!result && seconds->bytes > bytes && seconds->bytes > history_seconds_bound(history))
		result = age(history);
	return result;
}
