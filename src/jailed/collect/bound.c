/* SPDX-License-Identifier: MIT */
/*
 * A day of the whole system meets more files than memory should hold. All that the collector knows of
 * them can be asked for again: when its heap has grown beyond a bound, it forgets every file at once, with the
 * paths that nothing has mapped any more, and those that are still sampled come back within a round or
 * two. Processes it keeps: they end by themselves, and one that has ended could not be asked for. Of a perf.data file, what it shows
 * may not depend on when that happens, nor on how many read it: modules and what is known for joins stay, the files go.
 */
#include "bound.h"

#include <errno.h>
#include <malloc.h>

#include <ctop/base/clock.h>

#include "internal.h"

#define MIB ((size_t)1 << 20)
enum { FIRST_BOUND_MIB = 64, LAST_BOUND_MIB = 128 };
#define LOOK_INTERVAL_NS (1 * NS_PER_SECOND)
/* Full again this soon: what is in use needs more, or, at the last bound, patience. */
#define THRASHING_NS	  (60 * NS_PER_SECOND)
#define LAST_THRASHING_NS (10 * NS_PER_SECOND)

static void forget_module(void *context, struct process *process, struct mapping *map)
{
	(void)context;
	(void)process;
	map->module = NULL;
}

static int forget(struct collector *collector)
{
	struct unwinder *fresh = unwinder_new();
	if (!fresh)
		return -ENOMEM;
	const struct unwind_counters *counters = unwinder_counters(collector->unwinding.unwinder);
	collector->unwinding.hits_before += counters->cache_hits;
	collector->unwinding.misses_before += counters->cache_misses;
	unwinder_free(collector->unwinding.unwinder);
	collector->unwinding.unwinder = fresh;
	last_stacks_forget(collector->unwinding.last_stacks);
	if (collector->source.file) {
		modules_forget_files(&collector->unwinding.modules);
		malloc_trim(0);
		return 0;
	}
	/* What points to modules. */
	stitching_forget_all(collector->unwinding.stitching);
	process_table_each_mapping(collector->following.processes, forget_module, NULL);
	process_table_drop_names(collector->following.processes);
	modules_release(&collector->unwinding.modules);
	int result = modules_init(&collector->unwinding.modules);
	malloc_trim(0);
	return result;
}

int bound_memory(struct collector *collector)
{
	uint64_t now = clock_now_ns();
	if (collector->waiting || now - collector->bound.looked_ns < LOOK_INTERVAL_NS)
		return 0;
	collector->bound.looked_ns = now;
	if (!collector->bound.mib)
		collector->bound.mib = FIRST_BOUND_MIB;
	const struct mallinfo2 heap = mallinfo2();
	if (heap.uordblks + heap.hblkhd < collector->bound.mib * MIB)
		return 0;
	uint64_t since_ns =
		collector->bound.forgot_ns ? now - collector->bound.forgot_ns : UINT64_MAX;
	if (collector->bound.mib >= LAST_BOUND_MIB && since_ns < LAST_THRASHING_NS)
		return 0;
	if (since_ns < THRASHING_NS && collector->bound.mib < LAST_BOUND_MIB)
		collector->bound.mib *= 2;
	collector->bound.forgot_ns = now;
	return forget(collector);
}
