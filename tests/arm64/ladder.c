/* SPDX-License-Identifier: MIT */
/*
 * What is single-stepped on arm64: functions of every shape, called from main. The first line of output is "maps",
 * then come the process's mappings and a line "end", then main goes on to climb().
 */
#include <alloca.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#define BARE __attribute__((noinline, noclone, used))
/* Code without CFI that keeps frame records is called by code that keeps them: without one of its own, nobody knows it. */
#define KEEPS_RECORD __attribute__((optimize("no-omit-frame-pointer")))

static volatile uint64_t sink;

uint64_t rung_spills(uint64_t depth);
uint64_t rung_leaf(uint64_t depth);
uint64_t rung_record(uint64_t (*function)(uint64_t), uint64_t depth);
uint64_t rung_long_record(uint64_t (*function)(uint64_t), uint64_t depth);
uint64_t rung_saves_link(uint64_t (*function)(uint64_t), uint64_t depth);
uint64_t rung_late_frame(uint64_t (*function)(uint64_t), uint64_t depth);
uint64_t rung_traps(uint64_t depth);
void ladder_restorer(void);

/* Hand-written rungs. All but the first come without CFI. */
__asm__(".text\n"
	".p2align 4\n"
	".globl rung_spills\n.type rung_spills, %function\n" /* with CFI, and callee-saved registers in odd places */
	"rung_spills:\n"
	".cfi_startproc\n"
	"	sub sp, sp, #96\n	.cfi_def_cfa_offset 96\n"
	"	stp x29, x30, [sp, #64]\n	.cfi_offset 29, -32\n	.cfi_offset 30, -24\n"
	"	str x19, [sp, #8]\n	.cfi_offset 19, -88\n"
	"	str x27, [sp, #32]\n	.cfi_offset 27, -64\n"
	"	mov x19, #-1\n"
	"	mov x27, x19\n"
	"	mov x29, x19\n"
	"	bl rung_leaf\n"
	"	ldr x27, [sp, #32]\n	.cfi_restore 27\n"
	"	ldr x19, [sp, #8]\n	.cfi_restore 19\n"
	"	ldp x29, x30, [sp, #64]\n	.cfi_restore 29\n	.cfi_restore 30\n"
	"	add sp, sp, #96\n	.cfi_def_cfa_offset 0\n"
	"	ret\n"
	".cfi_endproc\n"
	".size rung_spills, . - rung_spills\n"

	".globl rung_leaf\n.type rung_leaf, %function\n" /* its return address stays in x30 */
	"rung_leaf:\n"
	"	mov x1, #3\n"
	"1:	mul x0, x0, x1\n"
	"	subs x1, x1, #1\n"
	"	b.ne 1b\n"
	"	sub sp, sp, #32\n"
	"	str x0, [sp, #8]\n"
	"	ldr x0, [sp, #8]\n"
	"	add sp, sp, #32\n"
	"	ret\n"
	".size rung_leaf, . - rung_leaf\n"

	".globl rung_record\n.type rung_record, %function\n" /* a frame record at the lower end of the frame */
	"rung_record:\n"
	"	stp x29, x30, [sp, #-48]!\n"
	"	mov x29, sp\n"
	"	stp x19, x20, [sp, #16]\n"
	"	mov x19, x0\n"
	"	mov x0, x1\n"
	"	mov x20, #5\n"
	"	blr x19\n"
	"	add x0, x0, x20\n"
	"	ldp x19, x20, [sp, #16]\n"
	"	ldp x29, x30, [sp], #48\n"
	"	ret\n"
	".size rung_record, . - rung_record\n"

	".globl rung_long_record\n.type rung_long_record, %function\n" /* the same, too long to be run to its end */
	"rung_long_record:\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	mov x29, sp\n"
	"	mov x9, x0\n"
	"	mov x0, x1\n"
	"	blr x9\n"
	"	b 1f\n"
	"	.skip 512\n"
	"1:	ldp x29, x30, [sp], #32\n"
	"	ret\n"
	".size rung_long_record, . - rung_long_record\n"

	".globl rung_saves_link\n.type rung_saves_link, %function\n" /* signs its return address, keeps no frame pointer */
	"rung_saves_link:\n"
	"	paciasp\n"
	"	str x30, [sp, #-16]!\n"
	"	mov x9, x0\n"
	"	mov x0, x1\n"
	"	blr x9\n"
	"	cbz x0, 1f\n"
	"	add x0, x0, #1\n"
	"1:	ldr x30, [sp], #16\n"
	"	autiasp\n"
	"	ret\n"
	".size rung_saves_link, . - rung_saves_link\n"

	".globl rung_late_frame\n.type rung_late_frame, %function\n" /* decides before it makes a frame, ends in a jump */
	"rung_late_frame:\n"
	"	cbz x1, 1f\n"
	"	nop\n"
	"	stp x29, x30, [sp, #-32]!\n"
	"	mov x29, sp\n"
	"	stp x0, x1, [sp, #16]\n"
	"	mov x9, x0\n"
	"	mov x0, x1\n"
	"	blr x9\n"
	"	ldp x0, x1, [sp, #16]\n"
	"	mov x0, x1\n"
	"	ldp x29, x30, [sp], #32\n"
	"	b rung_leaf\n"
	"1:	ret\n"
	".size rung_late_frame, . - rung_late_frame\n"

	".globl rung_traps\n.type rung_traps, %function\n" /* a leaf that a signal interrupts */
	"rung_traps:\n"
	"	mov x1, #0\n"
	"	ldr x1, [x1]\n"
	"	add x0, x0, #1\n"
	"	ret\n"
	".size rung_traps, . - rung_traps\n"

	/* The vdso's, without CFI as there, and the nop before it. */
	"	nop\n"
	".globl ladder_restorer\n.type ladder_restorer, %function\n"
	"ladder_restorer:\n"
	"	mov x8, #139\n"
	"	svc #0\n"
	".size ladder_restorer, . - ladder_restorer\n");

BARE static uint64_t allocates(uint64_t depth)
{
	char *bytes = alloca(100 + depth * 16);
	memset(bytes, (int)depth, 100 + depth * 16);
	sink += (uint64_t)bytes[depth];
	return rung_spills(depth) + (uint64_t)bytes[1];
}

BARE static uint64_t realigns(uint64_t depth)
{
	uint64_t wide[600] __attribute__((aligned(64)));
	for (unsigned i = 0; i < 8; i++)
		wide[i] = depth * i + sink;
	sink += wide[depth % 8];
	return allocates(depth) + wide[(depth + 1) % 8];
}

BARE static uint64_t recurses(uint64_t depth)
{
	if (depth == 0)
		return realigns(5);
	return recurses(depth - 1) * 3 + depth + sink;
}

BARE KEEPS_RECORD static uint64_t climbs_records(uint64_t depth)
{
	return rung_record(rung_leaf, depth) + rung_long_record(allocates, depth) +
	       rung_saves_link(allocates, depth) + rung_late_frame(allocates, depth) +
	       rung_late_frame(allocates, 0);
}

static int compare_bytes(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

BARE static void calls_libraries(void)
{
	char letters[] = "ladder", text[32];
	qsort(letters, 6, 1, compare_bytes);
	snprintf(text, sizeof(text), "%d %s", 42, letters);
	sink += (uint64_t)text[0] + strlen(text);
}

static void on_inner_signal(int number)
{
	sink += recurses((uint64_t)number % 3);
}

static void on_signal(int number)
{
	sink += recurses((uint64_t)number % 4);
	raise(SIGUSR2);
}

static void on_trap(int number, siginfo_t *info, void *context)
{
	ucontext_t *interrupted = context;
	(void)number, (void)info;
	sink += rung_leaf(3);
	interrupted->uc_mcontext.regs[1] = (uintptr_t)&sink; /* then the load can be done */
}

/* The kernel's struct sigaction: libc's would not name the restorer. */
struct kernel_sigaction {
	void *handler;
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};
enum { KERNEL_SA_RESTORER = 0x04000000, KERNEL_MASK_BYTES = 8 };

static void handle(int number, void *handler, unsigned long flags)
{
	const struct kernel_sigaction action = {
		.handler = handler,
		.flags = flags | KERNEL_SA_RESTORER,
		.restorer = ladder_restorer,
	};
	if (syscall(SYS_rt_sigaction, number, &action, NULL, KERNEL_MASK_BYTES))
		_exit(2);
}

BARE KEEPS_RECORD static void takes_signals(void)
{
	handle(SIGUSR1, on_signal, 0);
	handle(SIGUSR2, on_inner_signal, 0);
	handle(SIGSEGV, on_trap, SA_SIGINFO);
	raise(SIGUSR1);
	sink += rung_traps(7);
	sink += rung_long_record(rung_traps, 7);
}

/* Stepping begins here. */
BARE void climb(void)
{
	sink += recurses(6);
	sink += climbs_records(4);
	calls_libraries();
	takes_signals();
}

int main(void)
{
	char line[1024];
	FILE *maps = fopen("/proc/self/maps", "r");
	puts("maps");
	while (maps && fgets(line, sizeof(line), maps))
		fputs(line, stdout);
	puts("end");
	fflush(stdout);
	climb();
	return 0;
}
