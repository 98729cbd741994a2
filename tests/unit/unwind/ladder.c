/* SPDX-License-Identifier: MIT */
/*
 * A child is single-stepped through functions of every shape: after each instruction the unwound stack must be
 * the one that its calls, returns and signals have made, as kept by watching them.
 */
#include <ctop/unwind/unwind.h>

#include <alloca.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>
#include <zlib.h>

#include "test.h"
#include "target.h"

/* ---- the ladder: what the child runs ---- */

#if defined(__GNUC__) && !defined(__clang__)
#define BARE __attribute__((noinline, noclone, optimize("O2,omit-frame-pointer")))
#else
#define BARE __attribute__((noinline))
#endif

static volatile uint64_t sink;

uint64_t ladder_c(uint64_t depth);
uint64_t ladder_pushes(uint64_t depth);

/* Hand-written rungs: each calls the next. The last has no CFI at all. */
__asm__(".text\n"
	".type ladder_pushes, @function\n"
	"ladder_pushes:\n"
	".cfi_startproc\n"
	"	pushq %r15\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset r15, 0\n"
	"	pushq %rbx\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset rbx, 0\n"
	"	subq $24, %rsp\n	.cfi_adjust_cfa_offset 24\n"
	"	movq $-1, %rbx\n"
	"	movq $1, %r15\n"
	"	call ladder_frame_pointer\n"
	"	addq $24, %rsp\n	.cfi_adjust_cfa_offset -24\n"
	"	popq %rbx\n	.cfi_adjust_cfa_offset -8\n"
	"	popq %r15\n	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size ladder_pushes, . - ladder_pushes\n"

	".type ladder_frame_pointer, @function\n"
	"ladder_frame_pointer:\n"
	".cfi_startproc\n"
	"	pushq %rbp\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset rbp, 0\n"
	"	movq %rsp, %rbp\n	.cfi_def_cfa_register rbp\n"
	"	subq $4000, %rsp\n"
	"	pushq %rbx\n	.cfi_offset rbx, -4024\n"
	"	pushq %r15\n"
	"	call ladder_rbx\n"
	"	popq %r15\n"
	"	popq %rbx\n"
	"	leave\n	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size ladder_frame_pointer, . - ladder_frame_pointer\n"

	/* The CFA in rbx, and a stack aligned downwards by hand. */
	".type ladder_rbx, @function\n"
	"ladder_rbx:\n"
	".cfi_startproc\n"
	"	pushq %rbp\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset rbp, 0\n"
	"	pushq %rbx\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset rbx, 0\n"
	"	movq %rsp, %rbx\n	.cfi_def_cfa_register rbx\n"
	"	subq $200, %rsp\n"
	"	andq $-64, %rsp\n"
	"	xorl %ebp, %ebp\n"
	"	call ladder_saved_sp\n"
	"	movq %rbx, %rsp\n	.cfi_def_cfa_register rsp\n"
	"	popq %rbx\n	.cfi_adjust_cfa_offset -8\n"
	"	popq %rbp\n	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size ladder_rbx, . - ladder_rbx\n"

	/* Keeps its caller's stack pointer in memory: the CFA is an expression, *(rsp + 40) + 8. */
	".type ladder_saved_sp, @function\n"
	"ladder_saved_sp:\n"
	".cfi_startproc\n"
	"	movq %rsp, %rax\n"
	"	subq $56, %rsp\n	.cfi_adjust_cfa_offset 56\n"
	"	movq %rax, 40(%rsp)\n"
	"	.cfi_escape 0x0f, 5, 0x77, 40, 0x06, 0x23, 8\n"
	"	call ladder_indexed_sp\n"
	"	movq 40(%rsp), %rsp\n	.cfi_def_cfa rsp, 8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size ladder_saved_sp, . - ladder_saved_sp\n"

	/* The same at an index: *(rsp + 8 + r12 * 8) + 8, which no short form holds. */
	".type ladder_indexed_sp, @function\n"
	"ladder_indexed_sp:\n"
	".cfi_startproc\n"
	"	pushq %r12\n	.cfi_adjust_cfa_offset 8\n	.cfi_rel_offset r12, 0\n"
	"	leaq 8(%rsp), %rax\n"
	"	movl $3, %r12d\n"
	"	subq $64, %rsp\n	.cfi_adjust_cfa_offset 64\n"
	"	movq %rax, 8(%rsp,%r12,8)\n"
	"	.cfi_escape 0x0f, 11, 0x77, 8, 0x7c, 0, 0x38, 0x1e, 0x22, 0x06, 0x23, 8, 0x96\n"
	"	call ladder_calls_leaf\n"
	"	movq 8(%rsp,%r12,8), %rsp\n	.cfi_def_cfa rsp, 8\n"
	"	movq -8(%rsp), %r12\n	.cfi_restore r12\n"
	"	ret\n"
	".cfi_endproc\n"
	".size ladder_indexed_sp, . - ladder_indexed_sp\n"

	".type ladder_calls_leaf, @function\n"
	"ladder_calls_leaf:\n"
	".cfi_startproc\n"
	"	pushq %rdi\n	.cfi_adjust_cfa_offset 8\n"
	"	leaq ladder_leaf_without_cfi(%rip), %rax\n"
	"	call *%rax\n"
	"	pushq %rax\n	.cfi_adjust_cfa_offset 8\n"
	"	pushq %rax\n	.cfi_adjust_cfa_offset 8\n"
	"	call *8(%rsp)\n"
	"	popq %rax\n	.cfi_adjust_cfa_offset -8\n"
	"	popq %rax\n	.cfi_adjust_cfa_offset -8\n"
	"	popq %rdi\n	.cfi_adjust_cfa_offset -8\n"
	"	ret\n"
	".cfi_endproc\n"
	".size ladder_calls_leaf, . - ladder_calls_leaf\n"

	"	.p2align 6\n"
	".type ladder_leaf_without_cfi, @function\n"
	"ladder_leaf_without_cfi:\n"
	"	leaq (%rdi,%rdi), %rcx\n"
	"	imulq %rcx, %rcx\n"
	"	leaq ladder_leaf_without_cfi(%rip), %rax\n"
	"	ret\n"
	".size ladder_leaf_without_cfi, . - ladder_leaf_without_cfi\n");

BARE static uint64_t allocates(uint64_t depth)
{
	char *bytes = alloca(100 + depth * 16);
	memset(bytes, (int)depth, 100 + depth * 16);
	sink += (uint64_t)bytes[depth];
	return ladder_pushes(depth) + (uint64_t)bytes[1];
}

/* A stack realigned by the compiler: the CFA comes out of memory, by an expression. */
BARE static uint64_t realigns(uint64_t depth)
{
	uint64_t wide[16] __attribute__((aligned(64)));
	for (unsigned i = 0; i < 16; i++)
		wide[i] = depth * i + sink;
	sink += wide[depth % 16];
	return allocates(depth) + wide[(depth + 1) % 16];
}

BARE static uint64_t recurses(uint64_t depth)
{
	if (depth == 0)
		return realigns(5);
	return recurses(depth - 1) * 3 + depth + sink;
}

BARE static void calls_libraries(void)
{
	struct timespec now;
	unsigned char packed[64] = {0};
	uLongf size = sizeof(packed);
	char text[32];
	clock_gettime(CLOCK_MONOTONIC, &now); /* the vdso */
	snprintf(text, sizeof(text), "%d %s", 42, "rungs");
	sink += (uint64_t)now.tv_nsec + (uint64_t)text[0];
	sink += (uint64_t)crc32(0, (const unsigned char *)text, sizeof(text));
	sink += (uint64_t)uncompress(packed, &size, packed, sizeof(packed));
}

static int compare_bytes(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

BARE static void called_back(void)
{
	char letters[] = "ladder";
	qsort(letters, 6, 1, compare_bytes);
	sink += (uint64_t)letters[0];
}

static void on_inner_signal(int signal_number)
{
	sink += recurses((uint64_t)signal_number % 3);
}

static void on_signal(int signal_number)
{
	sink += recurses((uint64_t)signal_number % 4);
	raise(SIGUSR2);
}

BARE static void takes_signals(int flags)
{
	static char stack[65536] __attribute__((aligned(64)));
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	struct sigaction action = {.sa_handler = on_signal, .sa_flags = flags};
	const struct sigaction inner = {.sa_handler = on_inner_signal};
	if (sigaltstack(&alternate, NULL) || sigaction(SIGUSR1, &action, NULL) ||
	    sigaction(SIGUSR2, &inner, NULL))
		_exit(2);
	raise(SIGUSR1);
}

/* ---- the tracer ---- */

struct expected {
	uint64_t address;  /* look-up address */
	bool starts_stack; /* the frames below are on another stack than those above */
};

struct shadow {
	struct expected items
		[UNWIND_MAX_FRAMES]; /* outermost first; the innermost frame is not among them */
	size_t nr;
};

struct tracer {
	pid_t pid;
	struct target target;
	struct unwinder *unwinder;
	struct shadow shadow;
	struct user_regs_struct regs;
	uint8_t stack[TARGET_STACK_BYTES];
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	size_t nr_steps, nr_calls, nr_signals, nr_by_method[NR_FRAME_METHODS], nr_switched;
};

static void push(struct shadow *shadow, uint64_t address, bool starts_stack)
{
	CHECK(shadow->nr < UNWIND_MAX_FRAMES);
	shadow->items[shadow->nr++] = (struct expected){address, starts_stack};
}

static void unwind_here(struct tracer *tracer, struct unwind_result *result)
{
	struct unwind_input input = {0};
	target_registers(&tracer->regs, &input);
	target_stack(tracer->pid, &input, tracer->stack, sizeof(tracer->stack));
	CHECK_EQ(unwind_stack(tracer->unwinder, &tracer->target.space, &input, tracer->frames,
			      result, NULL),
		 0);
}

static void print_difference(const struct tracer *tracer, const struct unwind_result *result)
{
	const struct shadow *shadow = &tracer->shadow;
	printf("# step %zu: %zu frames, %s, %s; expected %zu\n", tracer->nr_steps,
	       result->nr_frames, stack_end_name(result->end), stack_reason_name(result->reason),
	       shadow->nr + 1);
	for (size_t i = 0; i < result->nr_frames || i <= shadow->nr; i++) {
		bool ours = i < result->nr_frames;
		const struct unwind_frame *frame = &tracer->frames[i];
		const struct target_module *module = ours ? frame->module : NULL;
		uint64_t wanted = i == 0	    ? tracer->regs.rip
				  : i <= shadow->nr ? shadow->items[shadow->nr - i].address
						    : 0;
		printf("# %2zu %-10s %16" PRIx64 " %16" PRIx64 " %s+%" PRIx64 "\n", i,
		       ours ? frame_method_name(frame->method) : "-",
		       ours ? frame->process_address : 0, wanted, module ? module->path : "?",
		       ours ? frame->process_address - frame->bias : 0);
	}
}

static void check_step(struct tracer *tracer)
{
	const struct shadow *shadow = &tracer->shadow;
	struct unwind_result result;
	unwind_here(tracer, &result);
	size_t wanted = 1;
	bool switches = false;
	while (wanted <= shadow->nr && !switches)
		switches = shadow->items[shadow->nr - wanted++].starts_stack;
	bool right = result.nr_frames == wanted &&
		     tracer->frames[0].process_address == tracer->regs.rip &&
		     result.end == (switches ? STACK_SWITCHED : STACK_COMPLETE);
	for (size_t i = 1; right && i < wanted; i++)
		right = tracer->frames[i].process_address == shadow->items[shadow->nr - i].address;
	if (!right)
		print_difference(tracer, &result);
	CHECK(right);
	tracer->nr_switched += switches;
	for (size_t i = 0; i < wanted; i++)
		tracer->nr_by_method[tracer->frames[i].method]++;
}

enum instruction { OTHER, CALL, RETURN, SYSCALL };

/* The child is a fork: what lies at an address there lies at the same one here. */
static enum instruction instruction_at(uint64_t pc)
{
	const uint8_t *code = (const uint8_t *)(uintptr_t)pc;
	while (*code == 0xf2 || *code == 0xf3 || *code == 0x3e || *code == 0x66 ||
	       (*code & 0xf0) == 0x40)
		code++;
	if (*code == 0xe8 || (*code == 0xff && (code[1] >> 3 & 7) == 2))
		return CALL;
	if (*code == 0xc3 || *code == 0xc2)
		return RETURN;
	return *code == 0x0f && code[1] == 0x05 ? SYSCALL : OTHER;
}

static uint64_t top_of_stack(const struct tracer *tracer)
{
	uint64_t value = 0;
	CHECK(target_read(tracer->pid, tracer->regs.rsp, &value, sizeof(value)));
	return value;
}

/* Executes an instruction, or delivers a signal. False when the child has gone. */
static bool step(struct tracer *tracer, int deliver)
{
	int status;
	CHECK_EQ(ptrace(PTRACE_SINGLESTEP, tracer->pid, NULL, (void *)(intptr_t)deliver), 0);
	CHECK_EQ(waitpid(tracer->pid, &status, 0), tracer->pid);
	if (WIFEXITED(status)) {
		CHECK_EQ(WEXITSTATUS(status), 0);
		return false;
	}
	CHECK(WIFSTOPPED(status));
	const struct user_regs_struct before = tracer->regs;
	CHECK_EQ(ptrace(PTRACE_GETREGS, tracer->pid, NULL, &tracer->regs), 0);
	tracer->nr_steps++;
	struct shadow *shadow = &tracer->shadow;

	if (deliver) { /* now at the handler's first instruction */
		uint64_t distance = before.rsp - tracer->regs.rsp;
		push(shadow, before.rip, distance > 65536);
		push(shadow, top_of_stack(tracer), false);
		tracer->nr_signals++;
		return true;
	}
	switch (instruction_at(before.rip)) {
	case CALL:
		push(shadow, top_of_stack(tracer) - 1, false);
		tracer->nr_calls++;
		break;
	case RETURN: {
		CHECK(shadow->nr > 0);
		uint64_t address = shadow->items[--shadow->nr].address;
		CHECK(tracer->regs.rip == address + 1 || tracer->regs.rip == address);
		break;
	}
	case SYSCALL:
		if (before.rax == 15) /* rt_sigreturn: back to what was interrupted */
			CHECK_EQ(tracer->regs.rip, shadow->items[--shadow->nr].address);
		break;
	case OTHER:
		break;
	}
	if (WSTOPSIG(status) != SIGTRAP) {
		check_step(tracer);
		return step(tracer, WSTOPSIG(status));
	}
	return true;
}

/* Steps a child through the function; returns where the caller can look at what was seen. */
static struct tracer *trace(void (*run)(void), size_t at_least_steps)
{
	static struct tracer tracer;
	int status;
	memset(&tracer, 0, sizeof(tracer));
	fflush(stdout);
	tracer.pid = fork();
	if (tracer.pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		raise(SIGSTOP);
		run();
		_exit(0);
	}
	CHECK(tracer.pid > 0);
	CHECK_EQ(waitpid(tracer.pid, &status, 0), tracer.pid);
	CHECK(WIFSTOPPED(status));
	ptrace(PTRACE_SETOPTIONS, tracer.pid, NULL, (void *)PTRACE_O_EXITKILL);
	CHECK_EQ(ptrace(PTRACE_GETREGS, tracer.pid, NULL, &tracer.regs), 0);
	CHECK(target_map(&tracer.target, tracer.pid));
	tracer.unwinder = unwinder_new();
	CHECK(tracer.unwinder);

	/* Where it starts is not watched: taken from the first unwinding, and checked by every return. */
	struct unwind_result result;
	unwind_here(&tracer, &result);
	CHECK_EQ(result.end, STACK_COMPLETE);
	for (size_t i = result.nr_frames; i-- > 1;)
		push(&tracer.shadow, tracer.frames[i].process_address, false);
	while (step(&tracer, 0))
		check_step(&tracer);

	printf("# %zu steps, %zu calls, %zu signals; frames:", tracer.nr_steps, tracer.nr_calls,
	       tracer.nr_signals);
	for (uint32_t i = 0; i < NR_FRAME_METHODS; i++)
		if (tracer.nr_by_method[i])
			printf(" %zu %s", tracer.nr_by_method[i], frame_method_name(i));
	printf("\n");
	CHECK(tracer.nr_steps >= at_least_steps);
	unwinder_free(tracer.unwinder);
	target_release(&tracer.target);
	return &tracer;
}

static void run_rungs(void)
{
	sink += recurses(6);
}

static void run_library_calls(void)
{
	calls_libraries();
	called_back();
}

static void run_signals(void)
{
	takes_signals(0);
}

static void run_signals_on_alternate_stack(void)
{
	takes_signals(SA_ONSTACK);
}

static void functions_of_every_shape(void)
{
	const struct tracer *tracer = trace(run_rungs, 200);
	CHECK(tracer->nr_by_method[FRAME_EXPRESSION] > 0);
	CHECK(tracer->nr_by_method[FRAME_CODE] + tracer->nr_by_method[FRAME_LIKELY] > 0);
}

static void libraries_the_vdso_and_callbacks(void)
{
	const struct tracer *tracer = trace(run_library_calls, 500);
	CHECK(tracer->nr_by_method[FRAME_PLT] > 0);
}

static void nested_signals(void)
{
	const struct tracer *tracer = trace(run_signals, 500);
	CHECK_EQ(tracer->nr_signals, 2);
	CHECK(tracer->nr_by_method[FRAME_SIGNAL] > 0);
	CHECK_EQ(tracer->nr_switched, 0);
}

static void nested_signals_on_an_alternate_stack(void)
{
	const struct tracer *tracer = trace(run_signals_on_alternate_stack, 500);
	CHECK_EQ(tracer->nr_signals, 2);
	CHECK(tracer->nr_switched > 0);
}

int main(void)
{
	RUN(functions_of_every_shape);
	RUN(libraries_the_vdso_and_callbacks);
	RUN(nested_signals);
	RUN(nested_signals_on_an_alternate_stack);
	return test_done();
}
