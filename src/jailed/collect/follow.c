/* SPDX-License-Identifier: MIT */
#include "internal.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uthash.h>

#include <ctop/base/hash.h>
#include <ctop/kernel/maps.h>

/* A process in the middle of exec or exit shows empty maps: worth a few more tries, not more. */
enum { EMPTY_MAPS_TRIES = 3 };
/* The text of one process's maps; the largest seen in the wild are a few MiB. */
enum { MAPS_TEXT_MAX = 64 << 20 };

/* What main was asked about a process. */
struct ask {
	int32_t pid;
	uint32_t exec_count; /* the image that was asked about */
	unsigned nr_empty;
	bool outstanding, answered, failed;
	UT_hash_handle hh;
};

struct followed {
	int32_t pid;
	UT_hash_handle hh;
};

bool follow_has_pid(const struct collector *collector, int32_t pid)
{
	struct followed *followed;
	HASH_FIND(hh, collector->followed, &pid, sizeof(pid), followed);
	return followed != NULL;
}

int follow_add_pid(struct collector *collector, int32_t pid)
{
	if (follow_has_pid(collector, pid))
		return 0;
	struct followed *followed = calloc(1, sizeof(*followed));
	if (!followed)
		return -ENOMEM;
	followed->pid = pid;
	HASH_ADD(hh, collector->followed, pid, sizeof(followed->pid), followed);
	return 0;
}

static void unfollow(struct collector *collector, int32_t pid)
{
	struct followed *followed;
	HASH_FIND(hh, collector->followed, &pid, sizeof(pid), followed);
	if (!followed)
		return;
	HASH_DEL(collector->followed, followed);
	free(followed);
}

static struct ask *find_ask(const struct collector *collector, int32_t pid)
{
	struct ask *ask;
	HASH_FIND(hh, collector->asks, &pid, sizeof(pid), ask);
	return ask;
}

static void forget_ask(struct collector *collector, int32_t pid)
{
	struct ask *ask = find_ask(collector, pid);
	if (!ask)
		return;
	HASH_DEL(collector->asks, ask);
	free(ask);
}

static struct ask *make_ask(struct collector *collector, int32_t pid)
{
	struct ask *ask = find_ask(collector, pid);
	if (ask)
		return ask;
	ask = calloc(1, sizeof(*ask));
	if (!ask)
		return NULL;
	ask->pid = pid;
	HASH_ADD(hh, collector->asks, pid, sizeof(ask->pid), ask);
	return ask;
}

static void forget_asks(struct collector *collector)
{
	struct ask *ask, *next;
	HASH_ITER (hh, collector->asks, ask, next) {
		HASH_DEL(collector->asks, ask);
		free(ask);
	}
}

void follow_forget(struct collector *collector)
{
	forget_asks(collector);
	sample_filter_forget_all(collector);
	stitching_forget_all(collector->stitching);
	process_table_forget_all(collector->processes);
}

void follow_release(struct collector *collector)
{
	forget_asks(collector);
	sample_filter_forget_all(collector);
	struct followed *followed, *next;
	HASH_ITER (hh, collector->followed, followed, next) {
		HASH_DEL(collector->followed, followed);
		free(followed);
	}
}

static bool has_pid(const int32_t *pids, size_t nr, int32_t pid)
{
	for (size_t i = 0; i < nr; i++)
		if (pids[i] == pid && pid)
			return true;
	return false;
}

bool follow_is_own(const struct collector *collector, int32_t pid)
{
	const struct message_own *ours = &collector->ours;
	return has_pid(ours->pids, sizeof(ours->pids) / sizeof(*ours->pids), pid) ||
	       has_pid(collector->forked_by_ours, NR_FORKED, pid);
}

/* Main starts a process for each question about a file; it has ended before main could tell of it. */
static void note_own_fork(struct collector *collector, const struct record *record)
{
	if (record->pid != record->tid)
		return;
	for (size_t i = 0; i < NR_FORKED; i++)
		if (collector->forked_by_ours[i] == record->pid)
			collector->forked_by_ours[i] = 0; /* somebody else's now */
	if (follow_is_own(collector, record->fork.parent_pid))
		collector->forked_by_ours[collector->nr_forked++ % NR_FORKED] = record->pid;
}

static int follow_mmap(struct collector *collector, const struct record *record)
{
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
	};
	module_identity_set_build_id(&map.identity, mmap->build_id, mmap->build_id_size);
	return process_table_mmap(collector->processes, record->pid, &map, mmap->path,
				  mmap->executable);
}

static int follow_exit(struct collector *collector, const struct record *record)
{
	stitching_forget(collector->stitching, record->tid);
	int result = process_table_exit(collector->processes, record->pid, record->tid);
	if (!process_table_find(collector->processes, record->pid)) {
		forget_ask(collector, record->pid);
		unfollow(collector, record->pid);
		sample_filter_exit(collector, record->pid);
	}
	return result;
}

static int follow_fork(struct collector *collector, const struct record *record)
{
	int result = process_table_fork(collector->processes, record->pid, record->tid,
					record->fork.parent_pid, record->fork.parent_tid);
	/* perf's own exec of a command comes as a fork of itself; it has no start of its own. */
	if (!result && record->pid != record->fork.parent_pid)
		process_set_start(process_table_find(collector->processes, record->pid),
				  record->time_ns);
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
	int result = process_table_comm(collector->processes, record->pid, record->tid,
					record->comm.name, record->comm.exec);
	struct process *process = process_table_find(collector->processes, record->pid);
	/* A command of ours is known from its exec on, and nobody asks when it started. */
	if (process && record->pid == config->watched_pid && !process_start(process))
		process_set_start(process, config->watched_started_ns);
	/* Nor in a file, of perf's own command: it did not run that program before. */
	if (process && record->comm.exec && collector->file && !process_start(process))
		process_set_start(process, record->time_ns);
	return result;
}

int follow_record(struct collector *collector, const struct record *record)
{
	switch (record->type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		return follow_mmap(collector, record);
	case PERF_RECORD_COMM:
		if (record->comm.exec) {
			stitching_forget(collector->stitching, record->tid);
			sample_filter_exec(collector, record->pid);
			note_exec(collector, record);
		}
		return follow_comm(collector, record);
	case PERF_RECORD_FORK:
		note_own_fork(collector, record);
		duplicates_forget(collector, record->tid);
		stitching_forget(collector->stitching, record->tid);
		if (follow_has_pid(collector, record->fork.parent_pid) &&
		    follow_add_pid(collector, record->pid))
			return -ENOMEM;
		if (sample_filter_fork(collector, record->pid, record->fork.parent_pid))
			return -ENOMEM;
		return follow_fork(collector, record);
	case PERF_RECORD_EXIT:
		return follow_exit(collector, record);
	case PERF_RECORD_LOST:
		collector->counts.lost += record->lost;
		/* A mapping or a fork may have been among them. */
		process_table_doubt_all(collector->processes);
		struct ask *ask, *next;
		HASH_ITER (hh, collector->asks, ask, next) {
			ask->answered = false;
			ask->failed = false;
		}
		return 0;
	case PERF_RECORD_LOST_SAMPLES:
		collector->counts.lost += record->lost;
		return 0;
	case PERF_RECORD_THROTTLE:
		collector->counts.throttled++;
		return 0;
	default:
		return 0;
	}
}

int follow_ask(struct collector *collector, struct process *process, int32_t pid, int32_t tid,
	       bool needs_maps)
{
	if (collector->file)
		return 0; /* who has this pid now is another */
	bool maps_known = !needs_maps || !process_doubtful(process);
	if (maps_known && process_table_knows_thread(collector->processes, pid, tid))
		return 0;
	struct ask *ask = make_ask(collector, pid);
	if (!ask)
		return -ENOMEM;
	if (ask->outstanding)
		return -EAGAIN;
	uint32_t exec_count = process_exec_count(process);
	bool answered = ask->answered || ask->failed;
	if (answered && ask->exec_count == exec_count && (maps_known || ask->failed))
		return 0; /* this is all that /proc has to say */
	struct message message = {
		.kind = MESSAGE_NEED_PROCESS,
		.process = {.pid = pid, .exec_count = exec_count},
	};
	int result = protocol_send(collector->channel, &message, -1);
	if (result)
		return result == -ENOBUFS ? -EAGAIN : result;
	ask->exec_count = exec_count;
	ask->outstanding = true;
	return -EAGAIN;
}

int follow_threads_answer(struct collector *collector, const struct message_threads *answer)
{
	for (uint32_t i = 0; i < answer->nr; i++) {
		int32_t tid = answer->threads[i].tid;
		/* What a record said is newer than what /proc said. */
		if (process_table_knows_thread(collector->processes, answer->pid, tid))
			continue;
		int result = process_table_set_thread(collector->processes, answer->pid, tid,
						      answer->threads[i].comm);
		if (result)
			return result;
	}
	return 0;
}

/* Reads the whole text; *text is the caller's to free. 0 or -errno. */
static int read_text(int fd, char **text, size_t *size)
{
	size_t capacity = 0;
	*text = NULL;
	*size = 0;
	for (;;) {
		if (*size == capacity) {
			capacity = capacity ? capacity * 2 : 64 << 10;
			char *grown = capacity <= MAPS_TEXT_MAX ? realloc(*text, capacity) : NULL;
			if (!grown)
				return -ENOMEM;
			*text = grown;
		}
		ssize_t got = read(fd, *text + *size, capacity - *size);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		*size += (size_t)got;
	}
}

/* Lays the maps of a second look over those of the first: what was there before may still be sampled. */
static int add_maps(struct collector *collector, int32_t pid, const char *text, size_t size)
{
	struct maps_line line;
	size_t at = 0;
	int result = 0, got;
	while (!result && (got = maps_next(text, size, &at, &line))) {
		char path[PATH_MAX];
		if (got < 0 || !line.executable)
			continue;
		maps_path(&line, path, sizeof(path));
		const struct mapping map = {
			.start = line.start,
			.end = line.end,
			.file_offset = line.file_offset,
			.identity = {.device_major = line.device_major,
				     .device_minor = line.device_minor,
				     .inode = line.inode},
		};
		result = process_table_mmap(collector->processes, pid, &map, path, true);
	}
	return result;
}

int follow_process_answer(struct collector *collector, const struct message_process *answer, int fd)
{
	/*
	 * Main tells of the target's processes unasked, at the start. Of many it comes when records have come, too: it is
	 * all that is known of those who were forked by then, and their events not on yet.
	 */
	struct process *known = process_table_find(collector->processes, answer->pid);
	const bool is_unknown =
		!find_ask(collector, answer->pid) && (!known || process_doubtful(known));
	bool unasked = answer->exec_count == 0 && (!collector->last_time_ns || is_unknown);
	struct ask *ask =
		unasked ? make_ask(collector, answer->pid) : find_ask(collector, answer->pid);
	struct process *process = unasked ? process_table_add(collector->processes, answer->pid)
					  : process_table_find(collector->processes, answer->pid);
	if (!ask || !process)
		return unasked ? -ENOMEM : 0; /* it has gone meanwhile */
	if (unasked && collector->config.filters_pids && follow_add_pid(collector, answer->pid))
		return -ENOMEM;
	ask->outstanding = false;
	/* Its fork may have been lost, and a namesake's before. */
	if (answer->started_ns && (!process_start(process) ||
				   !process_start_same(process_start(process), answer->started_ns)))
		process_set_start(process, answer->started_ns);
	ask->failed = answer->error != 0 || fd < 0;
	if (ask->failed || answer->exec_count != process_exec_count(process))
		return 0; /* an exec later the maps of before are worth nothing: the next sample asks again */
	char *text = NULL;
	size_t size = 0;
	int result = read_text(fd, &text, &size);
	if (!result && unasked && !process_doubtful(process))
		result = add_maps(collector, answer->pid, text, size);
	else if (!result)
		result = process_table_set_maps(collector->processes, answer->pid, text, size);
	free(text);
	if (result == -ENOMEM)
		return result;
	if (result)
		ask->failed = ++ask->nr_empty >= EMPTY_MAPS_TRIES;
	else
		ask->answered = true;
	return 0;
}
