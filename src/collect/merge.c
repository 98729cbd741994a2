/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>

#include <ctop/base/clock.h>

/*
 * A record is written a little after its time was taken: across CPUs, what is
 * older than this has arrived (design: merge what is older than the clock - 5 ms).
 */
#define REORDER_NS (5 * NS_PER_MS)
/* How long a sample may wait in its ring for a file or maps that main is fetching. */
#define PATIENCE_NS (2 * NS_PER_SECOND)
#define HURRY_NS    (100 * NS_PER_MS)

bool merge_drained(const struct collector *collector)
{
	for (size_t i = 0; i < collector->nr_rings; i++)
		if (collector->rings[i].next)
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
		collector->counts.drained++;
		collector->counts.damaged++;
	}
	if (!ring->next)
		return;
	/* A record whose time cannot be read is taken at once: it is counted there. */
	if (record_time(ring->next, ring->next->size, &collector->config.format,
			&ring->next_time_ns))
		ring->next_time_ns = 0;
}

static struct collector_ring *earliest(struct collector *collector)
{
	struct collector_ring *first = NULL;
	for (size_t i = 0; i < collector->nr_rings; i++) {
		struct collector_ring *ring = &collector->rings[i];
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
	struct child_status *status = collector->status;
	const struct message_config *config = &collector->config;
	if (config->skip_cpu == ring->cpu && config->skip_position == ring->ring.tail) {
		collector->counts.drained++;
		collector->counts.skipped++;
		return 0;
	}
	atomic_store_explicit(&status->busy_position, ring->ring.tail, memory_order_relaxed);
	atomic_store_explicit(&status->busy_cpu, ring->cpu, memory_order_relaxed);
	status_add(&status->progress, 1);

	struct record record;
	int result = record_parse(ring->next, ring->next->size, &config->format, &record);
	if (result == -ENOTSUP)
		return 0;
	if (result) {
		collector->counts.drained++;
		collector->counts.damaged++;
		return 0;
	}
	ring_prefetch_next(&ring->ring);
	if (record.type != PERF_RECORD_SAMPLE)
		return follow_record(collector, &record);
	result = stack_sample(collector, ring, &record, is_patient(collector, ring));
	collector->counts.drained += result == 0;
	return result;
}

static void publish_counts(struct collector *collector)
{
	struct child_status *status = collector->status;
	const struct round_counts *counts = &collector->counts;
	status_add(&status->lost, counts->lost);
	status_add(&status->late, counts->late);
	status_add(&status->throttled, counts->throttled);
	status_add(&status->drained, counts->drained);
	status_add(&status->damaged, counts->damaged);
	status_add(&status->twice, counts->twice);
	status_add(&status->skipped, counts->skipped);
	status_add(&status->own, counts->own);
	status_add(&status->foreign, counts->foreign);
	status_add(&status->frames, counts->frames);
	collector->counts = (struct round_counts){0};
}

void merge_publish(struct collector *collector)
{
	/* Rows and samples first: what the kernel is given back must not be lost with us. */
	tables_publish(collector->writer);
	for (size_t i = 0; i < collector->nr_rings; i++)
		ring_publish_tail(&collector->rings[i].ring);
	publish_counts(collector);
}

static void end_round(struct collector *collector)
{
	merge_publish(collector);
	const struct unwind_counters *counters = unwinder_counters(collector->unwinder);
	struct child_status *status = collector->status;
	atomic_store_explicit(&status->cache_hits,
			      collector->cache_hits_before + counters->cache_hits,
			      memory_order_relaxed);
	atomic_store_explicit(&status->cache_misses,
			      collector->cache_misses_before + counters->cache_misses,
			      memory_order_relaxed);
	atomic_store_explicit(&status->busy_cpu, -1, memory_order_relaxed);
}

static void request_tables(struct collector *collector)
{
	if (collector->wants_tables)
		return;
	const struct message message = {.kind = MESSAGE_NEED_TABLES};
	if (protocol_send(collector->channel, &message, -1) == 0)
		collector->wants_tables = true;
}

int merge_round(struct collector *collector)
{
	/* The clock before the heads: whatever was written later is younger than the horizon. */
	bool to_the_end = collector->stopping || collector->pausing;
	uint64_t horizon_ns = to_the_end ? UINT64_MAX : clock_now_ns() - REORDER_NS;
	for (size_t i = 0; i < collector->nr_rings; i++) {
		ring_refresh(&collector->rings[i].ring);
		peek(collector, &collector->rings[i]);
	}
	int result = 0;
	struct collector_ring *ring;
	while ((ring = earliest(collector)) && ring->next_time_ns <= horizon_ns) {
		result = take(collector, ring);
		if (result)
			break;
		collector->waiting_since_ns = 0;
		if (ring->next_time_ns && ring->next_time_ns < collector->last_time_ns)
			collector->counts.late++;
		if (ring->next_time_ns > collector->last_time_ns)
			collector->last_time_ns = ring->next_time_ns;
		ring_consume(&ring->ring);
		peek(collector, ring);
	}
	if (result == -ENOSPC)
		request_tables(collector);
	collector->waiting = result == -EAGAIN || result == -ENOSPC;
	if (collector->waiting && !collector->waiting_since_ns)
		collector->waiting_since_ns = clock_now_ns();
	end_round(collector);
	return collector->waiting ? 0 : result;
}
