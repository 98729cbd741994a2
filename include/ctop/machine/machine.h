/* SPDX-License-Identifier: MIT */
#ifndef CTOP_MACHINE_MACHINE_H
#define CTOP_MACHINE_MACHINE_H

/*
 * What the unwinder must know of a machine beyond CFI: which registers a call preserves, where it leaves the
 * return address, how a call instruction ends, how a signal frame is laid out. Each machine has a header with
 * numbers, included here, and a file with code.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ctop/machine/registers.h>
#include <ctop/stack_end.h>

struct memory;

struct registers {
	uint64_t value[UNWIND_NR_REGS];
	uint64_t known; /* bit n: value[n] holds a value */
};

static inline uint64_t register_bit(unsigned number)
{
	return UINT64_C(1) << number;
}

static inline bool registers_know(const struct registers *registers, unsigned number)
{
	return registers->known >> number & 1;
}

static inline void registers_set(struct registers *registers, unsigned number, uint64_t value)
{
	registers->value[number] = value;
	registers->known |= register_bit(number);
}

static inline void registers_forget(struct registers *registers, unsigned number)
{
	registers->known &= ~register_bit(number);
}

#if defined(__x86_64__)
#include <ctop/machine/machine_x86_64.h>
#elif defined(__aarch64__)
#include <ctop/machine/machine_aarch64.h>
#endif

enum { MACHINE_ADDRESS_BYTES = 8 };

/*
 * The return address of code that has pushed nothing and called nothing yet, and the stack pointer that it
 * returns with. False when neither memory nor registers hold it.
 */
bool machine_return_of_leaf(const struct memory *memory, const struct registers *registers,
			    uint64_t *return_address, uint64_t *sp);

/*
 * The same for the PLT's first entry, which nobody calls and which has no CFI: code ends with the instruction at pc.
 * False for other code, and where linkers write CFI for it (x86-64).
 */
enum { MACHINE_PLT_BYTES = 20 };
bool machine_return_of_plt(const uint8_t *code, const struct memory *memory,
			   const struct registers *registers, uint64_t *return_address,
			   uint64_t *sp);

/*
 * The caller of one of CPython's trampolines, which are generated, and all alike: registers as they are after the
 * trampoline's call. False when it cannot be read. Where they have frame records there is no need of this.
 */
bool machine_return_of_trampoline(const struct memory *memory, struct registers *registers);

/* True when the last of these bytes is the last of a call instruction. */
bool machine_ends_in_call(const uint8_t *bytes, size_t size);

/* Where the call that ends there leads, relative to its end; false when that cannot be told from the code. */
bool machine_call_distance(const uint8_t *bytes, size_t size, int64_t *distance);

/* True when MACHINE_RESTORER_BYTES bytes are the code that a signal handler returns to. */
bool machine_is_restorer(const uint8_t *bytes);

/*
 * Replaces the registers by those the kernel saved below the restorer. STACK_REASON_DUMP_END when
 * they lie beyond the dump, STACK_REASON_BAD_ADDRESS when what is there cannot be a signal frame.
 */
enum stack_reason machine_signal_registers(const struct memory *memory,
					   struct registers *registers);

/* True when MACHINE_EXEC_BYTES bytes call execve or execveat. */
bool machine_is_exec(const uint8_t *bytes);

/* True when the code (MACHINE_RESTORER_BYTES bytes) begins by taking another stack pointer: a stack's outermost code. */
bool machine_starts_stack(const uint8_t *bytes);

/*
 * Offset of the last start of a function of HotSpot's in the code: MACHINE_START_BYTES bytes that touch the stack far below, where it would
 * overflow, and save the frame pointer. size: there is none.
 */
size_t machine_last_start(const uint8_t *code, size_t size);

enum machine_ending {
	MACHINE_GOES_ON,
	MACHINE_PASSES_ON, /* calls a function with what it got, as in exit(main()) */
	MACHINE_ENDS_TASK  /* tells the kernel that it is done: nothing called it */
};
/* What the code does that a call returns to. */
enum machine_ending machine_ending(const uint8_t *code, size_t size);

/*
 * Runs a function from a pc that may stand anywhere near its end up to its return: pops, stack adjustments, moves
 * into registers, comparisons. Without CFI that is what tells where the return address lies. *detours: calls on
 * the way were taken to come back, and branches not to be taken.
 * False, and the registers as they were, when code is something else or the stack cannot be read.
 */
bool machine_run_to_return(const uint8_t *code, size_t size, const struct memory *memory,
			   struct registers *registers, bool *detours);

#endif
