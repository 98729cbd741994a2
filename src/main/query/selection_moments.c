/* SPDX-License-Identifier: MIT */
/*
 * The samples of a selection in the order of time: those that the history kept, or its counts, as the seconds that they were counted in
 * hold them. Of these the samples of one stack lie evenly in their second; the stacks of a second take turns, each as its next sample is
 * due: a heap of them.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

static const uint64_t NS_PER_SECOND = 1000000000;

/* What a stack has in a second, and how far it was given out. */
struct turn {
	uint64_t next_ns;
	uint32_t stack;
	struct stack_count count;
	uint64_t nr_given;
};

struct moments {
	struct selection *selection;
	struct stack_view view;
	uint32_t shown; /* stack in view; UINT32_MAX: none */
	/* What is still to be given out, by stack: seconds that came after the window's end, or before a reset, are not the selection's. */
	struct stack_count *left;
	ROWS(struct turn) turns; /* a heap: those below a turn are not due before it */
	ROWS(struct turn) late;	 /* waits of a range that ended behind it */
	uint64_t from_ns, to_ns; /* of the second in hand */
	int (*each)(void *context, const struct history_sample *sample);
	void *context;
};

/* ---- stacks take turns ---- */

static uint64_t due_ns(const struct moments *moments, const struct turn *turn)
{
	double share = ((double)turn->nr_given + 0.5) / (double)turn->count.samples;
	return moments->from_ns + (uint64_t)((double)(moments->to_ns - moments->from_ns) * share);
}

/* Of samples due at one time those of the first stack come first. */
static bool is_before(const struct turn *a, const struct turn *b)
{
	return a->next_ns != b->next_ns ? a->next_ns < b->next_ns : a->stack < b->stack;
}

static void sink(struct turn *turns, size_t nr, size_t at)
{
	for (size_t child; (child = 2 * at + 1) < nr; at = child) {
		child += child + 1 < nr && is_before(&turns[child + 1], &turns[child]);
		if (!is_before(&turns[child], &turns[at]))
			return;
		struct turn swapped = turns[at];
		turns[at] = turns[child];
		turns[child] = swapped;
	}
}

static int give(struct moments *moments, const struct turn *turn)
{
	struct selection *selection = moments->selection;
	if (moments->shown != turn->stack) {
		int result = stack_view_set(&moments->view, selection->history,
					    &selection->history->stacks.items[turn->stack]);
		if (result)
			return result;
	}
	moments->shown = turn->stack;
	uint64_t nr = turn->count.samples, weight = turn->count.weight;
	struct history_sample sample = {turn->next_ns, 0, turn->stack, moments->view.stack};
	sample.stack.samples = 1;
	sample.stack.weight = weight / nr + (turn->nr_given < weight % nr);
	return moments->each(moments->context, &sample);
}

static int give_turns(struct moments *moments)
{
	struct turn *turns = moments->turns.items;
	int result = 0;
	for (size_t i = moments->turns.nr; i-- > 0;)
		sink(turns, moments->turns.nr, i);
	while (!result && moments->turns.nr) {
		result = give(moments, &turns[0]);
		if (++turns[0].nr_given == turns[0].count.samples)
			turns[0] = turns[--moments->turns.nr];
		else
			turns[0].next_ns = due_ns(moments, &turns[0]);
		sink(turns, moments->turns.nr, 0);
	}
	return result;
}

static int add_turn(struct moments *moments, uint32_t stack, struct stack_count count)
{
	struct turn turn = {.stack = stack, .count = count};
	if (!count.samples)
		return 0;
	if (vec_reserve(&moments->turns, moments->turns.nr + 1))
		return -ENOMEM;
	turn.next_ns = due_ns(moments, &turn);
	moments->turns.items[moments->turns.nr++] = turn;
	return 0;
}

/* ---- seconds ---- */

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

static int take_bucket(struct moments *moments, const struct bucket *bucket, bool is_rehearsal)
{
	int result = 0;
	for (size_t i = 0; !result && i < bucket->counts.nr; i++) {
		const struct second_count *count = &bucket->counts.items[i];
		if (count->stack >= moments->selection->stacks.nr)
			continue;
		struct stack_count taken = take(&moments->left[count->stack], count);
		if (!is_rehearsal)
			result = add_turn(moments, count->stack, taken);
	}
	return result;
}

/* What is held by no second any more was given out as taken when the window began: nothing lies before that. */
static int give_bucket(struct moments *moments, const struct bucket *bucket)
{
	const struct selection *selection = moments->selection;
	const uint64_t began_ns = selection->totals.from_ns, ended_ns = selection->totals.to_ns;
	moments->from_ns = bucket->second * NS_PER_SECOND;
	moments->to_ns = (bucket->second + bucket->span) * NS_PER_SECOND;
	if (moments->from_ns < began_ns && began_ns < moments->to_ns)
		moments->from_ns = began_ns;
	if (selection->to_ns && moments->from_ns < ended_ns && ended_ns < moments->to_ns)
		moments->to_ns = ended_ns;
	int result = take_bucket(moments, bucket, false);
	return result ? result : give_turns(moments);
}

/* Newest first, what no bucket has is left over. */
static void rehearse(struct moments *moments, size_t first, size_t end)
{
	for (size_t i = end; i-- > first;)
		take_bucket(moments, &moments->selection->history->seconds.buckets.items[i], true);
}

static void begin_moments(const struct moments *moments)
{
	const struct selection *selection = moments->selection;
	for (size_t i = 0; i < selection->stacks.nr; i++)
		moments->left[i] = selection->stacks.items[i].passes ? selection->counts.items[i]
								     : (struct stack_count){0};
}

/* A wait is all the time up to its sample's: what no second of a range has of one ends with the range. */
static bool is_late(const struct moments *moments, uint32_t stack)
{
	const struct selection *selection = moments->selection;
	return selection->to_ns &&
	       history_is_stretch(selection->history,
				  selection->history->stacks.items[stack].event);
}

static int add_late(struct moments *moments, uint32_t stack, struct stack_count count)
{
	if (!count.samples)
		return 0;
	if (vec_reserve(&moments->late, moments->late.nr + 1))
		return -ENOMEM;
	moments->late.items[moments->late.nr++] = (struct turn){.stack = stack, .count = count};
	return 0;
}

static int give_late(struct moments *moments)
{
	int result = 0;
	moments->to_ns = moments->selection->totals.to_ns;
	moments->from_ns = moments->to_ns - 1;
	for (size_t i = 0; !result && i < moments->late.nr; i++)
		result = add_turn(moments, moments->late.items[i].stack,
				  moments->late.items[i].count);
	return result ? result : give_turns(moments);
}

/* What is left over; then all but that is left. */
static int give_left_over(struct moments *moments)
{
	const struct selection *selection = moments->selection;
	int result = 0;
	moments->from_ns = selection->totals.from_ns;
	moments->to_ns = moments->from_ns + 1;
	for (uint32_t i = 0; !result && i < selection->stacks.nr; i++) {
		struct stack_count held = selection->counts.items[i], over = moments->left[i];
		if (!selection->stacks.items[i].passes)
			continue;
		result = is_late(moments, i) ? add_late(moments, i, over)
					     : add_turn(moments, i, over);
		moments->left[i] = (struct stack_count){held.samples - over.samples,
							held.weight - over.weight};
	}
	return result ? result : give_turns(moments);
}

static int give_all(struct moments *moments)
{
	const struct selection *selection = moments->selection;
	const struct seconds *seconds = &selection->history->seconds;
	size_t first =
		history_bucket_from(selection->history, selection->totals.from_ns / NS_PER_SECOND);
	const uint64_t end_ns = selection->to_ns ? selection->totals.to_ns - 1 : selection->end_ns;
	size_t end = history_bucket_from(selection->history, end_ns / NS_PER_SECOND + 1);
	begin_moments(moments);
	rehearse(moments, first, end);
	int result = give_left_over(moments);
	for (size_t i = first; !result && i < end && i < seconds->buckets.nr; i++)
		result = give_bucket(moments, &seconds->buckets.items[i]);
	return result ? result : give_late(moments);
}

/* ---- samples that the history kept ---- */

static int give_kept(void *context, const struct history_sample *sample)
{
	const struct moments *moments = context;
	const struct selection *selection = moments->selection;
	/* What came since the refresh is not shown yet. */
	bool is_shown =
		sample->row < selection->stacks.nr && selection->stacks.items[sample->row].passes;
	return is_shown ? moments->each(moments->context, sample) : 0;
}

static int give_all_kept(struct moments *moments)
{
	struct selection *selection = moments->selection;
	uint64_t from_ns = selection->before.nr ? selection->reset_ns + 1 : 0;
	return history_each_sample(selection->history, from_ns, UINT64_MAX, give_kept, moments);
}

int selection_each_sample(struct selection *selection,
			  int (*each)(void *context, const struct history_sample *sample),
			  void *context)
{
	struct moments moments = {
		.selection = selection,
		.shown = UINT32_MAX,
		.each = each,
		.context = context,
	};
	if (selection->history->samples.most)
		return give_all_kept(&moments);
	moments.left = calloc(selection->stacks.nr + 1, sizeof(*moments.left));
	int result = stack_view_init(&moments.view);
	if (!moments.left)
		result = -ENOMEM;
	if (!result)
		result = give_all(&moments);
	stack_view_release(&moments.view);
	free(moments.left);
	free(moments.turns.items);
	free(moments.late.items);
	return result;
}
