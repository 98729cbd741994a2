/* SPDX-License-Identifier: MIT */
#include <ctop/machine/machine.h>

#include <string.h>

#include <ctop/machine/memory.h>

/* Every instruction is a little-endian word (Arm Architecture Reference Manual, C4.1). */
enum { INSTRUCTION_BYTES = 4 };

#define CODE_STP_X16_X30 0xa9bf7bf0U /* stp x16, x30, [sp, #-16]! */

static uint32_t instruction_at(const uint8_t *code)
{
	uint32_t instruction;
	memcpy(&instruction, code, sizeof(instruction));
	return instruction;
}

/* A field of an instruction as a signed number. */
static int64_t signed_field(uint32_t instruction, unsigned lowest, unsigned bits)
{
	uint32_t top = instruction << (32 - lowest - bits);
	return (int32_t)top >> (32 - bits);
}

static unsigned field(uint32_t instruction, unsigned lowest, unsigned bits)
{
	return instruction >> lowest & ((1U << bits) - 1);
}

bool machine_return_of_leaf(const struct memory *memory, const struct registers *registers,
			    uint64_t *return_address, uint64_t *sp)
{
	(void)memory;
	*sp = registers->value[UNWIND_SP];
	return machine_link(registers, return_address);
}

/* They have frame records. */
bool machine_return_of_trampoline(const struct memory *memory, struct registers *registers)
{
	(void)memory, (void)registers;
	return false;
}

/* The first entry pushes x16 and x30, loads the resolver's address in four steps, and jumps. */
bool machine_return_of_plt(const uint8_t *code, const struct memory *memory,
			   const struct registers *registers, uint64_t *return_address,
			   uint64_t *sp)
{
	const uint8_t *at = code + MACHINE_PLT_BYTES - INSTRUCTION_BYTES;
	*sp = registers->value[UNWIND_SP];
	if (instruction_at(at) == CODE_STP_X16_X30)
		return machine_link(registers, return_address);
	while (at > code)
		if (instruction_at(at -= INSTRUCTION_BYTES) == CODE_STP_X16_X30) {
			*sp += 2 * MACHINE_ADDRESS_BYTES;
			return !memory_read_address(memory, *sp - MACHINE_ADDRESS_BYTES,
						    return_address);
		}
	return false;
}

static bool is_direct_call(uint32_t instruction)
{
	return (instruction & 0xfc000000) == 0x94000000; /* bl */
}

static bool is_call(uint32_t instruction)
{
	return is_direct_call(instruction) || (instruction & 0xfffffc1f) == 0xd63f0000 || /* blr */
	       (instruction & 0xfffff81f) == 0xd63f081f || /* blraaz, blrabz */
	       (instruction & 0xfffff800) == 0xd73f0800;   /* blraa, blrab */
}

bool machine_call_distance(const uint8_t *bytes, size_t size, int64_t *distance)
{
	if (size < INSTRUCTION_BYTES)
		return false;
	uint32_t call = instruction_at(bytes + size - INSTRUCTION_BYTES);
	*distance = signed_field(call, 0, 26) * INSTRUCTION_BYTES - INSTRUCTION_BYTES;
	return is_direct_call(call);
}

bool machine_ends_in_call(const uint8_t *bytes, size_t size)
{
	return size >= INSTRUCTION_BYTES &&
	       is_call(instruction_at(bytes + size - INSTRUCTION_BYTES));
}

#define CODE_MOV_X8_SIGRETURN 0xd2801168U /* mov x8, #139 */
#define CODE_MOV_X8_EXIT      0xd2800ba8U /* mov x8, #93 */
#define CODE_MOV_X8_EXECVE    0xd2801ba8U /* mov x8, #221 */
#define CODE_MOV_X8_EXECVEAT  0xd2802328U /* mov x8, #281 */
#define CODE_SVC	      0xd4000001U
#define CODE_PACIASP	      0xd503233fU
#define CODE_PACIBSP	      0xd503237fU

bool machine_is_restorer(const uint8_t *bytes)
{
	/* The vdso's, which glibc uses, and musl's. */
	return instruction_at(bytes) == CODE_MOV_X8_SIGRETURN &&
	       instruction_at(bytes + INSTRUCTION_BYTES) == CODE_SVC;
}

/* The kernel's struct rt_sigframe: siginfo, then struct ucontext with struct sigcontext aligned to 16 at its end. */
enum { SIGNAL_REGS = 312, SIGNAL_NR_REGS = 33, SIGNAL_MODE_MASK = 0x1f };

enum stack_reason machine_signal_registers(const struct memory *memory, struct registers *registers)
{
	/* x0-x30, sp and pc as DWARF numbers them; then pstate, which for 64-bit user code has no mode bits. */
	uint64_t regs = registers->value[UNWIND_SP] + SIGNAL_REGS, pstate;
	if (!registers_know(registers, UNWIND_SP))
		return STACK_REASON_BAD_ADDRESS;
	enum stack_reason reason =
		memory_read_address(memory, regs + SIGNAL_NR_REGS * 8ULL, &pstate);
	if (reason)
		return reason;
	if (pstate & SIGNAL_MODE_MASK)
		return STACK_REASON_BAD_ADDRESS;
	struct registers saved = {.known = 0};
	for (unsigned i = 0; i < SIGNAL_NR_REGS; i++) {
		uint64_t value;
		reason = memory_read_address(memory, regs + i * 8ULL, &value);
		if (reason)
			return reason;
		registers_set(&saved, i, value);
	}
	*registers = saved;
	return STACK_REASON_NONE;
}

bool machine_is_exec(const uint8_t *bytes)
{
	const uint32_t first = instruction_at(bytes);
	return (first == CODE_MOV_X8_EXECVE || first == CODE_MOV_X8_EXECVEAT) &&
	       instruction_at(bytes + INSTRUCTION_BYTES) == CODE_SVC;
}

bool machine_starts_stack(const uint8_t *bytes)
{
	/* mov sp, xN; from x29 it is the end of an ordinary function. */
	uint32_t first = instruction_at(bytes);
	return (first & 0xfffffc1f) == 0x9100001f && field(first, 5, 5) < UNWIND_FP;
}

size_t machine_last_start(const uint8_t *code, size_t size)
{
	(void)code;
	return size;
}

enum machine_ending machine_ending(const uint8_t *code, size_t size)
{
	/* A function returns in x0 what the next one takes in x0. */
	if (size >= INSTRUCTION_BYTES && is_direct_call(instruction_at(code)))
		return MACHINE_PASSES_ON;
	if (size >= 2 * INSTRUCTION_BYTES && instruction_at(code) == CODE_MOV_X8_EXIT &&
	    instruction_at(code + INSTRUCTION_BYTES) == CODE_SVC)
		return MACHINE_ENDS_TASK;
	return MACHINE_GOES_ON;
}

/* ---- the way to the return ---- */

enum { CODE_SP = 31, CODE_NO_REGISTER = 32 };

/*
 * A function on its way to its return. Only the stack and what is loaded from it matter: it has to give the
 * registers it must preserve back as it got them, and if it changed one before pc, a load on the way shows.
 */
struct way {
	const struct memory *memory;
	struct registers registers;
	uint64_t entry_sp; /* where the way began */
	uint64_t stored;   /* bit n: register n has been put on the stack, on the way */
	bool moved_down;   /* the stack pointer has been, on the way */
	bool loaded_link;
	bool detours;
};

enum outcome { GOES_ON, RETURNS, UNKNOWN };

static enum outcome give_up_unless(bool fine)
{
	return fine ? GOES_ON : UNKNOWN;
}

/* add and sub with an immediate, which move to and from sp as well. */
static enum outcome run_add(struct way *way, uint32_t instruction)
{
	struct registers *registers = &way->registers;
	unsigned from = field(instruction, 5, 5), to = field(instruction, 0, 5);
	bool subtracts = field(instruction, 30, 1);
	uint64_t by = (uint64_t)field(instruction, 10, 12) << (field(instruction, 22, 1) ? 12 : 0);
	if (to == UNWIND_FP && from == CODE_SP) {
		registers_set(registers, UNWIND_FP, registers->value[UNWIND_SP] + by);
		return GOES_ON;
	}
	if (to != CODE_SP)
		return give_up_unless(to != UNWIND_LR);
	if ((from != CODE_SP && from != UNWIND_FP) || !registers_know(registers, from))
		return UNKNOWN;
	registers_set(registers, UNWIND_SP, registers->value[from] + (subtracts ? 0 - by : by));
	way->moved_down |= subtracts && from == CODE_SP;
	return GOES_ON;
}

/* Loads and stores of one or two registers at an address of the stack. */
struct transfer {
	unsigned first, second; /* CODE_NO_REGISTER: none */
	unsigned base;
	int64_t offset, writeback;
	bool loads;
};

static bool decode_transfer(uint32_t instruction, struct transfer *transfer)
{
	*transfer = (struct transfer){
		.first = field(instruction, 0, 5),
		.second = CODE_NO_REGISTER,
		.base = field(instruction, 5, 5),
		.loads = field(instruction, 22, 1),
	};
	bool is_vector = field(instruction, 26, 1);
	unsigned size = field(instruction, 30, 2);
	if ((instruction & 0x3a000000) == 0x28000000) {	   /* ldp, stp */
		unsigned mode = field(instruction, 23, 2); /* 1 post-index, 2 offset, 3 pre-index */
		int64_t scale = is_vector ? 4 << size : size == 2 ? 8 : 4;
		int64_t by = signed_field(instruction, 15, 7) * scale;
		transfer->offset = mode == 2 || mode == 3 ? by : 0;
		transfer->writeback = mode == 1 || mode == 3 ? by : 0;
		if (is_vector || size != 2)
			transfer->first = CODE_NO_REGISTER;
		else
			transfer->second = field(instruction, 10, 5);
		return true;
	}
	if ((instruction & 0xff800000) == 0xf9000000) { /* ldr, str of 64 bits with an offset */
		transfer->offset = (int64_t)field(instruction, 10, 12) * 8;
		return true;
	}
	if ((instruction & 0x3b200000) == 0x38000000) {	   /* ldr, str with an unscaled offset */
		unsigned mode = field(instruction, 10, 2); /* 0 offset, 1 post-index, 3 pre-index */
		int64_t by = signed_field(instruction, 12, 9);
		transfer->offset = mode == 0 || mode == 3 ? by : 0;
		transfer->writeback = mode == 1 || mode == 3 ? by : 0;
		if (is_vector || size != 3)
			transfer->first = CODE_NO_REGISTER;
		return mode != 2;
	}
	return false;
}

static bool load(struct way *way, unsigned number, uint64_t address)
{
	uint64_t value;
	if (number >= CODE_SP) /* the zero register, or none */
		return true;
	/* What the function puts there on the way is not there yet, and is the register as it is now. */
	if (way->stored >> number & 1)
		return true;
	if (!memory_read_address(way->memory, address, &value))
		registers_set(&way->registers, number, value);
	else
		registers_forget(&way->registers, number);
	way->loaded_link |= number == UNWIND_LR;
	return registers_know(&way->registers, number) || number != UNWIND_LR;
}

static void store(struct way *way, unsigned number)
{
	if (number < CODE_SP)
		way->stored |= register_bit(number);
}

static enum outcome run_transfer(struct way *way, const struct transfer *transfer)
{
	struct registers *registers = &way->registers;
	bool has_link = transfer->first == UNWIND_LR || transfer->second == UNWIND_LR;
	if (transfer->base != CODE_SP && transfer->base != UNWIND_FP)
		return give_up_unless(!(has_link && transfer->loads));
	if (!registers_know(registers, transfer->base))
		return UNKNOWN;
	uint64_t address = registers->value[transfer->base] + (uint64_t)transfer->offset;
	if (!transfer->loads && has_link) {
		/* The beginning of the function, still ahead: the link register is what it was called with. */
		if (way->loaded_link)
			return UNKNOWN;
		if (transfer->writeback < 0 || way->moved_down)
			registers_set(registers, UNWIND_SP, way->entry_sp);
		else
			registers_forget(registers, UNWIND_SP);
		return RETURNS;
	}
	if (transfer->loads && (!load(way, transfer->first, address) ||
				!load(way, transfer->second, address + MACHINE_ADDRESS_BYTES)))
		return UNKNOWN;
	if (!transfer->loads) {
		store(way, transfer->first);
		store(way, transfer->second);
	}
	if (transfer->base == CODE_SP) {
		registers_set(registers, UNWIND_SP,
			      registers->value[UNWIND_SP] + (uint64_t)transfer->writeback);
		way->moved_down |= transfer->writeback < 0;
	}
	return GOES_ON;
}

static enum outcome run_call(struct way *way)
{
	way->detours = true;
	way->loaded_link = false;
	way->registers.known &= MACHINE_SAVED_MASK | register_bit(UNWIND_SP);
	return GOES_ON;
}

static bool is_return(uint32_t instruction)
{
	return instruction == 0xd65f03c0 || (instruction & 0xfffffbff) == 0xd65f0bff; /* retaa, b */
}

static bool is_conditional_branch(uint32_t instruction)
{
	return (instruction & 0xff000000) == 0x54000000 || /* b.cond */
	       (instruction & 0x7c000000) == 0x34000000;   /* cbz, cbnz, tbz, tbnz */
}

/* What writes sp by other means, or stops. */
static bool is_beyond_us(uint32_t instruction)
{
	unsigned to = field(instruction, 0, 5);
	return (instruction & 0xffe0001f) == 0xd4200000 ||		      /* brk */
	       (instruction & 0xffff0000) == 0 ||			      /* udf */
	       ((instruction & 0xbfe00000) == 0x8b200000 && to == CODE_SP) || /* add sp, x, x */
	       ((instruction & 0xff800000) == 0x92000000 && to == CODE_SP);   /* and sp, x, # */
}

static enum outcome run_instruction(struct way *way, uint32_t instruction)
{
	struct transfer transfer;
	if (is_return(instruction))
		return RETURNS;
	if (instruction == CODE_PACIASP || instruction == CODE_PACIBSP) {
		/* The very beginning, still ahead. */
		registers_set(&way->registers, UNWIND_SP, way->entry_sp);
		return way->loaded_link ? UNKNOWN : RETURNS;
	}
	if (is_call(instruction))
		return run_call(way);
	if (is_conditional_branch(instruction)) {
		way->detours = true;
		return GOES_ON;
	}
	if ((instruction & 0xfffffc1f) ==
	    0xd61f0000) { /* br: from a stub by x16 or x17, or a last call */
		unsigned to = field(instruction, 5, 5);
		return to == 16 || to == 17 || way->loaded_link ? RETURNS : UNKNOWN;
	}
	if ((instruction & 0xbf800000) == 0x91000000)
		return run_add(way, instruction);
	if (decode_transfer(instruction, &transfer))
		return run_transfer(way, &transfer);
	return give_up_unless(!is_beyond_us(instruction));
}

bool machine_run_to_return(const uint8_t *code, size_t size, const struct memory *memory,
			   struct registers *registers, bool *detours)
{
	struct way way = {
		.memory = memory,
		.registers = *registers,
		.entry_sp = registers->value[UNWIND_SP],
	};
	enum outcome outcome = registers_know(registers, UNWIND_SP) ? GOES_ON : UNKNOWN;
	unsigned steps = 0;
	*detours = false;
	for (size_t at = 0; outcome == GOES_ON && size - at >= INSTRUCTION_BYTES;) {
		uint32_t instruction = instruction_at(code + at);
		if (++steps > MACHINE_WAY_MAX_BYTES / INSTRUCTION_BYTES)
			break;
		if ((instruction & 0xfc000000) != 0x14000000) { /* b */
			outcome = run_instruction(&way, instruction);
			at += INSTRUCTION_BYTES;
			continue;
		}
		int64_t by = signed_field(instruction, 0, 26) * INSTRUCTION_BYTES;
		if (way.loaded_link)
			outcome = RETURNS; /* a last call, which returns to our caller */
		else if (by > 0 && (uint64_t)by < size - at)
			at += (uint64_t)by;
		else
			outcome = UNKNOWN;
	}
	uint64_t return_address;
	if (outcome != RETURNS || !machine_link(&way.registers, &return_address))
		return false;
	*detours = way.detours;
	*registers = way.registers;
	machine_return_to(registers, return_address);
	return true;
}
