/* SPDX-License-Identifier: MIT */
/* Made-up registers and stack bytes on code of this program: what must end a stack, and how it is called. */
#include <ctop/unwind/unwind.h>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "test.h"
#include "target.h"

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
extern const char no_cfi[], no_cfi_after_call[], restorer[], restorer_called[], after_restorer[];
__asm__(".text\n	.p2align 4\n"
	"	.fill 16, 1, 0x90\n"
	"no_cfi:\n"
	"	nop\n"
	"	.byte 0xe8, 0, 0, 0, 0\n" /* a call of nothing */
	"no_cfi_after_call:\n"
	"	.fill 32, 1, 0x90\n"
	"restorer:\n"
	"	.byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05\n"
	"after_restorer:\n"
	"	.fill 32, 1, 0x90\n");

#define STACK UINT64_C(0x7ffd10000000)
enum { RBX = 3 }; /* as DWARF numbers it */
enum { NR_WORDS = 128 };

/* Functions that their names make known: a thread's start without CFI, and Go's switch to another stack. */
extern const char in_thread_start[], in_switch[], in_switch_after_call[], after_call_of_switch[];
extern const char evaluator[], as_if_called[], restorer_with_cfi[], after_restorer_with_cfi[];
extern const char in_clock_start[], in_clock_after_call[], after_call_of_clock[];
__asm__(".text\n	.p2align 4\n"
	".type __clone3, @function\n"
	"__clone3:\n"
	"	.fill 8, 1, 0x90\n"
	"in_thread_start:\n"
	"	.fill 8, 1, 0x90\n"
	".size __clone3, . - __clone3\n"
	"	.fill 64, 1, 0x90\n"
	".type runtime.mcall, @function\n"
	"runtime.mcall:\n"
	"	.cfi_startproc\n"
	"	.fill 8, 1, 0x90\n"
	"in_switch:\n"
	"	.byte 0xff, 0xd0\n"
	"in_switch_after_call:\n"
	"	.fill 8, 1, 0x90\n"
	"	.cfi_endproc\n"
	".size runtime.mcall, . - runtime.mcall\n"
	"	.fill 64, 1, 0x90\n"
	"	call runtime.mcall\n"
	"after_call_of_switch:\n"
	"	.fill 64, 1, 0x90\n"
	/* Lays out a frame record, and calls on a stack of which its CFI knows nothing. */
	".type _PyEval_EvalFrameDefault, @function\n"
	"_PyEval_EvalFrameDefault:\n"
	"	.cfi_startproc\n"
	"evaluator:\n"
	"	.fill 8, 1, 0x90\n"
	"	.cfi_endproc\n"
	".size _PyEval_EvalFrameDefault, . - _PyEval_EvalFrameDefault\n"
	".type runtime.asyncPreempt.abi0, @function\n"
	"runtime.asyncPreempt.abi0:\n"
	"	.cfi_startproc\n"
	"as_if_called:\n"
	"	.fill 8, 1, 0x90\n"
	"	.cfi_endproc\n"
	".size runtime.asyncPreempt.abi0, . - runtime.asyncPreempt.abi0\n"
	".type runtime.sigreturn.abi0, @function\n"
	"runtime.sigreturn.abi0:\n"
	"	.cfi_startproc\n"
	"restorer_with_cfi:\n"
	"	.byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05\n"
	"after_restorer_with_cfi:\n"
	"	int3\n"
	"	.cfi_endproc\n"
	".size runtime.sigreturn.abi0, . - runtime.sigreturn.abi0\n"
	".type runtime.nanotime1, @function\n"
	"runtime.nanotime1:\n"
	"	.cfi_startproc\n"
	"in_clock_start:\n"
	"	.fill 4, 1, 0x90\n"
	"	.cfi_def_cfa_offset 32\n"
	"	.byte 0xff, 0xd0\n"
	"in_clock_after_call:\n"
	"	.fill 8, 1, 0x90\n"
	"	.cfi_endproc\n"
	".size runtime.nanotime1, . - runtime.nanotime1\n"
	"	.fill 64, 1, 0x90\n"
	"	call runtime.nanotime1\n"
	"after_call_of_clock:\n"
	"	.fill 64, 1, 0x90\n");

/* A return address that is left over from a call of something with CFI. */
extern const char after_call_of_plain[];
__asm__(".text\n"
	"	.fill 512, 1, 0x90\n"
	"	call cfi_plain\n"
	"after_call_of_plain:\n"
	"	nop\n");

/* The end of a function without CFI: result into place, frame off, registers back. */
extern const char no_cfi_epilogue[], no_cfi_leave[];
__asm__(".text\n	.p2align 4\n"
	"	.fill 64, 1, 0x90\n"
	"	.byte 0xe8, 0, 0, 0, 0\n"
	"no_cfi_epilogue:\n"
	"	movl %ebx, %eax\n"
	"	xorl %edx, %edx\n"
	"	addq $16, %rsp\n"
	"	popq %rbx\n"
	"	popq %r12\n"
	"	rep ret\n"
	"	.byte 0xe8, 0, 0, 0, 0\n"
	"no_cfi_leave:\n"
	"	leave\n"
	"	ret\n"
	"	.fill 64, 1, 0x90\n");

static struct {
	struct target target;
	struct unwinder *unwinder;
	struct unwind_input input;
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct unwind_result result;
	uint64_t words[NR_WORDS];
	uint8_t *generated; /* executable memory without a file */
} t;

static uint64_t address_of(const char *label)
{
	return (uint64_t)(uintptr_t)label;
}

/* A leaf at pc on a stack of zeroes. */
static void leaf_at(uint64_t pc)
{
	memset(&t.input, 0, sizeof(t.input));
	memset(t.words, 0, sizeof(t.words));
	t.input.regs[UNWIND_PC] = pc;
	t.input.regs[UNWIND_SP] = STACK;
	t.input.known = (UINT64_C(1) << UNWIND_NR_REGS) - 1;
	t.input.stack = (const uint8_t *)t.words;
	t.input.stack_bytes = sizeof(t.words);
}

static void unwind(void)
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

static uint64_t stack_address(size_t word)
{
	return STACK + word * 8;
}

static void a_zero_return_address_completes(void)
{
	leaf_at(address_of(cfi_plain));
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
	CHECK_EQ(t.frames[0].process_address, address_of(cfi_plain));
	CHECK_EQ(t.frames[0].method, FRAME_LEAF);
	t.words[0] = address_of(cfi_plain);
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
	CHECK_EQ(t.frames[1].process_address, address_of(cfi_plain) - 1);
	CHECK_EQ(t.frames[1].method, FRAME_CFI);
	CHECK(t.frames[1].module != NULL);
	CHECK_EQ(t.frames[1].bias, t.frames[0].bias);
}

static void an_undefined_return_address_completes(void)
{
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(cfi_root);
	t.words[1] = 0x1234;
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
	leaf_at(address_of(cfi_root));
	t.input.stack_bytes = 0;
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
}

static void a_bad_return_address_is_no_frame(void)
{
	static const uint64_t values[] = {1, 0x1234, UINT64_MAX, UINT64_C(1) << 63, STACK + 8};
	for (size_t i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
		leaf_at(address_of(cfi_plain));
		t.words[0] = values[i];
		CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_MAPPING);
	}
}

static void the_cfa_must_move_up(void)
{
	leaf_at(address_of(cfi_below));
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
	leaf_at(address_of(cfi_standing));
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
	leaf_at(address_of(cfi_on_rbp));
	t.input.regs[UNWIND_FP] = STACK - 16;
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
	t.input.regs[UNWIND_FP] = UINT64_MAX - 3; /* wraps */
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
}

static void a_cycle_of_frame_pointers_ends(void)
{
	leaf_at(address_of(cfi_on_rbp));
	t.input.regs[UNWIND_FP] = stack_address(2);
	t.words[2] = stack_address(2);
	t.words[3] = address_of(cfi_on_rbp);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NOT_ADVANCING);
}

static void the_bytes_beyond_the_dump_are_not_there(void)
{
	leaf_at(address_of(cfi_on_rbp));
	t.input.regs[UNWIND_FP] = stack_address(NR_WORDS - 2);
	t.words[NR_WORDS - 1] = 0;
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE); /* the last word is readable */
	t.input.stack_bytes -= 1;
	CHECK_END(1, STACK_TRUNCATED, STACK_REASON_DUMP_END);
	t.input.stack_bytes = 0;
	t.input.stack = NULL;
	CHECK_END(1, STACK_TRUNCATED, STACK_REASON_DUMP_END);
	leaf_at(address_of(cfi_on_rbp));
	t.input.regs[UNWIND_FP] = UINT64_C(1) << 60;
	CHECK_END(1, STACK_BROKEN, STACK_REASON_BAD_ADDRESS);
}

static void caller_saved_registers_do_not_outlive_a_call(void)
{
	leaf_at(address_of(cfi_on_rax));
	t.input.regs[0] = stack_address(4);
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
	leaf_at(address_of(cfi_plain));
	t.input.regs[0] = stack_address(4);
	t.words[0] = address_of(cfi_on_rax);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void callee_saved_registers_are_followed(void)
{
	leaf_at(address_of(cfi_saves_rbx));
	t.input.regs[RBX] = 0x666;
	t.words[1] = stack_address(6);
	t.words[2] = address_of(cfi_plain);
	t.words[3] = address_of(cfi_on_rbx);
	t.words[6] = address_of(cfi_root);
	CHECK_END(4, STACK_COMPLETE, STACK_REASON_NONE);
	t.input.known &= ~(1ULL << RBX);
	CHECK_END(4, STACK_COMPLETE, STACK_REASON_NONE);
	t.words[2] = address_of(cfi_on_rbp); /* its rbp is unknown */
	t.input.known &= ~(1ULL << UNWIND_FP);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void a_return_address_in_a_register(void)
{
	leaf_at(address_of(cfi_in_rdi));
	t.input.regs[5] = address_of(cfi_plain);
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
	/* Only a leaf can have it there, so nothing goes round. */
	t.input.regs[5] = address_of(cfi_in_rdi);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void bad_expressions_are_refused(void)
{
	static const char *const bad[] = {
		cfi_endless,	cfi_overflow,	 cfi_underflow, cfi_divides_by_zero,
		cfi_unknown_op, cfi_wild_branch, cfi_empty};
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		leaf_at(address_of(bad[i]));
		CHECK_END(1, STACK_BROKEN, STACK_REASON_BAD_CFI);
	}
	leaf_at(address_of(cfi_reads_anywhere));
	CHECK_END(1, STACK_BROKEN, STACK_REASON_BAD_ADDRESS);
}

static void a_leaf_without_cfi_returns_to_after_a_call(void)
{
	leaf_at(address_of(no_cfi));
	t.words[0] = address_of(no_cfi_after_call);
	t.words[1] = address_of(cfi_plain);
	/* The caller has no CFI either, and no frame pointer. */
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[1].method, FRAME_RETURN);
	t.words[0] = address_of(no_cfi_after_call) - 1; /* amid the call */
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_RULE);
	t.words[0] = address_of(after_call_of_plain); /* of a call that did not lead here */
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_RULE);
	t.words[0] = 0; /* no proof: nothing says that this is a return address */
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void the_end_of_a_function_says_where_it_returns(void)
{
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(no_cfi_epilogue);
	t.words[3] = stack_address(20); /* rbx, for a caller whose CFA is in it */
	t.words[5] = address_of(no_cfi_after_call);
	CHECK_END(3, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[2].method, FRAME_RETURN);
	CHECK_EQ(t.frames[2].process_address, address_of(no_cfi_after_call) - 1);
	t.words[5] = address_of(cfi_plain); /* not after a call: no return address */
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	t.words[5] = 0;
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	/* A leaf half way through, and one that has a frame pointer. */
	leaf_at(address_of(no_cfi_epilogue) + 9);
	t.words[1] = address_of(no_cfi_after_call);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[1].method, FRAME_RETURN);
	leaf_at(address_of(no_cfi_leave));
	t.input.regs[UNWIND_FP] = stack_address(7);
	t.words[8] = address_of(no_cfi_after_call);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[1].method, FRAME_RETURN);
	t.input.regs[UNWIND_FP] = STACK - 16;
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void known_outermost_functions_complete(void)
{
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(in_thread_start);
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
	/* A leaf there is outermost only when nothing says otherwise: clone() is also called. */
	leaf_at(address_of(in_thread_start));
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
	t.words[0] = address_of(no_cfi_after_call);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void known_stack_switches_end_the_stack(void)
{
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(in_switch_after_call);
	t.words[1] = address_of(no_cfi_after_call);
	CHECK_END(2, STACK_SWITCHED, STACK_REASON_NONE);
	/* Before it has switched, its caller is on top of the stack: the call there leads to it. */
	leaf_at(address_of(in_switch));
	t.words[0] = address_of(after_call_of_switch);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	t.words[0] = 0x1234;
	CHECK_END(1, STACK_SWITCHED, STACK_REASON_NONE);
	/* After, whatever may lie there. */
	t.words[0] = address_of(after_call_of_plain);
	CHECK_END(1, STACK_SWITCHED, STACK_REASON_NONE);
}

/* Of what was interrupted, the pc is exact: a row of CFI may begin there. */
static void go_makes_an_interruption_a_call(void)
{
	leaf_at(address_of(as_if_called));
	t.words[0] = address_of(cfi_below) - 2;
	unwind();
	CHECK_EQ(t.result.nr_frames, 2);
	CHECK_EQ(t.frames[1].process_address, address_of(cfi_below) - 2);
	CHECK_STR(stack_reason_name(t.result.reason),
		  stack_reason_name(STACK_REASON_NOT_ADVANCING));
}

static void clocks_of_go_borrow_a_stack(void)
{
	/* On the other stack: neither is what lies there theirs, nor is a 0 the end. */
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(in_clock_after_call);
	t.input.regs[UNWIND_FP] = STACK - 4096;
	CHECK_END(2, STACK_SWITCHED, STACK_REASON_NONE);
	t.words[4] = address_of(no_cfi_after_call);
	CHECK_END(2, STACK_SWITCHED, STACK_REASON_NONE);
	/* On their caller's, but not where CFI has it. */
	t.input.regs[UNWIND_FP] = stack_address(6);
	t.words[7] = address_of(after_call_of_clock);
	CHECK_END(3, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[2].process_address, address_of(after_call_of_clock) - 1);
	CHECK_EQ(t.frames[2].method, FRAME_FP);
	/* A frame pointer that is another function's. */
	t.words[7] = address_of(no_cfi_after_call);
	CHECK_END(2, STACK_SWITCHED, STACK_REASON_NONE);
	/* At their start, and where CFI is right. */
	leaf_at(address_of(in_clock_start));
	t.words[0] = address_of(after_call_of_clock);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[1].method, FRAME_CFI);
}

static void frame_pointers_without_cfi(void)
{
	leaf_at(address_of(no_cfi));
	t.input.regs[UNWIND_FP] = stack_address(4);
	t.words[4] = stack_address(8);
	t.words[5] = address_of(no_cfi_after_call);
	t.words[8] = stack_address(8); /* does not go up */
	t.words[9] = address_of(no_cfi_after_call);
	CHECK_END(3, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[1].method, FRAME_FP);
	CHECK_EQ(t.frames[2].method, FRAME_FP);
	t.words[9] = 0;
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
	t.words[9] = address_of(no_cfi); /* not after a call */
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	t.words[4] = stack_address(NR_WORDS);
	CHECK_END(2, STACK_TRUNCATED, STACK_REASON_DUMP_END);
	t.words[4] = 0; /* alone no proof of anything */
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	t.input.regs[UNWIND_FP] = stack_address(4) + 1;
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void generated_code_has_frame_pointers(void)
{
	uint64_t code = (uint64_t)(uintptr_t)t.generated;
	leaf_at(code + 100);
	t.input.regs[UNWIND_FP] = stack_address(3);
	t.words[0] = address_of(
		no_cfi_after_call); /* left over: the frame pointer is the better witness */
	t.words[3] = stack_address(6);
	t.words[4] = code + 200;
	t.words[6] = 0x1234; /* the caller uses rbp for something else */
	t.words[7] = address_of(cfi_plain);
	t.words[8] = 0;
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	t.words[7] = address_of(no_cfi_after_call);
	CHECK_END(3, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[1].process_address, code + 199);
	CHECK_EQ(t.frames[1].method, FRAME_FP);
	CHECK(t.frames[1].module == NULL);
	CHECK_EQ(t.frames[2].process_address, address_of(no_cfi_after_call) - 1);
}

static void trampolines_of_cpython(void)
{
	leaf_at(address_of(evaluator));
	t.words[0] = address_of((const char *)t.generated) + 6;
	t.input.regs[UNWIND_FP] = 12345; /* nobody's */
	t.words[2] = address_of(no_cfi_after_call);
	CHECK_END(3, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[1].process_address, address_of((const char *)t.generated) + 5);
	CHECK_EQ(t.frames[2].process_address, address_of(no_cfi_after_call) - 1);
	CHECK_EQ(t.frames[2].method, FRAME_RETURN);
	/* It has a frame pointer, by which to go on. */
	t.input.regs[UNWIND_FP] = stack_address(1);
	t.words[1] = stack_address(8);
	t.words[8] = 0;
	t.words[9] = address_of(in_thread_start);
	CHECK_END(4, STACK_COMPLETE, STACK_REASON_NONE);
	CHECK_EQ(t.frames[3].method, FRAME_FP);
	/* Nothing that returns there; and other generated code may have anything on its stack. */
	t.words[2] = address_of(no_cfi);
	t.input.regs[UNWIND_FP] = 12345;
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	t.words[2] = address_of(no_cfi_after_call);
	t.input.regs[UNWIND_PC] = address_of(cfi_plain);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void frame_pointers_only(void)
{
	leaf_at(address_of(cfi_plain));
	t.input.frame_pointers_only = true;
	t.input.regs[UNWIND_FP] = stack_address(4);
	t.words[0] = address_of(cfi_root);
	t.words[5] = address_of(no_cfi_after_call);
	t.words[4] = stack_address(6);
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
	CHECK_EQ(t.frames[1].method, FRAME_FP);
}

static void a_leaf_in_no_mapping(void)
{
	leaf_at(0);
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_MAPPING);
	CHECK_EQ(t.frames[0].process_address, 0);
	CHECK(t.frames[0].module == NULL);
	t.words[0] = address_of(no_cfi_after_call); /* who called through the null pointer */
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
}

static void too_deep_is_truncated(void)
{
	enum { DEEP = UNWIND_MAX_FRAMES + 10 };
	static uint64_t deep[DEEP];
	leaf_at(address_of(cfi_plain));
	for (size_t i = 0; i < DEEP; i++)
		deep[i] = address_of(cfi_plain);
	t.input.stack = (const uint8_t *)deep;
	t.input.stack_bytes = sizeof(deep);
	CHECK_END(UNWIND_MAX_FRAMES, STACK_TRUNCATED, STACK_REASON_DEPTH_LIMIT);
	deep[UNWIND_MAX_FRAMES - 1] = 0;
	CHECK_END(UNWIND_MAX_FRAMES, STACK_COMPLETE, STACK_REASON_NONE);
}

/* Lays out what the kernel leaves for a handler at word: struct ucontext as the restorer finds it. */
static void put_signal_frame(size_t word, uint64_t pc, uint64_t sp, uint64_t cs)
{
	t.words[word + 5 + 15] = sp;
	t.words[word + 5 + 16] = pc;
	t.words[word + 5 + 18] = cs;
}

static void a_signal_frame_without_cfi(void)
{
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(restorer);
	put_signal_frame(1, address_of(cfi_plain), stack_address(60), 0x2b000000000033);
	t.words[60] = address_of(cfi_root);
	CHECK_END(4, STACK_COMPLETE, STACK_REASON_NONE);
	CHECK_EQ(t.frames[1].process_address, address_of(restorer));  /* nothing called it */
	CHECK_EQ(t.frames[2].process_address, address_of(cfi_plain)); /* exactly */
	CHECK_EQ(t.frames[2].method, FRAME_SIGNAL);
	CHECK_EQ(t.frames[3].process_address, address_of(cfi_root) - 1);

	/* In the restorer itself: at each of its instructions, and inside its system call. */
	static const unsigned offsets[] = {0, 7, 9};
	for (size_t i = 0; i < 3; i++) {
		leaf_at(address_of(restorer) + offsets[i]);
		put_signal_frame(0, address_of(cfi_plain), stack_address(60), 0x33);
		CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
		CHECK_EQ(t.frames[1].method, FRAME_SIGNAL);
	}
	put_signal_frame(0, address_of(cfi_plain), stack_address(60), 0x23); /* not 64-bit code */
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_RULE);
}

/* Go's, whose CFI does not know what it is. */
static void a_restorer_with_cfi_of_its_own(void)
{
	static const unsigned offsets[] = {0, 7, 9};
	for (size_t i = 0; i < 3; i++) {
		leaf_at(address_of(restorer_with_cfi) + offsets[i]);
		put_signal_frame(0, address_of(cfi_plain), stack_address(60), 0x33);
		CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
		CHECK_EQ(t.frames[1].method, FRAME_SIGNAL);
	}
}

static void a_signal_frame_that_leads_elsewhere(void)
{
	leaf_at(address_of(cfi_plain));
	t.words[0] = address_of(restorer);
	put_signal_frame(1, address_of(cfi_plain), stack_address(60) + (1 << 20), 0x33);
	CHECK_END(3, STACK_SWITCHED, STACK_REASON_NONE);
	put_signal_frame(1, address_of(cfi_plain), STACK - 4096, 0x33);
	CHECK_END(3, STACK_SWITCHED, STACK_REASON_NONE);
	put_signal_frame(1, address_of(cfi_root), STACK - 4096, 0x33);
	CHECK_END(3, STACK_COMPLETE, STACK_REASON_NONE);
	/* On the same stack, a little above what was dumped. */
	put_signal_frame(1, address_of(cfi_plain), stack_address(NR_WORDS + 100), 0x33);
	CHECK_END(3, STACK_TRUNCATED, STACK_REASON_DUMP_END);
	t.input.stack_bytes = 16 * 8;
	CHECK_END(2, STACK_TRUNCATED, STACK_REASON_DUMP_END);
}

static void missing_registers_are_an_end(void)
{
	leaf_at(address_of(cfi_plain));
	t.input.known = 0;
	CHECK_END(0, STACK_BROKEN, STACK_REASON_BAD_ADDRESS);
	leaf_at(address_of(cfi_plain));
	t.input.regs[UNWIND_SP] = UINT64_MAX - 7;
	CHECK_END(0, STACK_BROKEN, STACK_REASON_BAD_ADDRESS);
}

static enum unwind_lookup find_pending(void *context, uint64_t address,
				       struct unwind_mapping *mapping)
{
	enum unwind_lookup found = target_find(context, address, mapping);
	return found == UNWIND_FOUND && mapping->object ? UNWIND_PENDING : found;
}

static void a_pending_module_stops_or_has_no_table(void)
{
	uint64_t pending = 0;
	struct unwind_space space = {
		.find = find_pending, .context = &t.target, .generation = UINT64_C(1) << 40};
	leaf_at(address_of(cfi_plain));
	CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, &pending),
		 -EAGAIN);
	CHECK_EQ(pending, address_of(cfi_plain));
	CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, NULL), 0);
	CHECK_EQ(t.result.end, STACK_BROKEN);
	CHECK_EQ(t.result.reason, STACK_REASON_NO_TABLE);
	/* Once it is there, what was said before does not stick. */
	space.find = target_find;
	CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, &pending), 0);
	CHECK_EQ(t.result.end, STACK_COMPLETE);
}

static enum unwind_lookup find_unreadable(void *context, uint64_t address,
					  struct unwind_mapping *mapping)
{
	enum unwind_lookup found = target_find(context, address, mapping);
	mapping->object = NULL;
	mapping->cfi = NULL;
	mapping->unreadable = STACK_REASON_UNREADABLE;
	return found;
}

static void an_unreadable_module_says_so(void)
{
	const struct unwind_space space = {
		.find = find_unreadable, .context = &t.target, .generation = UINT64_C(1) << 41};
	for (int times = 0; times < 2; times++) { /* also from the cache */
		leaf_at(address_of(cfi_plain));
		CHECK_EQ(unwind_stack(t.unwinder, &space, &t.input, t.frames, &t.result, NULL), 0);
		CHECK_EQ(t.result.end, STACK_BROKEN);
		CHECK_EQ(t.result.reason, STACK_REASON_UNREADABLE);
	}
}

static void another_generation_is_another_space(void)
{
	leaf_at(address_of(cfi_plain));
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
	const size_t nr_mappings = t.target.nr_mappings;
	t.target.nr_mappings = 0;
	CHECK_END(1, STACK_COMPLETE,
		  STACK_REASON_NONE); /* cached: nobody said that anything changed */
	t.target.space.generation++;
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_MAPPING);
	t.target.nr_mappings = nr_mappings;
	CHECK_END(1, STACK_COMPLETE, STACK_REASON_NONE);
}

static void counters_count(void)
{
	const struct unwind_counters before = *unwinder_counters(t.unwinder);
	leaf_at(address_of(cfi_plain));
	unwind();
	unwind();
	const struct unwind_counters *after = unwinder_counters(t.unwinder);
	CHECK_EQ(after->frames, before.frames + 2);
	CHECK_EQ(after->cache_hits + after->cache_misses,
		 before.cache_hits + before.cache_misses + 2);
	CHECK(after->cache_hits > before.cache_hits);
	CHECK_EQ(after->rules_evaluated, before.rules_evaluated);
}

int main(void)
{
	t.generated = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	t.unwinder = unwinder_new();
	if (t.generated == MAP_FAILED || !t.unwinder || !target_map(&t.target, getpid()))
		return 1;
	RUN(a_zero_return_address_completes);
	RUN(an_undefined_return_address_completes);
	RUN(a_bad_return_address_is_no_frame);
	RUN(the_cfa_must_move_up);
	RUN(a_cycle_of_frame_pointers_ends);
	RUN(the_bytes_beyond_the_dump_are_not_there);
	RUN(caller_saved_registers_do_not_outlive_a_call);
	RUN(callee_saved_registers_are_followed);
	RUN(a_return_address_in_a_register);
	RUN(bad_expressions_are_refused);
	RUN(a_leaf_without_cfi_returns_to_after_a_call);
	RUN(the_end_of_a_function_says_where_it_returns);
	RUN(known_outermost_functions_complete);
	RUN(known_stack_switches_end_the_stack);
	RUN(clocks_of_go_borrow_a_stack);
	RUN(go_makes_an_interruption_a_call);
	RUN(a_restorer_with_cfi_of_its_own);
	RUN(frame_pointers_without_cfi);
	RUN(generated_code_has_frame_pointers);
	RUN(trampolines_of_cpython);
	RUN(frame_pointers_only);
	RUN(a_leaf_in_no_mapping);
	RUN(too_deep_is_truncated);
	RUN(a_signal_frame_without_cfi);
	RUN(a_signal_frame_that_leads_elsewhere);
	RUN(missing_registers_are_an_end);
	RUN(a_pending_module_stops_or_has_no_table);
	RUN(an_unreadable_module_says_so);
	RUN(another_generation_is_another_space);
	RUN(counters_count);
	unwinder_free(t.unwinder);
	target_release(&t.target);
	munmap(t.generated, 4096);
	return test_done();
}
