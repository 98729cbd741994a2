/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_STEPPER_RUN_H
#define CTOP_TEST_STEPPER_RUN_H

/* A program that is stepped: its tasks, what was found, its code, names for people. */

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
enum { INTERRUPTIONS_BITS = 20 };

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
	unsigned interruptions_most; /* so often at each instruction; 0: never */
	bool throws;		     /* exceptions */
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
	pid_t early[MAX_TASKS]; /* stopped before their parents reported them */
	size_t nr_early;
	int exit_status;

	struct how how;
	bool has_handler;    /* of SIGUSR1, by which it is interrupted */
	bool is_interrupted; /* by it: until it is there again, */
	uint64_t interrupted_pc, interrupted_sp;
	uint8_t interruptions[1 << INTERRUPTIONS_BITS]; /* by a hash of the instruction's address */

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

static inline bool read_code(uint64_t address, uint8_t *bytes, size_t size)
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

static inline enum instruction instruction_at(uint64_t pc)
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

static inline int find_no_debug_file(Dwfl_Module *module, void **data, const char *name,
				     Dwarf_Addr base, const char *file, const char *link,
				     GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)found;
	return -1;
}

static inline void print_places(const char *what, struct places *places)
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

static inline void note(struct places *places, uint64_t address)
{
	for (size_t i = 0; i < places->nr; i++)
		if (places->items[i].address == address) {
			places->items[i].count++;
			return;
		}
	if (places->nr < MAX_PLACES)
		places->items[places->nr++] = (struct place){address, 1};
}

#endif
