/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_SYSTEM_CALL_H
#define CTOP_SYSTEM_SYSTEM_CALL_H

/* In which system call a thread waits, by the text of /proc/PID/task/TID/syscall (proc_pid_syscall(5)), which is untrusted. */

#include <stdbool.h>
#include <stdint.h>

struct system_call {
	bool runs;    /* it is in none that it waits in */
	bool is_told; /* else it runs, or nobody may see it */
	long number;  /* negative: it is in none */
	bool is_ours; /* a number of the machine that ctop is made for; of a 32-bit program it is of another */
	uint64_t sp, pc;       /* of user code; 0: not told, or not of our machine */
	uint64_t arguments[2]; /* the first ones; 0: the same */
};

/* "202 0x7f… (six arguments) SP PC", "-1 SP PC" in no call, or "running". */
struct system_call system_call_parse(const char *text);
/* As it is now. Main only. */
struct system_call system_call_read(int32_t pid, int32_t tid);

/* The name of a system call of the machine that ctop is made for; NULL: it was not known when ctop was made. */
const char *system_call_name(long number);
/* The same, or "call 999": of one of another machine, or that was not known. May use the memory for it. */
enum { SYSTEM_CALL_TEXT_BYTES = 32 };
const char *system_call_text(long number, bool is_ours, char text[SYSTEM_CALL_TEXT_BYTES]);

#endif
