/* SPDX-License-Identifier: MIT */
#include "machine.h"

#include <string.h>

#include "memory.h"

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

bool machine_ends_in_call(const uint8_t *bytes, size_t size)
{
	const uint8_t *end = bytes + size;
	if (size >= 5 && end[-5] == 0xe8)
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
