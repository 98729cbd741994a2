/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_TASK_ROWS_H
#define CTOP_COLLECT_TASK_ROWS_H

/*
 * Rows of threads in the tables. A thread that is sampled again and again is looked up once for as long as nothing was heard of
 * names, forks and ends.
 */

#include <stdint.h>

#include <ctop/ids.h>

struct collector;
struct process;

enum { TASK_ROWS_KNOWN = 256 };

/* What was looked up last, by tid: it holds in an epoch, and until the process table has changed. */
struct task_rows {
	struct known_task {
		int32_t pid, tid;
		uint32_t epoch;
		uint64_t started_ns, nr_changes;
		struct task_id id;
	} known[TASK_ROWS_KNOWN];
};

/* The row of a thread as it is called now. 0, -ENOSPC or -ENOMEM. */
int task_rows_find(struct collector *collector, const struct process *process, int32_t tid,
		   struct task_id *id);
/* The same of one whose name somebody else has told ("": nobody). */
int task_rows_add(struct collector *collector, int32_t pid, int32_t tid, const char *name,
		  struct task_id *id);

#endif
