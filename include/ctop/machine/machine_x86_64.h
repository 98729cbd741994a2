/* SPDX-License-Identifier: MIT */
#ifndef CTOP_MACHINE_MACHINE_X86_64_H
#define CTOP_MACHINE_MACHINE_X86_64_H

/* x86-64 in numbers: included by machine.h, whose file for code is machine_x86_64.c. */

#include <elf.h>
#include <string.h>

enum {
	MACHINE_ELF = EM_X86_64,
	MACHINE_RELATIVE = R_X86_64_RELATIVE, /* the relocation of a pointer into the file itself */
	MACHINE_READS_LIVE_CODE = 1,  /* rules are read from code that processes make, too */
	MACHINE_CALL_BYTES = 8,	      /* a call pushes as many */
	MACHINE_LINK_INDEX = 0,	      /* none: see MACHINE_HAS_LINK */
	MACHINE_RED_ZONE_BYTES = 128, /* below the stack pointer, a function's own */
	MACHINE_NR_SAVED = UNWIND_NR_SAVED,
	MACHINE_FP_INDEX = 1, /* in machine_saved[] */
	MACHINE_CALL_MIN_BYTES = 2,
	MACHINE_CALL_MAX_BYTES = 7,
	MACHINE_RESTORER_BYTES = 9,
	MACHINE_EXEC_BYTES = 7,
	MACHINE_START_BYTES = 8,
	MACHINE_WAY_MAX_BYTES = 64,
	/* Of the restorer's two instructions; a sample inside the kernel shows the address after the second. */
	MACHINE_RESTORER_SYSCALL = 7,
	/* No signal frame is larger: the widest register state (AMX) takes 11 KiB. */
	MACHINE_SIGNAL_FRAME_MAX_BYTES = 64 << 10,
	MACHINE_HAS_LINK = 0,		   /* a call pushes the return address */
	MACHINE_RETURN_COLUMN = UNWIND_PC, /* where CFI has the return address */
	MACHINE_RECORD_ENDS_FRAME = 1,	   /* the caller's stack starts behind the frame record */
	MACHINE_RESTORER_CFI_LIES = 0,
};

enum { MACHINE_RBX = 3 };

/* The registers that a function gives back as it got them (rbx, rbp, r12-r15), the stack pointer aside. */
static const uint8_t machine_saved[MACHINE_NR_SAVED] = {MACHINE_RBX, UNWIND_FP, 12, 13, 14, 15};
#define MACHINE_START_MASK                                                                         \
	MACHINE_SAVED_MASK /* and those of the caller's that a function finds at its first instruction */
#define MACHINE_SAVED_MASK                                                                         \
	((UINT64_C(1) << MACHINE_RBX) | (UINT64_C(1) << UNWIND_FP) | (UINT64_C(0xf) << 12))

/* The code address in what a call has left: here they are the same. */
static inline uint64_t machine_code_address(uint64_t return_address)
{
	return return_address;
}

/* The return address in the register where a call leaves it; false when it is not, or not there. */
static inline bool machine_link(const struct registers *registers, uint64_t *return_address)
{
	(void)registers, (void)return_address;
	return false;
}

/* Where a rule with these saved[] has the return address: k at CFA - 8k; 0: where machine_link() has it. */
static inline unsigned machine_return_slot(const uint8_t *saved)
{
	(void)saved;
	return 1;
}

/* The same, set; false when it cannot be said. */
static inline bool machine_set_return_slot(uint8_t *saved, uint8_t slot)
{
	(void)saved;
	return slot == 1;
}

/* The return address of a frame that ends at top, of which all saved registers have been loaded. */
static inline uint64_t machine_loaded_return(const struct registers *registers, const uint8_t *top)
{
	uint64_t value;
	(void)registers;
	memcpy(&value, top - sizeof(value), sizeof(value));
	return value;
}

/* Goes to the caller's code; what only the callee had is forgotten. */
static inline void machine_return_to(struct registers *registers, uint64_t return_address)
{
	registers_set(registers, UNWIND_PC, return_address);
}

#endif
