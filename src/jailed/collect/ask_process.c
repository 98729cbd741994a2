/* SPDX-License-Identifier: MIT */
#include "ask_process.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>
#include <uthash.h>

#include <ctop/base/hash.h>
#include <ctop/kernel/maps.h>

#include "internal.h"

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

static struct ask *find_ask(const struct following *following, int32_t pid)
{
	struct ask *ask;
	HASH_FIND(hh, following->asks, &pid, sizeof(pid), ask);
	return ask;
}

static struct ask *make_ask(struct following *following, int32_t pid)
{
	struct ask *ask = find_ask(following, pid);
	if (ask)
		return ask;
	ask = calloc(1, sizeof(*ask));
	if (!ask)
		return NULL;
	ask->pid = pid;
	HASH_ADD(hh, following->asks, pid, sizeof(ask->pid), ask);
	return ask;
}

void asks_forget(struct following *following, int32_t pid)
{
	struct ask *ask = find_ask(following, pid);
	if (!ask)
		return;
	HASH_DEL(following->asks, ask);
	free(ask);
}

void asks_forget_all(struct following *following)
{
	struct ask *ask, *next;
	HASH_ITER (hh, following->asks, ask, next) {
		HASH_DEL(following->asks, ask);
		free(ask);
	}
}

void asks_doubt_all(struct following *following)
{
	struct ask *ask, *next;
	HASH_ITER (hh, following->asks, ask, next) {
		ask->answered = false;
		ask->failed = false;
	}
}

/* How many generations are looked back for one whose maps are known. */
enum { GENERATIONS_MAX = 16 };

static int ask_family(struct collector *collector, struct process *process, int generations);

static int ask_of(struct collector *collector, struct process *process, int32_t tid,
		  bool needs_maps, int generations)
{
	const int32_t pid = process_pid(process);
	struct following *following = &collector->following;
	if (collector->source.file)
		return 0; /* who has this pid now is another */
	bool maps_known = !needs_maps || !process_doubtful(process);
	if (maps_known && process_table_knows_thread(following->processes, pid, tid))
		return 0;
	struct ask *ask = make_ask(following, pid);
	if (!ask)
		return -ENOMEM;
	if (ask->outstanding)
		return -EAGAIN;
	uint32_t exec_count = process_exec_count(process);
	bool answered = ask->answered || ask->failed;
	if (answered && ask->exec_count == exec_count && (maps_known || ask->failed))
		return maps_known ? 0 : ask_family(collector, process, generations - 1);
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

/* /proc has nothing to say: whom it was forked from may have its maps. As ask_process(). */
static int ask_family(struct collector *collector, struct process *process, int generations)
{
	struct process_table *processes = collector->following.processes;
	const int32_t parent = process_table_same_image(processes, process);
	int result = 0;
	if (parent && generations > 0)
		result = ask_of(collector, process_table_find(processes, parent), parent, true,
				generations);
	if (result)
		return result;
	result = process_table_share_maps(processes, process);
	return result == -EAGAIN ? 0 : result;
}

int ask_process(struct collector *collector, struct process *process, int32_t tid, bool needs_maps)
{
	return ask_of(collector, process, tid, needs_maps, GENERATIONS_MAX);
}

int ask_threads_answer(struct following *following, const struct message_threads *answer)
{
	for (uint32_t i = 0; i < answer->nr; i++) {
		int result =
			process_table_set_thread(following->processes, answer->pid,
						 answer->threads[i].tid, answer->threads[i].comm);
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
static int add_maps(struct following *following, int32_t pid, const char *text, size_t size)
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
			.shared = line.shared,
		};
		result = process_table_mmap(following->processes, pid, &map, path, true);
	}
	return result;
}

int ask_process_answer(struct collector *collector, const struct message_process *answer, int fd)
{
	struct following *following = &collector->following;
	/*
	 * Main tells of the target's processes unasked, at the start. Of many it comes when records have come, too: it is
	 * all that is known of those who were forked by then, and their events not on yet.
	 */
	struct process *known = process_table_find(following->processes, answer->pid);
	const bool is_unknown =
		!find_ask(following, answer->pid) && (!known || process_doubtful(known));
	bool unasked = answer->exec_count == 0 && (!collector->source.last_time_ns || is_unknown);
	struct ask *ask =
		unasked ? make_ask(following, answer->pid) : find_ask(following, answer->pid);
	struct process *process = unasked ? process_table_add(following->processes, answer->pid)
					  : process_table_find(following->processes, answer->pid);
	if (!ask || !process)
		return unasked ? -ENOMEM : 0; /* it has gone meanwhile */
	if (unasked && collector->config.filters_pids && pids_follow(&collector->pids, answer->pid))
		return -ENOMEM;
	ask->outstanding = false;
	/* Its fork may have been lost, and one before it had its pid. */
	if (answer->started_ns && (!process_start(process) ||
				   !process_is_still(answer->started_ns, process_start(process))))
		process_set_start(process, answer->started_ns);
	ask->failed = answer->error != 0 || fd < 0;
	if (answer->same_image)
		process_table_set_same_image(following->processes, process, answer->same_image);
	if (ask->failed || answer->exec_count != process_exec_count(process))
		return 0; /* an exec later the maps of before are worth nothing: the next sample asks again */
	char *text = NULL;
	size_t size = 0;
	int result = read_text(fd, &text, &size);
	if (!result && unasked && !process_doubtful(process))
		result = add_maps(following, answer->pid, text, size);
	else if (!result)
		result = process_table_set_maps(following->processes, answer->pid, text, size);
	free(text);
	if (result == -ENOMEM)
		return result;
	if (result)
		ask->failed = ++ask->nr_empty >= EMPTY_MAPS_TRIES;
	else
		ask->answered = true;
	return 0;
}
