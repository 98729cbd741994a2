/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_STACK_H
#define CTOP_COLLECT_STACK_H

/* One sample: its stack, unwound and appended to the tables. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/ids.h>
#include <ctop/unwind/stitching.h>
#include <ctop/unwind/unwind.h>

#include "last_stacks.h"
#include "modules.h"

struct collector;
struct collector_ring;
struct process;
struct record;
struct sample;
struct wait_record;

/* What stacks are unwound with. */
struct unwinding {
	struct modules modules;
	struct unwinder *unwinder;
	struct stitching *stitching;
	struct last_stacks *last_stacks;
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct unwind_evidence evidence[UNWIND_MAX_FRAMES];
	uint64_t hits_before, misses_before; /* of unwinders that are gone */
};

/* Where a stack stopped, since nobody has asked for what is mapped there. */
struct stack_gap {
	struct process *process; /* NULL: there is none */
	uint64_t address;
	struct module *code; /* of which a page is missing, at the address; NULL: none is */
	bool cannot_ask;     /* not now: what was not asked for counts as on its way */
};

/*
 * Unwinds a sample and appends it. patient: wait for files and code that are on their way.
 * 0; -EAGAIN: come again with the same record when the gap is known, or, if there is none, when main has answered;
 * -ENOSPC: when there are fresh tables; -ENOMEM.
 */
int stack_sample(struct collector *collector, struct collector_ring *ring,
		 const struct record *record, bool patient, struct stack_gap *gap);

/*
 * The stack that a thread or goroutine waits with, as main has seen it, its innermost frame the kind, which is what it waits for; without
 * time and weight. Of the registers only pc and sp are known. Returns as stack_sample().
 */
int stack_of_wait(struct collector *collector, const struct wait_record *wait, struct module *kind,
		  const uint8_t *bytes, bool patient, struct stack_gap *gap, struct sample *sample);

#endif
