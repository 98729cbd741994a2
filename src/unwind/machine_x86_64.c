/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include <string.h>

#include "memory.h"

enum { DIRECT_CALL_BYTES = 5 };

/* Length of call r/m64 (ff /2) from its ModRM byte and, where it has one, its SIB byte. */
static size_t indirect_call_bytes(uint8_t modrm, uint8_t sib)
{
	unsigned mode = modrm >> 6, operand = modrm & 7;
	if (mode == 3)
		return 2;
	size_t bytes = operand == 4 ? 3 : 2;
	if (mode == 1)
		return bytes + 1;
	if (mode == 2)
		return bytes + 4;
	if (operand == 5 || (operand == 4 && (sib & 7) == 5))
		return bytes + 4; /* rip-relative, or no base: a displacement of 32 bits */
	return bytes;
}

bool machine_call_distance(const uint8_t *bytes, size_t size, int64_t *distance)
{
	int32_t relative;
	if (size < DIRECT_CALL_BYTES || bytes[size - DIRECT_CALL_BYTES] != 0xe8)
		return false;
	memcpy(&relative, bytes + size - sizeof(relative), sizeof(relative));
	*distance = relative;
	return true;
}

bool machine_ends_in_call(const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;
	int64_t distance;
	if (machine_call_distance(bytes, size, &distance))
		return true;
	for (size_t length = MACHINE_CALL_MIN_BYTES; length <= size; length++) {
		if (length > MACHINE_CALL_MAX_BYTES)
			break;
		const uint8_t *call = end - length;
		if (call[0] != 0xff || (call[1] >> 3 & 7) != 2)
			continue;
		uint8_t sib = length > 2 ? call[2] : 0;
		if (indirect_call_bytes(call[1], sib) == length)
			return true;
	}
	return false;
}

bool machine_is_restorer(const uint8_t *bytes)
{
	/* mov $__NR_rt_sigreturn, %rax; syscall: glibc's and musl's alike, and what debuggers look for. */
	static const uint8_t restorer[MACHINE_RESTORER_BYTES] = {0x48, 0xc7, 0xc0, 0x0f, 0x00,
								 0x00, 0x00, 0x0f, 0x05};
	return memcmp(bytes, restorer, sizeof(restorer)) == 0;
}

/* The kernel's struct ucontext: flags, link and stack come first, then struct sigcontext_64. */
enum { UCONTEXT_GREGS = 40, GREGS_NR = 17, GREGS_CS = 18, USER_CS = 0x33 };

enum stack_reason machine_signal_registers(const struct memory *memory, struct registers *registers)
{
	/* DWARF numbers in the order of struct sigcontext_64. */
	static const uint8_t order[GREGS_NR] = {8, 9, 10, 11, 12, 13, 14, 15, 5,
						4, 6, 3,  1,  0,  2,  7,  16};
	uint64_t gregs = registers->value[UNWIND_RSP] + UCONTEXT_GREGS;
	uint64_t selectors;
	enum stack_reason reason = memory_read_address(memory, gregs + GREGS_CS * 8ULL, &selectors);
	if (reason)
		return reason;
	if ((selectors & 0xffff) != USER_CS)
		return STACK_REASON_BAD_ADDRESS;
	struct registers saved = {.known = 0};
	for (unsigned i = 0; i < GREGS_NR; i++) {
		uint64_t value;
		reason = memory_read_address(memory, gregs + i * 8ULL, &value);
		if (reason)
			return reason;
		registers_set(&saved, order[i], value);
	}
	*registers = saved;
	return STACK_REASON_NONE;
}

/* ---- epilogues ---- */

/* DWARF numbers of the registers as instructions number them. */
static const uint8_t dwarf_number[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
enum { CODE_RSP = 4 };

static bool pop(const struct memory *memory, struct registers *registers, unsigned number)
{
	uint64_t value, sp = registers->value[UNWIND_RSP];
	if (memory_read_address(memory, sp, &value))
		return false;
	registers_set(registers, UNWIND_RSP, sp + MACHINE_ADDRESS_BYTES);
	registers_set(registers, number, value);
	return true;
}

static bool leave(const struct memory *memory, struct registers *registers)
{
	uint64_t fp = registers->value[UNWIND_RBP];
	if (!registers_know(registers, UNWIND_RBP) || fp < registers->value[UNWIND_RSP])
		return false;
	registers_set(registers, UNWIND_RSP, fp);
	return pop(memory, registers, UNWIND_RBP);
}

/* add $positive, %rsp: its length, or 0. */
static size_t add_to_stack_pointer(const uint8_t *code, size_t size, struct registers *registers)
{
	int32_t wide;
	uint64_t by;
	size_t length;
	if (size < 7 || code[0] != 0x48 || code[2] != 0xc4)
		return 0;
	if (code[1] == 0x83 && code[3] < 0x80) {
		by = code[3];
		length = 4;
	} else if (code[1] == 0x81) {
		memcpy(&wide, code + 3, sizeof(wide));
		if (wide < 0)
			return 0;
		by = (uint64_t)wide;
		length = 7;
	} else {
		return 0;
	}
	registers_set(registers, UNWIND_RSP, registers->value[UNWIND_RSP] + by);
	return length;
}

/*
 * mov or xor from register to register, which is how results get into place. Its length, or 0. What it
 * writes is forgotten: a return value, never a register that the caller gets back.
 */
static size_t move_between_registers(const uint8_t *code, size_t size, struct registers *registers)
{
	size_t at = size > 0 && (code[0] & 0xf0) == 0x40; /* REX */
	unsigned rex = at ? code[0] : 0;
	if (size < at + 2 || code[at + 1] >> 6 != 3)
		return 0;
	unsigned reg = (code[at + 1] >> 3 & 7) | (rex & 4) << 1;
	unsigned rm = (code[at + 1] & 7) | (rex & 1) << 3;
	unsigned target;
	if (code[at] == 0x89 || code[at] == 0x31)
		target = rm;
	else if (code[at] == 0x8b || code[at] == 0x33)
		target = reg;
	else
		return 0;
	unsigned number = dwarf_number[target];
	if (target == CODE_RSP || MACHINE_SAVED_MASK >> number & 1)
		return 0;
	registers->known &= ~(1U << number);
	return at + 2;
}

/* One instruction before the return: its length, or 0 when it belongs to no epilogue. */
static size_t run_instruction(const uint8_t *code, size_t size, const struct memory *memory,
			      struct registers *registers)
{
	if (code[0] >= 0x58 && code[0] <= 0x5f && code[0] != 0x58 + CODE_RSP)
		return pop(memory, registers, dwarf_number[code[0] - 0x58]) ? 1 : 0;
	if (size >= 2 && code[0] == 0x41 && code[1] >= 0x58 && code[1] <= 0x5f)
		return pop(memory, registers, dwarf_number[8 + code[1] - 0x58]) ? 2 : 0;
	if (code[0] == 0xc9)
		return leave(memory, registers) ? 1 : 0;
	size_t length = add_to_stack_pointer(code, size, registers);
	return length ? length : move_between_registers(code, size, registers);
}

bool machine_run_epilogue(const uint8_t *code, size_t size, const struct memory *memory,
			  struct registers *registers)
{
	struct registers after = *registers;
	for (size_t at = 0; at < size;) {
		bool has_prefix =
			code[at] == 0xf3 && at + 1 < size; /* rep ret, for old branch predictors */
		if (code[at + has_prefix] == 0xc3) {
			if (!pop(memory, &after, UNWIND_RIP))
				return false;
			*registers = after;
			return true;
		}
		size_t length = run_instruction(code + at, size - at, memory, &after);
		if (length == 0)
			return false;
		at += length;
	}
	return false;
}
