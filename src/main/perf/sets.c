/* SPDX-License-Identifier: MIT */
/*
 * What to fall back on when the rings fill faster than they are read: smaller copies, fewer samples. An event's
 * attributes cannot be changed, and what can (its period) does not reach the events that children inherited; being
 * switched on and off does. So the cheaper events are opened with the others, and wait.
 *
 * The same way a rate is kept where the kernel does not keep it (6.18): a software event's next period is found from the one
 * that begins, goes far too high in a burst, and is sat out. Sets of fixed periods give each sample its exact weight.
 */
#include "sampler_internal.h"

#include <string.h>
#include <sys/resource.h>

#include <ctop/base/clock.h>

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

static void add_set(struct sampler_sets *sets, uint32_t dump_bytes, uint32_t fewer,
		    uint32_t percent)
{
	sets->items[sets->nr++] = (struct sampler_set){
		.dump_bytes = dump_bytes,
		.fewer = fewer,
		.crowded_percent = percent,
	};
}

/* The largest copies that leave a burst room; else the smallest, of those with the first one's period. */
static uint32_t first_for_bursts(const struct sampler *sampler, const struct sampler_sets *sets)
{
	uint32_t set = 0;
	while (set + 1 < sets->nr && sets->items[set + 1].fewer == 1 &&
	       rings_hold(sampler, sets->items[set].dump_bytes) < BURST_SAMPLES)
		set++;
	return set;
}

uint32_t sets_small_copies(const struct sampler *sampler)
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
	/* A budget begins with what it leaves. */
	if (!options->adapts || options->budget_share > 0 || is_counted(sampler) ||
	    !is_an_equal() || nr_tasks < SATURATED_TASKS)
		return 0;
	/* One set: to open and enable a thousand events more would take seconds by itself. */
	sampler->options.adapts = false;
	sampler->dump_bytes = sets_small_copies(sampler);
	for (size_t i = 0; i < options->nr_events; i++) {
		struct sampler_opened *opened = &sampler->opened[i];
		opened->period *= FEWER;
		if (opened->frequency_hz > FEWER)
			opened->frequency_hz /= FEWER;
	}
	return sampler_note_fallback(sampler, error,
				     "a sample for each %d asked for, copies of %u bytes: %u tasks "
				     "want each CPU, and ctop has no more of it than any of them",
				     FEWER, sampler->dump_bytes, nr_tasks);
}

/* ---- events that ctop paces ---- */

void sets_pace(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		sampler->opened[i].paced = guard_may_pace(sampler, i);
}

bool sets_any_paced(const struct sampler *sampler)
{
	return sampler->sets[true].nr != 0;
}

const struct sampler_sets *sets_of(const struct sampler *sampler, size_t event)
{
	return &sampler->sets[sampler->opened[event].paced];
}

void sets_leave_pacing(struct sampler *sampler)
{
	for (size_t i = 0; i < sampler->options.nr_events; i++) {
		sampler->opened[i].paced = false;
		ladder_fill_attr(sampler, i);
	}
	ladder_fill_format(sampler);
	sets_choose(sampler);
}

static bool paces_breakpoint(const struct sampler *sampler)
{
	bool any = false;
	for (size_t i = 0; i < sampler->options.nr_events; i++)
		any |= sampler->opened[i].paced &&
		       sampler->options.events[i].type == PERF_TYPE_BREAKPOINT;
	return any;
}

/*
 * Each hit, with a copy as large as foreseen, or in a burst a small one; and one of so many. A rate lies between what is
 * asked for and a PACE_STEPth of it; more steps would cost more descriptors, and each fork(), which inherits all sets, more time.
 * The 4 registers that x86 has for breakpoints are enough for one of each period.
 */
static void choose_paced(struct sampler *sampler, struct sampler_sets *sets)
{
	enum { PACE_STEP = 16, PACE_MOST = 4096 };
	const bool is_scarce = paces_breakpoint(sampler);
	const uint32_t small = sets_small_copies(sampler);
	const uint32_t asked = is_scarce ? small : sampler->dump_bytes;
	const bool copies_vary = ladder_dumps_stacks(sampler) && !sampler->options.dump_bytes;
	add_set(sets, asked, 1, BURSTS_PERCENT);
	if (copies_vary && !is_scarce)
		add_set(sets, BURST_DUMP_BYTES, 1, BURSTS_PERCENT);
	for (uint32_t period = PACE_STEP; period <= PACE_MOST; period *= PACE_STEP)
		add_set(sets, small, period, BURSTS_PERCENT);
}

/* ---- events that the kernel paces, or nobody ---- */

static void choose_common(struct sampler *sampler, struct sampler_sets *sets)
{
	const struct sampler_options *options = &sampler->options;
	const uint32_t asked = sampler->dump_bytes;
	const bool copies_vary = ladder_dumps_stacks(sampler) && !options->dump_bytes;
	const bool bursts = rings_may_overflow(sampler);
	const uint32_t percent = bursts ? BURSTS_PERCENT : CROWDED_PERCENT;
	const uint32_t small = sets_small_copies(sampler);
	add_set(sets, asked, 1, percent);
	if (!options->adapts)
		return;
	if (options->budget_share > 0 && small < asked)
		add_set(sets, small, 1, percent);
	if (!is_counted(sampler)) {
		uint32_t fewer = FEWER;
		const uint32_t nr = options->budget_share > 0 ? SAMPLER_MAX_SETS : sets->nr + 1;
		for (; sets->nr < nr; fewer *= FEWER)
			add_set(sets, small, fewer, percent);
		return;
	}
	if (small < asked)
		add_set(sets, small, 1, percent);
	if (bursts && copies_vary)
		add_set(sets, BURST_DUMP_BYTES, 1, percent);
}

uint64_t sampler_sample_cost_ns(const struct sampler *sampler, size_t event, uint32_t set)
{
	const bool is_small = sets_of(sampler, event)->items[set].dump_bytes < sampler->dump_bytes;
	return is_small ? sampler->small_cost_ns : sampler->cost_ns;
}

/*
 * The most expensive set that holds the budget while every CPU is busy: how busy they are is seen later. What a sample costs ctop itself was 4 to 8 us.
 */
static uint32_t first_for_budget(const struct sampler *sampler)
{
	enum { OWN_COST_NS = 10000 };
	const struct sampler_sets *sets = &sampler->sets[false];
	const double most_ns = sampler->options.budget_share * (double)NS_PER_SECOND;
	size_t first = 0;
	uint32_t set = 0;
	double hz = 0;
	while (first + 1 < sampler->options.nr_events && sampler->opened[first].paced)
		first++;
	for (size_t i = 0; i < sampler->options.nr_events; i++) {
		const struct sampler_opened *opened = &sampler->opened[i];
		if (opened->clock && opened->period)
			hz += (double)NS_PER_SECOND / (double)opened->period;
		else if (!opened->paced)
			hz += (double)opened->frequency_hz;
	}
	while (set + 1 < sets->nr &&
	       hz / sets->items[set].fewer *
			       (double)(sampler_sample_cost_ns(sampler, first, set) + OWN_COST_NS) >
		       most_ns)
		set++;
	return set;
}

void sets_choose(struct sampler *sampler)
{
	const size_t nr = sampler->options.nr_events;
	struct sampler_sets *common = &sampler->sets[false], *paced = &sampler->sets[true];
	size_t nr_paced = 0;
	for (size_t i = 0; i < nr; i++)
		nr_paced += sampler->opened[i].paced;
	common->nr = paced->nr = 0;
	if (nr_paced)
		choose_paced(sampler, paced);
	if (nr_paced < nr)
		choose_common(sampler, common);
	const bool has_budget = sampler->options.budget_share > 0;
	const uint32_t first = has_budget		     ? first_for_budget(sampler)
			       : rings_may_overflow(sampler) ? first_for_bursts(sampler, common)
							     : 0;
	for (size_t i = 0; i < nr; i++)
		sampler->in_use[i] =
			sampler->opened[i].paced ? first_for_bursts(sampler, paced) : first;
	sampler->nr_sets = common->nr > paced->nr ? common->nr : paced->nr;
	if (first && !has_budget)
		sampler->dump_bytes = common->items[first].dump_bytes;
}

struct perf_event_attr sets_attr(const struct sampler *sampler, size_t event, uint32_t set)
{
	struct perf_event_attr attr = sampler->attrs[event];
	const struct sampler_set *is = &sets_of(sampler, event)->items[set];
	const uint32_t fewer = is->fewer;
	if (attr.sample_stack_user)
		attr.sample_stack_user = is->dump_bytes;
	/* In a burst a chain would be as large as the copy. */
	if (attr.sample_stack_user && is->dump_bytes <= BURST_DUMP_BYTES)
		attr.exclude_callchain_user = 1;
	if (attr.freq)
		attr.sample_freq = attr.sample_freq > fewer ? attr.sample_freq / fewer : 1;
	else
		attr.sample_period *= fewer;
	attr.enable_on_exec = attr.enable_on_exec && set == sampler->in_use[event];
	return attr;
}

void sets_leave_others(struct sampler *sampler)
{
	struct sampler_sets *common = &sampler->sets[false];
	common->items[0] = common->items[sampler->in_use[0]];
	common->nr = sampler->nr_sets = 1;
	memset(sampler->in_use, 0, sizeof(sampler->in_use));
}
