/* SPDX-License-Identifier: MIT */
/*
 * Six MiB of code that no unwind table covers, run through again and again: each jump skips what is never run, in the
 * first half nothing, in the second calls and branches into each other. Nothing returns, and the last jump leaves by a register.
 */
#include <unistd.h>

extern const char lying[];
__asm__(".text\n	.p2align 4\n"
	"lying:\n"
	"	.rept 196608\n"
	"	.byte 0x74, 0x0e, 0x75, 0x0c\n"
	"	.fill 12, 1, 0x90\n"
	"	.endr\n"
	"	.rept 196608\n"
	"	.byte 0xeb, 0x0e, 0xe8, 0xf0, 0x0f, 0, 0, 0x75, 0x80, 0xe9, 0x12, 0x34, 0, 0, "
	"0x48, 0xb8\n"
	"	.endr\n"
	"	jmp *%rax\n");

static void run(void)
{
	__asm__ volatile("lea 1f(%%rip), %%rax\n	jmp lying\n1:" ::: "rax", "memory");
}

int main(void)
{
	if (write(STDOUT_FILENO, "ready\n", 6) != 6)
		return 1;
	for (;;)
		run();
}
