/* SPDX-License-Identifier: MIT */
#include "stack.h"

#include <errno.h>
#include <string.h>
#include <linux/perf_event.h>

#include <ctop/goroutine.h>
#include <ctop/base/fault.h>
#include <ctop/code/live_code.h>
#include <ctop/elf/object.h>
#include <ctop/kernel/record.h>
#include <ctop/perfdata/perfdata.h>
#include <ctop/store/wait_ring.h>

#include "internal.h"
#include "live.h"
#include "module_files.h"

/* perf's register numbers (asm/perf_regs.h) by DWARF number (System V psABI, figure 3.36). */
#if defined(__x86_64__)
static const uint8_t perf_register[UNWIND_NR_REGS] = {
	0,  3,	2,  1,	4,  5,	6,  7,	  /* rax rdx rcx rbx rsi rdi rbp rsp */
	16, 17, 18, 19, 20, 21, 22, 23, 8 /* r8-r15, rip */
};
#elif defined(__aarch64__)
static const uint8_t perf_register[UNWIND_NR_REGS] = {
	0,  1,	2,  3,	4,  5,	6,  7,	8,  9,	10, 11, 12, 13, 14, 15, 16, /* x0-x30, sp, pc */
	17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32};
#endif

/* The user part of a stack, leaf first, in unwinding.frames. */
struct user_part {
	size_t nr;
	enum stack_end end;
	enum stack_reason reason;
};

/* What the unwinder asks about addresses. */
struct space_context {
	const struct output *output;
	struct process *process;
	struct stack_gap *gap;
};

/* ---- the user part ---- */

/* Where the module's elf addresses lie in this mapping. */
static uint64_t bias_of(const struct module *module, const struct mapping *map)
{
	uint64_t elf_address;
	if (module->row.kind == MODULE_ANON)
		return 0;
	if (module->object && object_mapping_address(module->object, map->file_offset,
						     map->end - map->start, &elf_address))
		return map->start - elf_address;
	return map->start - map->file_offset;
}

/* What is there; or UNWIND_UNKNOWN, and the gap that the stack has there. */
static enum unwind_lookup find_mapping(void *context, uint64_t process_address,
				       struct unwind_mapping *mapping)
{
	const struct space_context *space = context;
	const struct mapping *map = process_mapping_at(space->process, process_address);
	if (!map)
		return UNWIND_NOT_EXECUTABLE;
	struct module *module = map->module;
	if (!module_file_is_known(space->output, module, space->gap)) {
		space->gap->process = space->process;
		space->gap->address = process_address;
		return UNWIND_UNKNOWN;
	}
	*mapping = (struct unwind_mapping){
		.start = map->start,
		.end = map->end,
		.bias = bias_of(module, map),
		.object = module->object,
		.live = module->live,
		.cfi = module->cfi,
		.unreadable = module->unreadable,
		.module = module,
	};
	if (module->state == MODULE_READY || module->state == MODULE_FAILED)
		return UNWIND_FOUND;
	mapping->unreadable = STACK_REASON_NO_TABLE;
	return UNWIND_PENDING;
}

static void registers_of(const struct record_sample *sample, struct unwind_input *input)
{
	for (unsigned i = 0; i < UNWIND_NR_REGS; i++) {
		unsigned number = perf_register[i];
		if (!(sample->regs_mask >> number & 1))
			continue;
		input->regs[i] = sample->regs[number];
		input->known |= UINT64_C(1) << i;
	}
}

/* The user part of the kernel's own callchain (frame pointers): the pc, then return addresses, behind PERF_CONTEXT_USER. */
static size_t user_chain(const struct record_sample *sample, const uint64_t **chain)
{
	size_t i = 0, nr = 0;
	while (i < sample->nr_chain && sample->chain[i] != PERF_CONTEXT_USER)
		i++;
	if (i++ >= sample->nr_chain)
		return 0;
	*chain = &sample->chain[i];
	while (i + nr < sample->nr_chain && (*chain)[nr] < PERF_CONTEXT_MAX)
		nr++;
	return nr < UNWIND_MAX_FRAMES ? nr : UNWIND_MAX_FRAMES;
}

/* A page of code was missing, or may have changed: main has it. */
static bool lacks_code(struct space_context *context, struct module *code)
{
	uint64_t address;
	bool is_asked;
	if (!code || !code->live || !live_code_wish(code->live, &address, &is_asked))
		return false;
	if (!is_asked) {
		context->gap->process = context->process;
		context->gap->address = address;
		context->gap->code = code;
	}
	return true;
}

static int unwind_user(struct collector *collector, struct space_context *context, int32_t tid,
		       uint64_t time_ns, const struct record_sample *sample, bool patient,
		       struct user_part *user)
{
	const bool plain = collector->config.without_tables;
	struct unwind_input input = {
		.stack = sample->stack,
		.stack_bytes = sample->stack_bytes,
		.frame_pointers_only = plain,
		.thread = fault_unwinds_all() || is_goroutine(tid) ? 0 : (uint64_t)(uint32_t)tid,
	};
	/* A file's clock may be another one. */
	if (!collector->source.file)
		tables_set_time(collector->output.writer, time_ns);
	registers_of(sample, &input);
	input.nr_chain = user_chain(sample, &input.chain);
	/* A goroutine is no thread: nothing of it is joined with what a thread had. */
	const bool stitches = !plain && !is_goroutine(tid);
	if (stitches && stitching_watch(collector->unwinding.stitching, tid))
		input.evidence = collector->unwinding.evidence;
	const struct unwind_space space = {
		.find = find_mapping,
		.context = context,
		.generation = process_generation(context->process),
	};
	uint64_t pending_address;
	struct unwind_result result;
	struct module *code = live_code_of(collector, context->process);
	if (code)
		live_code_begin(code->live, time_ns);
	int error = unwind_stack(collector->unwinding.unwinder, &space, &input,
				 collector->unwinding.frames, &result,
				 patient ? &pending_address : NULL);
	if (!error && patient && lacks_code(context, code))
		return -EAGAIN;
	for (size_t i = 0; !error && result.behind_switch && i < result.nr_frames; i++)
		if (collector->unwinding.frames[i].method == FRAME_SWITCHED)
			collector->unwinding.frames[i].module =
				collector->unwinding.modules.switched;
	if (!error && stitches && !result.behind_switch)
		error = stitching_take(collector->unwinding.stitching, tid, space.generation,
				       collector->unwinding.frames, collector->unwinding.evidence,
				       &result);
	if (error)
		return error;
	*user = (struct user_part){result.nr_frames, result.end, result.reason};
	return 0;
}

/* One frame from an address alone. Fills frames[at]; 0 or -EAGAIN. */
static int plain_frame(struct unwinding *unwinding, struct space_context *context, uint64_t address,
		       enum frame_method method, bool patient, size_t at)
{
	struct unwind_mapping mapping = {0};
	enum unwind_lookup found = find_mapping(context, address, &mapping);
	if (found == UNWIND_UNKNOWN || (found == UNWIND_PENDING && patient))
		return -EAGAIN;
	unwinding->frames[at] = (struct unwind_frame){
		.process_address = address,
		.bias = mapping.bias,
		.module = mapping.module,
		.method = method,
	};
	return 0;
}

static int chain_user(struct unwinding *unwinding, struct space_context *context,
		      const struct record_sample *sample, bool patient, struct user_part *user)
{
	const uint64_t *chain = NULL;
	const size_t nr = user_chain(sample, &chain);
	for (size_t i = 0; i < nr; i++) {
		/* A return address: the call is before it. */
		const uint64_t address = i && chain[i] ? chain[i] - 1 : chain[i];
		int result = plain_frame(unwinding, context, address, i ? FRAME_FP : FRAME_LEAF,
					 patient, i);
		if (result)
			return result;
	}
	*user = (struct user_part){nr, STACK_BROKEN, STACK_REASON_NO_RULE};
	if (!nr)
		return 0;
	const struct unwind_frame *outermost = &unwinding->frames[nr - 1];
	const struct module *module = outermost->module;
	const uint64_t elf_address = outermost->process_address - outermost->bias;
	if (module && module->object &&
	    (object_is_root(module->object, elf_address) ||
	     object_starts_tasks(module->object, elf_address)))
		*user = (struct user_part){nr, STACK_COMPLETE, STACK_REASON_NONE};
	else if (nr == UNWIND_MAX_FRAMES)
		*user = (struct user_part){nr, STACK_TRUNCATED, STACK_REASON_DEPTH_LIMIT};
	return 0;
}

/*
 * Inside execve a task has lost its old memory, and has not seen the new one: what it entered the kernel with says
 * nothing of either. Before the kernel tells of the exec that shows by the system call and a stack that is gone.
 */
static bool is_in_exec(struct space_context *context, const struct record *record)
{
	const struct record_sample *sample = &record->sample;
	const bool in_kernel =
		(record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL;
	const uint64_t pc = sample->regs[perf_register[UNWIND_PC]];
	const struct mapping *map = process_mapping_at(context->process, pc);
	const struct module *module = map ? map->module : NULL;
	if (process_may_be_in_exec(context->process)) {
		if (in_kernel && (!map || !sample->stack_bytes))
			return true;
		process_note_user(context->process);
	}
	return in_kernel && !sample->stack_bytes && module && module->object &&
	       unwind_is_in_exec(module->object, pc - bias_of(module, map));
}

static int user_part(struct collector *collector, struct process *process,
		     const struct record *record, bool patient, struct stack_gap *gap,
		     struct user_part *user)
{
	const struct record_sample *sample = &record->sample;
	const struct message_config *config = &collector->config;
	struct space_context context = {
		.output = &collector->output, .process = process, .gap = gap};
	*user = (struct user_part){0, STACK_KERNEL_ONLY, STACK_REASON_NONE};
	if (config->frame_pointers)
		return chain_user(&collector->unwinding, &context, sample, patient, user);
	if (config->leaf_only) {
		*user = (struct user_part){1, STACK_COMPLETE, STACK_REASON_NONE};
		return plain_frame(&collector->unwinding, &context, sample->ip, FRAME_LEAF, patient,
				   0);
	}
	if (sample->regs_abi == PERF_SAMPLE_REGS_ABI_NONE)
		return 0;
	if (is_in_exec(&context, record))
		return 0;
	if (sample->regs_abi == PERF_SAMPLE_REGS_ABI_32) {
		*user = (struct user_part){1, STACK_BROKEN, STACK_REASON_ABI32};
		return plain_frame(&collector->unwinding, &context,
				   sample->regs[perf_register[UNWIND_PC]], FRAME_LEAF, patient, 0);
	}
	return unwind_user(collector, &context, record->tid, record->time_ns, sample, patient,
			   user);
}

/* ---- the whole stack ---- */

/* The kernel's part of the callchain: innermost first, without markers. */
static size_t kernel_part(const struct record_sample *sample, const uint64_t **chain)
{
	size_t i = 0;
	while (i < sample->nr_chain && sample->chain[i] >= PERF_CONTEXT_MAX &&
	       sample->chain[i] != PERF_CONTEXT_USER && sample->chain[i] != PERF_CONTEXT_GUEST)
		i++;
	if (i == 0 || sample->chain[i - 1] != PERF_CONTEXT_KERNEL)
		return 0;
	*chain = &sample->chain[i];
	size_t nr = 0;
	while (i + nr < sample->nr_chain && (*chain)[nr] < PERF_CONTEXT_MAX)
		nr++;
	return nr < UNWIND_MAX_FRAMES ? nr : UNWIND_MAX_FRAMES;
}

/* What lies within the user part: the kernel's, or what is waited for; innermost first. */
struct inner_part {
	struct module *module;
	const uint64_t *addresses;
	size_t nr;
};

static int add_stack(struct output *output, struct unwinding *unwinding, int32_t tid,
		     size_t nr_user, const struct inner_part *inner, struct sample *sample)
{
	struct last_stacks *stacks = unwinding->last_stacks;
	struct last_stack *last = last_stacks_begin(stacks, tid, output->epoch);
	const size_t nr_kernel = inner->nr;
	const size_t first_caller = nr_kernel ? 0 : 1;
	int result = 0;
	for (size_t i = nr_user; !result && i-- > first_caller;) {
		const struct unwind_frame *frame = &unwinding->frames[i];
		result = last_stacks_add(stacks, last, output, frame->module,
					 frame->process_address - frame->bias, frame->method);
	}
	for (size_t i = nr_kernel; !result && i-- > 1;)
		result = last_stacks_add(stacks, last, output, inner->module,
					 inner->addresses[i] - 1, FRAME_KERNEL);
	if (result)
		return result;
	sample->node = last->node;
	if (nr_kernel)
		return output_add_frame(output, inner->module, inner->addresses[0], &sample->leaf);
	if (!nr_user)
		return 0;
	const struct unwind_frame *leaf = &unwinding->frames[0];
	return output_add_frame(output, leaf->module, leaf->process_address - leaf->bias,
				&sample->leaf);
}

/* ---- whose sample it is ---- */

/* True when the sample is not to be counted at all: then the reason is. */
static bool drop(struct collector *collector, struct collector_ring *ring,
		 const struct record *record, struct event_id *event)
{
	uint64_t *reason = NULL;
	if (collector->config.drop_own && pids_are_ours(&collector->pids, record->pid))
		reason = &collector->output.counts.own;
	else if (collector->config.filters_pids &&
		 !pids_are_followed(&collector->pids, record->pid))
		reason = &collector->output.counts.foreign;
	else if (duplicates_take(collector, ring, event, record))
		reason = &collector->output.counts.duplicates;
	if (!reason)
		return false;
	(*reason)++;
	return true;
}

/* A period that does not change is not in the record; nor one that is the set's. */
static uint64_t weight_of(const struct collector *collector, const struct event_id *event,
			  const struct record_sample *sample)
{
	uint64_t period = sample->period;
	if (event->event >= collector->events.named.nr)
		return period ? period : 1;
	const struct message_event *is = &collector->events.named.items[event->event];
	if (is->paced)
		period = sets_fewer(collector, event);
	else if (!period)
		period = is->period;
	return period ? period : 1;
}

int stack_sample(struct collector *collector, struct collector_ring *ring,
		 const struct record *record, bool patient, struct stack_gap *gap)
{
	struct event_id unknown_event = {.tid = -1, .first = UINT32_MAX};
	const struct record_sample *sample = &record->sample;
	struct event_id *event = events_find(&collector->events, record->id);
	if (!event)
		event = &unknown_event;
	if (drop(collector, ring, record, event))
		return 0;

	struct process *process = process_table_add(collector->following.processes, record->pid);
	if (!process)
		return -ENOMEM;
	int choice = sample_filter_task(collector, process, record, patient);
	if (choice)
		return choice < 0 ? choice : 0;
	bool has_user = sample->regs_abi != PERF_SAMPLE_REGS_ABI_NONE ||
			collector->config.frame_pointers || collector->config.leaf_only;
	int result = ask_process(collector, process, record->tid, has_user);
	if (result && (patient || result != -EAGAIN))
		return result;

	const uint64_t *kernel = NULL;
	size_t nr_kernel = kernel_part(sample, &kernel);
	struct user_part user;
	if (collector->config.leaf_only && nr_kernel == 0 &&
	    (record->misc & PERF_RECORD_MISC_CPUMODE_MASK) == PERF_RECORD_MISC_KERNEL) {
		kernel = &sample->ip;
		nr_kernel = 1;
	}
	if (collector->config.leaf_only && nr_kernel) {
		nr_kernel = 1;
		user = (struct user_part){0, STACK_COMPLETE, STACK_REASON_NONE};
	} else {
		result = user_part(collector, process, record, patient, gap, &user);
	}
	if (result)
		return result;
	if (collector->source.perfdata && !perfdata_is_whole(collector->source.perfdata)) {
		collector->output.counts.damaged++; /* by whoever cut the file */
		return 0;
	}

	collector->output.counts.hurried += !patient && user.end == STACK_BROKEN;
	struct sample out = {
		.time_ns = record->time_ns,
		.weight = weight_of(collector, event, sample),
		.cpu = (uint16_t)record->cpu,
		.event = (uint8_t)(event->event + 1), /* row 0 of the table is none */
		.end = (uint8_t)user.end,
		.reason = (uint8_t)user.reason,
	};
	const struct inner_part inner = {collector->unwinding.modules.kernel, kernel, nr_kernel};
	result = task_rows_find(collector, process, record->tid, &out.task);
	if (!result)
		result = add_stack(&collector->output, &collector->unwinding, record->tid, user.nr,
				   &inner, &out);
	if (result)
		return result;
	if (collector->source.file)
		sample_set_number(&out, collector->source.number);
	tables_add_sample(collector->output.writer, &out);
	collector->output.counts.frames += user.nr + nr_kernel;
	return 0;
}

/* ---- of a thread that waits, or a goroutine ---- */

/* Below its root stands who began the goroutine: the call is before the return address. */
static int add_creator(struct collector *collector, struct space_context *context,
		       uint64_t return_address, bool patient, struct user_part *user)
{
	struct unwinding *unwinding = &collector->unwinding;
	if (!return_address || !user->nr || user->end != STACK_COMPLETE ||
	    user->nr + 2 > UNWIND_MAX_FRAMES)
		return 0;
	int result = plain_frame(unwinding, context, return_address - 1, FRAME_CREATED, patient,
				 user->nr + 1);
	if (result || !unwinding->frames[user->nr + 1].module)
		return result;
	unwinding->frames[user->nr] =
		(struct unwind_frame){.module = unwinding->modules.go, .method = FRAME_CREATED};
	user->nr += 2;
	return 0;
}

static int unwind_wait(struct collector *collector, const struct record *record,
		       uint64_t creator_pc, struct module *kind, bool patient,
		       struct stack_gap *gap, struct sample *out)
{
	static const uint64_t no_address = 0;
	struct process *process = process_table_add(collector->following.processes, record->pid);
	if (!process)
		return -ENOMEM;
	const int32_t thread = is_goroutine(record->tid) ? record->pid : record->tid;
	int result = ask_process(collector, process, thread, true);
	if (result && (patient || result != -EAGAIN))
		return result;
	struct space_context context = {
		.output = &collector->output, .process = process, .gap = gap};
	struct user_part user = {0, STACK_KERNEL_ONLY, STACK_REASON_NONE};
	if (collector->config.leaf_only)
		user.end = STACK_COMPLETE;
	else if (is_goroutine(record->tid) || !is_in_exec(&context, record))
		result = unwind_user(collector, &context, record->tid, record->time_ns,
				     &record->sample, patient, &user);
	if (!result)
		result = add_creator(collector, &context, creator_pc, patient, &user);
	if (result)
		return result;
	collector->output.counts.hurried += !patient && user.end == STACK_BROKEN;
	*out = (struct sample){.end = (uint8_t)user.end, .reason = (uint8_t)user.reason};
	const struct inner_part inner = {kind, &no_address, 1};
	result = task_rows_find(collector, process, record->tid, &out->task);
	return result ? result
		      : add_stack(&collector->output, &collector->unwinding,
				  is_goroutine(record->tid) ? GOROUTINE_TID : record->tid, user.nr,
				  &inner, out);
}

int stack_of_wait(struct collector *collector, const struct wait_record *wait, struct module *kind,
		  const uint8_t *bytes, bool patient, struct stack_gap *gap, struct sample *sample)
{
	const unsigned sp = perf_register[UNWIND_SP], pc = perf_register[UNWIND_PC];
	struct record record = {
		.type = PERF_RECORD_SAMPLE,
		.misc = PERF_RECORD_MISC_KERNEL,
		.time_ns = wait->time_ns,
		.pid = wait->pid,
		.tid = wait->tid,
		.sample = {.regs_abi = PERF_SAMPLE_REGS_ABI_64,
			   .regs_mask = wait->regs_mask | UINT64_C(1) << sp | UINT64_C(1) << pc,
			   .stack = bytes,
			   .stack_bytes = wait->stack_bytes},
	};
	memcpy(record.sample.regs, wait->regs, sizeof(wait->regs));
	record.sample.regs[sp] = wait->sp;
	record.sample.regs[pc] = wait->pc;
	return unwind_wait(collector, &record, wait->creator_pc, kind, patient, gap, sample);
}
