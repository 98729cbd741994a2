/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_UNWIND_DWFL_H
#define CTOP_TEST_UNWIND_DWFL_H

/* Libdwfl as an oracle: it unwinds a stopped process from the registers and stack bytes that we do. */

#include <elfutils/libdwfl.h>

#include <ctop/unwind/unwind.h>

#include "test.h"

struct oracle {
	Dwfl *dwfl;
	const struct unwind_input *input;
	uint64_t addresses[UNWIND_MAX_FRAMES];
	size_t nr;
	bool read_below, read_outside; /* what it wanted lies outside of the dump */
};

static inline int oracle_find_no_debug_file(Dwfl_Module *module, void **data, const char *name,
					    Dwarf_Addr base, const char *file, const char *link,
					    GElf_Word crc, char **found)
{
	(void)module, (void)data, (void)name, (void)base, (void)file, (void)link, (void)crc;
	(void)found;
	return -1;
}

static const Dwfl_Callbacks oracle_callbacks = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = oracle_find_no_debug_file,
};

static inline pid_t oracle_next_thread(Dwfl *dwfl, void *context, void **argument)
{
	(void)context;
	if (*argument)
		return 0;
	*argument = dwfl;
	return dwfl_pid(dwfl);
}

static inline bool oracle_read_dump(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *value,
				    void *context)
{
	struct oracle *oracle = context;
	const uint64_t sp = oracle->input->regs[UNWIND_SP];
	(void)dwfl;
	if (address >= sp && address - sp < oracle->input->stack_bytes &&
	    oracle->input->stack_bytes - (address - sp) >= sizeof(*value)) {
		memcpy(value, oracle->input->stack + (address - sp), sizeof(*value));
		return true;
	}
	oracle->read_below |= address < sp;
	oracle->read_outside |= address >= sp;
	return false;
}

/* The thread's context is the Dwfl; the oracle cannot be had from there otherwise. */
static struct oracle *oracle_asked;

static inline bool oracle_set_registers(Dwfl_Thread *thread, void *context)
{
	Dwarf_Word regs[UNWIND_NR_REGS];
	(void)context;
	for (size_t i = 0; i < UNWIND_NR_REGS; i++)
		regs[i] = oracle_asked->input->regs[i];
	return dwfl_thread_state_registers(thread, 0, UNWIND_NR_REGS, regs);
}

static const Dwfl_Thread_Callbacks oracle_thread_callbacks = {
	.next_thread = oracle_next_thread,
	.memory_read = oracle_read_dump,
	.set_initial_registers = oracle_set_registers,
};

static inline int oracle_take_frame(Dwfl_Frame *frame, void *context)
{
	struct oracle *oracle = context;
	Dwarf_Addr pc;
	bool exact;
	if (!dwfl_frame_pc(frame, &pc, &exact) || oracle->nr == UNWIND_MAX_FRAMES)
		return DWARF_CB_ABORT;
	oracle->addresses[oracle->nr++] = exact ? pc : pc - 1;
	return DWARF_CB_OK;
}

/* Looks at the mappings of a process, again if it has before. */
static inline bool oracle_open(struct oracle *oracle, pid_t pid)
{
	if (oracle->dwfl)
		dwfl_end(oracle->dwfl);
	oracle->dwfl = dwfl_begin(&oracle_callbacks);
	return oracle->dwfl && dwfl_linux_proc_report(oracle->dwfl, pid) == 0 &&
	       dwfl_report_end(oracle->dwfl, NULL, NULL) == 0 &&
	       dwfl_attach_state(oracle->dwfl, NULL, pid, &oracle_thread_callbacks, oracle);
}

static inline void oracle_unwind(struct oracle *oracle, const struct unwind_input *input, pid_t pid)
{
	oracle_asked = oracle;
	oracle->input = input;
	oracle->nr = 0;
	oracle->read_below = oracle->read_outside = false;
	dwfl_getthread_frames(oracle->dwfl, pid, oracle_take_frame, oracle);
}

static inline void oracle_close(struct oracle *oracle)
{
	if (oracle->dwfl)
		dwfl_end(oracle->dwfl);
	oracle->dwfl = NULL;
}

#endif
