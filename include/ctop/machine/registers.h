/* SPDX-License-Identifier: MIT */
#ifndef CTOP_MACHINE_REGISTERS_H
#define CTOP_MACHINE_REGISTERS_H

/*
 * Registers are numbered as DWARF does: on x86-64 (System V psABI, figure 3.36) rax rdx rcx rbx rsi rdi rbp rsp
 * r8-r15, 16 = return address (rip); on arm64 (DWARF for the Arm 64-bit Architecture) x0-x30, sp, pc.
 */

#if defined(__x86_64__)
enum { UNWIND_NR_REGS = 17, UNWIND_FP = 6, UNWIND_SP = 7, UNWIND_PC = 16, UNWIND_NR_SAVED = 6 };
#elif defined(__aarch64__)
enum {
	UNWIND_NR_REGS = 33,
	UNWIND_FP = 29,
	UNWIND_LR = 30,
	UNWIND_SP = 31,
	UNWIND_PC = 32,
	UNWIND_NR_SAVED = 12
};
#else
#error "ctop knows x86-64 and arm64 only"
#endif

#endif
