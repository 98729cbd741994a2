/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_STEPPER_H
#define CTOP_TEST_STEPPER_H

/*
 * Runs a program by single steps, with all its threads and children, and compares after each the unwound stack with
 * the shadow stack. What was wrong is counted in the one struct run there is, and printed by function and offset.
 */

#include <ctop/unwind/unwind.h>

#include <elfutils/libdwfl.h>
#include <limits.h>
#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "shadow.h"
#include "test.h"
#include "unwind/target.h"

/* A system call that is none: a program says by it that the memory (rdi, rsi bytes) is a stack. */
enum { SYS_DECLARE_STACK = 0x5354 };
enum { MAX_TASKS = 8, MAX_PLACES = 4096, CODE_PAGE = 4096, NR_CODE_PAGES = 256 };
/* From taking another stack pointer up to the jump: swapcontext takes 16. */
enum { LEAVE_INSTRUCTIONS = 24 };
enum { MAX_LANDINGS = 256, LANDING_FRAMES = 64 };
enum { PLACES_SHOWN = 12, STACKS_SHOWN = 3, INSTRUCTION_MAX_BYTES = 15 };

struct task {
	pid_t pid;
	bool at_start; /* registers are not known yet */
	int deliver;   /* the signal that the next step brings */
	struct user_regs_struct regs;
	struct shadow shadow;
	unsigned leaving;	  /* at most so many instructions more are on the way elsewhere */
	struct landing *landings; /* stacks seen since the last jump that show where it goes */
	size_t nr_landings;
};

/* A stack that is not the one that calls made. */
struct landing {
	uint64_t pc;
	size_t nr_jumps;
	uint64_t addresses[LANDING_FRAMES]; /* without the innermost */
	size_t nr;			    /* 0: it does not lead to the root */
};

/* Where the unwinder was wrong, or where nobody can be right. */
struct place {
	uint64_t address;
	size_t count;
};

struct places {
	struct place items[MAX_PLACES];
	size_t nr;
};

/* What is different about a program. */
struct how {
	unsigned interrupt_every; /* steps; 0: never */
	bool throws;		  /* exceptions */
	const char
		*library_without_tables; /* path of one that has neither CFI nor frame pointers */
};

struct run {
	const char *name;
	pid_t leader;
	struct target target;
	struct unwinder *unwinder;
	struct task *tasks[MAX_TASKS];
	size_t nr_tasks;
	pid_t early[MAX_TASKS]; /* stopped before their parents told of them */
	size_t nr_early;
	int exit_status;

	struct how how;
	bool has_handler; /* of SIGUSR1, by which it is interrupted */

	struct {
		uint64_t page;
		uint8_t bytes[CODE_PAGE];
	} code[NR_CODE_PAGES];
	uint8_t stack[TARGET_STACK_BYTES];
	struct unwind_frame frames[UNWIND_MAX_FRAMES];
	const struct shadow_call *callers[SHADOW_MAX_CALLS];

	size_t nr_steps, nr_calls, nr_signals, nr_jumps, nr_wrong, nr_between, nr_without_tables,
		nr_tasks_seen;
	size_t nr_by_method[NR_FRAME_METHODS], nr_by_end[NR_STACK_ENDS];
	struct places wrong, between;
};

static struct run r;

/* ---- code ---- */

static bool read_code(uint64_t address, uint8_t *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		uint64_t page = (address + i) / CODE_PAGE;
		if (r.code[page % NR_CODE_PAGES].page != page) {
			r.code[page % NR_CODE_PAGES].page = 0;
			if (!target_read(r.leader, page * CODE_PAGE,
					 r.code[page % NR_CODE_PAGES].bytes, CODE_PAGE))
				return i > 0;
			r.code[page % NR_CODE_PAGES].page = page;
		}
		bytes[i] = r.code[page % NR_CODE_PAGES].bytes[(address + i) % CODE_PAGE];
	}
	return true;
}

enum instruction { OTHER, CALL, RETURN, JUMP, SYSCALL, POP };

static enum instruction instruction_at(uint64_t pc)
{
	uint8_t bytes[INSTRUCTION_MAX_BYTES + 2] = {0};
	const uint8_t *code = bytes;
	if (!read_code(pc, bytes, INSTRUCTION_MAX_BYTES))
		return OTHER;
	while (code < bytes + INSTRUCTION_MAX_BYTES &&
	       (*code == 0xf2 || *code == 0xf3 || *code == 0x3e || *code == 0x66 || *code == 0x67 ||
		(*code & 0xf0) == 0x40))
		code++;
	if (*code == 0xe8 || (*code == 0xff && (code[1] >> 3 & 7) == 2))
		return CALL;
	if (*code == 0xc3 || *code == 0xc2)
		return RETURN;
	if (*code == 0xff && (code[1] >> 3 & 7) == 4)
		return JUMP; /* indirect */
	if (*code >= 0x58 && *code <= 0x5f)
		return POP;
	return *code == 0x0f && code[1] == 0x05 ? SYSCALL : OTHER;
}

/* ---- names, for people ---- */

static int find_no_debug_file(Dwfl_Module *module, void **data, const char *name, Dwarf_Addr base,
			      const char *file, const char *link, GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)found;
	return -1;
}

static void print_places(const char *what, struct places *places)
{
	static const Dwfl_Callbacks callbacks = {
		.find_elf = dwfl_build_id_find_elf,
		.find_debuginfo = find_no_debug_file,
		.section_address = dwfl_offline_section_address,
	};
	if (places->nr == 0)
		return;
	printf("# %s:\n", what);
	for (size_t i = 0; i < places->nr && i < PLACES_SHOWN; i++) {
		const struct place *place = &places->items[i];
		struct unwind_mapping mapping = {0};
		const char *path = "?", *name = NULL;
		GElf_Off offset = 0;
		GElf_Sym symbol;
		Dwfl *dwfl = dwfl_begin(&callbacks);
		if (target_find(&r.target, place->address, &mapping) == UNWIND_FOUND &&
		    mapping.module) {
			path = ((const struct target_module *)mapping.module)->path;
			Dwfl_Module *module = dwfl_report_elf(dwfl, path, path, -1, 0, true);
			if (module)
				name = dwfl_module_addrinfo(module, place->address - mapping.bias,
							    &offset, &symbol, NULL, NULL, NULL);
		}
		printf("#   %6zu x %s+0x%" PRIx64 " (%s+0x%" PRIx64 ")\n", place->count,
		       name ? name : "?", (uint64_t)offset, path, place->address - mapping.bias);
		dwfl_end(dwfl);
	}
	if (places->nr > PLACES_SHOWN)
		printf("#   and %zu more places\n", places->nr - PLACES_SHOWN);
}

static void note(struct places *places, uint64_t address)
{
	for (size_t i = 0; i < places->nr; i++)
		if (places->items[i].address == address) {
			places->items[i].count++;
			return;
		}
	if (places->nr < MAX_PLACES)
		places->items[places->nr++] = (struct place){address, 1};
}

/* ---- one state ---- */

static void print_difference(const struct task *task, const struct unwind_result *result,
			     size_t nr_callers, bool whole)
{
	printf("# step %zu: %zu frames, %s, %s; expected %zu, %s\n", r.nr_steps, result->nr_frames,
	       stack_end_name(result->end), stack_reason_name(result->reason), nr_callers + 1,
	       stack_end_name(whole ? STACK_COMPLETE : STACK_SWITCHED));
	for (size_t i = 0; i < result->nr_frames || i <= nr_callers; i++) {
		bool ours = i < result->nr_frames;
		const struct unwind_frame *frame = &r.frames[i];
		const struct target_module *module = ours ? frame->module : NULL;
		uint64_t wanted = i == 0	    ? task->regs.rip
				  : i <= nr_callers ? r.callers[i - 1]->address
						    : 0;
		printf("# %2zu %-10s %16" PRIx64 " %16" PRIx64 " %s+%" PRIx64 "\n", i,
		       ours ? frame_method_name(frame->method) : "-",
		       ours ? frame->process_address : 0, wanted, module ? module->path : "?",
		       ours ? frame->process_address - frame->bias : 0);
	}
}

static void take_wrong(uint64_t pc)
{
	r.nr_wrong++;
	note(&r.wrong, pc);
}

/*
 * Longjmp and its like have CFI that says where they go, which is as right as where they came from; and while an
 * exception is thrown, the registers of who catches it are put where those of the thrower's callers were. True
 * when the stack may be of that kind: a jump will show.
 */
static bool may_be_leaving(struct task *task, const struct unwind_result *result)
{
	bool goes_somewhere = result->end == STACK_COMPLETE && result->nr_frames >= 2 &&
			      result->nr_frames - 1 <= LANDING_FRAMES;
	if ((!goes_somewhere && !r.how.throws) || task->nr_landings == MAX_LANDINGS)
		return false;
	struct landing *landing = &task->landings[task->nr_landings++];
	landing->pc = task->regs.rip;
	landing->nr_jumps = task->shadow.nr_jumps;
	landing->nr = goes_somewhere ? result->nr_frames - 1 : 0;
	for (size_t i = 0; i < landing->nr; i++)
		landing->addresses[i] = r.frames[i + 1].process_address;
	return true;
}

static bool led_here(const struct task *task, const struct landing *landing, size_t nr_callers)
{
	if (r.how.throws && landing->nr_jumps != task->shadow.nr_jumps)
		return true;
	if (landing->nr != nr_callers + 1 || landing->addresses[0] != task->regs.rip - 1)
		return false;
	for (size_t i = 0; i < nr_callers; i++)
		if (landing->addresses[i + 1] != r.callers[i]->address)
			return false;
	return true;
}

/* The stack is right again: the jump was made. */
static void check_landings(struct task *task)
{
	bool whole;
	size_t nr_callers = shadow_callers(&task->shadow, r.callers, &whole);
	for (size_t i = 0; i < task->nr_landings; i++) {
		const struct landing *landing = &task->landings[i];
		if (!led_here(task, landing, nr_callers)) {
			take_wrong(landing->pc);
			continue;
		}
		r.nr_between++;
		note(&r.between, landing->pc);
	}
	task->nr_landings = 0;
}

/*
 * True when a return address on the stack is not what a call put there: the program is about to leave
 * otherwise than it came, and whose frame is whose is a matter of taste.
 */
static bool is_between(const struct task *task, size_t nr_callers)
{
	for (size_t i = 0; i < nr_callers; i++) {
		uint64_t offset = r.callers[i]->slot - task->regs.rsp, value;
		if (r.callers[i]->interrupted || offset > sizeof(r.stack) - sizeof(value))
			continue;
		memcpy(&value, r.stack + offset, sizeof(value));
		if (value != r.callers[i]->address + 1 && value != r.callers[i]->address)
			return true;
	}
	return false;
}

static bool lies_in(uint64_t address, const char *path)
{
	struct unwind_mapping mapping = {0};
	return target_find(&r.target, address, &mapping) == UNWIND_FOUND && mapping.module &&
	       strcmp(((const struct target_module *)mapping.module)->path, path) == 0;
}

/* True when a library without tables takes part, elsewhere than in starting the program or the thread. */
static bool is_without_tables(const struct task *task, size_t nr_callers)
{
	enum { STARTS = 2 };
	if (!r.how.library_without_tables)
		return false;
	bool takes_part = lies_in(task->regs.rip, r.how.library_without_tables);
	for (size_t i = 0; !takes_part && i + STARTS < nr_callers; i++)
		takes_part = lies_in(r.callers[i]->address, r.how.library_without_tables);
	return takes_part;
}

static void check_state(struct task *task)
{
	struct unwind_input input = {0};
	struct unwind_result result;
	bool whole;
	target_registers(&task->regs, &input);
	target_stack(task->pid, &input, r.stack, sizeof(r.stack));
	unwind_stack(r.unwinder, &r.target.space, &input, r.frames, &result, NULL);
	size_t nr_callers = shadow_callers(&task->shadow, r.callers, &whole);
	bool right = result.nr_frames == nr_callers + 1 &&
		     r.frames[0].process_address == task->regs.rip &&
		     result.end == (whole ? STACK_COMPLETE : STACK_SWITCHED);
	for (size_t i = 0; right && i < nr_callers; i++)
		right = r.frames[i + 1].process_address == r.callers[i]->address;
	for (size_t i = 0; right && i < result.nr_frames; i++)
		r.nr_by_method[r.frames[i].method]++;
	r.nr_by_end[result.end]++;
	if (right) {
		check_landings(task);
		return;
	}
	if (is_without_tables(task, nr_callers)) {
		r.nr_without_tables++;
		return;
	}
	if (task->leaving || task->shadow.current->over || is_between(task, nr_callers)) {
		r.nr_between++;
		note(&r.between, task->regs.rip);
		return;
	}
	if (may_be_leaving(task, &result))
		return;
	if (r.nr_wrong < STACKS_SHOWN)
		print_difference(task, &result, nr_callers, whole);
	take_wrong(task->regs.rip);
}

/* ---- following ---- */

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

/* A new task was told of; it may have stopped already. */
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

/* An interruption is due: the program has a handler for SIGUSR1 when it is asked to be interrupted. */
static bool wants_interruption(const struct task *task)
{
	return r.how.interrupt_every && r.has_handler && r.nr_steps % r.how.interrupt_every == 0 &&
	       task->pid == r.leader && instruction_at(task->regs.rip) != SYSCALL;
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
