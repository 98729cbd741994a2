/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_PROCESSES_H
#define CTOP_INTERACTIVE_PROCESSES_H

/* The processes of this machine, with the CPU time that each has used since they were listed before. */

#include <ctop/ui/ui.h>

struct process_time; /* of one process, as listed before */

struct processes {
	struct process_time *before;
	size_t nr_before;
	uint64_t before_ns;
};

/* The first time CPU use is that of the process's whole life. *out is the caller's to free(). 0 or -errno. */
int processes_list(struct processes *processes, struct ui_process **out, size_t *nr);
void processes_release(struct processes *processes);

#endif
