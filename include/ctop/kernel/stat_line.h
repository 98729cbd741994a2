/* SPDX-License-Identifier: MIT */
#ifndef CTOP_KERNEL_STAT_LINE_H
#define CTOP_KERNEL_STAT_LINE_H

/* The line of /proc/PID/stat, or of /proc/PID/task/TID/stat (proc_pid_stat(5)). */

#include <stdbool.h>
#include <stdint.h>

struct stat_line {
	char name[32]; /* untrusted, cut */
	char state;    /* 'R', 'S', ... */
	int32_t parent, session;
	uint32_t flags;
	uint32_t nr_threads;
	uint64_t cpu_ns;   /* in user code and in the kernel, by ticks of 10 ms */
	uint64_t start_ns; /* since boot, by such ticks */
};

/* It runs no program: the kernel's own. PF_KTHREAD, linux/sched.h. */
static inline bool stat_line_is_kernel(const struct stat_line *line)
{
	return line->flags & 0x00200000u;
}
/* False where the text is no such line, or none that is whole: then all is 0. */
bool stat_line_parse(const char *text, struct stat_line *line);

#endif
