/* SPDX-License-Identifier: MIT */
#ifndef CTOP_MACHINE_MACHINE_AARCH64_H
#define CTOP_MACHINE_MACHINE_AARCH64_H

/* arm64 in numbers: included by machine.h, whose file for code is machine_aarch64.c. */

#include <elf.h>

enum {
	MACHINE_ELF = EM_AARCH64,
	MACHINE_RELATIVE = R_AARCH64_RELATIVE,
	MACHINE_START_BYTES = 8,
	MACHINE_EXEC_BYTES = 8,
	MACHINE_READS_LIVE_CODE = 0, /* no runtime was looked at */
	MACHINE_CALL_BYTES = 0,	     /* a call pushes nothing */
	MACHINE_RED_ZONE_BYTES = 0,  /* nothing below the stack pointer is a function's own */
	MACHINE_NR_SAVED = UNWIND_NR_SAVED,
	MACHINE_FP_INDEX = 10, /* in machine_saved[] */
	MACHINE_LINK_INDEX = 11,
	MACHINE_CALL_MIN_BYTES = 4,
	MACHINE_CALL_MAX_BYTES = 4,
	MACHINE_RESTORER_BYTES = 8,
	MACHINE_WAY_MAX_BYTES = 256,
	/* Of the restorer's two instructions; a sample inside the kernel shows the address after the second. */
	MACHINE_RESTORER_SYSCALL = 4,
	/* No signal frame is larger: SVE and SME with the widest vectors take some 80 KiB. */
	MACHINE_SIGNAL_FRAME_MAX_BYTES = 256 << 10,
	MACHINE_HAS_LINK = 1,		   /* a call leaves the return address in x30 */
	MACHINE_RETURN_COLUMN = UNWIND_LR, /* where CFI has the return address */
	/* A frame record lies anywhere in its frame, most often at the lower end. */
	MACHINE_RECORD_ENDS_FRAME = 0,
	/* Kernels before 5.8 wrote CFI for it that leads to the caller of the interrupted code. */
	MACHINE_RESTORER_CFI_LIES = 1,
};

/* The registers that a function gives back as it got them (x19-x29), and the link register. */
static const uint8_t machine_saved[MACHINE_NR_SAVED] = {19, 20, 21, 22, 23,	   24,
							25, 26, 27, 28, UNWIND_FP, UNWIND_LR};
#define MACHINE_SAVED_MASK (UINT64_C(0x7ff) << 19)
/* And those of the caller's that a function finds at its first instruction. */
#define MACHINE_START_MASK (MACHINE_SAVED_MASK | UINT64_C(1) << UNWIND_LR)

/*
 * The code address in what a call has left: functions may sign their return address (PAC), in bits that no
 * user address has. Addresses take 48 bits, but for data that asks for more.
 */
static inline uint64_t machine_code_address(uint64_t return_address)
{
	return return_address & ((UINT64_C(1) << 48) - 1);
}

/* The return address in the register where a call leaves it; false when it is not, or not there. */
static inline bool machine_link(const struct registers *registers, uint64_t *return_address)
{
	*return_address = machine_code_address(registers->value[UNWIND_LR]);
	return registers_know(registers, UNWIND_LR);
}

/* Where a rule with these saved[] has the return address: k at CFA - 8k; 0: where machine_link() has it. */
static inline unsigned machine_return_slot(const uint8_t *saved)
{
	return saved[MACHINE_LINK_INDEX];
}

/* The same, set; false when it cannot be said. */
static inline bool machine_set_return_slot(uint8_t *saved, uint8_t slot)
{
	saved[MACHINE_LINK_INDEX] = slot;
	return true;
}

/* The return address of a frame that ends at top, of which all saved registers have been loaded. */
static inline uint64_t machine_loaded_return(const struct registers *registers, const uint8_t *top)
{
	(void)top;
	return registers->value[UNWIND_LR];
}

/* Goes to the caller's code; what only the callee had is forgotten: its call has overwritten x30. */
static inline void machine_return_to(struct registers *registers, uint64_t return_address)
{
	registers_forget(registers, UNWIND_LR);
	registers_set(registers, UNWIND_PC, machine_code_address(return_address));
}

#endif
