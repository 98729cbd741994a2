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
	return sampler->options.count != 0;
}

static bool begins_late(void)
{
	return getpriority(PRIO_PROCESS, 0) >= 0 && machine_tasks_a_cpu() >= SATURATED_TASKS;
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

void sets_choose(struct sampler *sampler)
{
	const struct sampler_options *options = &sampler->options;
	const uint32_t asked = sampler->dump_bytes;
	const bool copies_vary = ladder_dumps_stacks(sampler) && !options->dump_bytes;
	const bool bursts = rings_may_overflow(sampler);
	const uint32_t percent = bursts ? BURSTS_PERCENT : CROWDED_PERCENT;
	const uint32_t small = copies_vary && asked > SMALL_DUMP_BYTES ? SMALL_DUMP_BYTES : asked;
	sampler->nr_sets = sampler->set = 0;
	add_set(sampler, asked, 1, percent);
	if (!options->adapts)
		return;
	if (!is_counted(sampler)) {
		add_set(sampler, small, FEWER, percent);
		sampler->set = begins_late();
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
