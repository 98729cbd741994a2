/* SPDX-License-Identifier: MIT */
#include "round.h"

#include <errno.h>
#include <string.h>

#include <linux/perf_event.h>

#include <ctop/base/clock.h>
#include <ctop/kernel/record.h>

#include "follow.h"
#include "internal.h"
#include "live.h"
#include "module_files.h"

static bool is_sample(const void *bytes, size_t size)
{
	struct perf_event_header header;
	if (size < sizeof(header))
		return false;
	memcpy(&header, bytes, sizeof(header));
	return header.type == PERF_RECORD_SAMPLE;
}

/* Of what is counted one by one the period is not in the record: see without_period. The id is a sample's first word. */
static struct record_format format_of(const struct collector *collector, const void *bytes,
				      size_t size)
{
	struct record_format format = collector->config.format;
	uint64_t id;
	if (!collector->events.formats_differ || !is_sample(bytes, size) ||
	    size < sizeof(struct perf_event_header) + sizeof(id))
		return format;
	memcpy(&id, (const char *)bytes + sizeof(struct perf_event_header), sizeof(id));
	const struct event_id *event = events_find(&collector->events, id);
	if (event && event->event < collector->events.named.nr &&
	    collector->events.named.items[event->event].without_period)
		format.sample_type &= ~(uint64_t)PERF_SAMPLE_PERIOD;
	return format;
}

static bool is_skipped(const struct message_config *config, int32_t cpu, uint64_t position)
{
	for (uint32_t i = 0; i < config->part.nr_skipped; i++)
		if (config->part.skipped[i] == position)
			return true;
	return config->skip_cpu == cpu && config->skip_position == position;
}

bool round_begin(struct collector *collector, int32_t cpu, uint64_t position)
{
	struct child_status *status = collector->status;
	if (is_skipped(&collector->config, cpu, position))
		return false;
	atomic_store_explicit(&status->busy_position, position, memory_order_relaxed);
	atomic_store_explicit(&status->busy_cpu, cpu, memory_order_relaxed);
	status_add(&status->progress, 1);
	return true;
}

void round_skip(struct collector *collector)
{
	collector->output.counts.drained++;
	collector->output.counts.skipped++;
}

int round_parse(struct collector *collector, int32_t cpu, uint64_t position, const void *bytes,
		size_t size, struct record *record)
{
	if (!round_begin(collector, cpu, position)) {
		if (is_sample(bytes, size))
			round_skip(collector);
		return 0;
	}

	const struct record_format format = format_of(collector, bytes, size);
	int result = record_parse(bytes, size, &format, record);
	if (result == -ENOTSUP)
		return 0;
	if (result) {
		collector->output.counts.drained++;
		collector->output.counts.damaged++;
		return 0;
	}
	return 1;
}

int round_close_gap(struct collector *collector, struct stack_gap *gap, bool patient)
{
	if (gap->code) {
		const int result = live_code_ask(collector, gap);
		return result ? result : -EAGAIN;
	}
	const int result = module_file_ask(collector, gap);
	if (result == -ENOBUFS && patient)
		return -EAGAIN;
	if (result == -ENOBUFS)
		gap->cannot_ask = true;
	else if (result)
		return result;
	gap->process = NULL;
	return 0;
}

static int take_sample(struct collector *collector, struct collector_ring *ring,
		       const struct record *record, bool patient)
{
	struct stack_gap gap = {0};
	int result;
	while ((result = stack_sample(collector, ring, record, patient, &gap)) == -EAGAIN &&
	       gap.process) {
		result = round_close_gap(collector, &gap, patient);
		if (result)
			return result;
	}
	return result;
}

int round_take(struct collector *collector, struct collector_ring *ring,
	       const struct record *record, bool patient)
{
	if (record->type != PERF_RECORD_SAMPLE)
		return follow_record(collector, record);
	int result = take_sample(collector, ring, record, patient);
	collector->output.counts.drained += result == 0;
	return result;
}

void round_consumed(struct collector *collector)
{
	/* Before it is given up: who dies from now on, reading the next one, did not die on this one. */
	atomic_store_explicit(&collector->status->busy_cpu, -1, memory_order_release);
	if (collector->output.counts.drained && tables_is_published(collector->output.writer))
		output_publish(collector);
}

static void request_tables(struct output *output, struct channel *channel)
{
	if (output->wants_tables)
		return;
	const struct message message = {.kind = MESSAGE_NEED_TABLES};
	if (protocol_send(channel, &message, -1) == 0)
		output->wants_tables = true;
}

int round_end(struct collector *collector, int result)
{
	if (result == -ENOSPC)
		request_tables(&collector->output, collector->channel);
	collector->waiting = result == -EAGAIN || result == -ENOSPC;
	if (collector->waiting && !collector->waiting_since_ns)
		collector->waiting_since_ns = clock_now_ns();
	output_publish(collector);
	const struct unwind_counters *counters = unwinder_counters(collector->unwinding.unwinder);
	struct child_status *status = collector->status;
	atomic_store_explicit(&status->cache_hits,
			      collector->unwinding.hits_before + counters->cache_hits,
			      memory_order_relaxed);
	atomic_store_explicit(&status->cache_misses,
			      collector->unwinding.misses_before + counters->cache_misses,
			      memory_order_relaxed);
	atomic_store_explicit(&status->busy_cpu, -1, memory_order_relaxed);
	return collector->waiting ? 0 : result;
}
