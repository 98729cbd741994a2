/* SPDX-License-Identifier: MIT */
#include "follow.h"

#include <errno.h>

#include <linux/perf_event.h>

#include <ctop/base/clock.h>
#include <ctop/kernel/record.h>

#include "internal.h"
#include "live.h"

/* Waits come through main, and later than the exit behind them: until then a process that has ended keeps its maps. */
#define WAITS_COME_NS (200 * NS_PER_MS)

void follow_forget(struct collector *collector)
{
	collector->following.nr_exits = 0;
	asks_forget_all(&collector->following);
	sample_filter_forget_all(&collector->filter);
	stitching_forget_all(collector->unwinding.stitching);
	process_table_forget_all(collector->following.processes);
}

static int follow_mmap(struct collector *collector, const struct record *record)
{
	struct process_table *processes = collector->following.processes;
	const struct record_mmap *mmap = &record->mmap;
	if (record->pid < 0 || mmap->length == 0 || mmap->start + mmap->length < mmap->start)
		return 0; /* the kernel's own text, or nonsense */
	struct mapping map = {
		.start = mmap->start,
		.end = mmap->start + mmap->length,
		.file_offset = mmap->file_offset,
		.identity = {.device_major = mmap->device_major,
			     .device_minor = mmap->device_minor,
			     .inode = mmap->inode,
			     .generation = (uint32_t)mmap->generation},
		.shared = mmap->shared,
	};
	module_identity_set_build_id(&map.identity, mmap->build_id, mmap->build_id_size);
	if (mmap->executable)
		live_code_follow(collector, record);
	return process_table_mmap(processes, record->pid, &map, mmap->path, mmap->executable);
}

static int end_thread(struct collector *collector, int32_t pid, int32_t tid)
{
	int result = process_table_exit(collector->following.processes, pid, tid);
	if (!process_table_find(collector->following.processes, pid)) {
		asks_forget(&collector->following, pid);
		modules_forget_code(&collector->unwinding.modules, pid);
		pids_forget(&collector->pids, pid);
		sample_filter_exit(&collector->filter, pid);
	}
	return result;
}

static int end_first(struct collector *collector)
{
	struct following *following = &collector->following;
	const struct late_exit exit = following->exits[following->first_exit];
	following->first_exit = (following->first_exit + 1) % LATE_EXITS_MOST;
	following->nr_exits--;
	return end_thread(collector, exit.pid, exit.tid);
}

static int follow_exit(struct collector *collector, const struct record *record)
{
	struct following *following = &collector->following;
	stitching_forget(collector->unwinding.stitching, record->tid);
	if (!collector->config.wait_pages)
		return end_thread(collector, record->pid, record->tid);
	const int result = following->nr_exits == LATE_EXITS_MOST ? end_first(collector) : 0;
	following->exits[(following->first_exit + following->nr_exits++) % LATE_EXITS_MOST] =
		(struct late_exit){record->pid, record->tid, record->time_ns};
	return result;
}

static const struct late_exit *late_exit(const struct following *following, unsigned i)
{
	return &following->exits[(following->first_exit + i) % LATE_EXITS_MOST];
}

/* It begins under a number of theirs, or is the only thread that is left: exits from before are not its own. */
static unsigned count_until_begun(const struct following *following, const struct record *record)
{
	const bool is_fork = record->type == PERF_RECORD_FORK;
	const bool is_exec = record->type == PERF_RECORD_COMM && record->comm.exec;
	unsigned nr = 0;
	for (unsigned i = 0; (is_fork || is_exec) && i < following->nr_exits; i++)
		if (late_exit(following, i)->pid == record->pid ||
		    (is_fork && late_exit(following, i)->tid == record->tid))
			nr = i + 1;
	return nr;
}

static int end_late(struct collector *collector, const struct record *record)
{
	const struct following *following = &collector->following;
	int result = 0;
	for (unsigned nr = count_until_begun(following, record); nr && !result; nr--)
		result = end_first(collector);
	while (!result && following->nr_exits &&
	       late_exit(following, 0)->time_ns + WAITS_COME_NS <= record->time_ns)
		result = end_first(collector);
	return result;
}

static int follow_fork(struct process_table *processes, const struct record *record)
{
	int result = process_table_fork(processes, record->pid, record->tid,
					record->fork.parent_pid, record->fork.parent_tid);
	/* perf's own exec of a command comes as a fork of itself; it has no start of its own. */
	struct process *process = result ? NULL : process_table_find(processes, record->pid);
	if (process && record->pid != record->fork.parent_pid)
		process_set_start(process, record->time_ns);
	else if (process)
		process_note_user(process); /* who starts a thread is in no exec any more */
	return result;
}

/* A record that is read again tells the same. */
static void note_exec(const struct collector *collector, const struct record *record)
{
	_Atomic uint64_t *exec_ns = &collector->status->exec_ns;
	if (record->pid == collector->config.watched_pid && record->pid &&
	    record->time_ns > atomic_load_explicit(exec_ns, memory_order_relaxed))
		atomic_store_explicit(exec_ns, record->time_ns, memory_order_relaxed);
}

static int follow_comm(struct collector *collector, const struct record *record)
{
	const struct message_config *config = &collector->config;
	int result = process_table_comm(collector->following.processes, record->pid, record->tid,
					record->comm.name, record->comm.exec);
	struct process *process = process_table_find(collector->following.processes, record->pid);
	if (process && record->comm.exec)
		process_set_exec(process, record->time_ns);
	/* A command of ours is known from its exec on, and nobody asks when it started. */
	if (process && record->pid == config->watched_pid && !process_start(process))
		process_set_start(process, config->watched_started_ns);
	/* Nor in a file, of perf's own command: it did not run that program before. */
	if (process && record->comm.exec && collector->source.file && !process_start(process))
		process_set_start(process, record->time_ns);
	return result;
}

int follow_record(struct collector *collector, const struct record *record)
{
	const int result = collector->following.nr_exits ? end_late(collector, record) : 0;
	if (result)
		return result;
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return follow_mmap(collector, record);
	case PERF_RECORD_COMM:
		if (record->comm.exec) {
			stitching_forget(collector->unwinding.stitching, record->tid);
			sample_filter_exec(&collector->filter, record->pid);
			note_exec(collector, record);
		}
		return follow_comm(collector, record);
	case PERF_RECORD_FORK:
		duplicates_forget(&collector->duplicates, record->tid);
		stitching_forget(collector->unwinding.stitching, record->tid);
		if (pids_note_fork(&collector->pids, record))
			return -ENOMEM;
		if (sample_filter_fork(&collector->filter, record->pid, record->fork.parent_pid))
			return -ENOMEM;
		return follow_fork(collector->following.processes, record);
	case PERF_RECORD_EXIT:
		return follow_exit(collector, record);
	case PERF_RECORD_LOST:
		collector->output.counts.lost += record->lost;
		/* A mapping or a fork may have been among them. */
		process_table_doubt_all(collector->following.processes);
		asks_doubt_all(&collector->following);
		return 0;
	case PERF_RECORD_LOST_SAMPLES:
		collector->output.counts.lost += record->lost;
		return 0;
	case PERF_RECORD_THROTTLE:
		collector->output.counts.throttled++;
		return 0;
	default:
		return 0;
	}
}
