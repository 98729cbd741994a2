/* SPDX-License-Identifier: MIT */
#ifndef CTOP_CFI_FRAME_PROGRAM_H
#define CTOP_CFI_FRAME_PROGRAM_H

/*
 * Runs the program of an FDE (DWARF 5, 6.4.2) up to an address. Bounded: it has no loops, and few may be its steps and
 * the states that it remembers. What compilers do not write is said to be not plain, and is libdw's to judge.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/machine/machine.h>

#include "frame_entry.h"

/* Where a register of the caller is, or the CFA. */
struct frame_column {
	int32_t offset; /* of an expression: its first byte, from the start of the section */
	uint16_t expression_bytes; /* 0: it is none */
	uint8_t kind;		   /* enum recovery_kind */
	uint8_t reg;
};

struct frame_row {
	uint64_t end; /* the elf address of the next row */
	const uint8_t *section;
	struct frame_column cfa; /* RECOVERY_UNDEFINED, _REGISTER or _EXPRESSION */
	/* As the ABI has them where the program says nothing, saved registers aside; columns beyond are no registers of ours. */
	struct frame_column registers[UNWIND_NR_REGS];
	uint8_t return_column;
};

/* The row that holds at an address which the entry covers. False when the program is not plain. */
bool frame_program_run(const struct frame_entry *entry, uint64_t address, struct frame_row *row);

#endif
