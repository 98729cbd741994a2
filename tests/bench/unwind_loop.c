/* SPDX-License-Identifier: MIT */
/*
 * What unwinding costs: stops a program many times, keeps registers and stack bytes, then unwinds them all
 * again and again: each by itself, and in turn, as one thread's. Prints figures; there is no pass or fail.
 *
 *     gcc -O2 -D_GNU_SOURCE -Iinclude tests/bench/unwind_loop.c build/lib/{unwind,object,base}.a -ldw -lelf
 *     unwind_loop [-s SAMPLES] [-b STACK_BYTES] PROGRAM [ARGUMENTS]
 */
#include <ctop/unwind/unwind.h>

#include <poll.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>
#include <time.h>

#include "unwind/target.h"

enum { DEFAULT_SAMPLES = 2000, DEFAULT_STACK_BYTES = 16384, ROUNDS = 20 };

struct sample {
	struct unwind_input input;
	uint8_t *stack;
};

struct samples {
	struct sample *items;
	size_t nr, max, stack_bytes;
};

/* CPU time: others use the machine too. */
static uint64_t now_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static bool take(struct samples *samples, pid_t pid)
{
	struct user_regs_struct regs;
	struct sample *sample = &samples->items[samples->nr];
	sample->stack = malloc(samples->stack_bytes);
	if (!sample->stack || ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
		return false;
	target_registers(&regs, &sample->input);
	target_stack(pid, &sample->input, sample->stack, samples->stack_bytes);
	samples->nr++;
	return true;
}

/* Runs the program and stops it every millisecond or so. Leaves it stopped, or gone. */
static pid_t collect(char *const argv[], struct samples *samples, struct target *target)
{
	int status, ready[2];
	if (pipe2(ready, O_CLOEXEC) != 0)
		return -1;
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_RDWR | O_CLOEXEC);
		char byte;
		dup2(null, 1);
		dup2(null, 2);
		close(ready[1]);
		if (read(ready[0], &byte, 1) == 0) /* until the parent has attached */
			execvp(argv[0], argv);
		_exit(127);
	}
	close(ready[0]);
	if (ptrace(PTRACE_SEIZE, pid, NULL, (void *)PTRACE_O_EXITKILL) != 0)
		return -1;
	close(ready[1]);
	while (samples->nr < samples->max) {
		poll(NULL, 0, 1);
		ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
		if (waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			break;
		bool interrupted = status >> 16 == PTRACE_EVENT_STOP;
		if (interrupted && !take(samples, pid))
			break;
		/* Now and then, for a program that ends before it has given all the samples. */
		if (samples->nr % 64 == 1)
			target_map(target, pid);
		if (samples->nr < samples->max)
			ptrace(PTRACE_CONT, pid, NULL,
			       (void *)(intptr_t)(interrupted ? 0 : WSTOPSIG(status)));
	}
	target_map(target, pid);
	return pid;
}

struct pass {
	uint64_t ns;
	struct unwind_counters counters; /* of this pass alone */
	size_t ends[NR_STACK_ENDS];
};

static struct pass unwind_all(struct unwinder *unwinder, const struct target *target,
			      const struct samples *samples, uint64_t thread)
{
	static struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct pass pass = {0};
	const struct unwind_counters before = *unwinder_counters(unwinder);
	uint64_t start = now_ns();
	for (size_t i = 0; i < samples->nr; i++) {
		struct unwind_result result;
		samples->items[i].input.thread = thread;
		unwind_stack(unwinder, &target->space, &samples->items[i].input, frames, &result,
			     NULL);
		pass.ends[result.end]++;
	}
	pass.ns = now_ns() - start;
	const struct unwind_counters *after = unwinder_counters(unwinder);
	pass.counters.frames = after->frames - before.frames;
	pass.counters.cache_hits = after->cache_hits - before.cache_hits;
	pass.counters.cache_misses = after->cache_misses - before.cache_misses;
	pass.counters.rules_evaluated = after->rules_evaluated - before.rules_evaluated;
	pass.counters.frames_taken = after->frames_taken - before.frames_taken;
	return pass;
}

static void print_pass(const char *name, const struct pass *pass, const struct samples *samples)
{
	const struct unwind_counters *counters = &pass->counters;
	double lookups = (double)(counters->cache_hits + counters->cache_misses);
	printf("%s: %.1f ns/frame, %.1f %% taken, %.1f %% hits, %" PRIu64 " rules, %.2f us/stack\n",
	       name, (double)pass->ns / (double)counters->frames,
	       100.0 * (double)counters->frames_taken / (double)counters->frames,
	       100.0 * (double)counters->cache_hits / lookups, counters->rules_evaluated,
	       (double)pass->ns / 1000.0 / (double)samples->nr);
}

int main(int argc, char **argv)
{
	static struct target target;
	struct samples samples = {.max = DEFAULT_SAMPLES, .stack_bytes = DEFAULT_STACK_BYTES};
	int option;
	while ((option = getopt(argc, argv, "+s:b:")) != -1) {
		if (option == 's')
			samples.max = strtoul(optarg, NULL, 10);
		else if (option == 'b')
			samples.stack_bytes = strtoul(optarg, NULL, 10);
		else
			return 2;
	}
	if (optind == argc || samples.max == 0) {
		fprintf(stderr,
			"usage: unwind_loop [-s SAMPLES] [-b STACK_BYTES] PROGRAM [ARGUMENTS]\n");
		return 2;
	}
	samples.items = calloc(samples.max, sizeof(*samples.items));
	struct unwinder *unwinder = unwinder_new();
	if (!samples.items || !unwinder)
		return 1;
	pid_t pid = collect(argv + optind, &samples, &target);
	if (pid < 0 || samples.nr == 0)
		return 1;

	struct pass cold = unwind_all(unwinder, &target, &samples, 0);
	struct pass best[] = {{.ns = UINT64_MAX}, {.ns = UINT64_MAX}};
	for (int i = 0; i < 2 * ROUNDS; i++) {
		struct pass pass = unwind_all(unwinder, &target, &samples, (uint64_t)i % 2);
		if (pass.ns < best[i % 2].ns)
			best[i % 2] = pass;
	}
	printf("%zu stacks, %.1f frames each\n", samples.nr,
	       (double)cold.counters.frames / (double)samples.nr);
	print_pass("first pass", &cold, &samples);
	print_pass("warm, best", &best[0], &samples);
	print_pass("as one thread's", &best[1], &samples);
	for (uint32_t i = 0; i < NR_STACK_ENDS; i++)
		if (cold.ends[i])
			printf("%s %.2f %%\n", stack_end_name(i),
			       100.0 * (double)cold.ends[i] / (double)samples.nr);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
