/* SPDX-License-Identifier: MIT */
#include "process_names.h"

#include <stdlib.h>

#include <ctop/module_identity.h>

int process_names_take(struct process_names *processes, struct selection *selection)
{
	int result = selection_tasks(selection, SELECTION_PROCESSES, -1, &processes->tasks);
	for (size_t i = 0; !result && i < processes->tasks.nr; i++) {
		result = index_reserve(&processes->index);
		if (!result)
			index_add(&processes->index,
				  hash_u64((uint32_t)processes->tasks.items[i].pid), (uint32_t)i);
	}
	return result;
}

void process_names_release(struct process_names *processes)
{
	free(processes->tasks.items);
	index_release(&processes->index);
	*processes = (struct process_names){0};
}

const char *process_names_of(const struct process_names *processes,
			     const struct history_stack *stack)
{
	struct index_probe probe = index_find(&processes->index, hash_u64((uint32_t)stack->pid));
	const char *name = NULL;
	uint32_t row;
	while (index_next(&processes->index, &probe, &row)) {
		const struct selection_task *process = &processes->tasks.items[row];
		if (process->pid == stack->pid &&
		    (!name || process_start_same(process->started_ns, stack->started_ns)))
			name = process->comm;
	}
	return name ? name : stack->comm;
}
