/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_PROCESS_NAMES_H
#define CTOP_FORMAT_PROCESS_NAMES_H

/* What the processes of a selection go by, found by any of their stacks. */

#include <ctop/base/index.h>
#include <ctop/query/selection.h>

/* All zero is empty. */
struct process_names {
	struct selection_tasks tasks;
	struct index index;
};

int process_names_take(struct process_names *processes,
		       struct selection *selection); /* 0 or -ENOMEM */
void process_names_release(struct process_names *processes);
/* Its main thread's name if that is known, else a thread's. Borrowed. */
const char *process_names_of(const struct process_names *processes,
			     const struct history_stack *stack);

#endif
