/* SPDX-License-Identifier: MIT */
#include <errno.h>

#include <ctop/base/clock.h>
#include <ctop/kernel/record.h>

#include "internal.h"
#include "round.h"

/*
 * A record is written a little after its time was taken: across CPUs, what is
 * older than this has arrived (design: merge what is older than the clock - 5 ms).
 */
#define REORDER_NS (5 * NS_PER_MS)
/* How long a sample may wait in its ring for a file or maps that main is fetching. */
#define PATIENCE_NS (2 * NS_PER_SECOND)
#define HURRY_NS    (100 * NS_PER_MS)

bool merge_drained(const struct source *source)
{
	for (size_t i = 0; i < source->nr_rings; i++)
		if (source->rings[i].next)
			return false;
	return true;
}

/* Looks at the record at the ring's tail. */
static void peek(struct collector *collector, struct collector_ring *ring)
{
	bool damaged = false;
	ring->next_time_ns = UINT64_MAX;
	ring->next = ring_peek(&ring->ring, &damaged);
	if (damaged) {
		collector->output.counts.drained++;
		collector->output.counts.damaged++;
	}
	if (!ring->next)
		return;
	/* A record whose time cannot be read is taken at once: it is counted there. */
	if (ring->cpu == WAIT_RING_CPU)
		ring->next_time_ns = waits_record_time(ring->next);
	else if (record_time(ring->next, ring->next->size, &collector->config.format,
			     &ring->next_time_ns))
		ring->next_time_ns = 0;
}

static struct collector_ring *earliest(const struct source *source)
{
	struct collector_ring *first = NULL;
	for (size_t i = 0; i < source->nr_rings; i++) {
		struct collector_ring *ring = &source->rings[i];
		if (ring->next && (!first || ring->next_time_ns < first->next_time_ns))
			first = ring;
	}
	return first;
}

/*
 * A sample waits in its ring, which holds its bytes anyway, while main fetches
 * what it needs; but not for ever, and not for long when the ring is about to overflow. Main answers
 * within a millisecond or two, and a collector that replaces a dead one finds the rings full and
 * knows nothing yet: without any patience all of its first samples would be broken.
 */
static bool is_patient(const struct collector *collector, const struct collector_ring *ring)
{
	bool hurries = ring_waiting_bytes(&ring->ring) > ring->ring.data_bytes / 2;
	return !collector->waiting_since_ns ||
	       clock_now_ns() - collector->waiting_since_ns < (hurries ? HURRY_NS : PATIENCE_NS);
}

/* 0; -EAGAIN or -ENOSPC: the record must come again; else the end of the collector. */
static int take(struct collector *collector, struct collector_ring *ring)
{
	struct record record;
	if (ring->cpu == WAIT_RING_CPU) {
		if (round_begin(collector, ring->cpu, ring->ring.tail))
			return waits_take(collector, ring->next, ring->next->size,
					  is_patient(collector, ring));
		round_skip(collector);
		return 0;
	}
	int result = round_parse(collector, ring->cpu, ring->ring.tail, ring->next,
				 ring->next->size, &record);
	if (result <= 0)
		return result;
	ring_prefetch_next(&ring->ring);
	return round_take(collector, ring, &record, is_patient(collector, ring));
}

int merge_round(struct collector *collector)
{
	/* The clock before the heads: whatever was written later is younger than the horizon. */
	bool to_the_end = collector->stopping || collector->pausing;
	uint64_t horizon_ns = to_the_end ? UINT64_MAX : collector->source.clock_ns - REORDER_NS;
	for (size_t i = 0; i < collector->source.nr_rings; i++) {
		ring_refresh(&collector->source.rings[i].ring);
		peek(collector, &collector->source.rings[i]);
	}
	sets_look(collector);
	collector->source.nr_idle++;
	int result = 0;
	struct collector_ring *ring;
	while ((ring = earliest(&collector->source)) && ring->next_time_ns <= horizon_ns) {
		result = take(collector, ring);
		if (result)
			break;
		collector->waiting_since_ns = 0;
		if (ring->next_time_ns && ring->next_time_ns < collector->source.last_time_ns)
			collector->output.counts.late++;
		if (ring->next_time_ns > collector->source.last_time_ns)
			collector->source.last_time_ns = ring->next_time_ns;
		collector->source.nr_idle = 0;
		ring_consume(&ring->ring);
		round_consumed(collector);
		peek(collector, ring);
	}
	return round_end(collector, result);
}
