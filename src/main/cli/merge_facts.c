/* SPDX-License-Identifier: MIT */
#include "merge_facts.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const shared_keys[] = {
	"version",	     "hostname",       "kernel",       "arch",
	"nr_cpus",	     "recorder",       "target_kind",  "event.asked",
	"event.opened",	     "event.unit",     "event.period", "event.frequency_hz",
	"event.asked_count", "event.asked_hz", "call_graph",   "dump_bytes",
	"dump_bytes_least",  "ring_pages",     "target"};
_Static_assert(sizeof(shared_keys) / sizeof(*shared_keys) == MERGE_SHARED_FACTS,
	       "each has a place");

static const char *const summed_keys[] = {"stats.lost",
					  "stats.late",
					  "stats.hurried",
					  "stats.throttled",
					  "stats.restarts",
					  "stats.drained",
					  "stats.lost_sideband",
					  "stats.unfollowed",
					  "stats.dropped.overrun",
					  "stats.dropped.disk",
					  "stats.dropped.crash",
					  "stats.dropped.damaged",
					  "stats.dropped.double",
					  "stats.dropped.own",
					  "stats.dropped.foreign",
					  "stats.dropped.comm",
					  "stats.dropped.uid"};
_Static_assert(sizeof(summed_keys) / sizeof(*summed_keys) == MERGE_SUMMED_FACTS,
	       "each has a place");

/* A file may say anything: no sum wraps around. */
static uint64_t sum(uint64_t a, uint64_t b)
{
	return b < UINT64_MAX - a ? a + b : UINT64_MAX;
}

static uint64_t number_of(const struct history *history, const char *key)
{
	const char *text = history_info(history, key);
	return text ? strtoull(text, NULL, 10) : 0;
}

static int add_shared(struct merge_facts *facts, const struct history *history)
{
	for (size_t i = 0; i < MERGE_SHARED_FACTS; i++) {
		const char *value = history_info(history, shared_keys[i]);
		char **shared = &facts->shared[i];
		if (facts->nr == 0 && value) {
			*shared = strdup(value);
			if (!*shared)
				return -ENOMEM;
		} else if (*shared && (!value || strcmp(*shared, value) != 0)) {
			free(*shared);
			*shared = NULL;
		}
	}
	return 0;
}

static void add_times(struct merge_facts *facts, const struct history *history)
{
	const uint64_t duration_ns = number_of(history, "duration_ns"),
		       start_ns = number_of(history, "start_wall_ns");
	const uint64_t end_ns = sum(start_ns, duration_ns);
	facts->duration_ns = sum(facts->duration_ns, duration_ns);
	facts->lacks_times |= !start_ns;
	if (!facts->start_ns || start_ns < facts->start_ns)
		facts->start_ns = start_ns;
	if (end_ns > facts->end_ns)
		facts->end_ns = end_ns;
}

int merge_facts_add(struct merge_facts *facts, const struct history *history, uint64_t nr_samples)
{
	if (add_shared(facts, history))
		return -ENOMEM;
	for (size_t i = 0; i < MERGE_SUMMED_FACTS; i++) {
		facts->lacks[i] |= !history_info(history, summed_keys[i]);
		facts->summed[i] = sum(facts->summed[i], number_of(history, summed_keys[i]));
	}
	add_times(facts, history);
	facts->nr_samples = sum(facts->nr_samples, nr_samples);
	facts->nr++;
	return 0;
}

static int add_number(const struct metadata_sink *sink, const char *key, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return sink->add(sink->context, key, text);
}

/* Of recordings that were made side by side, from the first's start to the last's end; of others what they took together. */
static uint64_t duration_of(const struct merge_facts *facts)
{
	const uint64_t span_ns = facts->end_ns - facts->start_ns;
	return !facts->lacks_times && span_ns < facts->duration_ns ? span_ns : facts->duration_ns;
}

int merge_facts_write(const struct merge_facts *facts, const struct metadata_sink *sink)
{
	int result = add_number(sink, "sources", facts->nr);
	for (size_t i = 0; !result && i < MERGE_SHARED_FACTS; i++)
		if (facts->shared[i])
			result = sink->add(sink->context, shared_keys[i], facts->shared[i]);
	for (size_t i = 0; !result && i < MERGE_SUMMED_FACTS; i++)
		if (!facts->lacks[i])
			result = add_number(sink, summed_keys[i], facts->summed[i]);
	if (!result && !facts->lacks_times)
		result = add_number(sink, "start_ns", facts->start_ns);
	if (!result && !facts->lacks_times)
		result = add_number(sink, "start_wall_ns", facts->start_ns);
	if (!result)
		result = add_number(sink, "duration_ns", duration_of(facts));
	return result ? result : add_number(sink, "stats.samples", facts->nr_samples);
}

void merge_facts_release(struct merge_facts *facts)
{
	for (size_t i = 0; i < MERGE_SHARED_FACTS; i++)
		free(facts->shared[i]);
}
