/* SPDX-License-Identifier: MIT */
/*
 * Single samples: a time, a CPU, a weight and the row of the counted stack that it fell on. They are kept
 * in the order of time. The collector merges the CPUs' rings by time, so that almost all of them come in order.
 */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "internal.h"

enum {
	FIRST_CAPACITY = 4096,
	/* How far a late sample is moved at once; a source without any order is sorted when it is read. */
	MOVED_MOST = 256
};

void history_keep_samples(struct history *history, size_t most)
{
	history->samples.most = most;
}

/* Grows by half, not to twice the size: there may be many millions. */
static int make_room(struct kept_samples *samples)
{
	if (samples->nr < samples->capacity)
		return 0;
	size_t capacity =
		samples->capacity ? samples->capacity + samples->capacity / 2 : FIRST_CAPACITY;
	if (capacity > samples->most)
		capacity = samples->most;
	struct kept_sample *items = reallocarray(samples->items, capacity, sizeof(*items));
	if (!items)
		return -ENOMEM;
	samples->items = items;
	samples->capacity = capacity;
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

static void sort(struct kept_samples *samples)
{
	if (samples->unsorted)
		qsort(samples->items, samples->nr, sizeof(*samples->items), compare);
	samples->unsorted = false;
}

/* The first time that a stack is asked for. 0, 1 or -ENOMEM. */
static int is_first(struct kept_samples *samples, uint32_t stack)
{
	const size_t nr = (size_t)stack + 1;
	if (vec_reserve(&samples->given, nr))
		return -ENOMEM;
	for (; samples->given.nr < nr; samples->given.nr++)
		samples->given.items[samples->given.nr] = false;
	const bool is_given = samples->given.items[stack];
	samples->given.items[stack] = true;
	return !is_given;
}

/* The stack of a sample, into view. */
static int view_stack(struct history *history, uint32_t stack, struct stack_view *view)
{
	int result = history->samples.stacks_once ? is_first(&history->samples, stack) : 1;
	view->stack = (struct history_stack){0};
	return result > 0 ? stack_view_set(view, history, &history->stacks.items[stack]) : result;
}

/* Shows those from one to another, and before to_ns. */
static int show(struct history *history, size_t from, size_t to, uint64_t to_ns,
		int (*each)(void *context, const struct history_sample *sample), void *context)
{
	const struct kept_samples *samples = &history->samples;
	struct stack_view view;
	int result = stack_view_init(&view) ? -ENOMEM : 0;
	size_t last = UINT32_MAX; /* stack in view: neighbours often share one */
	for (size_t i = from; !result && i < to; i++) {
		const struct kept_sample kept = samples->items[i];
		if (kept.time_ns >= to_ns && to_ns != UINT64_MAX)
			break;
		if (kept.stack != last)
			result = view_stack(history, kept.stack, &view);
		last = kept.stack;
		if (result)
			break;
		struct history_sample sample = {kept.time_ns, kept.cpu, kept.stack, view.stack};
		sample.stack.samples = 1;
		sample.stack.weight = kept.weight;
		result = each(context, &sample);
	}
	stack_view_release(&view);
	return result;
}

int history_each_sample(struct history *history, uint64_t from_ns, uint64_t to_ns,
			int (*each)(void *context, const struct history_sample *sample),
			void *context)
{
	struct kept_samples *samples = &history->samples;
	int result = history_update_names(history);
	sort(samples);
	return result ? result
		      : show(history, first_from(samples, from_ns), samples->nr, to_ns, each,
			     context);
}

int history_each_stack_of(struct history *history, size_t nr,
			  uint32_t (*row_of)(void *context, size_t i),
			  int (*each)(void *context, size_t i, const struct history_stack *stack),
			  void *context)
{
	struct stack_view view;
	int result = stack_view_init(&view) ? -ENOMEM : history_update_names(history);
	for (size_t i = 0; !result && i < nr; i++) {
		result = stack_view_set(&view, history, &history->stacks.items[row_of(context, i)]);
		if (!result)
			result = each(context, i, &view.stack);
	}
	stack_view_release(&view);
	return result;
}

/* ---- keeping them ---- */

static void let_go(struct kept_samples *samples)
{
	free(samples->items);
	samples->items = NULL;
	samples->nr = samples->capacity = 0;
	samples->unsorted = false;
}

static int add_to_slices(struct history *history, size_t nr)
{
	struct kept_samples *samples = &history->samples;
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		const struct kept_sample *kept = &samples->items[i];
		const struct slice_sample sample = {kept->time_ns, kept->weight, kept->stack,
						    kept->event};
		result = slices_add(&samples->slices, &sample);
	}
	return result;
}

/* The older ones go on to who follows, or to slices. */
static int hand_over(struct history *history, size_t nr)
{
	struct kept_samples *samples = &history->samples;
	sort(samples);
	int result = samples->in_slices
			     ? add_to_slices(history, nr)
			     : show(history, 0, nr, UINT64_MAX, samples->each, samples->context);
	samples->nr -= nr;
	memmove(samples->items, samples->items + nr, samples->nr * sizeof(*samples->items));
	return result;
}

void history_follow_samples(struct history *history,
			    int (*each)(void *context, const struct history_sample *sample),
			    void *context)
{
	let_go(&history->samples);
	history->samples.each = each;
	history->samples.context = context;
}

void history_give_stacks_once(struct history *history)
{
	history->samples.stacks_once = true;
}

void history_keep_slices(struct history *history, size_t most)
{
	history_keep_samples(history, most);
	history->samples.in_slices = true;
}

bool history_keeps_slices(const struct history *history)
{
	return history->samples.in_slices;
}

int history_take_slices(struct history *history, struct slices *slices)
{
	struct kept_samples *samples = &history->samples;
	int result = hand_over(history, samples->nr);
	if (!result)
		result = slices_end(&samples->slices);
	let_go(samples);
	*slices = samples->slices;
	samples->slices = (struct slices){0};
	samples->in_slices = false;
	samples->most = 0;
	return result;
}

static void put(struct kept_samples *samples, const struct kept_sample *kept)
{
	size_t at = samples->nr++, least = at > MOVED_MOST ? at - MOVED_MOST : 0;
	for (; at > least && samples->items[at - 1].time_ns > kept->time_ns; at--)
		samples->items[at] = samples->items[at - 1];
	samples->items[at] = *kept;
	if (at > 0 && samples->items[at - 1].time_ns > kept->time_ns)
		samples->unsorted = true;
}

int history_keep_sample(struct history *history, const struct sample *sample, uint32_t stack,
			uint8_t event)
{
	struct kept_samples *samples = &history->samples;
	uint64_t *not_kept = &history->totals.not_kept;
	const struct kept_sample kept = {
		.time_ns = sample->time_ns,
		.weight = sample->weight,
		.stack = stack,
		.cpu = sample->cpu,
		.event = event,
	};
	int result = 0;
	if (history_follows(history) || samples->in_slices) {
		/* Among the others there is room for those that come late. */
		if (samples->nr == samples->most)
			result = hand_over(history, (samples->nr + 1) / 2);
	} else if (*not_kept || samples->nr == samples->most) {
		*not_kept += 1 + samples->nr;
		let_go(samples);
		return 0;
	}
	if (!result)
		result = make_room(samples);
	if (!result)
		put(samples, &kept);
	return result;
}
