/* SPDX-License-Identifier: MIT */
#ifndef CTOP_MACHINE_INSTRUCTION_H
#define CTOP_MACHINE_INSTRUCTION_H

/*
 * One machine instruction, as far as unwinding needs it: how long it is, where it leads, and what it does to the
 * stack and to registers. Numbers of registers are DWARF's. A decoder for each machine: machine_*_instruction.c.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum instruction_kind {
	INSTRUCTION_OTHER,	/* writes registers at most */
	INSTRUCTION_PUSH,	/* reg */
	INSTRUCTION_PUSH_VALUE, /* anything else of 8 bytes */
	INSTRUCTION_POP,	/* reg */
	INSTRUCTION_POP_VALUE,	/* to anywhere else */
	INSTRUCTION_LEAVE,	/* sp = fp, pop fp */
	INSTRUCTION_RETURN,
	INSTRUCTION_CALL, /* to its end + value */
	INSTRUCTION_CALL_INDIRECT,
	INSTRUCTION_JUMP,	   /* to its end + value */
	INSTRUCTION_BRANCH,	   /* the same, or it goes on */
	INSTRUCTION_JUMP_REGISTER, /* to what reg holds */
	INSTRUCTION_JUMP_TABLE, /* to what an entry of 8 bytes of the table at address value holds */
	INSTRUCTION_JUMP_INDEXED, /* to what an entry of 8 bytes of the table at base + value holds; no base: of some table */
	INSTRUCTION_JUMP_MEMORY,  /* to what some other memory holds */
	INSTRUCTION_STOP,	  /* nothing comes behind it */
	INSTRUCTION_ADD,	  /* reg += value */
	INSTRUCTION_ADD_REGISTER, /* reg += base; with a value below 0, -= */
	INSTRUCTION_ALIGN,	  /* reg is rounded down */
	INSTRUCTION_COPY,	  /* reg = base */
	INSTRUCTION_SUM,	  /* reg = base + value */
	INSTRUCTION_ADDRESS,	  /* reg = its end + value */
	INSTRUCTION_CONSTANT,	  /* reg = value */
	INSTRUCTION_LOAD, /* reg = 8 bytes at base + value, second = the next 8; then base += writeback */
	INSTRUCTION_LOAD_ENTRY, /* reg = 4 bytes, signed, of the table at base + value */
	INSTRUCTION_LOAD_POINTER, /* reg = 8 bytes of the table at base + value; no base: at address value */
	INSTRUCTION_STORE, /* 8 bytes at base + value = reg, the next 8 = second; then base += writeback */
	INSTRUCTION_COMPARE,	   /* reg with base */
	INSTRUCTION_COMPARE_VALUE, /* anything with value */
	INSTRUCTION_NOP		   /* what compilers fill gaps with */
};

struct instruction {
	int64_t value;
	uint32_t writes; /* registers, by bit, that it writes in other ways than its kind says */
	uint8_t kind;
	uint8_t length;
	uint8_t reg, base;
	uint8_t second; /* of loads and stores; no register: there is none */
	int16_t writeback;
};

/* No instruction is longer. */
enum { INSTRUCTION_MAX_BYTES = 15 };

/* The instruction at code. False when there is none, or it does not end within size bytes. */
bool instruction_read(const uint8_t *code, size_t size, struct instruction *instruction);

#endif
