/* SPDX-License-Identifier: MIT */
/* Leaves and frames without CFI: what is taken for a caller, and what is not. */
#include "made_up.h"

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
	CHECK_EQ(t.frames[1].method, FRAME_LIKELY);
	leaf_at(address_of(no_cfi_leave));
	t.input.regs[UNWIND_FP] = stack_address(7);
	t.words[8] = address_of(no_cfi_after_call);
	CHECK_END(2, STACK_BROKEN, STACK_REASON_NO_RULE);
	CHECK_EQ(t.frames[1].method, FRAME_LIKELY);
	t.input.regs[UNWIND_FP] = STACK - 16;
	CHECK_END(1, STACK_BROKEN, STACK_REASON_NO_RULE);
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

int main(void)
{
	if (!made_up_begin())
		return 1;
	RUN(a_leaf_without_cfi_returns_to_after_a_call);
	RUN(the_end_of_a_function_says_where_it_returns);
	RUN(frame_pointers_without_cfi);
	RUN(generated_code_has_frame_pointers);
	RUN(frame_pointers_only);
	made_up_end();
	return test_done();
}
