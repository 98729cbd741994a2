/* SPDX-License-Identifier: MIT */
/*
 * A thread that was started while its siblings were being attached may have inherited their events
 * and then got events of its own: it would count twice, and so would the threads that it starts. Main
 * gets a message, and closes its own; until then the second of each two samples is dropped here.
 *
 * How it shows: events that hit on their own (clocks, counters) are sampled under different ids.
 * Other software events hit at one moment, and kernel 6.18 writes the first event's id and time into the
 * records of all that hit: twins. One task does not meet one event twice in a nanosecond, so that
 * twins are never two genuine samples (a page fault takes hundreds).
 *
 * So it is, for a moment, with each event while another set is switched to; see sets.c, and same_hit.c for hits, which are no twins.
 */
#include "duplicates.h"

#include <ctop/base/hash.h>
#include <ctop/kernel/record.h>

#include "internal.h"
#include "same_hit.h"

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
 * Keeps the sample as the event's last in this ring. True when it repeats the one before, whose moment or hit it has; what an
 * interrupt wrote may lie between.
 */
static bool keep(const struct collector *collector, struct collector_ring *ring,
		 const struct event_id *event, const struct record *record)
{
	struct last_sample *last = &ring->last_samples[event->event];
	const bool is_same_task = last->tid == record->tid;
	struct last_sample now = {
		.id = record->id,
		.time_ns = record->time_ns,
		.position = ring->ring.tail,
		.after_ns = is_same_task ? record->time_ns - last->time_ns : UINT64_MAX,
		.tid = record->tid,
	};
	const bool is_twin = is_same_task && last->id == now.id && !now.after_ns;
	/* A record that waits for an answer comes again: it is no twin of itself. */
	bool is_again = last->position == now.position;
	if (is_twin && is_again)
		return last->is_repeat;
	now.state = same_hit_state(collector, event, record);
	now.is_repeat = is_twin || same_hit(collector, event, last, &now);
	*last = now;
	return now.is_repeat;
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

bool duplicates_take(struct collector *collector, struct collector_ring *ring,
		     struct event_id *event, const struct record *record)
{
	if (event->event >= SAMPLER_MAX_EVENTS)
		return false;
	if (event->tid < 0 && !sets_differ(collector, event))
		return false;
	const bool repeats = keep(collector, ring, event, record);
	const bool is_old = sets_is_double(collector, event, record->time_ns);
	if (event->tid < 0)
		return repeats || is_old;
	uint64_t bit = UINT64_C(1) << event->event;
	bool inherited = event->tid != record->tid;
	/* What is in two sets shows as what is attached twice. */
	const bool tells = !sets_are_switching(&collector->sets, record->time_ns);
	if (tells && (repeats || inherited))
		note_double(collector, events_find_own(&collector->events, record->tid, event));
	/* Of twins the first counts, whatever its id. */
	if (tells && repeats)
		collector->duplicates.twin_events |= bit;
	if (repeats || is_old)
		return true;
	if (collector->duplicates.twin_events & bit)
		return false;
	if (collector->events.ids.items[event->first].doubled)
		return true;
	if (tells && inherited)
		note_lineage(collector, event, record->tid);
	return false;
}
