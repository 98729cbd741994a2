/* SPDX-License-Identifier: MIT */
/*
 * What becomes of a sample besides its count: the timeline gets it, and it is kept by itself as far back as there is room for, so that a stretch
 * of time can be looked at that does not begin with a second.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/history/timeline.h>

#include "internal.h"

static const uint64_t NS_PER_SECOND = 1000000000;
/* Without a limit. */
#define UNLIMITED_BYTES (UINT64_C(256) << 20)

int history_keep_timeline(struct history *history)
{
	const uint64_t bytes = history->limit_bytes ? history->limit_bytes : UNLIMITED_BYTES;
	const uint64_t most = bytes / MOMENTS_SHARE / sizeof(struct moment);
	history->timeline = timeline_new(bytes / TIMELINE_SHARE);
	history->moments.most = most > MOMENTS_LEAST ? (size_t)most : MOMENTS_LEAST;
	return history->timeline ? 0 : -ENOMEM;
}

struct timeline *history_timeline(const struct history *history)
{
	return history->timeline;
}

/* ---- the last samples ---- */

static int keep(struct moments_kept *moments, const struct moment *moment)
{
	if (moments->ring.nr < moments->most) {
		const size_t wanted = moments->ring.nr + 1;
		if (wanted > moments->ring.capacity && vec_reserve(&moments->ring, wanted))
			return -ENOMEM;
		moments->ring.items[moments->ring.nr++] = *moment;
		return 0;
	}
	struct moment *oldest = &moments->ring.items[moments->next];
	const uint64_t gone_ns = (oldest->time_ns & ~MOMENT_GOES_ON) + 1;
	if (gone_ns > moments->from_ns)
		moments->from_ns = gone_ns;
	*oldest = *moment;
	moments->next = (moments->next + 1) % moments->most;
	return 0;
}

static int keep_all(struct moments_kept *moments, uint64_t time_ns, uint32_t stack, uint64_t weight,
		    bool is_stretch)
{
	/* What is heavier still is damage: an hour of ns is less. */
	enum { PARTS_MOST = 1024 };
	struct moment moment = {.time_ns = time_ns &= ~MOMENT_GOES_ON, .stack = stack};
	int result = 0;
	for (int part = 0; !result && part < PARTS_MOST && (weight || !part); part++) {
		moment.weight = weight < UINT32_MAX ? (uint32_t)weight : UINT32_MAX;
		weight -= moment.weight;
		result = keep(moments, &moment);
		time_ns -= is_stretch && moment.weight < time_ns ? moment.weight : 0;
		moment.time_ns = time_ns | MOMENT_GOES_ON;
	}
	return result;
}

/* ---- the timeline ---- */

/* The frame that says what a thread waits for: the innermost, or the outermost where --state-frames has put it. */
static const char *state_name(const struct history *history, const struct counted_stack *stack)
{
	const char *name = history->frames.items[stack->leaf].name;
	uint32_t node = stack->node;
	if (history->state_frames != STATE_FRAMES_ROOT)
		return name ? name : "";
	while (node && history->nodes.items[node].parent)
		node = history->nodes.items[node].parent;
	name = node ? history->frames.items[history->nodes.items[node].frame].name : NULL;
	return name ? name : "";
}

static void set_wait(const struct history *history, const struct counted_stack *stack,
		     struct timeline_mark *mark)
{
	const char *name = state_name(history, stack);
	mark->state = strcmp(name, WAIT_FRAME_FOR_CPU) != 0 ? THREAD_WAITS : THREAD_QUEUES;
	for (int kind = 0; kind < NR_WAIT_KINDS; kind++)
		if (!strcmp(name, wait_kind_frame((enum wait_kind)kind)))
			mark->wait = (enum wait_kind)kind;
}

/* How long a thread has computed for one sample of it, as far as the event tells: at that moment it did. */
static uint64_t length_of(const struct event *event, uint64_t weight)
{
	if (event->unit == WEIGHT_NS)
		return weight;
	return event->frequency_hz ? NS_PER_SECOND / event->frequency_hz : 1;
}

static int tell_timeline(struct history *history, const struct sample *sample, uint32_t row)
{
	const struct counted_stack *stack = &history->stacks.items[row];
	const struct history_task *task = &history->tasks.items[stack->task];
	struct timeline_mark mark = {
		.pid = task->pid,
		.tid = task->tid,
		.name = task->comm,
		.time_ns = sample->time_ns,
		.length_ns = length_of(&history->events.items[stack->event], sample->weight),
		.stack = row,
		.state = THREAD_COMPUTES,
	};
	if (stack->task < NR_FIXED || history_is_apart(history, stack->event))
		return 0;
	if (history_is_wait(history, stack->event))
		set_wait(history, stack, &mark);
	timeline_set_run(history->timeline, task->run);
	return timeline_mark(history->timeline, &mark);
}

int history_note_moment(struct history *history, const struct sample *sample, uint32_t stack)
{
	const int result =
		keep_all(&history->moments, sample->time_ns, stack, sample->weight,
			 history_is_stretch(history, history->stacks.items[stack].event));
	return result ? result : tell_timeline(history, sample, stack);
}

/* ---- stacks that go ---- */

void history_move_moments(struct history *history, const uint32_t *stacks)
{
	for (size_t i = 0; i < history->moments.ring.nr; i++)
		history->moments.ring.items[i].stack = stacks[history->moments.ring.items[i].stack];
	if (history->timeline)
		timeline_move_stacks(history->timeline, stacks);
}

void history_drop_moments(struct history *history)
{
	history->moments.ring.nr = history->moments.next = 0;
	history->moments.from_ns = 0;
	if (history->timeline)
		timeline_clear(history->timeline);
}
