/* SPDX-License-Identifier: MIT */
/*
 * A thread that was started while its siblings were being attached may have inherited their events
 * and then got events of its own: it would count twice, and so would the threads that it starts. Main
 * is told, and closes its own; until then the second of each two samples is dropped here.
 *
 * How it shows: events that hit on their own (clocks, counters) are sampled under different ids.
 * Other software events hit at one moment, and kernel 6.18 writes the first event's id and time into the
 * records of all that hit: twins. One task does not meet one event twice in a nanosecond, so that
 * twins are never two genuine samples (a page fault takes hundreds).
 *
 * So it is, for a moment, with each event while another set is switched to; see sets.c.
 */
#include "duplicates.h"

#include <ctop/base/hash.h>
#include <ctop/kernel/record.h>

#include "internal.h"

/* The thread that has this event of its own has inherited the same. */
static void note_double(struct collector *collector, struct event_id *own)
{
	if (!own || own->doubled)
		return;
	own->doubled = true;
	const struct message message = {.kind = MESSAGE_DOUBLE, .duplicates = {own->id}};
	protocol_send(collector->channel, &message, -1);
}

/*
 * Keeps the sample as the event's last in this ring. True when it has the moment of the one before; what an interrupt
 * wrote may lie between.
 */
static bool keep_twin(struct collector_ring *ring, const struct event_id *event,
		      const struct record *record)
{
	struct last_sample *last = &ring->last_samples[event->event];
	const struct last_sample now = {
		.id = record->id,
		.time_ns = record->time_ns,
		.position = ring->ring.tail,
		.tid = record->tid,
	};
	bool is_same = last->id == now.id && last->time_ns == now.time_ns && last->tid == now.tid;
	/* A record that waits for an answer comes again: it is no twin of itself. */
	bool is_again = last->position == now.position;
	if (is_same && is_again)
		return last->is_twin;
	*last = now;
	last->is_twin = is_same;
	return is_same;
}

/* One slot a tid; another tid may take it, which only delays what it is for. */
static struct lineage *lineage_of(struct duplicates *duplicates, int32_t tid)
{
	return &duplicates->lineages[hash_u64((uint64_t)tid) % NR_LINEAGES];
}

/*
 * A thread that is sampled by the events of two attached ones in turn inherited both: one of its
 * ancestors had them, which is the one attached later, for it inherited the other's before. In turn,
 * since a tid may have had another life under another maker.
 */
static void note_lineage(struct collector *collector, const struct event_id *event, int32_t tid)
{
	struct event_id *ids = collector->events.ids.items;
	struct lineage *lineage = lineage_of(&collector->duplicates, tid);
	uint32_t now = event->first + 1, first = lineage->first;
	bool goes_on = first && lineage->tid == tid && ids[first - 1].event == event->event &&
		       ids[first - 1].cpu == event->cpu;
	if (!goes_on) {
		*lineage = (struct lineage){.tid = tid, .first = now};
	} else if (now != first) {
		lineage->second = now;
	} else if (lineage->second) {
		/* Rows are in the order of attachment. */
		uint32_t later = first > lineage->second ? first : lineage->second;
		note_double(collector, &ids[later - 1]);
		*lineage = (struct lineage){0};
	}
}

void duplicates_forget(struct duplicates *duplicates, int32_t tid)
{
	struct lineage *lineage = lineage_of(duplicates, tid);
	if (lineage->tid == tid)
		*lineage = (struct lineage){0};
}

/* True when a sample of this event was counted in the set in use already. */
static bool is_of_old_set(struct collector *collector, const struct event_id *event)
{
	sets_note_sample(collector, event);
	return sets_is_double(collector, event);
}

bool duplicates_take(struct collector *collector, struct collector_ring *ring,
		     struct event_id *event, const struct record *record)
{
	if (event->event >= SAMPLER_MAX_EVENTS)
		return false;
	if (event->tid < 0)
		return sets_differ(collector, event) &&
		       (keep_twin(ring, event, record) || is_of_old_set(collector, event));
	uint64_t bit = UINT64_C(1) << event->event;
	bool twin = keep_twin(ring, event, record), inherited = event->tid != record->tid;
	/* What is in two sets shows as what is attached twice. */
	const bool tells = !sets_are_switching(&collector->sets, record->time_ns);
	if (tells && (twin || inherited))
		note_double(collector, events_find_own(&collector->events, record->tid, event));
	/* Of twins the first counts, whatever its id. */
	if (tells && twin)
		collector->duplicates.twin_events |= bit;
	if (twin || is_of_old_set(collector, event))
		return true;
	if (collector->duplicates.twin_events & bit)
		return false;
	if (collector->events.ids.items[event->first].doubled)
		return true;
	if (tells && inherited)
		note_lineage(collector, event, record->tid);
	return false;
}
