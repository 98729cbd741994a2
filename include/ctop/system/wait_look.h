/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_WAIT_LOOK_H
#define CTOP_SYSTEM_WAIT_LOOK_H

/*
 * Where a thread waits, looked at without stopping it: what it waits for, its stack pointer and pc, and what lies on its stack. Whoever may
 * trace it may see that. That it lay still meanwhile is proved: the kernel tells the registers of a thread that is off the CPU alone, and it has
 * not got a CPU since (schedstat). All of it is the target's. Main only.
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/system/sched_stat.h>
#include <ctop/system/wait_object.h>
#include <ctop/wait_kind.h>

struct wait_look {
	enum wait_kind kind;
	uint64_t sp,
		pc; /* 0: it has none, as the kernel's own threads, or is of another machine (i386), or nobody may see them */
	size_t stack_bytes; /* read from sp on */
	struct wait_object object;
	long call; /* number of the system call; negative: none, of another machine, or not told */
};

/*
 * Of a thread in that state, which it had, or has come to, since `before` was read. 0; -EAGAIN: it has not lain still; -EACCES: the kernel keeps
 * where it waits from us: only the kind is told, as far as it is known; -ENOTSUP: without schedstat there is no proof.
 */
int wait_look_read(int32_t pid, int32_t tid, char state, const struct sched_stat *before,
		   struct wait_look *look, uint8_t *stack, size_t most);

#endif
