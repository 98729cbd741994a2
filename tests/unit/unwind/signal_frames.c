/* SPDX-License-Identifier: MIT */
/* What the kernel leaves on a stack for a handler. */
#include "made_up.h"

/* What a handler returns to: without CFI, and Go's, whose CFI does not know what it is. */
extern const char restorer[], restorer_with_cfi[];
__asm__(".text\n	.p2align 4\n"
	"	.fill 32, 1, 0x90\n"
	"restorer:\n"
	"	.byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05\n"
	"	.fill 32, 1, 0x90\n"
	".type runtime.sigreturn.abi0, @function\n"
	"runtime.sigreturn.abi0:\n"
	"	.cfi_startproc\n"
	"restorer_with_cfi:\n"
	"	.byte 0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05\n"
	"	int3\n"
	"	.cfi_endproc\n"
	".size runtime.sigreturn.abi0, . - runtime.sigreturn.abi0\n");

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

int main(void)
{
	if (!made_up_begin())
		return 1;
	RUN(a_restorer_with_cfi_of_its_own);
	RUN(a_signal_frame_without_cfi);
	RUN(a_signal_frame_that_leads_elsewhere);
	made_up_end();
	return test_done();
}
