/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_SCHED_STAT_H
#define CTOP_SYSTEM_SCHED_STAT_H

/* /proc/PID/task/TID/schedstat: what the scheduler has counted of a thread since it began. 2 us to read. */

#include <stdbool.h>
#include <stdint.h>

struct sched_stat {
	bool is_known;
	uint64_t run_ns;   /* on a CPU; of one that runs just now, up to the last tick */
	uint64_t queue_ns; /* ready to run, from waking on, and not on a CPU */
	uint64_t nr_runs;  /* how often it got a CPU */
};

/* False where the text is none. */
bool sched_stat_parse(const char *text, struct sched_stat *stat);
/* False: it has ended, or the kernel does not tell. */
bool sched_stat_read(int32_t pid, int32_t tid, struct sched_stat *stat);

#endif
