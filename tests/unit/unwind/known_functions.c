/* SPDX-License-Identifier: MIT */
/* Functions that are known by name: roots of stacks, switches of stacks, an interpreter. */
#include "made_up.h"

/* Functions that their names make known: a thread's start without CFI, and Go's switch to another stack. */
extern const char in_thread_start[], in_switch[], in_switch_after_call[], after_call_of_switch[];
extern const char evaluator[], as_if_called[];
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
	/* What mcall calls never returns to it. Others: behind_switch.c. */
	CHECK_END(2, STACK_COMPLETE, STACK_REASON_NONE);
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

int main(void)
{
	if (!made_up_begin())
		return 1;
	RUN(known_outermost_functions_complete);
	RUN(known_stack_switches_end_the_stack);
	RUN(clocks_of_go_borrow_a_stack);
	RUN(go_makes_an_interruption_a_call);
	RUN(trampolines_of_cpython);
	made_up_end();
	return test_done();
}
