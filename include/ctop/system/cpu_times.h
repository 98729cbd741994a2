/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_CPU_TIMES_H
#define CTOP_SYSTEM_CPU_TIMES_H

/*
 * What CPUs did with their time, as the kernel accounts it in /proc/stat, by ticks of 10 ms. A virtual machine's CPU is also
 * stolen: it had something to run, and its host ran somebody else. No sample tells of that, but there are fewer.
 */

#include <stddef.h>
#include <stdint.h>

struct cpu_times {
	uint64_t busy_ns, idle_ns, stolen_ns; /* since they are up, summed over the CPUs */
};

/* Of those CPUs, of the text of /proc/stat or a part of it in whole lines. All 0: it has none of them. */
struct cpu_times cpu_times_parse(const char *text, const int *cpus, size_t nr);
/* Now; all 0 when it cannot be read. */
struct cpu_times cpu_times_read(const int *cpus, size_t nr);
struct cpu_times cpu_times_plus(struct cpu_times a, struct cpu_times b);
/* What passed between two readings. A count that went back, as a CPU that was off does, is none. */
struct cpu_times cpu_times_between(struct cpu_times from, struct cpu_times to);
uint64_t cpu_times_sum(const struct cpu_times *times);

#endif
