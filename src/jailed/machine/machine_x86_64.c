/* SPDX-License-Identifier: MIT */
#include <ctop/machine/machine.h>

#include <string.h>

#include <ctop/machine/memory.h>

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

bool machine_return_of_leaf(const struct memory *memory, const struct registers *registers,
			    uint64_t *return_address, uint64_t *sp)
{
	*sp = registers->value[UNWIND_SP] + MACHINE_ADDRESS_BYTES;
	return memory_read_address(memory, registers->value[UNWIND_SP], return_address) ==
	       STACK_REASON_NONE;
}

/* Linkers write CFI for it. */
bool machine_return_of_plt(const uint8_t *code, const struct memory *memory,
			   const struct registers *registers, uint64_t *return_address,
			   uint64_t *sp)
{
	(void)code, (void)memory, (void)registers, (void)return_address, (void)sp;
	return false;
}

/* sub $8, %rsp; call *%rcx; add $8, %rsp; ret: or, since CPython 3.14, push %rbp; mov %rsp, %rbp; call ... */
bool machine_return_of_trampoline(const struct memory *memory, struct registers *registers)
{
	const uint64_t sp = registers->value[UNWIND_SP];
	uint64_t saved_fp, return_address;
	if (memory_read_address(memory, sp, &saved_fp) ||
	    memory_read_address(memory, sp + MACHINE_ADDRESS_BYTES, &return_address))
		return false;
	registers->known &= MACHINE_SAVED_MASK;
	if (registers_know(registers, UNWIND_FP) && registers->value[UNWIND_FP] == sp)
		registers_set(registers, UNWIND_FP, saved_fp);
	registers_set(registers, UNWIND_SP, sp + 2 * MACHINE_ADDRESS_BYTES);
	registers_set(registers, UNWIND_PC, return_address);
	return true;
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
	uint64_t gregs = registers->value[UNWIND_SP] + UCONTEXT_GREGS;
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

bool machine_is_exec(const uint8_t *bytes)
{
	/* mov $59 or $322, %eax; syscall */
	static const uint8_t execve[] = {0xb8, 0x3b, 0, 0, 0, 0x0f, 0x05};
	static const uint8_t execveat[] = {0xb8, 0x42, 1, 0, 0, 0x0f, 0x05};
	return memcmp(bytes, execve, sizeof(execve)) == 0 ||
	       memcmp(bytes, execveat, sizeof(execveat)) == 0;
}

bool machine_starts_stack(const uint8_t *bytes)
{
	static const uint8_t endbr64[] = {0xf3, 0x0f, 0x1e, 0xfa};
	if (memcmp(bytes, endbr64, sizeof(endbr64)) == 0)
		bytes += sizeof(endbr64);
	/* mov %reg, %rsp */
	return (bytes[0] & 0xfb) == 0x48 && bytes[1] == 0x89 && (bytes[2] & 0xc7) == 0xc4;
}

static bool touches_stack_far_below(const uint8_t *bytes)
{
	enum { TOUCHED_MIN_BYTES = 4096 };
	static const uint8_t mov_eax_below_rsp[] = {0x89, 0x84, 0x24};
	int32_t distance;
	memcpy(&distance, bytes + sizeof(mov_eax_below_rsp), sizeof(distance));
	return memcmp(bytes, mov_eax_below_rsp, sizeof(mov_eax_below_rsp)) == 0 &&
	       distance <= -TOUCHED_MIN_BYTES;
}

size_t machine_last_start(const uint8_t *code, size_t size)
{
	enum { PUSH_RBP = 0x55, BEFORE = MACHINE_START_BYTES - 1 };
	/* Whole windows of code are searched: that byte is rare. */
	for (size_t end = size; end > BEFORE;) {
		const uint8_t *push = memrchr(code + BEFORE, PUSH_RBP, end - BEFORE);
		if (!push)
			return size;
		if (touches_stack_far_below(push - BEFORE))
			return (size_t)(push - BEFORE - code);
		end = (size_t)(push - code);
	}
	return size;
}

enum machine_ending machine_ending(const uint8_t *code, size_t size)
{
	static const uint8_t mov_eax_edi[] = {0x89, 0xc7}, xor_eax[] = {0x31, 0xc0};
	static const uint8_t exit_short[] = {0xb0, 0x3c, 0x0f, 0x05};
	static const uint8_t exit_long[] = {0xb8, 0x3c, 0, 0, 0, 0x0f, 0x05};
	const uint8_t *end = code + size;
	code += size > 0 && *code == 0x48;
	if ((size_t)(end - code) < sizeof(mov_eax_edi) ||
	    memcmp(code, mov_eax_edi, sizeof(mov_eax_edi)) != 0)
		return MACHINE_GOES_ON;
	code += sizeof(mov_eax_edi);
	if (code < end && *code == 0xe8)
		return MACHINE_PASSES_ON;
	if ((size_t)(end - code) >= sizeof(xor_eax) && memcmp(code, xor_eax, sizeof(xor_eax)) == 0)
		code += sizeof(xor_eax);
	size_t left = (size_t)(end - code);
	if ((left >= sizeof(exit_short) && memcmp(code, exit_short, sizeof(exit_short)) == 0) ||
	    (left >= sizeof(exit_long) && memcmp(code, exit_long, sizeof(exit_long)) == 0))
		return MACHINE_ENDS_TASK;
	return MACHINE_GOES_ON;
}

/* ---- the way to the return ---- */

/* DWARF numbers of the registers as instructions number them. */
static const uint8_t dwarf_number[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
enum { CODE_RSP = 4, CODE_RBP = 5 };

/* What is needed of an instruction's bytes: prefix, opcode and, where it has one, ModRM with what belongs to it. */
struct instruction {
	uint8_t rex, opcode;
	unsigned mode, reg, rm;
	size_t length; /* up to the immediate; 0: not to be understood */
};

static struct instruction with_modrm(const uint8_t *code, size_t size)
{
	struct instruction instruction = {0};
	size_t at = size > 0 && (code[0] & 0xf0) == 0x40; /* REX */
	instruction.rex = at ? code[0] : 0;
	if (size < at + 2)
		return instruction;
	uint8_t modrm = code[at + 1];
	instruction.opcode = code[at];
	instruction.mode = modrm >> 6;
	instruction.reg = (modrm >> 3 & 7) | (instruction.rex & 4U) << 1;
	instruction.rm = (modrm & 7) | (instruction.rex & 1U) << 3;
	/* Registers, and memory relative to rip: nothing that points to the stack. */
	if (instruction.mode == 3)
		instruction.length = at + 2;
	else if (instruction.mode == 0 && (modrm & 7) == 5)
		instruction.length = at + 6;
	if (instruction.length > size)
		instruction.length = 0;
	return instruction;
}

static bool pop(const struct memory *memory, struct registers *registers, unsigned number)
{
	uint64_t value, sp = registers->value[UNWIND_SP];
	if (memory_read_address(memory, sp, &value))
		return false;
	registers_set(registers, UNWIND_SP, sp + MACHINE_ADDRESS_BYTES);
	registers_set(registers, number, value);
	return true;
}

static bool leave(const struct memory *memory, struct registers *registers)
{
	uint64_t fp = registers->value[UNWIND_FP];
	if (!registers_know(registers, UNWIND_FP) || fp < registers->value[UNWIND_SP])
		return false;
	registers_set(registers, UNWIND_SP, fp);
	return pop(memory, registers, UNWIND_FP);
}

/* add or sub $positive, %rsp: its length, or 0. */
static size_t move_stack_pointer(const uint8_t *code, size_t size, struct registers *registers)
{
	int32_t wide;
	uint64_t by;
	size_t length;
	if (size < 4 || code[0] != 0x48 || (code[2] != 0xc4 && code[2] != 0xec))
		return 0;
	if (code[1] == 0x83 && code[3] < 0x80) {
		by = code[3];
		length = 4;
	} else if (code[1] == 0x81 && size >= 7) {
		memcpy(&wide, code + 3, sizeof(wide));
		if (wide < 0)
			return 0;
		by = (uint64_t)wide;
		length = 7;
	} else {
		return 0;
	}
	if (code[2] == 0xec)
		by = 0 - by;
	registers_set(registers, UNWIND_SP, registers->value[UNWIND_SP] + by);
	return length;
}

/*
 * mov, xor and lea into a register, which is how arguments and results get into place. Its length, or 0. What it
 * writes is forgotten: nothing that the caller gets back.
 */
static size_t move_to_register(const uint8_t *code, size_t size, struct registers *registers)
{
	const struct instruction instruction = with_modrm(code, size);
	unsigned target;
	size_t immediate_bytes = 0;
	if (instruction.opcode == 0x89 || instruction.opcode == 0x31) {
		target = instruction.rm;
	} else if (instruction.opcode == 0x8b || instruction.opcode == 0x33 ||
		   instruction.opcode == 0x8d) {
		target = instruction.reg;
	} else if (instruction.opcode == 0xc7 && (instruction.reg & 7) == 0) {
		target = instruction.rm;
		immediate_bytes = 4;
	} else {
		return 0;
	}
	bool to_memory = instruction.mode != 3 && target == instruction.rm;
	if (instruction.length == 0 || to_memory)
		return 0;
	if (instruction.opcode == 0x89 && instruction.rex == 0x48 && target == CODE_RBP &&
	    instruction.reg == CODE_RSP) {
		registers_set(registers, UNWIND_FP, registers->value[UNWIND_SP]);
		return instruction.length;
	}
	unsigned number = dwarf_number[target];
	if (target == CODE_RSP || MACHINE_SAVED_MASK >> number & 1)
		return 0;
	registers_forget(registers, number);
	return instruction.length + immediate_bytes;
}

/* Comparisons, and flags of its own that a function sets: its length, or 0. */
static size_t compare_or_set(const uint8_t *code, size_t size)
{
	const struct instruction instruction = with_modrm(code, size);
	bool compares = (instruction.reg & 7) == 7, sets = (instruction.reg & 7) == 0;
	size_t immediate_bytes;
	if (instruction.length == 0)
		return 0;
	if (instruction.opcode == 0x85 || instruction.opcode == 0x84) /* test */
		return instruction.length;
	if ((instruction.opcode == 0x80 || instruction.opcode == 0x83) && compares)
		immediate_bytes = 1;
	else if (instruction.opcode == 0xc6 && instruction.mode != 3 && sets)
		immediate_bytes = 1;
	else
		return 0;
	return instruction.length + immediate_bytes;
}

/* A call, which gives the stack back as it got it, or a branch that may as well not be taken. Its length, or 0. */
static size_t call_or_branch(const uint8_t *code, size_t size, struct registers *registers)
{
	size_t length = 0;
	if (code[0] >= 0x70 && code[0] <= 0x7f)
		return 2;
	if (size >= 2 && code[0] == 0x0f && code[1] >= 0x80 && code[1] <= 0x8f)
		return 6;
	if (code[0] == 0xe8) {
		length = DIRECT_CALL_BYTES;
	} else {
		const struct instruction instruction = with_modrm(code, size);
		if (instruction.opcode == 0xff && (instruction.reg & 7) == 2)
			length = instruction.length;
	}
	if (length)
		registers->known &= MACHINE_SAVED_MASK | register_bit(UNWIND_SP);
	return length;
}

/* One instruction before the return: its length, or 0 when it is none of those that are known. */
static size_t run_instruction(const uint8_t *code, size_t size, const struct memory *memory,
			      struct registers *registers, bool *detours)
{
	if (code[0] >= 0x58 && code[0] <= 0x5f && code[0] != 0x58 + CODE_RSP)
		return pop(memory, registers, dwarf_number[code[0] - 0x58]) ? 1 : 0;
	if (size >= 2 && code[0] == 0x41 && code[1] >= 0x58 && code[1] <= 0x5f)
		return pop(memory, registers, dwarf_number[8 + code[1] - 0x58]) ? 2 : 0;
	if (code[0] == 0xc9)
		return leave(memory, registers) ? 1 : 0;
	size_t length = move_stack_pointer(code, size, registers);
	if (!length)
		length = move_to_register(code, size, registers);
	if (!length)
		length = compare_or_set(code, size);
	if (length)
		return length;
	*detours = true;
	return call_or_branch(code, size, registers);
}

/* jmp *address(%rip): from a stub to a function, whose return address is on top of the stack. */
static bool is_stub_jump(const uint8_t *code, size_t size)
{
	size_t has_prefix = size > 0 && *code == 0xf2;
	return size >= has_prefix + 2 && code[has_prefix] == 0xff && code[has_prefix + 1] == 0x25;
}

bool machine_run_to_return(const uint8_t *code, size_t size, const struct memory *memory,
			   struct registers *registers, bool *detours)
{
	struct registers after = *registers;
	*detours = false;
	for (size_t at = 0; at < size;) {
		bool has_prefix =
			code[at] == 0xf3 && at + 1 < size; /* rep ret, for old branch predictors */
		if (code[at + has_prefix] == 0xc3 || is_stub_jump(code + at, size - at)) {
			if (!pop(memory, &after, UNWIND_PC))
				return false;
			*registers = after;
			return true;
		}
		size_t length = run_instruction(code + at, size - at, memory, &after, detours);
		if (length == 0)
			return false;
		at += length;
	}
	return false;
}
