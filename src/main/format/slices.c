/* SPDX-License-Identifier: MIT */
#include "slices.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

/* The shortest is a millisecond or so. */
enum { LEAST_SHIFT = 20, MOST_SHIFT = 63 };
/* So many become one at a time where they take too many bytes: most often that of two would not do. */
enum { PUT_TOGETHER_LOG2 = 2 };
/* Stacks lie anywhere in memory: it is asked for these before they are needed. */
enum { AHEAD = 16 };

/* ---- the slice that goes on ---- */

static int count(struct slices *slices, uint32_t number, uint64_t samples, uint64_t weight)
{
	struct slice_stack *stack = &slices->stacks.items[number];
	if (!stack->samples) {
		if (vec_reserve(&slices->used, slices->used.nr + 1))
			return -ENOMEM;
		slices->used.items[slices->used.nr++] = number;
	}
	stack->samples += samples;
	stack->weight += weight;
	return 0;
}

/* It is over: it is coded behind the others. */
static int close_slice(struct slices *slices)
{
	const size_t before = slices->coded.size;
	int64_t last = 0;
	for (size_t i = 0; i < slices->used.nr; i++) {
		const uint32_t number = slices->used.items[i];
		if (i + AHEAD < slices->used.nr)
			__builtin_prefetch(&slices->stacks.items[slices->used.items[i + AHEAD]]);
		struct slice_stack *stack = &slices->stacks.items[number];
		const bool is_usual =
			stack->weight == stack->samples * slices->usual.items[stack->event];
		put_signed(&slices->coded, number - last);
		put_varint(&slices->coded, stack->samples * 2 + !is_usual);
		if (!is_usual)
			put_varint(&slices->coded, stack->weight);
		last = number;
		stack->samples = 0;
		stack->weight = 0;
	}
	slices->used.nr = 0;
	if (slices->coded.failed || vec_reserve(&slices->sizes, slices->sizes.nr + 1))
		return -ENOMEM;
	slices->sizes.items[slices->sizes.nr++] = slices->coded.size - before;
	return 0;
}

struct cell {
	uint32_t stack;
	bool is_usual;
	uint64_t samples, weight;
};

static struct cell get_cell(const struct slices *slices, struct payload *payload, int64_t *number)
{
	*number += get_signed(payload);
	const uint64_t samples = get_varint(payload);
	struct cell cell = {(uint32_t)*number, !(samples & 1), samples / 2, 0};
	__builtin_prefetch(&slices->stacks.items[cell.stack]);
	cell.weight = cell.is_usual ? 0 : get_varint(payload);
	return cell;
}

static int count_cells(struct slices *slices, const struct cell *cells, size_t nr)
{
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		const uint32_t event = slices->stacks.items[cells[i].stack].event;
		const uint64_t usual = slices->usual.items[event] * cells[i].samples;
		result = count(slices, cells[i].stack, cells[i].samples,
			       cells[i].is_usual ? usual : cells[i].weight);
	}
	return result;
}

/* What a coded slice has counts in the one that goes on, too. */
static int count_coded(struct slices *slices, const uint8_t *bytes, size_t size)
{
	struct payload payload = {.at = bytes, .end = bytes + size};
	struct cell cells[AHEAD];
	int64_t number = 0;
	int result = 0;
	while (!result && payload.at < payload.end) {
		size_t nr = 0;
		while (nr < AHEAD && payload.at < payload.end)
			cells[nr++] = get_cell(slices, &payload, &number);
		result = count_cells(slices, cells, nr);
	}
	return result;
}

/* ---- longer slices ---- */

static int recode(struct slices *slices, const struct buffer *old, const size_t *sizes, size_t nr,
		  size_t together)
{
	const uint8_t *at = old->bytes;
	int result = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		if (sizes[i])
			result = count_coded(slices, at, sizes[i]);
		at += sizes[i];
		if (!result && i % together == together - 1)
			result = close_slice(slices);
	}
	return result;
}

/* Each 2^log2 slices become one; the last ones, if they are fewer, go on. */
static int lengthen(struct slices *slices, unsigned log2)
{
	int result = slices->used.nr ? close_slice(slices) : 0;
	if (result)
		return result;
	struct buffer old = slices->coded;
	size_t *sizes = slices->sizes.items;
	const size_t nr = slices->sizes.nr;
	slices->coded = (struct buffer){0};
	slices->sizes.items = NULL;
	slices->sizes.nr = slices->sizes.capacity = 0;
	slices->shift += log2;
	result = recode(slices, &old, sizes, nr, (size_t)1 << log2);
	buffer_release(&old);
	free(sizes);
	return result;
}

static size_t number_of(const struct slices *slices, uint64_t time_ns)
{
	if (time_ns < slices->start_ns || slices->shift > MOST_SHIFT)
		return 0;
	const uint64_t number = (time_ns - slices->start_ns) >> slices->shift;
	return number < SLICES_MOST ? (size_t)number : SLICES_MOST;
}

/* The slice of that time goes on, and those before are over. */
static int go_to(struct slices *slices, uint64_t time_ns)
{
	int result = 0;
	while (!result && slices->sizes.nr < number_of(slices, time_ns)) {
		if (slices->coded.size > SLICES_BYTES_MOST)
			result = lengthen(slices, PUT_TOGETHER_LOG2);
		else if (number_of(slices, time_ns) == SLICES_MOST)
			result = lengthen(slices, 1);
		else
			result = close_slice(slices);
	}
	return result;
}

int slices_add_stack(struct slices *slices, uint32_t event)
{
	if (vec_reserve(&slices->stacks, slices->stacks.nr + 1) ||
	    vec_reserve(&slices->usual, (size_t)event + 1))
		return -ENOMEM;
	for (; slices->usual.nr <= event; slices->usual.nr++)
		slices->usual.items[slices->usual.nr] = 0;
	slices->stacks.items[slices->stacks.nr++] = (struct slice_stack){.event = event};
	return 0;
}

static int take(struct slices *slices, const struct slice_sample *sample)
{
	uint64_t *usual = &slices->usual.items[slices->stacks.items[sample->stack].event];
	if (!slices->shift) {
		slices->shift = LEAST_SHIFT;
		slices->start_ns = sample->time_ns;
	}
	if (!*usual)
		*usual = sample->weight;
	int result = go_to(slices, sample->time_ns);
	return result ? result : count(slices, sample->stack, 1, sample->weight);
}

static int take_waiting(struct slices *slices)
{
	int result = 0;
	for (size_t i = 0; !result && i < slices->nr_waiting; i++)
		result = take(slices, &slices->waiting[i]);
	slices->nr_waiting = 0;
	return result;
}

int slices_add(struct slices *slices, uint64_t time_ns, uint32_t stack, uint64_t weight)
{
	__builtin_prefetch(&slices->stacks.items[stack], 1);
	slices->waiting[slices->nr_waiting++] = (struct slice_sample){time_ns, weight, stack};
	return slices->nr_waiting < SLICES_WAITING_MOST ? 0 : take_waiting(slices);
}

int slices_end(struct slices *slices)
{
	int result = take_waiting(slices);
	while (!result && (slices->used.nr ||
			   (slices->sizes.nr > 1 && slices->coded.size > SLICES_BYTES_MOST)))
		result = slices->used.nr ? close_slice(slices) : lengthen(slices, 1);
	return result;
}

void slices_release(struct slices *slices)
{
	buffer_release(&slices->coded);
	free(slices->sizes.items);
	free(slices->stacks.items);
	free(slices->used.items);
	free(slices->usual.items);
	*slices = (struct slices){0};
}
