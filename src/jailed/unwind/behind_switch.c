/* SPDX-License-Identifier: MIT */
/*
 * Where a goroutine has left its stack for a thread's (systemstack, asmcgocall, a clock), its own is not in the copy. The kernel
 * has read on there, by frame pointers, at the moment of the sample. Its chain is what the target made it, and has return
 * addresses alone. So it is believed only where
 *
 * - the frame records that the copy has are the ones that it followed, up to the one which the switch's frame pointer is;
 * - each return address is of the program's own code, behind a call: a direct one leads to the function before it;
 * - behind a function that has no frame record, as systemstack, whose caller is left out, a direct call leads to one that calls it;
 * - the last one is a goroutine's root.
 *
 * While a goroutine waits on the system stack for the collector of garbage, or works for it, its own stack may be moved. Its frame
 * pointer is then the old one, until the function that called systemstack returns; what lies there belongs to somebody else some time later.
 */
#include "walk.h"

#include <string.h>

struct behind {
	struct walk *walk;
	struct unwind_mapping mapping; /* the switch's: Go's code is in one */
	struct unwind_frame *frames;   /* of the whole stack */
	size_t nr;
	bool is_full;
	enum frame_method method; /* of what comes next */
};

/* Functions of Go whose callees on the system stack may have their goroutine's stack moved. */
static bool may_be_moved(const struct go_function *function)
{
	static const char *const names[] = {"runtime.gcAssistAlloc", "runtime.gcMarkDone",
					    "runtime.gcMarkTermination", "runtime.stopTheWorld"};
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		if (strcmp(function->name, names[i]) == 0)
			return true;
	return false;
}

static bool read_record(const struct walk *walk, uint64_t fp, uint64_t record[2])
{
	struct memory stack = walk->memory;
	stack.object = NULL;
	return fp % MACHINE_ADDRESS_BYTES == 0 && !memory_read_address(&stack, fp, &record[0]) &&
	       !memory_read_address(&stack, fp + MACHINE_ADDRESS_BYTES, &record[1]);
}

/*
 * Follows the frame records as the kernel did. True where they leave the copy with the frame pointer that the switch was called
 * with: it was saved right below the switch's stack pointer, or is known otherwise. *next: of the chain.
 */
static bool follow_records(const struct walk *walk, size_t *next)
{
	const struct registers *registers = &walk->registers;
	const uint64_t sp = registers->value[UNWIND_SP];
	uint64_t fp = walk->chain_fp, record[2];
	bool is_saved = false;
	for (*next = 1; *next < walk->nr_chain && read_record(walk, fp, record); (*next)++) {
		if (record[1] != walk->chain[*next])
			return false;
		is_saved = fp + sizeof(record) == sp;
		fp = record[0];
	}
	return *next < walk->nr_chain && (is_saved || (registers_know(registers, UNWIND_FP) &&
						       registers->value[UNWIND_FP] == fp));
}

/* The function of Go's that an address is in. Its own addresses are of the process, too. */
static bool function_at(const struct behind *behind, uint64_t address, struct go_function *function)
{
	const struct unwind_mapping *mapping = &behind->mapping;
	if (address < mapping->start || address >= mapping->end || !mapping->cfi ||
	    !cfi_go_function(mapping->cfi, address - mapping->bias, function))
		return false;
	function->start += mapping->bias;
	function->end += mapping->bias;
	return true;
}

/* The same of a return address, with the rule there. */
static bool caller_at(const struct behind *behind, uint64_t return_address,
		      struct go_function *function, struct rule *rule)
{
	struct code code;
	if (!function_at(behind, return_address - 1, function) ||
	    walk_find(behind->walk, return_address - 1, &code) != UNWIND_FOUND)
		return false;
	*rule = code.rule;
	return true;
}

/* Go's compiler and assembler save the frame pointer in every frame that is not empty. */
static bool has_frame(const struct rule *rule)
{
	return rule->kind == RULE_OFFSET && rule->cfa_register == UNWIND_SP &&
	       rule->offset > MACHINE_ADDRESS_BYTES;
}

/* A direct call. */
static bool calls(const struct behind *behind, const struct go_function *caller, uint64_t function)
{
	enum { SEARCHED_BYTES_MAX = 1 << 14, READ_BYTES = 4096 };
	uint8_t code[READ_BYTES];
	if (caller->end - caller->start > SEARCHED_BYTES_MAX)
		return false;
	for (uint64_t at = caller->start; at + MACHINE_CALL_MAX_BYTES <= caller->end;
	     at += READ_BYTES - (MACHINE_CALL_MAX_BYTES - 1)) {
		const uint64_t left = caller->end - at;
		const size_t size = left < READ_BYTES ? (size_t)left : READ_BYTES;
		if (!mapping_read(&behind->mapping, at, code, size))
			return false;
		for (size_t i = MACHINE_CALL_MAX_BYTES; i <= size; i++) {
			int64_t distance;
			if (machine_call_distance(code + i - MACHINE_CALL_MAX_BYTES,
						  MACHINE_CALL_MAX_BYTES, &distance) &&
			    at + i + (uint64_t)distance == function)
				return true;
		}
	}
	return false;
}

/* What calls the function is the chain's next return address, or was called from there and is left out, as what has no frame record. */
static bool is_called(struct behind *behind, uint64_t return_address, uint64_t function,
		      bool leaves_out)
{
	struct go_function caller;
	uint64_t target;
	if (!leaves_out)
		return walk_calls_function(behind->walk, return_address, function, true);
	if (!walk_call_target(behind->walk, return_address, &target) ||
	    !function_at(behind, target, &caller) || caller.start != target ||
	    !calls(behind, &caller, function))
		return false;
	/* Just now, that is: hardly any of them is, and of those few are somebody else's by now. */
	if (may_be_moved(&caller))
		behind->method = FRAME_LIKELY;
	return true;
}

static void add(struct behind *behind, struct unwind_frame frame)
{
	if (behind->nr < UNWIND_MAX_FRAMES)
		behind->frames[behind->nr++] = frame;
	else
		behind->is_full = true;
}

/* Adds the frames from the switch to a root. leaves_out: the first one's caller is not in the chain. */
static bool follow_chain(struct behind *behind, const uint64_t *chain, size_t nr, bool leaves_out)
{
	struct go_function function, callee;
	struct rule rule;
	if (!function_at(behind, behind->walk->registers.value[UNWIND_PC] - 1, &callee))
		return false;
	for (size_t i = 0; i < nr && !behind->is_full; i++) {
		/* It may have been moved by an earlier callee, and nothing would tell. */
		if (!caller_at(behind, chain[i], &function, &rule) || may_be_moved(&function))
			return false;
		/* Nobody calls what a goroutine begins with. */
		const bool is_root = rule.flags & RULE_IN_ROOT_FUNCTION;
		if (!is_root && (!(rule.flags & RULE_AFTER_CALL) ||
				 !is_called(behind, chain[i], callee.start, leaves_out)))
			return false;
		if (leaves_out)
			add(behind, (struct unwind_frame){.method = FRAME_SWITCHED});
		add(behind, (struct unwind_frame){
				    .process_address = chain[i] - 1,
				    .bias = behind->mapping.bias,
				    .module = behind->mapping.module,
				    .method = behind->method,
			    });
		if (is_root)
			return i + 1 == nr && !behind->is_full;
		leaves_out = !has_frame(&rule);
		callee = function;
	}
	return false;
}

bool walk_behind_switch(struct walk *walk, const struct code *code, bool leaves_out,
			struct unwind_frame *frames, size_t *nr)
{
	struct behind behind = {
		.walk = walk,
		.mapping = code->place->mapping,
		.frames = frames,
		.nr = *nr,
		.method = FRAME_FP,
	};
	size_t next;
	if (!follow_records(walk, &next) ||
	    !follow_chain(&behind, walk->chain + next, walk->nr_chain - next, leaves_out))
		return false;
	*nr = behind.nr;
	return true;
}
