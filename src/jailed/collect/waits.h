/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_WAITS_H
#define CTOP_COLLECT_WAITS_H

/*
 * Where threads and goroutines wait, as main has seen it (store/wait_ring.h), and for how long, and where those were who ended long waits: samples
 * of an event of their own each, in ns.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/base/index.h>
#include <ctop/store/tables.h>
#include <ctop/wait_kind.h>

struct collector;
struct modules;
struct perf_event_header;
struct wait_stack;

/* An event that is there from its first sample on: most programs have none of it. */
struct late_event {
	uint32_t row, epoch; /* in which tables; 0: in none yet */
};

struct waits {
	/* Of each thread and goroutine the stack that it was seen with last. */
	struct {
		struct wait_stack *items;
		size_t nr, capacity;
	} stacks;
	struct index by_task;
	struct late_event goroutines, wakeups;
};

void waits_release(struct waits *waits);
/* Takes a record of main's ring. 0; -EAGAIN or -ENOSPC: it must come again; else the end of the collector. */
int waits_take(struct collector *collector, const void *bytes, size_t size, bool patient);
/* When it was written; 0: it is none of ours. */
uint64_t waits_record_time(const struct perf_event_header *record);
/* The event's row, behind those that the kernel samples. 0, -ENOSPC or -ENOMEM. */
int waits_add_event(struct collector *collector);

#endif
