/* SPDX-License-Identifier: MIT */
/* One real stack, dumped in part: every cut must give the true frames up to there, and say so. */
#include <ctop/unwind/unwind.h>

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "test.h"
#include "target.h"

static struct {
	struct target target;
	struct unwinder *unwinder;
	struct unwind_input input;
	uint8_t stack[TARGET_STACK_BYTES];
	struct unwind_frame whole[UNWIND_MAX_FRAMES];
	struct unwind_result whole_result;
} t;

static volatile int sink;

static int compare(const void *a, const void *b)
{
	raise(SIGSTOP); /* deep in a library that called back */
	return *(const char *)a - *(const char *)b;
}

__attribute__((noinline)) static int recurse(int depth)
{
	char text[] = "dc";
	if (depth == 0)
		qsort(text, 2, 1, compare);
	else
		sink += recurse(depth - 1);
	return sink + text[0];
}

static bool capture(void)
{
	int status;
	struct user_regs_struct regs;
	pid_t pid = fork();
	if (pid == 0) {
		ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		_exit(recurse(20) & 1);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || !WIFSTOPPED(status) ||
	    ptrace(PTRACE_GETREGS, pid, NULL, &regs) != 0)
		return false;
	target_registers(&regs, &t.input);
	target_stack(pid, &t.input, t.stack, sizeof(t.stack));
	bool mapped = target_map(&t.target, pid);
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	return mapped;
}

static void the_whole_dump_is_complete(void)
{
	CHECK_EQ(
		unwind_stack(t.unwinder, &t.target.space, &t.input, t.whole, &t.whole_result, NULL),
		0);
	CHECK_EQ(t.whole_result.end, STACK_COMPLETE);
	CHECK(t.whole_result.nr_frames > 25);
}

/* Unwinds the first bytes of the dump, followed by poison; checks that it is a true beginning. */
static size_t check_cut(size_t bytes, uint8_t poison)
{
	static uint8_t copy[TARGET_STACK_BYTES];
	static struct unwind_frame frames[UNWIND_MAX_FRAMES];
	struct unwind_input input = t.input;
	struct unwind_result result;
	memset(copy, poison, sizeof(copy));
	memcpy(copy, t.stack, bytes);
	input.stack = copy;
	input.stack_bytes = bytes;
	CHECK_EQ(unwind_stack(t.unwinder, &t.target.space, &input, frames, &result, NULL), 0);
	CHECK(result.nr_frames >= 1 && result.nr_frames <= t.whole_result.nr_frames);
	for (size_t i = 0; i < result.nr_frames; i++)
		CHECK_EQ(frames[i].process_address, t.whole[i].process_address);
	if (result.end == STACK_COMPLETE) {
		CHECK_EQ(result.nr_frames, t.whole_result.nr_frames);
	} else {
		CHECK_EQ(result.end, STACK_TRUNCATED);
		CHECK_EQ(result.reason, STACK_REASON_DUMP_END);
	}
	return result.nr_frames;
}

static void every_cut_is_a_true_beginning(void)
{
	size_t before = 0, nr_cuts = 0;
	for (size_t bytes = 0; bytes <= t.input.stack_bytes && bytes < 8192; bytes++) {
		size_t nr = check_cut(bytes, 0);
		CHECK(nr >= before);
		nr_cuts += nr > before;
		before = nr;
	}
	CHECK(nr_cuts > 20);
}

static void poison_beyond_the_dump_changes_nothing(void)
{
	static const uint8_t poisons[] = {0x41, 0xff, 0x7f};
	for (size_t bytes = 0; bytes <= t.input.stack_bytes && bytes < 4096; bytes += 4)
		for (size_t i = 0; i < sizeof(poisons); i++)
			CHECK_EQ(check_cut(bytes, poisons[i]), check_cut(bytes, 0));
}

static void an_unaligned_copy_is_fine(void)
{
	static uint8_t shifted[TARGET_STACK_BYTES + 8];
	static struct unwind_frame frames[UNWIND_MAX_FRAMES];
	for (size_t by = 1; by < 8; by++) {
		struct unwind_input input = t.input;
		struct unwind_result result;
		memcpy(shifted + by, t.stack, sizeof(t.stack));
		input.stack = shifted + by;
		CHECK_EQ(unwind_stack(t.unwinder, &t.target.space, &input, frames, &result, NULL),
			 0);
		CHECK_EQ(result.end, STACK_COMPLETE);
		CHECK_EQ(result.nr_frames, t.whole_result.nr_frames);
	}
}

int main(void)
{
	t.unwinder = unwinder_new();
	if (!t.unwinder || !capture())
		return 1;
	RUN(the_whole_dump_is_complete);
	RUN(every_cut_is_a_true_beginning);
	RUN(poison_beyond_the_dump_changes_nothing);
	RUN(an_unaligned_copy_is_fine);
	unwinder_free(t.unwinder);
	target_release(&t.target);
	return test_done();
}
