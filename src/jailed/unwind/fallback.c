/* SPDX-License-Identifier: MIT */
#include "walk.h"

#include <ctop/elf/object.h>

/* A frame pointer this far above the dump may still be one: then it is the dump that ended. */
enum { STACK_BEYOND_DUMP_BYTES = 8 << 20 };
/* How far up from musl's call of main the program's start is at most; it takes 8 words. */
enum { START_FRAME_WORDS = 32 };
enum { ENDING_BYTES = 16 };

/* A leaf that has pushed nothing: its return address is on top of the stack, or in the link register. */
static bool step_from_leaf(struct walk *walk, enum evidence wanted)
{
	struct registers *registers = &walk->registers;
	uint64_t sp, return_address;
	if (!machine_return_of_leaf(&walk->memory, registers, &return_address, &sp) ||
	    walk_return_address_evidence(walk, return_address) < wanted ||
	    !walk_call_may_lead_to(walk, return_address, registers->value[UNWIND_PC]))
		return false;
	/* Having pushed nothing, it has kept what it must give back. */
	registers->known &= MACHINE_SAVED_MASK;
	registers_set(registers, UNWIND_SP, sp);
	machine_return_to(registers, return_address);
	return true;
}

/* The PLT's way to the loader's resolver. */
static bool step_from_plt(struct walk *walk, const struct code *code)
{
	enum { INSTRUCTION_BYTES = 4 };
	struct registers *registers = &walk->registers;
	const struct unwind_mapping *mapping = &code->place->mapping;
	uint8_t bytes[MACHINE_PLT_BYTES];
	uint64_t first = registers->value[UNWIND_PC] + INSTRUCTION_BYTES - sizeof(bytes);
	uint64_t return_address, sp;
	if (!MACHINE_HAS_LINK ||
	    !object_read(mapping->object, first - mapping->bias, bytes, sizeof(bytes)) ||
	    !machine_return_of_plt(bytes, &walk->memory, registers, &return_address, &sp) ||
	    walk_return_address_evidence(walk, return_address) < PROVEN)
		return false;
	registers->known &= MACHINE_SAVED_MASK;
	registers_set(registers, UNWIND_SP, sp);
	machine_return_to(registers, return_address);
	return true;
}

/* True unless the call that set the link register leads here: the code at pc may have made one of its own since. */
static bool link_may_be_old(struct walk *walk)
{
	uint64_t return_address;
	return machine_link(&walk->registers, &return_address) &&
	       !walk_called_from(walk, return_address);
}

/*
 * True when what the link register holds has been saved already, by a function that has pushed its frame record or
 * made it the frame pointer: then the stack pointer is not the one it returns with.
 */
static bool link_is_saved(const struct walk *walk)
{
	const struct registers *registers = &walk->registers;
	const uint64_t records[] = {registers->value[UNWIND_FP], registers->value[UNWIND_SP]};
	uint64_t link, saved;
	if (!machine_link(registers, &link))
		return false;
	for (size_t i = 0; i < sizeof(records) / sizeof(records[0]); i++)
		if (!memory_read_address(&walk->memory, records[i] + MACHINE_ADDRESS_BYTES,
					 &saved) &&
		    machine_code_address(saved) == link)
			return true;
	return false;
}

/* Reads code of the mapping, fewer bytes only where the segment ends. How many. */
static size_t read_code(const struct unwind_mapping *mapping, uint64_t address, uint8_t *bytes,
			size_t size)
{
	while (size > 0 && !object_read(mapping->object, address - mapping->bias, bytes, size))
		size--;
	return size;
}

static enum machine_ending ending_at(const struct unwind_mapping *mapping, uint64_t address)
{
	uint8_t bytes[ENDING_BYTES];
	if (!mapping->object)
		return MACHINE_GOES_ON;
	return machine_ending(bytes, read_code(mapping, address, bytes, sizeof(bytes)));
}

/*
 * From code that calls main and then exit() to what is outermost: musl, which comes without CFI, starts programs and
 * threads in this way. The next return address up the stack must be that of the start.
 */
static bool step_to_outermost(struct walk *walk)
{
	struct registers *registers = &walk->registers;
	for (unsigned i = 0; i < START_FRAME_WORDS; i++) {
		uint64_t slot = registers->value[UNWIND_SP] + i * (uint64_t)MACHINE_ADDRESS_BYTES;
		uint64_t address;
		struct code code;
		if (memory_read_address(&walk->memory, slot, &address))
			return false;
		address = machine_code_address(address);
		if (address == 0 || walk_find(walk, address - 1, &code) != UNWIND_FOUND ||
		    !(code.rule.flags & RULE_AFTER_CALL))
			continue;
		if (!(code.rule.flags & RULE_IN_ROOT_FUNCTION) &&
		    ending_at(&code.place->mapping, address) != MACHINE_ENDS_TASK)
			return false;
		registers->known = 0;
		registers_set(registers, UNWIND_SP, slot + MACHINE_ADDRESS_BYTES);
		registers_set(registers, UNWIND_PC, address);
		return true;
	}
	return false;
}

/* A function near its end: the instructions up to its return say where it returns to. */
static bool step_by_code(struct walk *walk, const struct code *code)
{
	uint8_t bytes[MACHINE_WAY_MAX_BYTES];
	struct registers caller = walk->registers;
	const struct unwind_mapping *mapping = &code->place->mapping;
	uint64_t pc = walk->registers.value[UNWIND_PC];
	size_t size = read_code(mapping, pc, bytes, sizeof(bytes));
	bool detours;
	if (!machine_run_to_return(bytes, size, &walk->memory, &caller, &detours) ||
	    caller.value[UNWIND_SP] < walk->registers.value[UNWIND_SP] ||
	    walk_return_address_evidence(walk, caller.value[UNWIND_PC]) < PROVEN ||
	    (detours && !walk_call_may_lead_to(walk, caller.value[UNWIND_PC], pc)))
		return false;
	caller.known &= MACHINE_SAVED_MASK | register_bit(UNWIND_SP) | register_bit(UNWIND_PC);
	walk->registers = caller;
	return true;
}

/*
 * To the function whose call made the frame record. Where a record need not be the end of its frame, the caller's
 * stack pointer is no nearer known than that it lies above.
 */
static void step_over_record(struct registers *registers, uint64_t record, uint64_t return_address)
{
	registers_set(registers, UNWIND_SP, record + 2 * MACHINE_ADDRESS_BYTES);
	if (!MACHINE_RECORD_ENDS_FRAME)
		registers_forget(registers, UNWIND_SP);
	machine_return_to(registers, return_address);
}

/* A function that has pushed its caller's frame pointer (and return address) and nothing else. */
static bool step_after_push(struct walk *walk, enum evidence wanted)
{
	struct registers *registers = &walk->registers;
	uint64_t sp = registers->value[UNWIND_SP], saved_fp, return_address;
	if (!registers_know(registers, UNWIND_FP) ||
	    memory_read_address(&walk->memory, sp, &saved_fp) ||
	    saved_fp != registers->value[UNWIND_FP] ||
	    memory_read_address(&walk->memory, sp + MACHINE_ADDRESS_BYTES, &return_address))
		return false;
	return_address = machine_code_address(return_address);
	if (walk_return_address_evidence(walk, return_address) < wanted ||
	    !walk_call_may_lead_to(walk, return_address, registers->value[UNWIND_PC]))
		return false;
	registers->known &= MACHINE_SAVED_MASK;
	step_over_record(registers, sp, return_address);
	return true;
}

/*
 * A new thread between its system call, which gave it 0, and the code that is its outermost by CFI: in between
 * glibc's clone3 has none.
 */
static bool is_new_thread(struct walk *walk)
{
	enum { RESULT = 0, AHEAD_BYTES = 16 }; /* rax, x0 */
	const struct registers *registers = &walk->registers;
	if (!registers_know(registers, RESULT) || registers->value[RESULT] != 0)
		return false;
	for (unsigned ahead = 1; ahead <= AHEAD_BYTES; ahead++) {
		struct code code;
		if (walk_find(walk, registers->value[UNWIND_PC] + ahead, &code) != UNWIND_FOUND)
			return false;
		if (code.rule.kind == RULE_ROOT)
			return true;
	}
	return false;
}

static enum stack_reason read_frame_record(const struct walk *walk, uint64_t fp, uint64_t *saved_fp,
					   uint64_t *return_address)
{
	/* On the stack alone: a module's zeros are no end of it. */
	struct memory stack = walk->memory;
	stack.object = NULL;
	enum stack_reason reason =
		memory_read_address(&stack, fp + MACHINE_ADDRESS_BYTES, return_address);
	if (!reason)
		reason = memory_read_address(&stack, fp, saved_fp);
	if (!reason)
		*return_address = machine_code_address(*return_address);
	return reason;
}

bool walk_over_own_record(struct walk *walk)
{
	struct registers *registers = &walk->registers;
	uint64_t fp = registers->value[UNWIND_FP], saved_fp, return_address;
	if (!registers_know(registers, UNWIND_FP) || fp < registers->value[UNWIND_SP] ||
	    fp % MACHINE_ADDRESS_BYTES != 0 ||
	    read_frame_record(walk, fp, &saved_fp, &return_address) ||
	    !walk_called_from(walk, return_address))
		return false;
	registers->known = 0;
	registers_set(registers, UNWIND_FP, saved_fp);
	step_over_record(registers, fp, return_address);
	return true;
}

/*
 * HotSpot's interpreter keeps its caller's stack pointer below the record, since it puts its locals between the two
 * (frame_x86.hpp: interpreter_frame_sender_sp_offset). Which of the two it is the caller's own code will tell.
 */
static uint64_t find_other_sp(const struct walk *walk, uint64_t record)
{
	uint64_t sp;
	if (memory_read_address(&walk->memory, record - MACHINE_ADDRESS_BYTES, &sp) ||
	    sp % MACHINE_ADDRESS_BYTES || sp <= record + 2 * MACHINE_ADDRESS_BYTES ||
	    sp >= walk->memory.end)
		return 0;
	return sp;
}

/* The frame record that the frame pointer points to: the caller's frame pointer, then the return address. */
static struct step_result step_by_frame_pointer(struct walk *walk, enum stack_reason reason,
						bool is_live)
{
	struct step_result failed = {.reason = reason};
	struct registers *registers = &walk->registers;
	uint64_t fp = registers->value[UNWIND_FP], sp = registers->value[UNWIND_SP];
	uint64_t saved_fp, return_address;
	if (!registers_know(registers, UNWIND_FP) || fp < sp || fp % MACHINE_ADDRESS_BYTES != 0)
		return failed;
	if (read_frame_record(walk, fp, &saved_fp, &return_address)) {
		if (fp - sp < walk->memory.end - sp + STACK_BEYOND_DUMP_BYTES)
			failed.reason = STACK_REASON_DUMP_END;
		return failed;
	}
	if (return_address == 0)
		return (struct step_result){.method = FRAME_FP, .bottom = true};
	/* Interpreters put where they go on below what they jump to. */
	if (!walk_is_return_address(walk, return_address) &&
	    !walk_is_live_code(walk, return_address - 1))
		return failed;
	if (is_live)
		walk->other_sp = find_other_sp(walk, fp);
	registers->known = 0;
	registers_set(registers, UNWIND_FP, saved_fp);
	step_over_record(registers, fp, return_address);
	return (struct step_result){.method = FRAME_FP};
}

/* By what generated code has called it is known. */
static bool step_over_trampoline(struct walk *walk)
{
	struct registers caller = walk->registers;
	if (!machine_return_of_trampoline(&walk->memory, &caller) ||
	    walk_return_address_evidence(walk, caller.value[UNWIND_PC]) < PROVEN)
		return false;
	walk->registers = caller;
	return true;
}

struct step_result walk_without_rule(struct walk *walk, const struct code *code,
				     enum stack_reason reason)
{
	const struct step_result by_return = {.method = FRAME_RETURN};
	bool leaf = walk->exact && !walk->frame_pointers_only;
	/* Code that was made at run time has frame pointers; what lies on top of its stack may be anything. */
	const struct object *object = code->place ? code->place->mapping.object : NULL;
	bool generated = code->place && (!object || object_is_generated(object));
	bool has_code = code->place && !generated;
	if (generated && walk->called_evaluator && !walk->frame_pointers_only &&
	    step_over_trampoline(walk))
		return by_return;
	if (leaf && has_code && step_from_plt(walk, code))
		return (struct step_result){.method = FRAME_PLT};
	struct step_result by_code = {.reason = reason};
	if (code->place && !walk->frame_pointers_only && reason == STACK_REASON_NO_RULE)
		by_code = walk_by_code(walk, code, reason);
	if (by_code.method != FRAME_LEAF)
		return by_code;
	if (has_code && !walk->frame_pointers_only && step_by_code(walk, code))
		return by_return;
	if (has_code && !walk->exact) {
		enum machine_ending ending =
			ending_at(&code->place->mapping, walk->registers.value[UNWIND_PC]);
		if (ending == MACHINE_ENDS_TASK)
			return (struct step_result){.bottom = true};
		if (ending == MACHINE_PASSES_ON && step_to_outermost(walk))
			return by_return;
	}
	bool trusts_leaf = !generated && !link_may_be_old(walk) && !link_is_saved(walk);
	if (leaf && trusts_leaf && step_from_leaf(walk, PROVEN))
		return by_return;
	if (leaf && step_after_push(walk, generated ? POSSIBLE : PROVEN))
		return by_return;
	if (leaf && has_code && is_new_thread(walk))
		return (struct step_result){.bottom = true};
	/* By its code the frame goes on above the dump. */
	struct step_result result = step_by_frame_pointer(walk, by_code.reason,
							  code->place && code->place->mapping.live);
	if (!result.reason || walk->pending)
		return result;
	if (leaf && step_from_leaf(walk, generated ? POSSIBLE : PROVEN))
		return by_return;
	return result;
}
