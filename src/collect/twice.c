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
 */
#include "internal.h"

/* The row of a tid in one of the two indexes. */
static bool find_tid(const struct collector *collector, const struct index *tids, int32_t tid,
		     uint32_t *row)
{
	struct index_probe probe = index_find(tids, hash_u64((uint64_t)tid));
	while (index_next(tids, &probe, row))
		if (collector->ids.items[*row].tid == tid)
			return true;
	return false;
}

/* The thread in this row of the ids has inherited events besides its own. */
static void note_double(struct collector *collector, uint32_t row)
{
	int32_t tid = collector->ids.items[row].tid;
	uint32_t known;
	if (find_tid(collector, &collector->doubled, tid, &known) ||
	    index_reserve(&collector->doubled))
		return;
	index_add(&collector->doubled, hash_u64((uint64_t)tid), row);
	const struct message message = {.kind = MESSAGE_DOUBLE, .twice = {tid}};
	protocol_send(collector->channel, &message, -1);
}

/* The same moment as the event's last sample in this ring; what an interrupt wrote may lie between. */
static bool is_twin(struct collector_ring *ring, const struct event_id *event,
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
static struct lineage *lineage_of(struct collector *collector, int32_t tid)
{
	return &collector->lineages[hash_u64((uint64_t)tid) % NR_LINEAGES];
}

/*
 * A thread that is sampled by the events of two attached ones in turn inherited both: one of its
 * ancestors had them, which is the one attached later, for it inherited the other's before. In turn,
 * since a tid may have had another life under another maker.
 */
static void note_lineage(struct collector *collector, const struct event_id *event, int32_t tid)
{
	struct lineage *lineage = lineage_of(collector, tid);
	if (lineage->tid != tid)
		*lineage = (struct lineage){.tid = tid, .first = event->tid};
	if (event->tid != lineage->first) {
		lineage->second = event->tid;
		return;
	}
	uint32_t first, second;
	if (!lineage->second ||
	    !find_tid(collector, &collector->attached, lineage->first, &first) ||
	    !find_tid(collector, &collector->attached, lineage->second, &second))
		return;
	note_double(collector, first > second ? first : second);
	lineage->second = 0;
}

void twice_forget(struct collector *collector, int32_t tid)
{
	struct lineage *lineage = lineage_of(collector, tid);
	if (lineage->tid == tid)
		*lineage = (struct lineage){0};
}

bool twice_is_second(struct collector *collector, struct collector_ring *ring,
		     const struct event_id *event, const struct record *record)
{
	uint32_t row;
	if (event->tid < 0 || event->event >= SAMPLER_MAX_EVENTS)
		return false;
	uint32_t bit = UINT32_C(1) << event->event;
	bool twin = is_twin(ring, event, record), inherited = event->tid != record->tid;
	if ((twin || inherited) && find_tid(collector, &collector->attached, record->tid, &row))
		note_double(collector, row);
	/* Of twins the first counts, whatever its id. */
	if (twin)
		collector->twin_events |= bit;
	if (collector->twin_events & bit)
		return twin;
	if (collector->doubled.nr && find_tid(collector, &collector->doubled, event->tid, &row))
		return true;
	if (inherited)
		note_lineage(collector, event, record->tid);
	return false;
}
