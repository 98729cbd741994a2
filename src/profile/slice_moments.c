/* SPDX-License-Identifier: MIT */
/* The stacks of a slice in the order of time: its counts, as the seconds that they were counted in hold them. */
#include <ctop/profile/slice.h>

#include <errno.h>
#include <stdlib.h>

#include "slice_internal.h"

static const uint64_t NS_PER_SECOND = 1000000000;

/* What is still to be given out, by stack: seconds that came after the window's end, or before a reset, are not the slice's. */
struct moments {
	struct slice *slice;
	struct stack_view view;
	struct stack_count *left;
	int (*each)(void *context, const struct slice_moment *moment);
	void *context;
};

static int give(struct moments *moments, size_t row, struct stack_count count, uint64_t from_ns,
		uint64_t to_ns)
{
	struct slice *slice = moments->slice;
	struct counted_stack counted = slice->history->stacks.items[row];
	counted.samples = count.samples;
	counted.weight = count.weight;
	int result = stack_view_set(&moments->view, slice->history, &counted);
	if (result)
		return result;
	const struct slice_moment moment = {from_ns, to_ns, moments->view.stack};
	return moments->each(moments->context, &moment);
}

/* The part of a bucket's count that is left; it is taken away. */
static struct stack_count take(struct stack_count *left, const struct second_count *count)
{
	struct stack_count taken = {count->samples, count->weight};
	if (left->samples <= taken.samples)
		taken = *left;
	else if (taken.weight > left->weight)
		taken.weight = left->weight;
	left->samples -= taken.samples;
	left->weight -= taken.weight;
	return taken;
}

static int give_bucket(struct moments *moments, const struct bucket *bucket, bool is_rehearsal)
{
	int result = 0;
	for (size_t i = 0; !result && i < bucket->counts.nr; i++) {
		const struct second_count *count = &bucket->counts.items[i];
		if (count->stack >= moments->slice->stacks.nr)
			continue;
		struct stack_count taken = take(&moments->left[count->stack], count);
		if (taken.samples && !is_rehearsal)
			result = give(moments, count->stack, taken, bucket->second * NS_PER_SECOND,
				      (bucket->second + bucket->span) * NS_PER_SECOND);
	}
	return result;
}

/* Newest first, what no bucket has is left over. */
static void rehearse(struct moments *moments, size_t first, size_t end)
{
	for (size_t i = end; i-- > first;)
		give_bucket(moments, &moments->slice->history->seconds.buckets.items[i], true);
}

static void begin_moments(const struct moments *moments)
{
	const struct slice *slice = moments->slice;
	for (size_t i = 0; i < slice->stacks.nr; i++)
		moments->left[i] = slice->stacks.items[i].passes ? slice->counts.items[i]
								 : (struct stack_count){0};
}

static int give_all(struct moments *moments)
{
	const struct slice *slice = moments->slice;
	const struct seconds *seconds = &slice->history->seconds;
	size_t first = history_bucket_from(slice->history, slice->totals.from_ns / NS_PER_SECOND);
	size_t end = history_bucket_from(slice->history, slice->end_ns / NS_PER_SECOND + 1);
	int result = 0;
	begin_moments(moments);
	rehearse(moments, first, end);
	/* What is left over goes first; then all but that again, bucket by bucket. */
	for (size_t i = 0; !result && i < slice->stacks.nr; i++) {
		struct stack_count held = slice->counts.items[i], over = moments->left[i];
		if (!slice->stacks.items[i].passes)
			continue;
		if (over.samples)
			result = give(moments, i, over, slice->totals.from_ns,
				      slice->totals.from_ns + 1);
		moments->left[i] = (struct stack_count){held.samples - over.samples,
							held.weight - over.weight};
	}
	for (size_t i = first; !result && i < end && i < seconds->buckets.nr; i++)
		result = give_bucket(moments, &seconds->buckets.items[i], false);
	return result;
}

int slice_each_moment(struct slice *slice,
		      int (*each)(void *context, const struct slice_moment *moment), void *context)
{
	struct moments moments = {
		.slice = slice,
		.left = calloc(slice->stacks.nr + 1, sizeof(*moments.left)),
		.each = each,
		.context = context,
	};
	int result = stack_view_init(&moments.view);
	if (!moments.left)
		result = -ENOMEM;
	if (!result)
		result = give_all(&moments);
	stack_view_release(&moments.view);
	free(moments.left);
	return result;
}

uint64_t slice_moment_time(const struct slice_moment *moment, uint64_t i)
{
	double share = ((double)i + 0.5) / (double)moment->stack.samples;
	return moment->from_ns + (uint64_t)((double)(moment->to_ns - moment->from_ns) * share);
}

uint64_t slice_moment_weight(const struct slice_moment *moment, uint64_t i)
{
	uint64_t nr = moment->stack.samples, weight = moment->stack.weight;
	return weight / nr + (i < weight % nr);
}
