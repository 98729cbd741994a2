/* SPDX-License-Identifier: MIT */
/*
 * Which of two sets the kernel serves first differs: 6.18 begins with the event opened last at a uprobe, with the one opened
 * first at a breakpoint. If it is the new one, what follows of the old one is a double as any (sets.c). If not, the
 * first hit in both would count twice.
 *
 * Registers and the top of the stack tell it from a loop's next hit. Where neither is recorded, or the loop leaves them as
 * they were, the time does: between two samples of a hit lies only what the kernel does for the first, some 0.7 us, between two
 * hits that and the way to user space and back.
 */
#include "same_hit.h"

#include <linux/perf_event.h>

#include <ctop/base/clock.h>
#include <ctop/base/hash.h>
#include <ctop/kernel/record.h>
#include <ctop/weight_unit.h>

#include "internal.h"

/* The task may have been preempted between the two, but then nothing tells. */
#define APART_NS (NS_PER_MS / 10)
/* By so much at least a hit's second sample is nearer than the hit before. */
enum { NEARER_PERCENT = 88 };
/* Less than any set's copy. */
enum { STACK_BYTES = 512 };

static bool is_counted_one_by_one(const struct collector *collector, const struct event_id *event)
{
	if (event->event >= collector->events.named.nr)
		return false;
	const struct message_event *is = &collector->events.named.items[event->event];
	const uint64_t period = is->paced ? 1 : is->period;
	return is->unit != WEIGHT_NS && period * sets_fewer(collector, event) == 1;
}

uint64_t same_hit_state(const struct collector *collector, const struct event_id *event,
			const struct record *record)
{
	if (!sets_are_switching(&collector->sets, record->time_ns) ||
	    !is_counted_one_by_one(collector, event))
		return 0;
	const struct record_sample *sample = &record->sample;
	const uint64_t bytes =
		sample->stack_bytes < STACK_BYTES ? sample->stack_bytes : STACK_BYTES;
	uint64_t state = hash_two(sample->ip, hash_bytes(sample->stack, bytes));
	state = hash_two(state,
			 hash_bytes(sample->chain, sample->nr_chain * sizeof(*sample->chain)));
	for (unsigned i = 0; i < RECORD_MAX_REGS; i++)
		if (sample->regs_mask >> i & 1)
			state = hash_two(state, sample->regs[i]);
	return state;
}

bool same_hit(const struct collector *collector, const struct event_id *event,
	      const struct last_sample *last, const struct last_sample *now)
{
	return now->state && now->state == last->state && now->tid == last->tid &&
	       sets_is_first(collector, event, now->time_ns) && now->after_ns <= APART_NS &&
	       now->after_ns < last->after_ns / 100 * NEARER_PERCENT;
}
