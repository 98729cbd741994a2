/* SPDX-License-Identifier: MIT */
/*
 * Stacks told apart by process. A process is a path right below the root, which its stacks hang below; all that is known of
 * paths holds for it. Not asked for, it costs nothing.
 */
#include <ctop/query/slice.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

#include "slice_internal.h"

static uint64_t hash_pid(int32_t pid)
{
	return hash_u64((uint32_t)pid);
}

/* ---- which there are ---- */

/* NO_PROCESS: out of memory. */
static uint32_t process_of_task(struct slice *slice, const struct history_task *task)
{
	const int32_t pid = task->pid;
	struct index_probe probe = index_find(&slice->process_index, hash_pid(pid));
	uint32_t row;
	while (index_next(&slice->process_index, &probe, &row))
		if (slice->processes.items[row].pid == pid &&
		    history_same_process(slice->history, slice->processes.items[row].started_ns,
					 task->started_ns))
			return row;
	if (index_reserve(&slice->process_index) ||
	    vec_reserve(&slice->processes, slice->processes.nr + 1))
		return NO_PROCESS;
	row = (uint32_t)slice->processes.nr++;
	slice->processes.items[row] = (struct process){.pid = pid, .started_ns = task->started_ns};
	index_add(&slice->process_index, hash_pid(pid), row);
	return row;
}

int slice_follow_processes(struct slice *slice)
{
	const struct history *history = slice->history;
	if (!slice->by_process || slice->task_processes.nr == history->tasks.nr)
		return 0;
	if (vec_reserve(&slice->task_processes, history->tasks.nr))
		return -ENOMEM;
	while (slice->task_processes.nr < history->tasks.nr) {
		const struct history_task *task = &history->tasks.items[slice->task_processes.nr];
		uint32_t row = process_of_task(slice, task);
		if (row == NO_PROCESS)
			return -ENOMEM;
		slice->processes.items[row].comm = task->comm;
		slice->task_processes.items[slice->task_processes.nr++] = row;
	}
	return 0;
}

const char *slice_process_comm(const struct slice *slice, const struct process *process)
{
	const char *comm = history_process_name(slice->history, process->pid, process->started_ns);
	return comm ? comm : process->comm;
}

uint32_t slice_process_path(struct slice *slice, uint32_t process)
{
	if (process == NO_PROCESS)
		return 0;
	if (slice->processes.items[process].path)
		return slice->processes.items[process].path;
	uint32_t path = slice_add_path(slice, 0, KEY_PROCESS);
	if (path == NO_PATH)
		return NO_PATH;
	slice->path_processes.items[path] = process;
	slice->processes.items[process].path = path;
	return path;
}

/* ---- asked for, or not ---- */

static bool has_subtree(const struct slice *slice)
{
	for (size_t i = 0; i < slice->nr_criteria; i++)
		if (slice->criteria[i].asked.what == SLICE_SUBTREE)
			return true;
	return false;
}

int slice_set_by_process(struct slice *slice, bool by_process)
{
	if (slice->by_process == by_process)
		return 0;
	if (has_subtree(slice))
		return -EBUSY;
	if (by_process && vec_reserve(&slice->path_processes, 1))
		return -ENOMEM;
	slice->path_processes.items[0] = NO_PROCESS;
	slice->by_process = by_process;
	slice_clear_paths(slice);
	return 0;
}

/* ---- life ---- */

void slice_free_processes(struct slice *slice)
{
	free(slice->processes.items);
	index_release(&slice->process_index);
	free(slice->task_processes.items);
	free(slice->path_processes.items);
}

uint64_t slice_processes_bytes(const struct slice *slice)
{
	const struct index *index = &slice->process_index;
	uint64_t bytes = slice->processes.capacity * sizeof(*slice->processes.items);
	bytes += slice->task_processes.capacity * sizeof(*slice->task_processes.items);
	bytes += slice->path_processes.capacity * sizeof(*slice->path_processes.items);
	if (index->slots)
		bytes += ((uint64_t)index->mask + 1) * sizeof(*index->slots);
	return bytes;
}
