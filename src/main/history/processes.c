/* SPDX-License-Identifier: MIT */
/*
 * What processes go by: their main threads' names. The tables have a row of the main thread wherever they have one of
 * another thread, so that a server whose main thread only waits is not named after one of its workers.
 */
#include <errno.h>

#include <ctop/base/vec.h>

#include "internal.h"

static uint64_t hash_pid(int32_t pid)
{
	return hash_u64((uint32_t)pid);
}

bool history_same_process(const struct history *history, uint64_t a_ns, uint64_t b_ns)
{
	uint64_t known_ns = a_ns ? a_ns : b_ns;
	if (a_ns && b_ns)
		return process_start_same(a_ns, b_ns);
	return !history->origin_ns || known_ns <= history->origin_ns;
}

static struct history_process *find(const struct history *history, int32_t pid, uint64_t started_ns)
{
	struct index_probe probe = index_find(&history->processes_index, hash_pid(pid));
	uint32_t row;
	while (index_next(&history->processes_index, &probe, &row))
		if (history->processes.items[row].pid == pid &&
		    history_same_process(history, history->processes.items[row].started_ns,
					 started_ns))
			return &history->processes.items[row];
	return NULL;
}

const char *history_process_name(const struct history *history, int32_t pid, uint64_t started_ns)
{
	const struct history_process *process = find(history, pid, started_ns);
	return process ? process->comm : NULL;
}

/* The last name holds. */
static int name_process(struct history *history, int32_t pid, uint64_t started_ns, const char *comm)
{
	struct history_process *process = find(history, pid, started_ns);
	if (!process) {
		if (index_reserve(&history->processes_index) ||
		    vec_reserve(&history->processes, history->processes.nr + 1))
			return -ENOMEM;
		index_add(&history->processes_index, hash_pid(pid),
			  (uint32_t)history->processes.nr);
		process = &history->processes.items[history->processes.nr++];
		process->pid = pid;
		process->started_ns = started_ns;
	}
	if (!process->started_ns)
		process->started_ns = started_ns;
	process->comm = comm;
	return 0;
}

int history_read_processes(struct history *history)
{
	const struct tables_reader *reader = &history->reader;
	int result = 0;
	for (; !result && history->nr_tasks_read < reader->nr[TABLE_TASKS];
	     history->nr_tasks_read++) {
		struct task_row row;
		if (history->nr_tasks_read == 0 ||
		    !tables_task(reader, (struct task_id){history->nr_tasks_read}, &row) ||
		    row.pid != row.tid)
			continue;
		const char *comm = history_intern(history, tables_string(reader, row.comm));
		result = comm ? name_process(history, row.pid, row.started_ns, comm) : -ENOMEM;
	}
	return result;
}
