/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/vec.h>
#include <ctop/store/wait_ring.h>
#include <ctop/time_shown.h>

#include "internal.h"
#include "round.h"

/* Then all are forgotten: the waits in hand end as not seen. */
enum { STACKS_MOST = 65536 };

struct wait_stack {
	int32_t pid, tid;
	struct placed_wait {
		uint32_t epoch; /* in which the sample holds; 0: there is none */
		struct sample sample;
	} last, before;
};

void waits_release(struct waits *waits)
{
	free(waits->stacks.items);
	index_release(&waits->by_tid);
	*waits = (struct waits){0};
}

uint64_t waits_record_time(const struct perf_event_header *record)
{
	struct wait_record wait;
	const uint8_t *stack;
	return wait_record_parse(record, record->size, &wait, &stack) ? 0 : wait.time_ns;
}

int waits_add_event(struct collector *collector)
{
	struct event_row row = {.weight_unit = WEIGHT_NS};
	struct output *output = &collector->output;
	uint32_t id;
	int result = tables_add_string(output->writer, WAIT_EVENT, strlen(WAIT_EVENT), &row.name);
	row.asked = row.name;
	return result ? result : tables_add_event(output->writer, &row, &id);
}

static struct wait_stack *find(const struct waits *waits, int32_t tid)
{
	struct index_probe probe = index_find(&waits->by_tid, hash_u64((uint64_t)tid));
	uint32_t row;
	while (index_next(&waits->by_tid, &probe, &row))
		if (waits->stacks.items[row].tid == tid)
			return &waits->stacks.items[row];
	return NULL;
}

/* NULL: out of memory. */
static struct wait_stack *find_or_add(struct waits *waits, int32_t tid)
{
	struct wait_stack *stack = find(waits, tid);
	if (stack)
		return stack;
	if (waits->stacks.nr >= STACKS_MOST)
		waits_release(waits);
	if (vec_reserve(&waits->stacks, waits->stacks.nr + 1) || index_reserve(&waits->by_tid))
		return NULL;
	index_add(&waits->by_tid, hash_u64((uint64_t)tid), (uint32_t)waits->stacks.nr);
	stack = &waits->stacks.items[waits->stacks.nr++];
	*stack = (struct wait_stack){.tid = tid};
	return stack;
}

/* Nothing but what it waits for is known. */
static int make_plain(struct collector *collector, const struct wait_record *wait,
		      struct module *kind, struct sample *sample)
{
	*sample = (struct sample){.end = STACK_KERNEL_ONLY};
	int result = task_rows_add(collector, wait->pid, wait->tid, wait->name, &sample->task);
	return result ? result : output_add_frame(&collector->output, kind, 0, &sample->leaf);
}

static int unwind(struct collector *collector, const struct wait_record *wait, const uint8_t *bytes,
		  bool patient, struct sample *sample)
{
	struct stack_gap gap = {0};
	int result;
	if (!wait->pc)
		return make_plain(collector, wait, collector->unwinding.modules.waits[wait->kind],
				  sample);
	while ((result = stack_of_wait(collector, wait, bytes, patient, &gap, sample)) == -EAGAIN &&
	       gap.process) {
		result = round_close_gap(collector, &gap, patient);
		if (result)
			return result;
	}
	return result;
}

static int take_stack(struct collector *collector, const struct wait_record *wait,
		      const uint8_t *bytes, bool patient)
{
	struct placed_wait now = {.epoch = collector->output.epoch};
	const int result = unwind(collector, wait, bytes, patient, &now.sample);
	if (result)
		return result;
	struct wait_stack *stack = find_or_add(&collector->waits, wait->tid);
	if (!stack)
		return -ENOMEM;
	if (stack->pid != wait->pid)
		*stack = (struct wait_stack){.pid = wait->pid, .tid = wait->tid};
	if (!wait->again)
		stack->before = stack->last;
	stack->last = now;
	return 0;
}

/* Where it is said to have waited; NULL: that is not known, or not any more. */
static const struct sample *place_of(const struct collector *collector,
				     const struct wait_record *wait)
{
	const struct wait_stack *stack = find(&collector->waits, wait->tid);
	if (!stack || stack->pid != wait->pid || wait->place > WAIT_AT_BEFORE)
		return NULL;
	const struct placed_wait *placed =
		wait->place == WAIT_AT_BEFORE ? &stack->before : &stack->last;
	return placed->epoch == collector->output.epoch ? &placed->sample : NULL;
}

static int add_time(struct collector *collector, const struct wait_record *wait)
{
	const struct modules *modules = &collector->unwinding.modules;
	const struct sample *place = place_of(collector, wait);
	struct sample sample;
	if (!wait->ns)
		return 0;
	int result = 0;
	if (place)
		sample = *place;
	else
		result = make_plain(collector, wait,
				    wait->place == WAIT_FOR_CPU ? modules->run_queue
								: modules->waits[WAIT_UNSEEN],
				    &sample);
	if (result)
		return result;
	sample.time_ns = wait->until_ns;
	sample.weight = wait->ns;
	sample.event = (uint8_t)(collector->events.named.nr + 1); /* row 0 of the table is none */
	tables_add_sample(collector->output.writer, &sample);
	collector->output.counts.drained++;
	return 0;
}

int waits_take(struct collector *collector, const void *bytes, size_t size, bool patient)
{
	struct wait_record wait;
	const uint8_t *stack;
	if (wait_record_parse(bytes, size, &wait, &stack)) {
		collector->output.counts.drained++;
		collector->output.counts.damaged++;
		return 0;
	}
	return wait.header.type == WAIT_RECORD_STACK ? take_stack(collector, &wait, stack, patient)
						     : add_time(collector, &wait);
}
