/* SPDX-License-Identifier: MIT */
#include "task_rows.h"

#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/goroutine.h>

#include "internal.h"

/* main_thread: the row of its main thread, where that is told beside it. */
static int add_thread(struct output *output, struct process_table *processes, int32_t pid,
		      int32_t tid, const char *name, struct task_id main_thread, struct task_id *id)
{
	const char *known = process_table_comm_of(processes, pid, is_goroutine(tid) ? pid : tid);
	const char *comm = name[0] ? name : known;
	const struct process *process = process_table_find(processes, pid);
	struct task_row row = {
		.pid = pid,
		.tid = tid,
		.process = main_thread,
		.started_ns = process ? process_start(process) : 0,
	};
	int result = tables_add_string(output->writer, comm, strlen(comm), &row.comm);
	return result ? result : tables_add_task_row(output->writer, &row, id);
}

/* A process is known by its main thread: with a thread's row comes one of that, too, as it may never be sampled. */
int task_rows_add(struct collector *collector, int32_t pid, int32_t tid, const char *name,
		  struct task_id *id)
{
	static const struct task_id untold = {0};
	struct output *output = &collector->output;
	struct process_table *processes = collector->following.processes;
	struct task_id main_thread = {0};
	int result = 0;
	/* Who merges the parts of a file does not know when this table got the row. */
	if (collector->source.file && tid != pid)
		result = add_thread(output, processes, pid, pid, "", untold, &main_thread);
	const uint32_t nr_before = tables_nr_rows(output->writer, TABLE_TASKS);
	if (!result)
		result = add_thread(output, processes, pid, tid, name, main_thread, id);
	if (result || tid == pid || main_thread.index ||
	    tables_nr_rows(output->writer, TABLE_TASKS) == nr_before)
		return result;
	return add_thread(output, processes, pid, pid, "", untold, &main_thread);
}

int task_rows_find(struct collector *collector, const struct process *process, int32_t tid,
		   struct task_id *id)
{
	const struct known_task wanted = {
		.pid = process_pid(process),
		.tid = tid,
		.epoch = collector->output.epoch,
		.started_ns = process_start(process),
		.nr_changes = process_table_nr_changes(collector->following.processes),
	};
	struct known_task *known =
		&collector->task_rows.known[hash_u64((uint64_t)tid) % TASK_ROWS_KNOWN];
	if (known->pid != wanted.pid || known->tid != tid || known->epoch != wanted.epoch ||
	    known->started_ns != wanted.started_ns || known->nr_changes != wanted.nr_changes) {
		struct known_task found = wanted;
		int result = task_rows_add(collector, wanted.pid, tid, "", &found.id);
		if (result)
			return result;
		*known = found;
	}
	*id = known->id;
	return 0;
}
