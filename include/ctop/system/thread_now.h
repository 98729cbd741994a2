/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_THREAD_NOW_H
#define CTOP_SYSTEM_THREAD_NOW_H

/*
 * What a thread does at this moment, as /proc tells: four small files, and a link, some 30 us. What is not available, as the kernel keeps it
 * from us or has no such file, is left out. All names are untrusted. Main only.
 */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/system/looker.h>
#include <ctop/system/wait_object.h>

struct thread_now {
	char state; /* as ps shows it: 'R', 'S', ... */
	char name[16];
	char place[48]; /* the kernel's function that it waits in; "": not known */
	char call[24];	/* the system call that it is in; "": none, or not known */
	struct wait_object waits_on;
	double still_s; /* how long it has not run, about; negative: not known */
};

/*
 * The kernel notes when a thread ran last by a clock of its own, which stands still while interrupts are served. All zero at first: brought
 * up to date by thread_now_read().
 */
struct thread_clock {
	uint64_t read_ns; /* by CLOCK_MONOTONIC */
	double kernel_ms; /* by the kernel's, then; 0: it does not tell */
};

/* False: there is no such thread any more. looker NULL: it is not told what it waits on. */
bool thread_now_read(struct thread_clock *clock, struct looker *looker, int32_t pid, int32_t tid,
		     struct thread_now *now);
/* Its name alone. "": there is no such thread. */
void thread_now_name(int32_t pid, int32_t tid, char name[16]);

#endif
