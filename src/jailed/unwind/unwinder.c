/* SPDX-License-Identifier: MIT */
#include <ctop/unwind/unwind.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/elf/object.h>

#include "code_cache.h"
#include "step.h"
#include "walk.h"

struct unwinder {
	struct unwind_counters counters;
	struct code_cache *cache;
	struct code_reader *code_reader;
	struct memos *memos;
	bool code_may_wait, waits_for_code;
};

struct unwinder *unwinder_new(void)
{
	struct unwinder *unwinder = calloc(1, sizeof(*unwinder));
	if (!unwinder)
		return NULL;
	unwinder->cache = code_cache_new(&unwinder->counters);
	unwinder->code_reader = code_reader_new();
	unwinder->memos = memos_new();
	if (!unwinder->cache || !unwinder->code_reader || !unwinder->memos) {
		unwinder_free(unwinder);
		return NULL;
	}
	unwinder_allow_code(unwinder, UINT64_MAX, false);
	return unwinder;
}

void unwinder_free(struct unwinder *unwinder)
{
	if (!unwinder)
		return;
	code_cache_free(unwinder->cache);
	code_reader_free(unwinder->code_reader);
	memos_free(unwinder->memos);
	free(unwinder);
}

const struct unwind_counters *unwinder_counters(const struct unwinder *unwinder)
{
	return &unwinder->counters;
}

void unwinder_allow_code(struct unwinder *unwinder, uint64_t instructions, bool may_wait)
{
	*code_reader_allowance(unwinder->code_reader) = instructions;
	unwinder->code_may_wait = may_wait;
}

uint64_t unwinder_code_left(const struct unwinder *unwinder)
{
	return *code_reader_allowance(unwinder->code_reader);
}

bool unwinder_waits_for_code(const struct unwinder *unwinder)
{
	return unwinder->waits_for_code;
}

/* The end that a failed step makes. */
static struct unwind_result ended(enum stack_reason reason)
{
	bool cut = reason == STACK_REASON_DUMP_END || reason == STACK_REASON_DEPTH_LIMIT;
	return (struct unwind_result){.end = cut ? STACK_TRUNCATED : STACK_BROKEN,
				      .reason = reason};
}

static enum known_function known_function(const struct walk *walk, const struct code *code)
{
	const struct unwind_mapping *mapping = &code->place->mapping;
	uint64_t lookup = walk->registers.value[UNWIND_PC] - (walk->exact ? 0 : 1);
	if (!(code->rule.flags & RULE_IN_KNOWN_FUNCTION) || !mapping->object)
		return FUNCTION_ORDINARY;
	return object_known_function(mapping->object, lookup - mapping->bias);
}

bool unwind_is_in_exec(const struct object *object, uint64_t elf_address)
{
	uint8_t bytes[MACHINE_EXEC_BYTES];
	return object_read(object, elf_address - sizeof(bytes), bytes, sizeof(bytes)) &&
	       machine_is_exec(bytes);
}

/* ---- signal frames ---- */

static bool reads_as_restorer(const struct unwind_mapping *mapping, uint64_t address)
{
	uint8_t bytes[MACHINE_RESTORER_BYTES];
	return mapping_read(mapping, address, bytes, sizeof(bytes)) && machine_is_restorer(bytes);
}

/* True in the code that ends a signal handler, where no CFI says so (musl has none, Go's does not know). */
static bool is_in_restorer(const struct walk *walk, const struct code *code)
{
	const struct unwind_mapping *mapping = &code->place->mapping;
	uint64_t pc = walk->registers.value[UNWIND_PC];
	if (!walk->exact)
		return code->rule.flags & RULE_RESTORER;
	return (code->rule.kind == RULE_NONE || known_function(walk, code) == FUNCTION_RESTORER) &&
	       (reads_as_restorer(mapping, pc) ||
		reads_as_restorer(mapping, pc - MACHINE_RESTORER_SYSCALL) ||
		reads_as_restorer(mapping, pc - MACHINE_RESTORER_BYTES));
}

/*
 * After registers came from a signal frame: is their stack the one that was dumped? The handler's frame lies just
 * below what it interrupted, unless the handler ran on a stack of its own.
 */
static bool is_elsewhere(const struct walk *walk, uint64_t handler_sp)
{
	uint64_t sp = walk->registers.value[UNWIND_SP];
	if (sp < handler_sp)
		return true;
	return sp > walk->memory.end && sp - handler_sp > MACHINE_SIGNAL_FRAME_MAX_BYTES;
}

/* ---- one step ---- */

static bool lacks_frame_pointer(const struct walk *walk, const struct rule *rule)
{
	return (rule->kind == RULE_OFFSET || rule->kind == RULE_DEREF) &&
	       rule->cfa_register == UNWIND_FP && !registers_know(&walk->registers, UNWIND_FP);
}

static struct step_result step_by_table(struct walk *walk, const struct code *code)
{
	const struct rule *rule = &code->rule;
	const struct step_input input = {
		.rule = rule,
		.cfi = code->place->mapping.cfi,
		.memory = &walk->memory,
		.exact = walk->exact,
	};
	struct step_result result = {.method = FRAME_CFI};
	if (rule->kind == RULE_PLT)
		result.method = FRAME_PLT;
	else if (rule->flags & RULE_EXPRESSION)
		result.method = FRAME_EXPRESSION;
	result.reason = step_by_rule(&input, &walk->registers);
	walk->by_rule = !result.reason && rule->kind != RULE_LONG;
	if (result.reason == STACK_REASON_NO_RULE && lacks_frame_pointer(walk, rule)) {
		/* Of a thread that waits it never was known: its code tells the same by the stack pointer. */
		const struct step_result by_code =
			walk_by_rule_of_code(walk, code, STACK_REASON_NO_REGISTER);
		if (!by_code.reason || walk->pending)
			return by_code;
		result.reason = STACK_REASON_NO_REGISTER;
	}
	if ((result.reason == STACK_REASON_BAD_ADDRESS || result.reason == STACK_REASON_NO_RULE ||
	     result.reason == STACK_REASON_NO_REGISTER) &&
	    walk_to_lost_cfa(walk, &input))
		result.reason = STACK_REASON_NONE;
	if (!result.reason && walk->registers.value[UNWIND_PC] == 0) {
		/* Read in the dump; a module's zeros are no end of a stack. */
		const uint64_t sp = walk->registers.value[UNWIND_SP];
		result.bottom = sp >= walk->memory.start && sp <= walk->memory.end;
	}
	return result;
}

/* From a signal handler's last code to what the signal interrupted. */
static struct step_result step_over_signal(struct walk *walk, const struct code *code)
{
	uint64_t handler_sp = walk->registers.value[UNWIND_SP];
	struct step_result result = {0};
	bool by_table = code->rule.flags & RULE_SIGNAL;
	if (MACHINE_RESTORER_CFI_LIES && code->rule.flags & RULE_RESTORER)
		by_table = false;
	if (by_table)
		result = step_by_table(walk, code);
	else
		result.reason = machine_signal_registers(&walk->memory, &walk->registers);
	if (result.reason)
		return result;
	result.method = FRAME_SIGNAL;
	result.bottom = false; /* a pc of 0 was jumped to, not returned to */
	walk->exact = true;
	walk->elsewhere = is_elsewhere(walk, handler_sp);
	return result;
}

static enum stack_reason reason_without_rule(const struct code *code)
{
	uint32_t unreadable = code->place->mapping.unreadable;
	if (code->rule.kind == RULE_BAD)
		return STACK_REASON_BAD_CFI;
	return unreadable > STACK_REASON_NONE && unreadable < NR_STACK_REASONS
		       ? (enum stack_reason)unreadable
		       : STACK_REASON_NO_RULE;
}

static struct step_result step(struct walk *walk, const struct code *code)
{
	enum rule_kind kind = (enum rule_kind)code->rule.kind;
	bool has_rule = kind != RULE_NONE && kind != RULE_BAD;
	const enum known_function function = known_function(walk, code);
	struct step_result result = {0};
	if ((has_rule && code->rule.flags & RULE_SIGNAL) || is_in_restorer(walk, code)) {
		result = step_over_signal(walk, code);
		if (result.reason != STACK_REASON_BAD_ADDRESS || MACHINE_RESTORER_CFI_LIES)
			return result;
	}
	if (has_rule) {
		walk->other_sp = 0;
		if (!walk->frame_pointers_only)
			result = step_by_table(walk, code);
	}
	/* After a frame record the stack pointer may not be known; then records lead on. */
	if (!has_rule || walk->frame_pointers_only ||
	    (result.reason == STACK_REASON_NO_RULE && !registers_know(&walk->registers, UNWIND_SP)))
		result = walk_without_rule(walk, code, reason_without_rule(code));
	walk->exact = function == FUNCTION_AS_IF_CALLED;
	walk->called_evaluator = function == FUNCTION_EVALUATOR;
	return result;
}

/*
 * Code that switches stacks has its caller on this one before it does and after, and if it was there already. Only a
 * caller that has called it is believed: CFI knows nothing of the other stack, nor of what lies there.
 */
static bool step_from_switch(struct walk *walk, const struct code *code, enum frame_method *method)
{
	const uint64_t pc = walk->registers.value[UNWIND_PC];
	const bool has_record = known_function(walk, code) == FUNCTION_SWITCH_WITH_RECORD;
	if (has_record && walk_over_own_record(walk)) {
		*method = FRAME_FP;
		walk->exact = false;
		return true;
	}
	if (!walk->exact && !has_record)
		return false;
	const struct step_result result = step(walk, code);
	*method = result.method;
	return !result.reason && !result.bottom && walk_has_called(walk, pc);
}

/*
 * Functions that have no caller once they have called something. Sampled in their own instructions they may still
 * have one (clone): then evidence decides.
 */
static bool ends_here(struct walk *walk, const struct code *code, bool was_exact,
		      const struct step_result *result, struct unwind_result *end)
{
	if (!(code->rule.flags & RULE_IN_ROOT_FUNCTION))
		return false;
	if (was_exact && !result->reason && !result->bottom &&
	    walk_is_return_address(walk, walk->registers.value[UNWIND_PC]))
		return false;
	end->end = STACK_COMPLETE;
	end->reason = STACK_REASON_NONE;
	return true;
}

static bool is_switch(enum known_function function)
{
	return function == FUNCTION_SWITCH || function == FUNCTION_SWITCH_FOR_GOOD ||
	       function == FUNCTION_SWITCH_WITH_RECORD;
}

/* Steps from the frame at code to its caller. True: there is none, and why is in *end. */
static bool step_or_end(struct walk *walk, const struct code *code, enum frame_method *method,
			struct unwind_result *end)
{
	const struct unwind_result complete = {.end = STACK_COMPLETE};
	const struct unwind_result switched = {.end = STACK_SWITCHED};
	const bool was_exact = walk->exact;
	struct step_result result = {0};

	*end = complete;
	if (code->rule.kind == RULE_ROOT)
		return true;
	if (!was_exact && code->rule.flags & RULE_IN_ROOT_FUNCTION)
		return ends_here(walk, code, was_exact, &result, end);
	if (!was_exact && code->rule.flags & RULE_STARTS_STACK) {
		*end = switched;
		return true;
	}
	if (walk->elsewhere) {
		result.reason = STACK_REASON_DUMP_END;
		*end = switched;
		ends_here(walk, code, was_exact, &result, end);
		return true;
	}
	walk->memory.object = code->place->mapping.object;
	walk->memory.bias = code->place->mapping.bias;
	const enum known_function function = known_function(walk, code);
	if (is_switch(function)) {
		/* The goroutine is another's by then: Go's own tracebacks end there. */
		*end = function == FUNCTION_SWITCH_FOR_GOOD && !was_exact ? complete : switched;
		const struct registers before = walk->registers;
		const bool has_caller = step_from_switch(walk, code, method);
		walk->by_rule = false; /* but by code, too */
		if (has_caller)
			return false;
		walk->registers = before;
		walk->exact = was_exact;
		return true;
	}
	result = step(walk, code);
	*method = result.method;
	if (ends_here(walk, code, was_exact, &result, end))
		return true;
	if (result.bottom)
		return true;
	*end = ended(result.reason);
	return result.reason != STACK_REASON_NONE;
}

/* ---- the whole stack ---- */

static struct unwind_frame make_frame(const struct walk *walk, const struct code *code,
				      enum frame_method method)
{
	uint64_t pc = walk->registers.value[UNWIND_PC];
	/* A handler "returns" to the first byte of the restorer, a coroutine to where it ends: nothing called it. */
	bool exact =
		walk->exact || code->rule.flags & (RULE_SIGNAL | RULE_RESTORER | RULE_STARTS_STACK);
	return (struct unwind_frame){
		.process_address = exact ? pc : pc - 1,
		.bias = code->place->mapping.bias,
		.module = code->place->mapping.module,
		.method = method,
	};
}

static void keep_evidence(const struct walk *walk, size_t nr)
{
	struct unwind_evidence *evidence = &walk->evidence[nr];
	evidence->sp = walk->registers.value[UNWIND_SP];
	evidence->known = 0;
	for (unsigned i = 0; i < MACHINE_NR_SAVED; i++) {
		bool known = registers_know(&walk->registers, machine_saved[i]);
		evidence->saved[i] = known ? walk->registers.value[machine_saved[i]] : 0;
		evidence->known |= (uint32_t)known << i;
	}
}

/* The pc is in no mapping: a call through a bad pointer. Whoever made it may be found. */
static bool step_from_nowhere(struct walk *walk, struct unwind_frame *frame,
			      enum frame_method *method, struct unwind_result *end)
{
	static const struct code nowhere = {.rule = {.kind = RULE_NONE}};
	*frame = (struct unwind_frame){.process_address = walk->registers.value[UNWIND_PC],
				       .method = *method};
	struct step_result result = walk_without_rule(walk, &nowhere, STACK_REASON_NO_MAPPING);
	walk->exact = false;
	*method = result.method;
	*end = result.bottom ? (struct unwind_result){.end = STACK_COMPLETE} : ended(result.reason);
	return !result.bottom && !result.reason;
}

/* Where a stack ends at a switch: the other one, if the kernel's chain has it. */
static void go_on_behind_switch(struct walk *walk, struct unwind_frame *frames, size_t *nr,
				struct unwind_result *end)
{
	struct code code;
	if (end->end != STACK_SWITCHED || !walk->nr_chain || walk->elsewhere || walk->exact ||
	    walk_find(walk, walk->registers.value[UNWIND_PC] - 1, &code) != UNWIND_FOUND)
		return;
	const enum known_function function = known_function(walk, &code);
	if (function != FUNCTION_SWITCH && function != FUNCTION_SWITCH_WITH_RECORD)
		return;
	end->behind_switch =
		walk_behind_switch(walk, &code, function == FUNCTION_SWITCH, frames, nr);
	if (end->behind_switch)
		end->end = STACK_COMPLETE;
}

/* What the thread's next stack may be found to share; see memo.h. */
static bool may_be_shared(const struct walk *walk, const struct code *code)
{
	return !walk->exact &&
	       !(code->rule.flags & (RULE_SIGNAL | RULE_RESTORER | RULE_STARTS_STACK));
}

static void note_step(const struct walk *walk, const struct code *code)
{
	if (walk->by_rule)
		memos_note_step(walk->memos, walk->registers.value[UNWIND_SP]);
	else if (code->rule.kind == RULE_ROOT || code->rule.flags & RULE_IN_ROOT_FUNCTION)
		memos_note_root(walk->memos);
}

/* The rest of the stack, from the frame at hand on, as it was the last time: how many frames; 0: it is to be unwound. */
static size_t take_tail(struct walk *walk, enum frame_method method, struct unwind_frame *frames,
			size_t nr)
{
	struct unwind_evidence *evidence = walk->evidence ? walk->evidence + nr : NULL;
	if (walk->exact || walk->elsewhere || nr == UNWIND_MAX_FRAMES)
		return 0;
	const size_t nr_tail = memos_find(walk->memos, &walk->registers, evidence);
	if (!nr_tail || nr_tail > UNWIND_MAX_FRAMES - nr)
		return 0;
	memos_take(walk->memos, method, frames + nr, evidence);
	return nr_tail;
}

static struct unwind_result walk_stack(struct walk *walk, struct unwind_frame *frames)
{
	enum frame_method method = FRAME_LEAF;
	struct unwind_result end = {0};
	size_t nr = 0;
	for (bool more = true; more;) {
		struct code code;
		if (walk->evidence && nr < UNWIND_MAX_FRAMES)
			keep_evidence(walk, nr);
		walk->nr_taken = walk->memos ? take_tail(walk, method, frames, nr) : 0;
		if (walk->nr_taken) {
			nr += walk->nr_taken;
			end = (struct unwind_result){.end = STACK_COMPLETE};
			break;
		}
		uint64_t lookup = walk->registers.value[UNWIND_PC] - (walk->exact ? 0 : 1);
		enum unwind_lookup found = walk_find(walk, lookup, &code);
		if (walk->pending)
			break;
		if (found != UNWIND_FOUND && !walk->exact) {
			end = ended(STACK_REASON_NO_MAPPING);
			break;
		}
		if (nr == UNWIND_MAX_FRAMES) {
			end = ended(STACK_REASON_DEPTH_LIMIT);
			break;
		}
		const bool is_noted =
			walk->memos && found == UNWIND_FOUND && may_be_shared(walk, &code);
		if (walk->memos)
			memos_note(walk->memos, &walk->registers, is_noted ? &code.rule : NULL);
		if (found == UNWIND_FOUND) {
			frames[nr++] = make_frame(walk, &code, method);
			walk->by_rule = false;
			more = !step_or_end(walk, &code, &method, &end);
			if (is_noted)
				note_step(walk, &code);
			if (!more && !walk->pending)
				go_on_behind_switch(walk, frames, &nr, &end);
		} else {
			bool is_leaf = nr == 0;
			more = step_from_nowhere(walk, &frames[nr], &method, &end);
			/* Of what a signal is said to have interrupted there, only a caller is proof. */
			nr += is_leaf || more || end.end == STACK_COMPLETE;
		}
		if (walk->pending)
			break;
	}
	end.nr_frames = nr;
	if (walk->memos && !walk->pending && end.end == STACK_COMPLETE && !end.behind_switch)
		memos_keep(walk->memos, frames, walk->evidence);
	return end;
}

int unwind_stack(struct unwinder *unwinder, const struct unwind_space *space,
		 const struct unwind_input *input, struct unwind_frame *frames,
		 struct unwind_result *result, uint64_t *pending_address)
{
	const uint64_t needed = register_bit(UNWIND_PC) | register_bit(UNWIND_SP);
	const uint64_t sp = input->regs[UNWIND_SP];
	if ((input->known & needed) != needed || input->stack_bytes > UINT64_MAX - sp) {
		*result = ended(STACK_REASON_BAD_ADDRESS);
		return 0;
	}
	struct walk walk = {
		.cache = unwinder->cache,
		.code_reader = unwinder->code_reader,
		.space = space,
		.registers = {.known = input->known & (register_bit(UNWIND_NR_REGS) - 1)},
		.memory = {.stack = input->stack, .start = sp, .end = sp + input->stack_bytes},
		.evidence = input->evidence,
		.exact = true,
		.frame_pointers_only = input->frame_pointers_only,
		.pending_matters = pending_address != NULL,
		.unread_matters = pending_address != NULL && unwinder->code_may_wait,
	};
	for (unsigned i = 0; i < UNWIND_NR_REGS; i++)
		walk.registers.value[i] = input->regs[i];
	if (registers_know(&walk.registers, UNWIND_FP) && input->nr_chain &&
	    input->chain[0] == input->regs[UNWIND_PC]) {
		walk.chain = input->chain;
		walk.nr_chain = input->nr_chain;
		walk.chain_fp = input->regs[UNWIND_FP];
	}
	if (input->thread && !input->frame_pointers_only) {
		walk.memos = unwinder->memos;
		memos_begin(walk.memos, input->thread, space->generation, input->evidence != NULL,
			    &walk.memory);
	}
	*result = walk_stack(&walk, frames);
	unwinder->counters.frames += result->nr_frames;
	unwinder->counters.frames_taken += walk.nr_taken;
	unwinder->waits_for_code = walk.unread;
	if (!walk.pending)
		return 0;
	if (pending_address)
		*pending_address = walk.pending_address;
	return -EAGAIN;
}
