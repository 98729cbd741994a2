/* SPDX-License-Identifier: MIT */
/*
 * What to fall back on when the rings fill faster than they are read: smaller copies, fewer samples. An event's
 * attributes cannot be changed, and what can (its period) does not reach the events that children inherited; being
 * switched on and off does. So the cheaper events are opened with the others, and wait.
 */
#include "sampler_internal.h"

#include <sys/resource.h>

/* Half of a ring: what is foreseen fills less than that between two looks of the collector's (collector.c). */
enum { CROWDED_PERCENT = 50 };
/*
 * Of events that nobody paces the next moment may bring a thousand times as many, each within microseconds: they begin with
 * copies of which a ring holds some ms of a burst, and leave larger ones at a quarter.
 */
enum { BURSTS_PERCENT = 25, BURST_SAMPLES = 900, BURST_DUMP_BYTES = 1024 };
/* A copy of this size completes four in five stacks. */
enum { SMALL_DUMP_BYTES = 8192 };
/* Where each CPU has so many tasks that want it, who drains the rings as an equal of theirs comes too late. */
enum { SATURATED_TASKS = 16, FEWER = 4 };

/* The machine's rate is what it is: a sample each so many events. */
static bool is_counted(const struct sampler *sampler)
{
	bool any = false;
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		any |= sampler_asked_count(sampler, i) != 0;
	return any;
}

static void add_set(struct sampler *sampler, uint32_t dump_bytes, uint32_t fewer, uint32_t percent)
{
	sampler->sets[sampler->nr_sets++] = (struct sampler_set){
		.dump_bytes = dump_bytes,
		.fewer = fewer,
		.crowded_percent = percent,
	};
}

/* The largest copies that leave a burst room; else the smallest. */
static size_t first_for_bursts(const struct sampler *sampler)
{
	size_t set = 0;
	while (set + 1 < sampler->nr_sets &&
	       rings_hold(sampler, sampler->sets[set].dump_bytes) < BURST_SAMPLES)
		set++;
	return set;
}

static uint32_t small_copies(const struct sampler *sampler)
{
	const bool may_vary = ladder_dumps_stacks(sampler) && !sampler->options.dump_bytes;
	return may_vary && sampler->dump_bytes > SMALL_DUMP_BYTES ? SMALL_DUMP_BYTES
								  : sampler->dump_bytes;
}

static bool is_an_equal(void)
{
	return getpriority(PRIO_PROCESS, 0) >= 0;
}

int sets_begin_cheaply(struct sampler *sampler, struct error *error)
{
	const struct sampler_options *options = &sampler->options;
	const unsigned nr_tasks = machine_tasks_a_cpu();
	if (!options->adapts || is_counted(sampler) || !is_an_equal() || nr_tasks < SATURATED_TASKS)
		return 0;
	/* One set: to open and enable a thousand events more would take seconds by itself. */
	sampler->options.adapts = false;
	sampler->dump_bytes = small_copies(sampler);
	for (size_t i = 0; i < options->nr_events; i++) {
		struct sampler_opened *opened = &sampler->opened[i];
		opened->period *= FEWER;
		if (opened->frequency_hz > FEWER)
			opened->frequency_hz /= FEWER;
	}
	return sampler_note_step(sampler, error,
				 "a sample for each %d asked for, copies of %u bytes: %u tasks "
				 "want each CPU, and ctop has no more of it than any of them",
				 FEWER, sampler->dump_bytes, nr_tasks);
}

void sets_choose(struct sampler *sampler)
{
	const struct sampler_options *options = &sampler->options;
	const uint32_t asked = sampler->dump_bytes;
	const bool copies_vary = ladder_dumps_stacks(sampler) && !options->dump_bytes;
	const bool bursts = rings_may_overflow(sampler);
	const uint32_t percent = bursts ? BURSTS_PERCENT : CROWDED_PERCENT;
	const uint32_t small = small_copies(sampler);
	sampler->nr_sets = sampler->set = 0;
	add_set(sampler, asked, 1, percent);
	if (!options->adapts)
		return;
	if (!is_counted(sampler)) {
		add_set(sampler, small, FEWER, percent);
		return;
	}
	if (small < asked)
		add_set(sampler, small, 1, percent);
	if (bursts && copies_vary)
		add_set(sampler, BURST_DUMP_BYTES, 1, percent);
	if (bursts)
		sampler->set = first_for_bursts(sampler);
	sampler->dump_bytes = sampler->sets[sampler->set].dump_bytes;
}

struct perf_event_attr sets_attr(const struct sampler *sampler, size_t event, uint32_t set)
{
	struct perf_event_attr attr = sampler->attrs[event];
	const uint32_t fewer = sampler->sets[set].fewer;
	if (attr.sample_stack_user)
		attr.sample_stack_user = sampler->sets[set].dump_bytes;
	if (attr.freq)
		attr.sample_freq = attr.sample_freq > fewer ? attr.sample_freq / fewer : 1;
	else
		attr.sample_period *= fewer;
	attr.enable_on_exec = attr.enable_on_exec && set == sampler->set;
	return attr;
}

void sets_leave_others(struct sampler *sampler)
{
	sampler->sets[0] = sampler->sets[sampler->set];
	sampler->nr_sets = 1;
	sampler->set = 0;
}
