/* SPDX-License-Identifier: MIT */
#include "waits.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/vec.h>
#include <ctop/goroutine.h>
#include <ctop/store/wait_ring.h>
#include <ctop/time_shown.h>

#include "internal.h"
#include "round.h"

/* Then all are forgotten: the waits in hand end as not seen. */
enum { STACKS_MOST = 131072 };

struct wait_stack {
	int32_t pid, tid;
	uint64_t goroutine; /* as the record has it */
	struct placed_wait {
		uint32_t epoch; /* in which the sample holds; 0: there is none */
		struct sample sample;
	} last, before;
};

static void forget_stacks(struct waits *waits)
{
	index_release(&waits->by_task);
	waits->stacks.nr = 0;
}

void waits_release(struct waits *waits)
{
	free(waits->stacks.items);
	index_release(&waits->by_task);
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

/* A predecessor may have added it, too: by their names they are one. */
static int add_late_event(struct output *output, const char *name, struct late_event *event)
{
	struct event_row row = {.weight_unit = WEIGHT_NS};
	if (event->epoch == output->epoch)
		return 0;
	int result = tables_add_string(output->writer, name, strlen(name), &row.name);
	row.asked = row.name;
	if (!result)
		result = tables_add_event(output->writer, &row, &event->row);
	if (!result)
		event->epoch = output->epoch;
	return result;
}

static uint64_t hash_of(const struct wait_record *wait)
{
	return wait->goroutine ? hash_two(wait->goroutine, (uint64_t)wait->pid)
			       : hash_u64((uint64_t)wait->tid);
}

static bool is_of(const struct wait_stack *stack, const struct wait_record *wait)
{
	return stack->goroutine == wait->goroutine &&
	       (wait->goroutine ? stack->pid == wait->pid : stack->tid == wait->tid);
}

static struct wait_stack *find(const struct waits *waits, const struct wait_record *wait)
{
	struct index_probe probe = index_find(&waits->by_task, hash_of(wait));
	uint32_t row;
	while (index_next(&waits->by_task, &probe, &row))
		if (is_of(&waits->stacks.items[row], wait))
			return &waits->stacks.items[row];
	return NULL;
}

static struct wait_stack stack_of(const struct wait_record *wait)
{
	return (struct wait_stack){wait->pid, wait->tid, wait->goroutine, {0}, {0}};
}

/* NULL: out of memory. */
static struct wait_stack *find_or_add(struct waits *waits, const struct wait_record *wait)
{
	struct wait_stack *stack = find(waits, wait);
	if (stack)
		return stack;
	if (waits->stacks.nr >= STACKS_MOST)
		forget_stacks(waits);
	if (vec_reserve(&waits->stacks, waits->stacks.nr + 1) || index_reserve(&waits->by_task))
		return NULL;
	index_add(&waits->by_task, hash_of(wait), (uint32_t)waits->stacks.nr);
	stack = &waits->stacks.items[waits->stacks.nr++];
	*stack = stack_of(wait);
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

/* A frame below the only one. */
static int add_caller(struct output *output, struct module *module, struct sample *sample)
{
	const struct node_id root = {0};
	struct frame_id frame;
	const int result = output_add_frame(output, module, 0, &frame);
	return result ? result
		      : tables_add_node(output->writer, root, frame, FRAME_KERNEL, &sample->node);
}

static int unwind(struct collector *collector, const struct wait_record *wait, struct module *kind,
		  const uint8_t *bytes, bool patient, struct sample *sample)
{
	struct stack_gap gap = {0};
	int result;
	if (!kind)
		return -ENOMEM;
	if (!wait->pc)
		return make_plain(collector, wait, kind, sample);
	while ((result = stack_of_wait(collector, wait, kind, bytes, patient, &gap, sample)) ==
		       -EAGAIN &&
	       gap.process) {
		result = round_close_gap(collector, &gap, patient);
		if (result)
			return result;
	}
	return result;
}

/* Whose pid it was then another may have now, and another program is run: these maps say nothing of a stack from then. */
static bool is_another_program(const struct process *process, uint64_t then_ns)
{
	return process_start(process) > then_ns || process_exec_ns(process) >= then_ns;
}

static const struct process *process_of(const struct collector *collector, int32_t pid)
{
	return process_table_find(collector->following.processes, pid);
}

/* A sample is from before it is told; what was executed since is not what waited. */
static struct wait_record as_it_was(const struct collector *collector,
				    const struct wait_record *wait)
{
	struct wait_record then = *wait;
	const struct process *process = wait->until_ns ? process_of(collector, wait->pid) : NULL;
	if (wait->until_ns)
		then.time_ns = wait->until_ns;
	if (process && is_another_program(process, wait->until_ns))
		then.pc = 0;
	return then;
}

static int take_stack(struct collector *collector, const struct wait_record *told,
		      const uint8_t *bytes, bool patient)
{
	const struct wait_record then = as_it_was(collector, told), *wait = &then;
	struct placed_wait now = {.epoch = collector->output.epoch};
	struct modules *modules = &collector->unwinding.modules;
	struct module *kind = wait->goroutine
				      ? modules_of_word(modules, &modules->reasons, wait->reason,
							modules->waits[WAIT_OTHER])
				      : modules->waits[wait->kind];
	const int result = unwind(collector, wait, kind, bytes, patient, &now.sample);
	if (result)
		return result;
	struct wait_stack *stack = find_or_add(&collector->waits, wait);
	if (!stack)
		return -ENOMEM;
	if (stack->pid != wait->pid)
		*stack = stack_of(wait);
	if (wait->place == WAIT_AT_LAST && !wait->again)
		stack->before = stack->last;
	*(wait->place == WAIT_AT_LAST ? &stack->last : &stack->before) = now;
	return 0;
}

/* Where it is said to have waited; NULL: that is not known, or not any more. */
static const struct sample *place_of(const struct collector *collector,
				     const struct wait_record *wait)
{
	const struct wait_stack *stack = find(&collector->waits, wait);
	if (!stack || stack->pid != wait->pid || wait->place > WAIT_AT_BEFORE)
		return NULL;
	const struct placed_wait *placed =
		wait->place == WAIT_AT_BEFORE ? &stack->before : &stack->last;
	return placed->epoch == collector->output.epoch ? &placed->sample : NULL;
}

static void add_sample(struct output *output, const struct wait_record *wait, struct sample *sample,
		       uint32_t event)
{
	sample->time_ns = wait->until_ns;
	sample->weight = wait->ns;
	sample->event = (uint8_t)event;
	tables_add_sample(output->writer, sample);
	output->counts.drained++;
}

static int add_time(struct collector *collector, const struct wait_record *wait)
{
	const struct modules *modules = &collector->unwinding.modules;
	const struct sample *place = place_of(collector, wait);
	struct sample sample;
	if (!wait->ns)
		return 0;
	struct late_event *goroutines = &collector->waits.goroutines;
	int result = wait->goroutine
			     ? add_late_event(&collector->output, GOROUTINE_EVENT, goroutines)
			     : 0;
	if (result)
		return result;
	if (place)
		sample = *place;
	else
		result = make_plain(collector, wait,
				    wait->place == WAIT_FOR_CPU ? modules->run_queue
								: modules->waits[WAIT_UNSEEN],
				    &sample);
	if (result)
		return result;
	/* Row 0 of the table is none. */
	add_sample(&collector->output, wait, &sample,
		   wait->goroutine ? goroutines->row : (uint32_t)collector->events.named.nr + 1);
	return 0;
}

/* One that is not known has gone. */
static bool is_same_program(const struct collector *collector, const struct wait_record *wakeup)
{
	const struct process *process = process_of(collector, wakeup->waker_pid);
	return process && !is_another_program(process, wakeup->until_ns);
}

/* The stack is the waker's, the task who was woken. */
static int add_wakeup(struct collector *collector, const struct wait_record *wakeup,
		      const uint8_t *bytes, bool patient)
{
	struct output *output = &collector->output;
	struct modules *modules = &collector->unwinding.modules;
	struct module *waker =
		modules_of_word(modules, &modules->wakers, wakeup->reason, modules->another_waker);
	struct sample sample;
	int result = add_late_event(output, WAKEUP_EVENT, &collector->waits.wakeups);
	if (result || !waker)
		return result ? result : -ENOMEM;
	if (wakeup->waker_pid && wakeup->pc && is_same_program(collector, wakeup)) {
		struct wait_record of_waker = *wakeup;
		of_waker.pid = wakeup->waker_pid;
		of_waker.tid = wakeup->waker_tid;
		of_waker.time_ns = wakeup->until_ns;
		result = unwind(collector, &of_waker, waker, bytes, patient, &sample);
		if (!result)
			result = task_rows_add(collector, wakeup->pid, wakeup->tid, wakeup->name,
					       &sample.task);
	} else {
		result = make_plain(collector, wakeup, waker, &sample);
		if (!result && wakeup->waker_pid)
			result = add_caller(output, modules->unseen_stack, &sample);
	}
	if (!result)
		add_sample(output, wakeup, &sample, collector->waits.wakeups.row);
	return result;
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
	switch (wait.header.type) {
	case WAIT_RECORD_STACK:
		return take_stack(collector, &wait, stack, patient);
	case WAIT_RECORD_TIME:
		return add_time(collector, &wait);
	default:
		return add_wakeup(collector, &wait, stack, patient);
	}
}
