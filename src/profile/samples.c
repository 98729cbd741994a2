/* SPDX-License-Identifier: MIT */
/*
 * Single samples: a time, a CPU, a weight and the row of the counted stack that it fell on. They are kept
 * in the order of time. The collector merges the CPUs' rings by time, so that almost all of them come in order.
 */
#include <ctop/profile/history.h>

#include <errno.h>
#include <stdlib.h>

#include "history_internal.h"

enum {
	FIRST_CAPACITY = 4096,
	/* How far a late sample is moved at once; a source without any order is sorted when it is read. */
	MOVED_MOST = 256
};

void history_keep_samples(struct history *history)
{
	history->samples.wanted = true;
}

/* Grows by half, not to twice the size: there may be many millions. */
static int make_room(struct kept_samples *samples)
{
	if (samples->nr < samples->capacity)
		return 0;
	size_t capacity =
		samples->capacity ? samples->capacity + samples->capacity / 2 : FIRST_CAPACITY;
	struct kept_sample *items = reallocarray(samples->items, capacity, sizeof(*items));
	if (!items)
		return -ENOMEM;
	samples->items = items;
	samples->capacity = capacity;
	return 0;
}

int history_keep_sample(struct history *history, const struct sample *sample, uint32_t stack)
{
	struct kept_samples *samples = &history->samples;
	if (make_room(samples))
		return -ENOMEM;
	const struct kept_sample kept = {
		.time_ns = sample->time_ns,
		.weight = sample->weight,
		.stack = stack,
		.cpu = sample->cpu,
	};
	size_t at = samples->nr++, least = at > MOVED_MOST ? at - MOVED_MOST : 0;
	for (; at > least && samples->items[at - 1].time_ns > kept.time_ns; at--)
		samples->items[at] = samples->items[at - 1];
	samples->items[at] = kept;
	if (at > 0 && samples->items[at - 1].time_ns > kept.time_ns)
		samples->unsorted = true;
	return 0;
}

/* Equal only when they are the same in every way: the order is that of no sorting algorithm. */
static int compare(const void *left, const void *right)
{
	const struct kept_sample *a = left, *b = right;
	if (a->time_ns != b->time_ns)
		return a->time_ns < b->time_ns ? -1 : 1;
	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->stack != b->stack)
		return a->stack < b->stack ? -1 : 1;
	return (a->weight > b->weight) - (a->weight < b->weight);
}

/* The first sample that is not before a time. */
static size_t first_from(const struct kept_samples *samples, uint64_t time_ns)
{
	size_t low = 0, high = samples->nr;
	while (low < high) {
		size_t middle = low + (high - low) / 2;
		if (samples->items[middle].time_ns < time_ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

int history_each_sample(struct history *history, uint64_t from_ns, uint64_t to_ns,
			int (*each)(void *context, const struct history_sample *sample),
			void *context)
{
	struct kept_samples *samples = &history->samples;
	struct stack_view view;
	int result = history_update_names(history);
	if (stack_view_init(&view))
		result = -ENOMEM;
	if (samples->unsorted)
		qsort(samples->items, samples->nr, sizeof(*samples->items), compare);
	samples->unsorted = false;
	size_t last = UINT32_MAX; /* stack in view: neighbours often share one */
	for (size_t i = first_from(samples, from_ns); !result && i < samples->nr; i++) {
		const struct kept_sample kept = samples->items[i];
		if (kept.time_ns >= to_ns && to_ns != UINT64_MAX)
			break;
		if (kept.stack != last)
			result = stack_view_set(&view, history, &history->stacks.items[kept.stack]);
		last = kept.stack;
		if (result)
			break;
		struct history_sample sample = {kept.time_ns, kept.cpu, view.stack};
		sample.stack.samples = 1;
		sample.stack.weight = kept.weight;
		result = each(context, &sample);
	}
	stack_view_release(&view);
	return result;
}
