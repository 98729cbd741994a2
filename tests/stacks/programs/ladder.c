/* SPDX-License-Identifier: MIT */
/*
 * Calls of every shape, to be single-stepped. What it does is its argument; without, everything that needs no
 * other. SIGUSR1 may interrupt it anywhere.
 */
#include <alloca.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#ifdef __GLIBC__
#include <ucontext.h>
#endif
#include <unistd.h>

#define RUNG __attribute__((noinline))

typedef uint64_t callee(void);

uint64_t rung_pushes(callee *);
uint64_t rung_rbp_is_zero(callee *);
uint64_t rung_cfa_in_rbx(callee *);
uint64_t rung_cfa_in_r10(void);
uint64_t rung_cfa_in_rax(void);
uint64_t rung_red_zone(uint64_t *);
uint64_t rung_saved_sp(callee *);
uint64_t rung_indexed_sp(callee *);
void rung_never_returns(callee *);
uint64_t rung_leaf_without_cfi(void);
uint64_t rung_frame_without_cfi(callee *);
uint64_t rung_vsyscall(void);

static volatile uint64_t sink;

/* ---- shapes ---- */

RUNG static uint64_t leaf(void)
{
	return sink * 3 + 1;
}

RUNG static uint64_t calls_leaves(void)
{
	sink += rung_leaf_without_cfi();
	uint64_t local = rung_cfa_in_r10() + rung_cfa_in_rax();
	sink += rung_red_zone(&local) + local;
	return leaf() + sink;
}

RUNG static uint64_t without_cfi(void)
{
	return rung_frame_without_cfi(calls_leaves) + sink;
}

RUNG static uint64_t indexed(void)
{
	return rung_indexed_sp(without_cfi) + sink;
}

RUNG static uint64_t saved(void)
{
	return rung_saved_sp(indexed) + sink;
}

RUNG static uint64_t in_rbx(void)
{
	return rung_cfa_in_rbx(saved) + sink;
}

RUNG static uint64_t zero(void)
{
	return rung_rbp_is_zero(in_rbx) + sink;
}

RUNG static uint64_t allocates(uint64_t size)
{
	char *bytes = alloca(100 + size * 16);
	memset(bytes, (int)size, 100 + size * 16);
	sink += (uint64_t)bytes[size];
	return rung_pushes(zero) + (uint64_t)bytes[1];
}

/* A stack realigned by the compiler, with and without a size that is known only here. */
RUNG static uint64_t realigns(uint64_t size)
{
	uint64_t wide[16] __attribute__((aligned(64)));
	for (unsigned i = 0; i < 16; i++)
		wide[i] = size * i + sink;
	sink += wide[size % 16];
	return allocates(size) + wide[(size + 1) % 16];
}

RUNG static uint64_t realigns_and_allocates(uint64_t size)
{
	uint64_t wide[8] __attribute__((aligned(128)));
	char *bytes = alloca(size * 24);
	for (unsigned i = 0; i < 8; i++)
		wide[i] = size * i + sink;
	bytes[size] = (char)size;
	sink += wide[size % 8];
	return realigns(size) + wide[(size + 1) % 8] + (uint64_t)bytes[size];
}

/* More values than registers: rbp is one of them. */
RUNG static uint64_t busy(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e, uint64_t f)
{
	uint64_t g = a * b, h = c * d, i = e * f, j = a ^ c, k = b ^ d, l = e + a, m = f + b;
	for (int n = 0; n < 3; n++) {
		a = g + leaf() * h;
		b = h + i * a;
		g ^= j * k + l;
		h += m * c + d;
		i ^= e * f + k;
		j += l ^ m;
		k *= a + b;
		l ^= g + h;
		m += i ^ j;
	}
	return a + b + c + d + e + f + g + h + i + j + k + l + m;
}

RUNG static uint64_t many_arguments(uint64_t a, uint64_t b, uint64_t c, uint64_t d, uint64_t e,
				    uint64_t f, uint64_t g, uint64_t h, uint64_t i)
{
	return busy(a + g, b + h, c + i, d, e, f) + g * h * i;
}

RUNG static uint64_t recurses(uint64_t depth)
{
	if (depth == 0)
		return realigns_and_allocates(5);
	return recurses(depth - 1) * 3 + depth + sink;
}

RUNG static void early_out(uint64_t value)
{
	if (value & 1)
		return;
	sink += leaf();
	if (value & 2)
		return;
	sink += many_arguments(1, 2, 3, value, 5, 6, 7, 8, 9);
}

static void shapes(void)
{
	sink += recurses(6);
	for (uint64_t i = 0; i < 4; i++)
		early_out(i);
}

/* ---- what never returns ---- */

static jmp_buf out;

RUNG static uint64_t leaves_by_longjmp(void)
{
	sink += leaf();
	longjmp(out, 1);
}

static void noreturn(void)
{
	if (setjmp(out) == 0)
		rung_never_returns(leaves_by_longjmp);
	sink += leaf();
}

/* ---- libraries ---- */

static int compare_bytes(const void *a, const void *b)
{
	return *(const char *)a - *(const char *)b;
}

static void libraries(void)
{
	struct timespec now;
	char text[48], letters[] = "ladder";
	for (int i = 0; i < 2; i++) { /* bound the first time only */
		snprintf(text, sizeof(text), "%d %s %.3f", 42, "rungs", 1.5);
		qsort(letters, 6, 1, compare_bytes);
		sink += (uint64_t)atoi(text) + strlen(text) + (uint64_t)letters[0];
		clock_gettime(CLOCK_MONOTONIC, &now); /* the vdso */
		sink += (uint64_t)now.tv_nsec + (uint64_t)sched_getcpu() + (uint64_t)time(NULL);
		free(malloc(100 + (size_t)i));
	}
	sink += (uint64_t)getppid();
}

static void vsyscall(void)
{
	sink += rung_vsyscall();
}

static void loads_a_library(void)
{
	void *library = dlopen("libm.so.6", RTLD_NOW);
	double (*cosine)(double) = NULL;
	if (library)
		*(void **)&cosine = dlsym(library, "cos");
	if (cosine)
		sink += (uint64_t)cosine((double)sink);
	if (library)
		dlclose(library);
}

/* ---- signals ---- */

static void on_inner_signal(int number)
{
	sink += recurses((uint64_t)number % 2);
}

static void on_signal(int number)
{
	sink += many_arguments(1, 2, 3, 4, 5, 6, 7, 8, (uint64_t)number);
	raise(SIGUSR2);
}

static void on_interruption(int number, siginfo_t *info, void *context)
{
	(void)info, (void)context;
	sink += (uint64_t)number;
}

static void handle(int number, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	if (sigaction(number, &action, NULL))
		_exit(2);
}

static void signals(void)
{
	handle(SIGHUP, on_signal, 0);
	handle(SIGUSR2, on_inner_signal, 0);
	raise(SIGHUP);
}

static void signals_on_another_stack(void)
{
	static char stack[65536] __attribute__((aligned(64)));
	const stack_t alternate = {.ss_sp = stack, .ss_size = sizeof(stack)};
	if (sigaltstack(&alternate, NULL))
		_exit(2);
	handle(SIGHUP, on_signal, SA_ONSTACK);
	handle(SIGUSR2, on_inner_signal, SA_ONSTACK);
	raise(SIGHUP);
	handle(SIGUSR2, on_inner_signal, 0);
	raise(SIGHUP);
}

static sigjmp_buf recovery;

static void on_fault(int number)
{
	sink += leaf();
	siglongjmp(recovery, number);
}

/* A fault in a function, one in a leaf, and a call of nothing. */
static void faults(void)
{
	callee *volatile nothing = NULL;
	handle(SIGSEGV, on_fault, 0);
	if (sigsetjmp(recovery, 1) == 0)
		sink += *(volatile uint64_t *)(uintptr_t)(sink & 0);
	if (sigsetjmp(recovery, 1) == 0)
		sink += nothing();
}

/* ---- tasks ---- */

static void *thread(void *argument)
{
	shapes();
	sink += leaf();
	return argument;
}

static void threads(void)
{
	pthread_t one, two;
	if (pthread_create(&one, NULL, thread, NULL) || pthread_create(&two, NULL, thread, NULL))
		_exit(2);
	pthread_join(one, NULL);
	pthread_join(two, NULL);
}

RUNG static void vforks(void)
{
	pid_t pid = vfork();
	if (pid == 0)
		_exit((int)leaf() & 1);
	waitpid(pid, NULL, 0);
}

RUNG static void forks(void)
{
	pid_t pid = fork();
	if (pid == 0) {
		sink += recurses(2);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
}

static void spawns(void)
{
	char path[] = "/bin/true";
	char *const arguments[] = {path, NULL};
	pid_t pid;
	if (posix_spawn(&pid, path, NULL, NULL, arguments, NULL) == 0)
		waitpid(pid, NULL, 0);
}

/* ---- coroutines ---- */

#ifdef __GLIBC__
enum { COROUTINE_BYTES = 65536, SYS_DECLARE_STACK = 0x5354 };
static ucontext_t main_context, coroutine_context;

static void coroutine(void)
{
	for (int i = 0; i < 2; i++) {
		sink += recurses(1);
		swapcontext(&coroutine_context, &main_context);
	}
}

static void coroutines(void)
{
	char *stack = mmap(NULL, COROUTINE_BYTES, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (stack == MAP_FAILED || getcontext(&coroutine_context))
		_exit(2);
	syscall(SYS_DECLARE_STACK, stack, COROUTINE_BYTES);
	coroutine_context.uc_stack.ss_sp = stack;
	coroutine_context.uc_stack.ss_size = COROUTINE_BYTES;
	coroutine_context.uc_link = &main_context;
	makecontext(&coroutine_context, coroutine, 0);
	for (int i = 0; i < 3; i++) {
		swapcontext(&main_context, &coroutine_context);
		sink += leaf();
	}
}
#else
static void coroutines(void)
{
}
#endif

/* ---- code made at run time ---- */

/* push rbp; mov rsp, rbp; call *rdi; pop rbp; ret */
static const uint8_t with_frame_pointer[] = {0x55, 0x48, 0x89, 0xe5, 0xff, 0xd7, 0x5d, 0xc3};
/* lea 3(rdi), rax; ret */
static const uint8_t plain_leaf[] = {0x48, 0x8d, 0x47, 0x03, 0xc3};

static void generated_code(void)
{
	uint8_t *code =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t (*call)(callee *), (*add)(uint64_t);
	if (code == MAP_FAILED)
		_exit(2);
	memcpy(code, with_frame_pointer, sizeof(with_frame_pointer));
	memcpy(code + 64, plain_leaf, sizeof(plain_leaf));
	if (mprotect(code, 4096, PROT_READ | PROT_EXEC))
		_exit(2);
	*(void **)&call = code;
	*(void **)&add = code + 64;
	sink += call(leaf) + add(sink);
	sink += call(in_rbx);
	munmap(code, 4096);
}

/* ---- which ---- */

static const struct {
	const char *name;
	void (*run)(void);
} parts[] = {
	{"shapes", shapes},
	{"noreturn", noreturn},
	{"libraries", libraries},
	{"dlopen", loads_a_library},
	{"signals", signals},
	{"altstack", signals_on_another_stack},
	{"faults", faults},
	{"threads", threads},
	{"vfork", vforks},
	{"fork", forks},
	{"spawn", spawns},
	{"coroutines", coroutines},
	{"generated", generated_code},
	{"vsyscall", vsyscall},
};

int main(int argc, char **argv)
{
	struct sigaction interruption = {.sa_sigaction = on_interruption, .sa_flags = SA_SIGINFO};
	sigaction(SIGUSR1, &interruption, NULL);
	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		for (int j = 1; j < argc; j++)
			if (strcmp(parts[i].name, argv[j]) == 0)
				parts[i].run();
	return 0;
}
