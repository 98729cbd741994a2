/* SPDX-License-Identifier: MIT */
#ifndef CTOP_UNWIND_UNWIND_H
#define CTOP_UNWIND_UNWIND_H

/*
 * The unwinder: registers and stack bytes of one sample in, look-up addresses
 * out. No I/O: which module lies at an address is asked through unwind_space.
 * Collector only; everything it is given is input.
 * Registers are numbered as in machine/registers.h.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/machine/registers.h>
#include <ctop/stack_end.h>

/* As many as the largest dump can hold, at 16 bytes each: compilers' garbage collectors go nearly as deep. */
enum { UNWIND_MAX_FRAMES = 4096 };

struct object;
struct cfi;
struct live_code;

struct unwind_mapping {
	uint64_t start, end;	/* process addresses */
	uint64_t bias;		/* process address - elf address */
	struct object *object;	/* NULL: code without a file (JIT) */
	struct live_code *live; /* its copies; NULL: there are none: frame pointers only */
	struct cfi *cfi;	/* NULL when object is NULL, or its file is not available */
	uint32_t unreadable; /* why cfi is NULL for a file: STACK_REASON_NO_TABLE or _UNREADABLE */
	void *module;	     /* the caller's: travels into unwind_frame */
};

enum unwind_lookup {
	UNWIND_FOUND,
	UNWIND_NOT_EXECUTABLE, /* no executable mapping there */
	UNWIND_PENDING,	       /* known, but its file is still on its way */
	UNWIND_UNKNOWN	       /* nobody has asked for its file yet: that comes first */
};

/* One address space as of a moment. generation changes whenever any mapping does, and is unique over all spaces. */
struct unwind_space {
	enum unwind_lookup (*find)(void *context, uint64_t process_address,
				   struct unwind_mapping *mapping);
	void *context;
	uint64_t generation;
};

/* What a frame is known by beyond its address: registers at its pc. */
struct unwind_evidence {
	uint64_t sp;
	uint64_t saved[UNWIND_NR_SAVED]; /* rbx rbp r12-r15, or x19-x30; 0 where not known */
	uint32_t known;			 /* bit n: saved[n] is */
};

struct unwind_input {
	uint64_t regs[UNWIND_NR_REGS];
	uint64_t known;	      /* bit n: regs[n] holds a value */
	const uint8_t *stack; /* bytes from process address regs[RSP] on; unaligned is fine */
	size_t stack_bytes;   /* valid ones (dyn_size), never more is read */
	/*
	 * What the kernel found by frame pointers when it took the sample: the pc, then return addresses; or nothing. Used behind
	 * Go's switches of stacks alone, where the copy ends, and as far as code proves each of its calls.
	 */
	const uint64_t *chain;
	size_t nr_chain;
	bool frame_pointers_only; /* no module's file is read */
	/*
	 * Whose stack it is, as any number: what the thread's last stack is proved to share with this one is not unwound again (the
	 * result is the same). 0: all is unwound, and nothing kept for the next one.
	 */
	uint64_t thread;
	struct unwind_evidence
		*evidence; /* filled in, one per frame (room for UNWIND_MAX_FRAMES); or NULL */
};

struct unwind_frame {
	uint64_t process_address; /* look-up address */
	uint64_t bias;		  /* of the mapping it lies in */
	void *module;		  /* unwind_mapping's */
	enum frame_method method;
};

struct unwind_result {
	size_t nr_frames; /* leaf first */
	enum stack_end end;
	enum stack_reason reason;
	bool behind_switch; /* the outermost ones are of input.chain, and have no evidence */
};

struct unwind_counters {
	uint64_t frames, cache_hits, cache_misses, rules_evaluated;
	uint64_t frames_taken; /* of all frames those that were taken from a thread's last stack */
};

/* True just behind the system call that runs another program. */
bool unwind_is_in_exec(const struct object *object, uint64_t elf_address);

struct unwinder;
/* Holds the rule cache, which points into cfis: it is freed before them. NULL: out of memory. */
struct unwinder *unwinder_new(void);
void unwinder_free(struct unwinder *unwinder);
const struct unwind_counters *unwinder_counters(const struct unwinder *unwinder);

/*
 * Where no table covers a pc, modules' code is read: so many instructions until the next call. A stack for which that
 * is not enough has no rule there, or, if it may wait, stops as at a module that is UNWIND_PENDING; each goes on reading where the
 * last one stopped. At first there is no limit.
 */
void unwinder_allow_code(struct unwinder *unwinder, uint64_t instructions, bool may_wait);
uint64_t unwinder_code_left(const struct unwinder *unwinder);  /* how many of them are left */
bool unwinder_waits_for_code(const struct unwinder *unwinder); /* why the last stack stopped */

/*
 * Unwinds one stack into frames (room for UNWIND_MAX_FRAMES). Stops with -EAGAIN at a module that is UNWIND_UNKNOWN and,
 * when pending_address is not NULL, at one that is UNWIND_PENDING and at code that may have to be read first; *pending_address
 * is where. With NULL a pending module counts as having no table. 0 otherwise: a stack that could not be followed is a result (end, reason), not an error.
 *
 * STACK_COMPLETE is given only by proof: the return address is undefined in CFI; or a return address
 * of 0 was read inside the dump; or the outermost frame is in a function that object_is_root(), or that has switched stacks and
 * is never returned to (FUNCTION_SWITCH_FOR_GOOD).
 */
int unwind_stack(struct unwinder *unwinder, const struct unwind_space *space,
		 const struct unwind_input *input, struct unwind_frame *frames,
		 struct unwind_result *result, uint64_t *pending_address);

#endif
