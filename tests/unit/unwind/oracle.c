/* SPDX-License-Identifier: MIT */
/* libdwfl as an oracle: from the same registers and stack bytes it must find the same addresses. */
#include <ctop/unwind/unwind.h>

#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <signal.h>

#include "dwfl.h"
#include "target.h"
#include "test.h"

enum { MAX_STATES = 2000, STEPS_PER_STOP = 2500, STEPS_PER_STATE = 31, SKIPPED_STOPS = 20 };

struct comparison {
	struct target target;
	struct oracle oracle;
	struct unwinder *unwinder;
	uint8_t stack[TARGET_STACK_BYTES];
	size_t nr_states, nr_complete, nr_different;
};

static void print_difference(const struct comparison *comparison, const struct unwind_frame *frames,
			     const struct unwind_result *result)
{
	printf("# ours: %zu frames, %s, %s\n", result->nr_frames, stack_end_name(result->end),
	       stack_reason_name(result->reason));
	for (size_t i = 0; i < result->nr_frames || i < comparison->oracle.nr; i++) {
		uint64_t ours = i < result->nr_frames ? frames[i].process_address : 0;
		uint64_t theirs = i < comparison->oracle.nr ? comparison->oracle.addresses[i] : 0;
		const struct target_module *module =
			i < result->nr_frames ? frames[i].module : NULL;
		printf("# %2zu %-10s %16" PRIx64 " %16" PRIx64 " %s+%" PRIx64 "%s\n", i,
		       i < result->nr_frames ? frame_method_name(frames[i].method) : "-", ours,
		       theirs, module ? module->path : "?",
		       i < result->nr_frames ? ours - frames[i].bias : 0,
		       ours == theirs ? "" : " <<<");
	}
}

static void compare_state(struct comparison *comparison, pid_t pid)
{
	struct user_regs_struct regs;
	struct unwind_input input = {0};
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct unwind_result result;
	CHECK_EQ(ptrace(PTRACE_GETREGS, pid, NULL, &regs), 0);
	target_registers(&regs, &input);
	target_stack(pid, &input, comparison->stack, sizeof(comparison->stack));
	CHECK_EQ(unwind_stack(comparison->unwinder, &comparison->target.space, &input, frames,
			      &result, NULL),
		 0);
	oracle_unwind(&comparison->oracle, &input, pid);

	bool same = result.nr_frames >= comparison->oracle.nr;
	for (size_t i = 0; same && i < comparison->oracle.nr; i++)
		same = frames[i].process_address == comparison->oracle.addresses[i];
	comparison->nr_states++;
	comparison->nr_complete += result.end == STACK_COMPLETE;
	if (!same && comparison->nr_different++ < 5)
		print_difference(comparison, frames, &result);
}

static pid_t start(char *const argv[])
{
	pid_t pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execv(argv[0], argv);
		_exit(127);
	}
	return pid;
}

/* Runs to the next stop at a getppid(): the program says so when it is where it wants to be looked at. */
static bool run_to_getppid(pid_t pid)
{
	int status;
	for (;;) {
		struct user_regs_struct regs;
		if (ptrace(PTRACE_SYSCALL, pid, NULL, NULL) != 0 ||
		    waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status))
			return false;
		if (ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
			return false;
		if (WSTOPSIG(status) == SIGTRAP && regs.orig_rax == SYS_getppid)
			return true;
	}
}

static bool step(pid_t pid)
{
	int status;
	return ptrace(PTRACE_SINGLESTEP, pid, NULL, NULL) == 0 && waitpid(pid, &status, 0) == pid &&
	       WIFSTOPPED(status);
}

static void compare_program(char *const argv[])
{
	static struct comparison comparison;
	int status;
	if (access(argv[0], X_OK) != 0)
		SKIP("no such program here");
	memset(&comparison, 0, sizeof(comparison));
	pid_t pid = start(argv);
	CHECK(pid > 0);
	CHECK_EQ(waitpid(pid, &status, 0), pid);
	CHECK(WIFSTOPPED(status));
	comparison.unwinder = unwinder_new();
	CHECK(comparison.unwinder);
	bool running = true;
	for (int i = 0; i < SKIPPED_STOPS && running; i++)
		running = run_to_getppid(pid);
	CHECK(running);
	CHECK(target_map(&comparison.target, pid));
	CHECK(oracle_open(&comparison.oracle, pid));
	while (running && comparison.nr_states < MAX_STATES) {
		for (int i = 0; running && i < STEPS_PER_STOP; i++) {
			if (i % STEPS_PER_STATE == 0)
				compare_state(&comparison, pid);
			running = step(pid);
		}
		/* Elsewhere, so that the next steps are not the same ones. */
		running = running && run_to_getppid(pid);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	const struct unwind_counters *counters = unwinder_counters(comparison.unwinder);
	printf("# %zu states, %zu complete, %" PRIu64 " frames, %" PRIu64 " rules\n",
	       comparison.nr_states, comparison.nr_complete, counters->frames,
	       counters->rules_evaluated);
	CHECK(comparison.nr_states >= STEPS_PER_STOP / STEPS_PER_STATE);
	CHECK_EQ(comparison.nr_different, 0);
	CHECK_EQ(comparison.nr_complete, comparison.nr_states);
	unwinder_free(comparison.unwinder);
	target_release(&comparison.target);
	oracle_close(&comparison.oracle);
}

static void an_interpreter_unwinds_as_libdwfl_does(void)
{
	static char program[] =
		"import os, json, re\n"
		"def deep(n):\n"
		"    if n: return deep(n - 1)\n"
		"    return len(json.dumps(sorted([3, 1, 2], key=lambda x: -x * os.getppid()))) \n"
		"class hooked:\n"
		"    def __lt__(self, other): return os.getppid() > 0\n"
		"for i in range(200):\n"
		"    deep(i % 7)\n"
		"    sorted([hooked(), hooked()])\n"
		"    re.sub('a', lambda m: str(os.getppid()), 'banana')\n";
	static char path[] = "/usr/bin/python3", option[] = "-c";
	char *const argv[] = {path, option, program, NULL};
	compare_program(argv);
}

int main(void)
{
	RUN(an_interpreter_unwinds_as_libdwfl_does);
	return test_done();
}
