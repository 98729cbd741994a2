/* SPDX-License-Identifier: MIT */
/*
 * Stacks kept apart by process. A process is a path right below the root, which its stacks hang below; all that is known of
 * paths holds for it. Not asked for, it costs nothing.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

static uint64_t hash_pid(int32_t pid)
{
	return hash_u64((uint32_t)pid);
}

/* ---- which there are ---- */

/* NO_PROCESS: out of memory. */
static uint32_t process_of_task(struct selection *selection, const struct history_task *task)
{
	const int32_t pid = task->pid;
	struct index_probe probe = index_find(&selection->process_index, hash_pid(pid));
	uint32_t row;
	while (index_next(&selection->process_index, &probe, &row))
		if (selection->processes.items[row].pid == pid &&
		    history_same_process(selection->history,
					 selection->processes.items[row].started_ns,
					 task->started_ns))
			return row;
	if (index_reserve(&selection->process_index) ||
	    vec_reserve(&selection->processes, selection->processes.nr + 1))
		return NO_PROCESS;
	row = (uint32_t)selection->processes.nr++;
	selection->processes.items[row] =
		(struct process){.pid = pid, .started_ns = task->started_ns};
	index_add(&selection->process_index, hash_pid(pid), row);
	return row;
}

int selection_follow_processes(struct selection *selection)
{
	const struct history *history = selection->history;
	if (!selection->by_process || selection->task_processes.nr == history->tasks.nr)
		return 0;
	if (vec_reserve(&selection->task_processes, history->tasks.nr))
		return -ENOMEM;
	while (selection->task_processes.nr < history->tasks.nr) {
		const struct history_task *task =
			&history->tasks.items[selection->task_processes.nr];
		uint32_t row = process_of_task(selection, task);
		if (row == NO_PROCESS)
			return -ENOMEM;
		selection->processes.items[row].comm = task->comm;
		selection->task_processes.items[selection->task_processes.nr++] = row;
	}
	return 0;
}

const char *selection_process_comm(const struct selection *selection, const struct process *process)
{
	const char *comm =
		history_process_name(selection->history, process->pid, process->started_ns);
	return comm ? comm : process->comm;
}

uint32_t selection_process_path(struct selection *selection, uint32_t process)
{
	if (process == NO_PROCESS)
		return 0;
	if (selection->processes.items[process].path)
		return selection->processes.items[process].path;
	uint32_t path = selection_add_path(selection, 0, KEY_PROCESS);
	if (path == NO_PATH)
		return NO_PATH;
	selection->path_processes.items[path] = process;
	selection->processes.items[process].path = path;
	return path;
}

/* ---- asked for, or not ---- */

static bool has_subtree(const struct selection *selection)
{
	for (size_t i = 0; i < selection->nr_criteria; i++)
		if (selection->criteria[i].asked.what == SELECTION_SUBTREE)
			return true;
	return false;
}

int selection_set_by_process(struct selection *selection, bool by_process)
{
	if (selection->by_process == by_process)
		return 0;
	if (has_subtree(selection))
		return -EBUSY;
	if (by_process && vec_reserve(&selection->path_processes, 1))
		return -ENOMEM;
	selection->path_processes.items[0] = NO_PROCESS;
	selection->by_process = by_process;
	selection_clear_paths(selection);
	return 0;
}

/* ---- life ---- */
