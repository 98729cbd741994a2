/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_UNWIND_MADE_UP_H
#define CTOP_TEST_UNWIND_MADE_UP_H

/*
 * Made-up registers and stack bytes on code of this program, whose CFI is known.
 */

#include <sys/mman.h>

#include <ctop/unwind/unwind.h>

#include "target.h"
#include "test.h"

/*
 * Functions whose CFI is what the name says. Only their addresses are used; each has its label two
 * bytes in, so that a return address - 1 lies in it too.
 */
#define FUNCTION(name, cfi)                                                                        \
	extern const char name[];                                                                  \
	__asm__(".text\n	.p2align 4\n	.cfi_startproc\n" cfi "	nop\n	nop\n" #name       \
		":\n	nop\n	nop\n	.cfi_endproc\n")

FUNCTION(cfi_plain, "");
FUNCTION(cfi_below, ".cfi_def_cfa_offset -16\n");
FUNCTION(cfi_standing, ".cfi_def_cfa_offset 0\n");
FUNCTION(cfi_on_rax, ".cfi_def_cfa rax, 8\n");
FUNCTION(cfi_on_rbp, ".cfi_def_cfa rbp, 16\n	.cfi_offset rbp, -16\n");
FUNCTION(cfi_on_rbx, ".cfi_def_cfa rbx, 8\n");
FUNCTION(cfi_saves_rbx, ".cfi_def_cfa_offset 24\n	.cfi_offset rbx, -16\n");
FUNCTION(cfi_root, ".cfi_undefined rip\n");
FUNCTION(cfi_in_rdi, ".cfi_def_cfa_offset 0\n	.cfi_register rip, rdi\n");
/* DW_CFA_def_cfa_expression, its length, then: skip -3 (for ever); lit0 x 33; drop on nothing; 1 / 0; ... */
FUNCTION(cfi_endless, ".cfi_escape 0x0f, 3, 0x2f, 0xfd, 0xff\n");
FUNCTION(cfi_overflow, ".cfi_escape 0x0f, 33\n	.rept 33\n	.cfi_escape 0x30\n	.endr\n");
FUNCTION(cfi_underflow, ".cfi_escape 0x0f, 2, 0x30, 0x22\n");
FUNCTION(cfi_divides_by_zero, ".cfi_escape 0x0f, 3, 0x31, 0x30, 0x1b\n");
FUNCTION(cfi_unknown_op, ".cfi_escape 0x0f, 2, 0x30, 0xe5\n");
FUNCTION(cfi_wild_branch, ".cfi_escape 0x0f, 4, 0x30, 0x2f, 0x80, 0x80\n");
FUNCTION(cfi_reads_anywhere, ".cfi_escape 0x0f, 3, 0x33, 0x06, 0x06\n");
FUNCTION(cfi_empty, ".cfi_escape 0x0f, 0\n");
extern const char no_cfi[], no_cfi_after_call[];
__asm__(".text\n	.p2align 4\n"
	"	.fill 16, 1, 0x90\n"
	"no_cfi:\n"
	"	nop\n"
	"	.byte 0xe8, 0, 0, 0, 0\n" /* a call of nothing */
	"no_cfi_after_call:\n"
	"	.fill 32, 1, 0x90\n"
	"	ud2\n"); /* what stands behind it is no part of it */

#define STACK UINT64_C(0x7ffd10000000)
enum { NR_WORDS = 128 };

/* A return address that is left over from a call of something with CFI. */
extern const char after_call_of_plain[];
__asm__(".text\n"
	"	.fill 512, 1, 0x90\n"
	"	call cfi_plain\n"
	"after_call_of_plain:\n"
	"	nop\n");

static struct {
	struct target target;
	struct unwinder *unwinder;
	struct unwind_input input;
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct unwind_result result;
	uint64_t words[NR_WORDS];
	uint8_t *generated; /* executable memory without a file */
} t;

static inline uint64_t address_of(const char *label)
{
	return (uint64_t)(uintptr_t)label;
}

/* A leaf at pc on a stack of zeroes. */
static inline void leaf_at(uint64_t pc)
{
	memset(&t.input, 0, sizeof(t.input));
	memset(t.words, 0, sizeof(t.words));
	t.input.regs[UNWIND_PC] = pc;
	t.input.regs[UNWIND_SP] = STACK;
	t.input.known = (UINT64_C(1) << UNWIND_NR_REGS) - 1;
	t.input.stack = (const uint8_t *)t.words;
	t.input.stack_bytes = sizeof(t.words);
}

static inline void unwind(void)
{
	memset(t.frames, 0xee, sizeof(t.frames));
	CHECK_EQ(unwind_stack(t.unwinder, &t.target.space, &t.input, t.frames, &t.result, NULL), 0);
}

#define CHECK_END(wanted_frames, wanted_end, wanted_reason)                                        \
	do {                                                                                       \
		unwind();                                                                          \
		CHECK_STR(stack_end_name(t.result.end), stack_end_name(wanted_end));               \
		CHECK_STR(stack_reason_name(t.result.reason), stack_reason_name(wanted_reason));   \
		CHECK_EQ(t.result.nr_frames, wanted_frames);                                       \
	} while (0)

static inline uint64_t stack_address(size_t word)
{
	return STACK + word * 8;
}

static inline bool made_up_begin(void)
{
	t.generated = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t.unwinder = unwinder_new();
	return t.generated != MAP_FAILED && t.unwinder && target_map(&t.target, getpid());
}

static inline void made_up_end(void)
{
	unwinder_free(t.unwinder);
	target_release(&t.target);
	munmap(t.generated, 4096);
}

#endif
