/* SPDX-License-Identifier: MIT */
/*
 * arm64's instructions (Arm Architecture Reference Manual, C4.1), as far as unwinding needs them. All are words. What an
 * instruction writes is said by its class; vector registers do not matter.
 */
#include <ctop/machine/instruction.h>

#include <string.h>

#include <ctop/machine/machine.h>

enum { BYTES = 4, ZERO = 31, NONE = 0xff };

static unsigned field(uint32_t word, unsigned lowest, unsigned bits)
{
	return word >> lowest & ((1U << bits) - 1);
}

static int64_t signed_field(uint32_t word, unsigned lowest, unsigned bits)
{
	const uint32_t top = word << (32 - lowest - bits);
	return (int32_t)top >> (32 - bits);
}

static uint32_t bit(unsigned number)
{
	return number < UNWIND_PC ? UINT32_C(1) << number : 0;
}

/* Number 31 is the stack pointer in some places, in most it is none. */
static uint32_t general(unsigned number)
{
	return number == ZERO ? 0 : bit(number);
}

static void set(struct instruction *instruction, enum instruction_kind kind, unsigned reg,
		unsigned base, int64_t value)
{
	instruction->kind = (uint8_t)kind;
	instruction->reg = (uint8_t)reg;
	instruction->base = (uint8_t)base;
	instruction->value = value;
}

/* ---- calculations with constants ---- */

static void take_immediate(uint32_t word, struct instruction *instruction)
{
	const unsigned to = field(word, 0, 5), from = field(word, 5, 5);
	const bool wide = field(word, 31, 1);
	const unsigned class = field(word, 23, 3);
	if (class <= 1) { /* adr, adrp */
		const int64_t distance = signed_field(word, 5, 19) * 4 + field(word, 29, 2);
		if (wide)
			instruction->writes = general(to);
		else
			set(instruction, INSTRUCTION_ADDRESS, to, NONE, distance - BYTES);
	} else if (class == 2) { /* add, sub; with flags and to nowhere it is cmp */
		const int64_t by = (int64_t)field(word, 10, 12) << (field(word, 22, 1) ? 12 : 0);
		const int64_t value = field(word, 30, 1) ? -by : by;
		if (field(word, 29, 1) && to == ZERO)
			set(instruction, INSTRUCTION_COMPARE_VALUE, NONE, NONE, by);
		else if (!wide || field(word, 29, 1))
			instruction->writes = general(to);
		else if (to == from)
			set(instruction, INSTRUCTION_ADD, to, NONE, value);
		else
			set(instruction, INSTRUCTION_SUM, to, from, value);
	} else if (class ==
		   4) { /* and, orr, eor, which may go to the stack pointer; ands, which does not */
		const bool flags = field(word, 29, 2) == 3;
		if (field(word, 29, 2) == 0 && wide && to == UNWIND_SP && from == UNWIND_SP)
			set(instruction, INSTRUCTION_ALIGN, to, NONE, 0);
		else
			instruction->writes = flags ? general(to) : bit(to);
	} else if (class == 5 && field(word, 29, 2) == 2 && wide && to != ZERO) { /* movz */
		set(instruction, INSTRUCTION_CONSTANT, to, NONE,
		    (int64_t)((uint64_t)field(word, 5, 16) << 16 * field(word, 21, 2)));
	} else {
		instruction->writes = general(to);
	}
}

/* ---- branches ---- */

/* Hints that sign, authenticate or mark: nobody fills gaps with them. */
static bool is_nop(uint32_t word)
{
	return word == 0xd503201f;
}

static void take_branch_register(uint32_t word, struct instruction *instruction)
{
	const unsigned operation = field(word, 21, 4) & 7, to = field(word, 5, 5);
	if (operation == 1) {
		set(instruction, INSTRUCTION_CALL_INDIRECT, NONE, NONE, 0);
	} else if (operation == 2) {
		if (to == UNWIND_LR || field(word, 10, 2) == 2) /* retaa, retab have no operand */
			set(instruction, INSTRUCTION_RETURN, NONE, NONE, 0);
		else
			set(instruction, INSTRUCTION_JUMP_REGISTER, to, NONE, 0);
	} else if (operation == 0) {
		/* Stubs jump by x16 and x17, as do last calls where landing pads are asked for. */
		set(instruction,
		    to == 16 || to == 17 ? INSTRUCTION_JUMP_MEMORY : INSTRUCTION_JUMP_REGISTER, to,
		    NONE, 0);
	} else {
		set(instruction, INSTRUCTION_STOP, NONE, NONE, 0); /* eret, drps */
	}
}

static void take_branch(uint32_t word, struct instruction *instruction)
{
	if ((word & 0x7c000000) == 0x14000000)
		set(instruction, word >> 31 ? INSTRUCTION_CALL : INSTRUCTION_JUMP, NONE, NONE,
		    signed_field(word, 0, 26) * BYTES - BYTES);
	else if ((word & 0xff000000) == 0x54000000 || (word & 0x7e000000) == 0x34000000)
		set(instruction, INSTRUCTION_BRANCH, NONE, NONE,
		    signed_field(word, 5, 19) * BYTES - BYTES);
	else if ((word & 0x7e000000) == 0x36000000)
		set(instruction, INSTRUCTION_BRANCH, NONE, NONE,
		    signed_field(word, 5, 14) * BYTES - BYTES);
	else if ((word & 0xfe000000) == 0xd6000000)
		take_branch_register(word, instruction);
	else if ((word & 0xffe0001f) == 0xd4000001) /* svc */
		instruction->writes = bit(0);
	else if ((word & 0xff000000) == 0xd4000000) /* brk, hlt */
		set(instruction, INSTRUCTION_STOP, NONE, NONE, 0);
	else if (is_nop(word))
		set(instruction, INSTRUCTION_NOP, NONE, NONE, 0);
	else if ((word & 0xfff00000) == 0xd5300000 || (word & 0xfff80000) == 0xd5280000)
		instruction->writes = general(field(word, 0, 5)); /* mrs, sysl */
}

/* ---- loads and stores ---- */

/* What else moves the base: other registers than ours, or fewer bytes. */
static void set_other_access(struct instruction *instruction, uint32_t writes, unsigned base,
			     int64_t writeback)
{
	if (writeback)
		set(instruction, INSTRUCTION_ADD, base, NONE, writeback);
	instruction->writes = writes;
}

static void set_access(struct instruction *instruction, bool loads, unsigned reg, unsigned second,
		       unsigned base, int64_t offset, int64_t writeback)
{
	set(instruction, loads ? INSTRUCTION_LOAD : INSTRUCTION_STORE, reg == ZERO ? NONE : reg,
	    base, offset);
	instruction->second = (uint8_t)(second == ZERO ? NONE : second);
	instruction->writeback = (int16_t)writeback;
}

/* ldp, stp: at the base, then base + writeback; at base + offset; at base + writeback, which the base then is. */
static void take_pair(uint32_t word, struct instruction *instruction)
{
	enum { POST = 1, PRE = 3 };
	const unsigned first = field(word, 0, 5), base = field(word, 5, 5),
		       second = field(word, 10, 5), mode = field(word, 23, 2),
		       size = field(word, 30, 2);
	const bool vector = field(word, 26, 1), loads = field(word, 22, 1);
	const int64_t by = signed_field(word, 15, 7) * (vector ? 4 << size : size == 2 ? 8 : 4);
	const int64_t offset = mode == POST ? 0 : by,
		      writeback = mode == POST || mode == PRE ? by : 0;
	if (vector || size != 2)
		set_other_access(instruction,
				 loads && !vector ? general(first) | general(second) : 0, base,
				 writeback);
	else
		set_access(instruction, loads, first, second, base, offset, writeback);
}

static void take_single(uint32_t word, struct instruction *instruction)
{
	enum { POST = 1, PRE = 3 };
	const unsigned reg = field(word, 0, 5), base = field(word, 5, 5), size = field(word, 30, 2),
		       operation = field(word, 22, 2);
	const bool vector = field(word, 26, 1), scaled = field(word, 24, 1);
	const bool plain = !vector && size == 3 && operation <= 1;
	const unsigned mode = field(word, 10, 2);
	const bool loads = operation != 0 && !(size == 3 && operation == 2); /* not prfm */
	const uint32_t writes = loads && !vector ? general(reg) : 0;
	if (scaled) {
		if (plain)
			set_access(instruction, operation, reg, NONE, base,
				   (int64_t)field(word, 10, 12) * 8, 0);
		else
			instruction->writes = writes;
	} else if (field(word, 21, 1)) { /* register offset, atomics, ldraa */
		const bool authenticated = size == 3 && field(word, 10, 1);
		instruction->writes = vector ? 0 : mode == 2 && !loads ? 0 : general(reg);
		if (authenticated && field(word, 11, 1))
			instruction->writes |= bit(base);
	} else {
		const int64_t by = signed_field(word, 12, 9);
		const int64_t writeback = mode == POST || mode == PRE ? by : 0;
		if (plain && mode != 2)
			set_access(instruction, operation, reg, NONE, base, mode == POST ? 0 : by,
				   writeback);
		else
			set_other_access(instruction, writes, base, writeback);
	}
}

static void take_access(uint32_t word, struct instruction *instruction)
{
	const unsigned reg = field(word, 0, 5);
	switch (field(word, 27, 3)) {
	case 5:
		take_pair(word, instruction);
		break;
	case 7:
		take_single(word, instruction);
		break;
	case 3: /* ldr of a constant beside the code; ldapur */
		if (field(word, 24, 1))
			instruction->writes = field(word, 22, 2) ? general(reg) : 0;
		else if (!field(word, 26, 1) && field(word, 30, 2) != 3)
			instruction->writes = general(reg);
		break;
	default: /* exclusive ones have a result, too; vectors of several registers move their base */
		if (field(word, 26, 1))
			instruction->writes = field(word, 23, 1) ? bit(field(word, 5, 5)) : 0;
		else
			instruction->writes =
				(field(word, 22, 1) ? general(reg) | general(field(word, 10, 5))
						    : 0) |
				general(field(word, 16, 5));
		break;
	}
}

/* ---- calculations with registers ---- */

static void take_registers(uint32_t word, struct instruction *instruction)
{
	const unsigned to = field(word, 0, 5), from = field(word, 5, 5), by = field(word, 16, 5);
	const bool wide = field(word, 31, 1), subtracts = field(word, 30, 1),
		   flags = field(word, 29, 1);
	instruction->writes = general(to);
	if ((word & 0xffe0ffe0) == 0xaa0003e0) { /* mov */
		instruction->writes = 0;
		if (to != ZERO && by != ZERO)
			set(instruction, INSTRUCTION_COPY, to, by, 0);
		else
			instruction->writes = general(to);
	} else if ((word & 0x1f200000) == 0x0b200000) { /* add, sub of the stack pointer */
		instruction->writes = flags ? general(to) : bit(to);
		if (wide && flags && to == ZERO && from == UNWIND_SP)
			set(instruction, INSTRUCTION_COMPARE, from, by, 0);
		else if (wide && !flags && to == from && field(word, 10, 3) == 0) {
			instruction->writes = 0;
			set(instruction, INSTRUCTION_ADD_REGISTER, to, by, subtracts ? -1 : 1);
		}
	} else if ((word & 0x1fe00000) == 0x1a400000 || (word & 0x1fe00000) == 0x1a000000) {
		/* ccmp and rmif write flags, adc writes a register. */
		instruction->writes = field(word, 22, 1) || field(word, 10, 6) ? 0 : general(to);
	}
}

/* What comes from vectors into our registers; addvl and addpl may go to the stack pointer. */
static void take_vector(uint32_t word, struct instruction *instruction)
{
	const unsigned to = field(word, 0, 5), operation = field(word, 16, 3);
	if ((word & 0x5f20fc00) == 0x1e200000)
		instruction->writes =
			operation == 2 || operation == 3 || operation == 7 ? 0 : general(to);
	else if ((word & 0x5f200000) == 0x1e000000)
		instruction->writes = operation <= 1 ? general(to) : 0;
	else if ((word & 0xbfe0fc00) == 0x0e003c00 || (word & 0xbfe0fc00) == 0x0e002c00)
		instruction->writes = general(to);
	else if ((word & 0xffa0f800) == 0x04205000)
		instruction->writes = bit(to);
	else if ((word & 0xff000000) == 0x04000000 || (word & 0xff000000) == 0x05000000 ||
		 (word & 0xff000000) == 0x25000000)
		instruction->writes = general(
			to); /* cntd, incd, lastb, whilelt: some do, and most are of vectors */
}

bool instruction_read(const uint8_t *code, size_t size, struct instruction *instruction)
{
	uint32_t word;
	if (size < BYTES)
		return false;
	memcpy(&word, code, sizeof(word));
	*instruction = (struct instruction){.kind = INSTRUCTION_OTHER,
					    .length = BYTES,
					    .reg = NONE,
					    .base = NONE,
					    .second = NONE};
	switch (field(word, 25, 4)) {
	case 0: /* udf */
	case 1:
	case 3:
		set(instruction, INSTRUCTION_STOP, NONE, NONE, 0);
		break;
	case 8:
	case 9:
		take_immediate(word, instruction);
		break;
	case 10:
	case 11:
		take_branch(word, instruction);
		break;
	case 4:
	case 6:
	case 12:
	case 14:
		take_access(word, instruction);
		break;
	case 5:
	case 13:
		take_registers(word, instruction);
		break;
	default:
		take_vector(word, instruction);
		break;
	}
	return true;
}
