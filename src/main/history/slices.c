/* SPDX-License-Identifier: MIT */
#include <ctop/history/slices.h>

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
static const uint64_t SAMPLES_MOST = (UINT64_C(1) << 56) - 1;

/* ---- the slice that goes on ---- */

static int count(struct slices *slices, uint32_t number, uint64_t samples, uint64_t weight)
{
	struct slice_stack *stack = &slices->stacks.items[number];
	if (!stack->samples) {
		if (vec_reserve(&slices->used, slices->used.nr + 1))
			return -ENOMEM;
		slices->used.items[slices->used.nr++] = number;
	}
	stack->samples = (stack->samples + samples) & SAMPLES_MOST;
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

/* The next ones of a coded slice, behind stack *last. numbers: that its stacks have now; NULL: as before. Returns how many. */
static size_t get_cells(const struct slices *slices, struct payload *payload, int64_t *last,
			const uint32_t *numbers, struct slice_cell cells[AHEAD])
{
	bool is_usual[AHEAD];
	size_t nr = 0;
	for (; nr < AHEAD && payload->at < payload->end; nr++) {
		*last += get_signed(payload);
		const uint32_t stack = numbers ? numbers[*last] : (uint32_t)*last;
		const uint64_t samples = get_varint(payload);
		__builtin_prefetch(&slices->stacks.items[stack], 1);
		is_usual[nr] = !(samples & 1);
		cells[nr] = (struct slice_cell){stack, samples / 2,
						is_usual[nr] ? 0 : get_varint(payload)};
	}
	for (size_t i = 0; i < nr; i++)
		if (is_usual[i])
			cells[i].weight =
				cells[i].samples *
				slices->usual.items[slices->stacks.items[cells[i].stack].event];
	return nr;
}

/* What a coded slice has counts in the one that goes on, too. */
static int count_coded(struct slices *slices, struct payload payload, const uint32_t *numbers)
{
	struct slice_cell cells[AHEAD];
	int64_t last = 0;
	int result = 0;
	while (!result && payload.at < payload.end) {
		const size_t nr = get_cells(slices, &payload, &last, numbers, cells);
		for (size_t i = 0; !result && i < nr; i++)
			result = count(slices, cells[i].stack, cells[i].samples, cells[i].weight);
	}
	return result;
}

/* ---- longer slices, and other numbers ---- */

/* Each 2^log2 slices that are over become one; the last ones, if they are fewer, go on. */
static int recode(struct slices *slices, unsigned log2, const uint32_t *numbers)
{
	const struct buffer old = slices->coded;
	size_t *sizes = slices->sizes.items;
	const size_t nr = slices->sizes.nr, together = (size_t)1 << log2;
	const uint8_t *at = old.bytes;
	int result = 0;
	slices->coded = (struct buffer){0};
	slices->sizes.items = NULL;
	slices->sizes.nr = slices->sizes.capacity = 0;
	for (size_t i = 0; !result && i < nr; i++) {
		result = count_coded(slices, (struct payload){.at = at, .end = at + sizes[i]},
				     numbers);
		at += sizes[i];
		if (!result && i % together == together - 1)
			result = close_slice(slices);
	}
	free(old.bytes);
	free(sizes);
	return result;
}

static int lengthen(struct slices *slices, unsigned log2)
{
	int result = slices->used.nr ? close_slice(slices) : 0;
	slices->shift += log2;
	return result ? result : recode(slices, log2, NULL);
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

static int take(struct slices *slices, const struct slice_sample *sample)
{
	uint64_t *usual = &slices->usual.items[sample->event];
	slices->stacks.items[sample->stack].event = sample->event;
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

static int make_room(struct slices *slices, const struct slice_sample *sample)
{
	const size_t nr = (size_t)sample->stack + 1, nr_events = (size_t)sample->event + 1;
	if (vec_reserve(&slices->stacks, nr) || vec_reserve(&slices->usual, nr_events))
		return -ENOMEM;
	for (; slices->stacks.nr < nr; slices->stacks.nr++)
		slices->stacks.items[slices->stacks.nr] = (struct slice_stack){0};
	for (; slices->usual.nr < nr_events; slices->usual.nr++)
		slices->usual.items[slices->usual.nr] = 0;
	return 0;
}

int slices_add(struct slices *slices, const struct slice_sample *sample)
{
	if (make_room(slices, sample))
		return -ENOMEM;
	__builtin_prefetch(&slices->stacks.items[sample->stack], 1);
	slices->waiting[slices->nr_waiting++] = *sample;
	return slices->nr_waiting < SLICES_WAITING_MOST ? 0 : take_waiting(slices);
}

/* The last one is over, and all are within the bound. */
static int finish(struct slices *slices)
{
	int result = 0;
	while (!result && (slices->used.nr ||
			   (slices->sizes.nr > 1 && slices->coded.size > SLICES_BYTES_MOST)))
		result = slices->used.nr ? close_slice(slices) : lengthen(slices, 1);
	return result;
}

int slices_end(struct slices *slices)
{
	int result = take_waiting(slices);
	return result ? result : finish(slices);
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

uint64_t slices_bytes(const struct slices *slices)
{
	return slices->coded.capacity + vec_bytes(&slices->sizes) + vec_bytes(&slices->stacks) +
	       vec_bytes(&slices->used) + vec_bytes(&slices->usual);
}

/* ---- once they have ended ---- */

int slices_each(const struct slices *slices,
		int (*each)(void *context, const struct slice_cell *cell), void *context)
{
	struct payload payload = {.end = slices->coded.bytes};
	struct slice_cell cells[AHEAD];
	int result = 0;
	for (size_t i = 0; !result && i < slices->sizes.nr; i++) {
		int64_t last = 0;
		payload.at = payload.end;
		payload.end += slices->sizes.items[i];
		while (!result && payload.at < payload.end) {
			const size_t nr = get_cells(slices, &payload, &last, NULL, cells);
			for (size_t j = 0; !result && j < nr; j++)
				result = each(context, &cells[j]);
		}
	}
	return result;
}

int slices_renumber(struct slices *slices, const uint32_t *numbers, size_t nr)
{
	struct slice_stack *old = slices->stacks.items;
	const size_t nr_old = slices->stacks.nr;
	slices->stacks.items = calloc(nr + 1, sizeof(*slices->stacks.items));
	slices->stacks.nr = slices->stacks.capacity = slices->stacks.items ? nr : 0;
	for (size_t i = 0; slices->stacks.items && i < nr_old; i++)
		if (numbers[i] != UINT32_MAX)
			slices->stacks.items[numbers[i]].event = old[i].event;
	free(old);
	int result = slices->stacks.items ? recode(slices, 0, numbers) : -ENOMEM;
	return result ? result : finish(slices);
}
