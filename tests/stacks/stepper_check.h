/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_STEPPER_CHECK_H
#define CTOP_TEST_STEPPER_CHECK_H

/* One state of a task: its stack as we unwind it, beside the shadow stack. */

#include "stepper_run.h"

static inline void print_difference(const struct task *task, const struct unwind_result *result,
				    size_t nr_callers, bool whole)
{
	printf("# step %zu: %zu frames, %s, %s; expected %zu, %s\n", r.nr_steps, result->nr_frames,
	       stack_end_name(result->end), stack_reason_name(result->reason), nr_callers + 1,
	       stack_end_name(whole ? STACK_COMPLETE : STACK_SWITCHED));
	for (size_t i = 0; i < result->nr_frames || i <= nr_callers; i++) {
		bool ours = i < result->nr_frames;
		const struct unwind_frame *frame = &r.frames[i];
		const struct target_module *module = ours ? frame->module : NULL;
		uint64_t wanted = i == 0	    ? task->regs.rip
				  : i <= nr_callers ? r.callers[i - 1]->address
						    : 0;
		printf("# %2zu %-10s %16" PRIx64 " %16" PRIx64 " %s+%" PRIx64 "\n", i,
		       ours ? frame_method_name(frame->method) : "-",
		       ours ? frame->process_address : 0, wanted, module ? module->path : "?",
		       ours ? frame->process_address - frame->bias : 0);
	}
}

static inline void take_wrong(uint64_t pc)
{
	r.nr_wrong++;
	note(&r.wrong, pc);
}

/*
 * Longjmp and its like have CFI that says where they go, which is as right as where they came from; and while an
 * exception is thrown, the registers of who catches it are put where those of the thrower's callers were. True
 * when the stack may be of that kind: a jump will show.
 */
static inline bool may_be_leaving(struct task *task, const struct unwind_result *result)
{
	bool goes_somewhere = result->end == STACK_COMPLETE && result->nr_frames >= 2 &&
			      result->nr_frames - 1 <= LANDING_FRAMES;
	if ((!goes_somewhere && !r.how.throws) || task->nr_landings == MAX_LANDINGS)
		return false;
	struct landing *landing = &task->landings[task->nr_landings++];
	landing->pc = task->regs.rip;
	landing->nr_jumps = task->shadow.nr_jumps;
	landing->nr = goes_somewhere ? result->nr_frames - 1 : 0;
	for (size_t i = 0; i < landing->nr; i++)
		landing->addresses[i] = r.frames[i + 1].process_address;
	return true;
}

static inline bool led_here(const struct task *task, const struct landing *landing,
			    size_t nr_callers)
{
	if (r.how.throws && landing->nr_jumps != task->shadow.nr_jumps)
		return true;
	if (landing->nr != nr_callers + 1 || landing->addresses[0] != task->regs.rip - 1)
		return false;
	for (size_t i = 0; i < nr_callers; i++)
		if (landing->addresses[i + 1] != r.callers[i]->address)
			return false;
	return true;
}

/* The stack is right again: the jump was made. */
static inline void check_landings(struct task *task)
{
	bool whole;
	size_t nr_callers = shadow_callers(&task->shadow, r.callers, &whole);
	for (size_t i = 0; i < task->nr_landings; i++) {
		const struct landing *landing = &task->landings[i];
		if (!led_here(task, landing, nr_callers)) {
			take_wrong(landing->pc);
			continue;
		}
		r.nr_between++;
		note(&r.between, landing->pc);
	}
	task->nr_landings = 0;
}

/*
 * True when a return address on the stack is not what a call put there: the program is about to leave
 * otherwise than it came, and whose frame is whose is a matter of taste.
 */
static inline bool is_between(const struct task *task, size_t nr_callers)
{
	for (size_t i = 0; i < nr_callers; i++) {
		uint64_t offset = r.callers[i]->slot - task->regs.rsp, value;
		if (r.callers[i]->interrupted || offset > sizeof(r.stack) - sizeof(value))
			continue;
		memcpy(&value, r.stack + offset, sizeof(value));
		if (value != r.callers[i]->address + 1 && value != r.callers[i]->address)
			return true;
	}
	return false;
}

static inline bool lies_in(uint64_t address, const char *path)
{
	struct unwind_mapping mapping = {0};
	return target_find(&r.target, address, &mapping) == UNWIND_FOUND && mapping.module &&
	       strcmp(((const struct target_module *)mapping.module)->path, path) == 0;
}

/* True when a library without tables takes part, elsewhere than in starting the program or the thread. */
static inline bool is_without_tables(const struct task *task, size_t nr_callers)
{
	enum { STARTS = 2 };
	if (!r.how.library_without_tables)
		return false;
	bool takes_part = lies_in(task->regs.rip, r.how.library_without_tables);
	for (size_t i = 0; !takes_part && i + STARTS < nr_callers; i++)
		takes_part = lies_in(r.callers[i]->address, r.how.library_without_tables);
	return takes_part;
}

static inline void check_state(struct task *task)
{
	struct unwind_input input = {0};
	struct unwind_result result;
	bool whole;
	target_registers(&task->regs, &input);
	target_stack(task->pid, &input, r.stack, sizeof(r.stack));
	unwind_stack(r.unwinder, &r.target.space, &input, r.frames, &result, NULL);
	size_t nr_callers = shadow_callers(&task->shadow, r.callers, &whole);
	bool right = result.nr_frames == nr_callers + 1 &&
		     r.frames[0].process_address == task->regs.rip &&
		     result.end == (whole ? STACK_COMPLETE : STACK_SWITCHED);
	for (size_t i = 0; right && i < nr_callers; i++)
		right = r.frames[i + 1].process_address == r.callers[i]->address;
	for (size_t i = 0; right && i < result.nr_frames; i++)
		r.nr_by_method[r.frames[i].method]++;
	r.nr_by_end[result.end]++;
	if (right) {
		check_landings(task);
		return;
	}
	if (is_without_tables(task, nr_callers)) {
		r.nr_without_tables++;
		return;
	}
	if (task->leaving || task->shadow.current->over || is_between(task, nr_callers)) {
		r.nr_between++;
		note(&r.between, task->regs.rip);
		return;
	}
	if (may_be_leaving(task, &result))
		return;
	if (r.nr_wrong < STACKS_SHOWN)
		print_difference(task, &result, nr_callers, whole);
	take_wrong(task->regs.rip);
}

#endif
