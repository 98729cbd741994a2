/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_STEPPER_H
#define CTOP_TEST_STEPPER_H

/*
 * Runs a program by single steps, with all its threads and children, and compares after each the unwound stack with
 * the shadow stack. What was wrong is counted in the one struct run there is, and printed by function and offset.
 */

#include "stepper_check.h"

static uint64_t word_at(const struct task *task, uint64_t address)
{
	uint64_t value = 0;
	target_read(task->pid, address, &value, sizeof(value));
	return value;
}

static bool changes_mappings(uint64_t number)
{
	return number == SYS_mmap || number == SYS_mprotect || number == SYS_munmap ||
	       number == SYS_mremap;
}

static void after_syscall(struct task *task, const struct user_regs_struct *before)
{
	if (before->rax == SYS_rt_sigreturn) {
		CHECK(shadow_resume(&task->shadow));
		shadow_moved(&task->shadow, task->regs.rsp, 0);
		return;
	}
	if (before->rax == SYS_sigaltstack && before->rdi)
		CHECK(shadow_declare(&task->shadow, word_at(task, before->rdi),
				     word_at(task, before->rdi + 16)));
	if (before->rax == SYS_rt_sigaction && before->rdi == SIGUSR1)
		r.has_handler = true;
	if (before->rax == SYS_DECLARE_STACK)
		CHECK(shadow_declare(&task->shadow, before->rdi, before->rsi));
	if (changes_mappings(before->rax)) {
		memset(r.code, 0, sizeof(r.code));
		CHECK(target_map(&r.target, task->pid));
	}
}

/* True when a handler was entered: the default action, and none at all, let the program go on. */
static bool is_in_handler(const struct task *task, const struct user_regs_struct *before)
{
	uint8_t code[9];
	static const uint8_t restorer[sizeof(code)] = {0x48, 0xc7, 0xc0, 0x0f, 0, 0, 0, 0x0f, 0x05};
	return task->regs.rsp != before->rsp && task->regs.rdi == (uint64_t)task->deliver &&
	       read_code(word_at(task, task->regs.rsp), code, sizeof(code)) &&
	       memcmp(code, restorer, sizeof(code)) == 0;
}

/* A signal was delivered: the task is at the handler's first instruction, the restorer's address on top. */
static void after_signal(struct task *task, const struct user_regs_struct *before)
{
	const struct shadow_stack *interrupted = task->shadow.current;
	task->shadow.current = shadow_stack_at(&task->shadow, task->regs.rsp);
	const struct shadow_call call = {
		.slot = before->rsp,
		.address = before->rip,
		.interrupted = true,
		.starts_stack = task->shadow.current != interrupted,
	};
	if (call.starts_stack)
		task->shadow.current->nr = 0;
	CHECK(shadow_push(&task->shadow, call));
	CHECK(shadow_push(&task->shadow,
			  (struct shadow_call){.slot = task->regs.rsp,
					       .address = word_at(task, task->regs.rsp)}));
	r.nr_signals++;
	if (task->deliver == SIGUSR1) {
		r.is_interrupted = true;
		r.interrupted_pc = before->rip;
		r.interrupted_sp = before->rsp;
	}
}

static void after_instruction(struct task *task, const struct user_regs_struct *before)
{
	const uint64_t sp = task->regs.rsp;
	enum instruction instruction = instruction_at(before->rip);
	bool repeated = task->regs.rip == before->rip && sp == before->rsp;
	const struct shadow_stack *stack = task->shadow.current;
	const size_t nr_jumps = task->shadow.nr_jumps;
	task->leaving -= task->leaving > 0;
	if (instruction == CALL && sp == before->rsp - 8) {
		CHECK(shadow_push(
			&task->shadow,
			(struct shadow_call){.slot = sp, .address = word_at(task, sp) - 1}));
		r.nr_calls++;
	} else if (instruction == RETURN && !repeated) {
		shadow_return(&task->shadow, before->rsp, task->regs.rip);
	} else if (instruction == SYSCALL) {
		after_syscall(task, before);
	} else if ((sp > before->rsp && instruction != POP) || instruction == JUMP) {
		CHECK(shadow_moved(&task->shadow, sp, word_at(task, sp)));
	} else if (sp != before->rsp &&
		   shadow_stack_at(&task->shadow, sp) != task->shadow.current) {
		CHECK(shadow_moved(&task->shadow, sp, word_at(task, sp)));
	}
	if (task->regs.rip - before->rip > INSTRUCTION_MAX_BYTES)
		task->leaving = 0; /* arrived */
	else if (instruction == OTHER &&
		 (task->shadow.current != stack || task->shadow.nr_jumps != nr_jumps))
		task->leaving = LEAVE_INSTRUCTIONS;
}

static struct task *task_of(pid_t pid)
{
	for (size_t i = 0; i < r.nr_tasks; i++)
		if (r.tasks[i]->pid == pid)
			return r.tasks[i];
	return NULL;
}

static struct task *add_task(pid_t pid)
{
	CHECK(r.nr_tasks < MAX_TASKS);
	struct task *task = calloc(1, sizeof(*task));
	CHECK(task);
	task->landings = calloc(MAX_LANDINGS, sizeof(*task->landings));
	CHECK(task->landings);
	task->pid = pid;
	task->at_start = true;
	shadow_init(&task->shadow);
	r.tasks[r.nr_tasks++] = task;
	r.nr_tasks_seen++;
	return task;
}

static void remove_task(struct task *task)
{
	for (size_t i = 0; i < r.nr_tasks; i++)
		if (r.tasks[i] == task)
			r.tasks[i] = r.tasks[--r.nr_tasks];
	r.nr_jumps += task->shadow.nr_jumps;
	for (size_t j = 0; j < task->nr_landings; j++)
		take_wrong(task->landings[j].pc); /* they led nowhere */
	free(task->landings);
	free(task);
}

static void resume(struct task *task)
{
	CHECK_EQ(ptrace(PTRACE_SINGLESTEP, task->pid, NULL, (void *)(intptr_t)task->deliver), 0);
}

/* The first look at a task: it has its parent's stack (fork, vfork), or one of its own. */
static void start_task(struct task *task, const struct task *parent)
{
	CHECK_EQ(ptrace(PTRACE_GETREGS, task->pid, NULL, &task->regs), 0);
	task->at_start = false;
	if (parent && task->regs.rsp == parent->regs.rsp) {
		size_t current = (size_t)(parent->shadow.current - parent->shadow.stacks);
		task->shadow = parent->shadow;
		task->shadow.current = &task->shadow.stacks[current];
		task->shadow.nr_jumps = 0;
	}
	check_state(task);
	resume(task);
}

/* A new task was reported; it may have stopped already. */
static void take_child(struct task *parent)
{
	unsigned long pid;
	CHECK_EQ(ptrace(PTRACE_GETEVENTMSG, parent->pid, NULL, &pid), 0);
	add_task((pid_t)pid);
	for (size_t i = 0; i < r.nr_early; i++)
		if (r.early[i] == (pid_t)pid) {
			r.early[i] = r.early[--r.nr_early];
			start_task(task_of((pid_t)pid), parent);
			return;
		}
	int status;
	CHECK_EQ(waitpid((pid_t)pid, &status, __WALL), (pid_t)pid);
	CHECK(WIFSTOPPED(status));
	start_task(task_of((pid_t)pid), parent);
}

/*
 * An interruption is due: the program has a handler for SIGUSR1 when it is asked to be interrupted. Each instruction is, but a loop's
 * not each time; the handler itself is not, where the signal is blocked, nor what may be a way out of a function, which is judged when
 * it has led somewhere.
 */
static bool wants_interruption(const struct task *task)
{
	if (r.is_interrupted && task->regs.rip == r.interrupted_pc &&
	    task->regs.rsp == r.interrupted_sp)
		r.is_interrupted = false;
	const uint64_t hash = task->regs.rip * UINT64_C(0x9e3779b97f4a7c15);
	uint8_t *times = &r.interruptions[hash >> (64 - INTERRUPTIONS_BITS)];
	if (!r.has_handler || r.is_interrupted || task->nr_landings ||
	    *times >= r.how.interruptions_most || task->pid != r.leader ||
	    instruction_at(task->regs.rip) == SYSCALL)
		return false;
	++*times;
	return true;
}

static void take_stop(struct task *task, int status)
{
	int event = status >> 16, stop = WSTOPSIG(status);
	if (event == PTRACE_EVENT_EXEC && task->pid != r.leader) {
		ptrace(PTRACE_DETACH, task->pid, NULL, NULL); /* another program now */
		remove_task(task);
		return;
	}
	if (event) {
		int deliver = task->deliver;
		task->deliver = 0;
		if (event == PTRACE_EVENT_FORK || event == PTRACE_EVENT_VFORK ||
		    event == PTRACE_EVENT_CLONE)
			take_child(task);
		task->deliver = deliver;
		resume(task);
		return;
	}
	const struct user_regs_struct before = task->regs;
	CHECK_EQ(ptrace(PTRACE_GETREGS, task->pid, NULL, &task->regs), 0);
	bool moved = memcmp(&before, &task->regs, sizeof(before)) != 0;
	r.nr_steps++;
	if (task->deliver && is_in_handler(task, &before))
		after_signal(task, &before);
	else if (moved)
		after_instruction(task, &before);
	task->deliver = stop == SIGTRAP ? 0 : stop;
	check_state(task);
	if (!task->deliver && wants_interruption(task))
		task->deliver = SIGUSR1;
	resume(task);
}

static void follow(void)
{
	const int options = PTRACE_O_EXITKILL | PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK |
			    PTRACE_O_TRACEVFORK | PTRACE_O_TRACEEXEC;
	ptrace(PTRACE_SETOPTIONS, r.leader, NULL, (void *)(intptr_t)options);
	start_task(add_task(r.leader), NULL);
	while (r.nr_tasks > 0) {
		int status;
		pid_t pid = waitpid(-1, &status, __WALL);
		CHECK(pid > 0);
		struct task *task = task_of(pid);
		if (!WIFSTOPPED(status)) {
			if (pid == r.leader)
				r.exit_status = status;
			if (task)
				remove_task(task);
		} else if (task) {
			take_stop(task, status);
		} else {
			CHECK(r.nr_early < MAX_TASKS);
			r.early[r.nr_early++] = pid;
		}
	}
}

static void print_summary(void)
{
	printf("# %s: %zu steps in %zu tasks, %zu calls, %zu jumps, %zu signals\n#   ends:", r.name,
	       r.nr_steps, r.nr_tasks_seen, r.nr_calls, r.nr_jumps, r.nr_signals);
	for (uint32_t i = 0; i < NR_STACK_ENDS; i++)
		if (r.nr_by_end[i])
			printf(" %zu %s", r.nr_by_end[i], stack_end_name(i));
	printf("; frames:");
	for (uint32_t i = 0; i < NR_FRAME_METHODS; i++)
		if (r.nr_by_method[i])
			printf(" %zu %s", r.nr_by_method[i], frame_method_name(i));
	printf("\n");
	if (r.nr_without_tables)
		printf("#   %zu in a library without tables\n", r.nr_without_tables);
	print_places("about to leave otherwise than they came", &r.between);
	print_places("wrong", &r.wrong);
}

/* Steps a program from its first instruction to its end. False when there is no such program. */
static bool run_program(char *const argv[], const struct how *how)
{
	static char *const environment[] = {NULL};
	int status;
	memset(&r, 0, sizeof(r));
	r.name = strrchr(argv[0], '/') ? strrchr(argv[0], '/') + 1 : argv[0];
	r.how = *how;
	if (access(argv[0], X_OK) != 0)
		return false;
	fflush(stdout);
	r.leader = fork();
	if (r.leader == 0) {
		if (freopen("/dev/null", "w", stdout))
			ptrace(PTRACE_TRACEME, 0, NULL, NULL);
		execve(argv[0], argv, environment);
		_exit(127);
	}
	CHECK(r.leader > 0);
	CHECK_EQ(waitpid(r.leader, &status, 0), r.leader);
	CHECK(WIFSTOPPED(status));
	r.unwinder = unwinder_new();
	CHECK(r.unwinder);
	CHECK(target_map(&r.target, r.leader));
	follow();
	print_summary();
	unwinder_free(r.unwinder);
	target_release(&r.target);
	CHECK(WIFEXITED(r.exit_status));
	CHECK_EQ(WEXITSTATUS(r.exit_status), 0);
	return true;
}

#endif
