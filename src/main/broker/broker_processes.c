/* SPDX-License-Identifier: MIT */
/* What /proc says of the processes of the profile, and of no others. */
#include "broker_internal.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/end_pending.h>
#include <ctop/base/privilege.h>
#include <ctop/system/cgroup.h>
#include <ctop/system/proc_text.h>
#include <ctop/system/thread_list.h>

/* ---- who is in the profile ---- */

/* How many generations are looked back for a process that no record reported. */
enum { GENERATIONS_MAX = 64 };
/* /proc tells when a process started to 10 ms. */
#define START_SLACK_NS (20 * NS_PER_MS)

bool broker_has_process(struct broker *broker, int32_t pid)
{
	return is_in_profile(broker, pid);
}

bool is_in_profile(struct broker *broker, int32_t pid)
{
	const uint64_t seen_ns = clock_now_ns();
	if (mapped_files_has_process(broker->mapped, pid))
		return true;
	if (broker->cgroup_fd >= 0 && cgroup_has(broker->cgroup_fd, pid)) {
		mapped_files_add_process(broker->mapped, pid, seen_ns);
		return true;
	}
	/* Who was there before is not sampled, whoever's child it is: no event was inherited. */
	const uint64_t started_ns = proc_start_ns(pid);
	if (started_ns + START_SLACK_NS < broker->opened_ns)
		return false;
	int32_t ancestor = pid;
	for (int i = 0; i < GENERATIONS_MAX && ancestor > 1; i++) {
		ancestor = proc_parent(ancestor);
		if (!mapped_files_has_process(broker->mapped, ancestor))
			continue;
		mapped_files_add_process(broker->mapped, pid, seen_ns);
		return true;
	}
	return false;
}

/* ---- maps ---- */

enum { MAPS_BYTES_MAX = 4 << 20 };

void take_maps(struct broker *broker, int32_t pid, int fd)
{
	struct stat status;
	if (fd < 0)
		return;
	if (fstat(fd, &status) == 0 && status.st_size > 0) {
		/* The opener's, sealed: it stays as long as it is. Main reads no more of it than takes some 10 ms. */
		const size_t size =
			status.st_size < MAPS_BYTES_MAX ? (size_t)status.st_size : MAPS_BYTES_MAX;
		void *text = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (text != MAP_FAILED) {
			mapped_files_take_maps(broker->mapped, pid, text, size);
			munmap(text, size);
		}
	}
}

static void take_process(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	take_maps(job->broker, job->process.pid, fd);
	job_answer(job, fd < 0 ? answer->error : fd);
	if (fd >= 0)
		close(fd);
}

int broker_answer_process(struct broker *broker, struct channel *channel,
			  const struct message_process *request)
{
	struct job *job = job_new(broker, channel, BROKER_COLLECTOR, MESSAGE_PROCESS);
	const struct opener_request maps = {.kind = OPENER_MAPS, .request = {.pid = request->pid}};
	if (!job)
		return -EPROTO;
	job->process = *request;
	if (!is_in_profile(broker, request->pid)) {
		job_answer(job, -ESRCH);
		return 0;
	}
	job_open(job, &maps, take_process);
	return 0;
}

int broker_answer_owner(struct broker *broker, struct channel *channel,
			const struct message_owner *request)
{
	struct message message = {.kind = MESSAGE_OWNER, .owner = {.pid = request->pid}};
	struct message_owner *owner = &message.owner;
	char path[64], line[256];
	snprintf(path, sizeof(path), "/proc/%d/status", request->pid);
	FILE *file = is_in_profile(broker, request->pid) ? proc_fopen(path) : NULL;
	owner->error = -ESRCH;
	while (file && owner->error && fgets(line, sizeof(line), file))
		if (sscanf(line, "Uid: %u %u", &owner->uid, &owner->effective_uid) == 2)
			owner->error = 0;
	if (file)
		fclose(file);
	return protocol_send(channel, &message, -1);
}

/* Descendants that are described. Others are asked about when they are sampled first, if they live as long. */
enum { DESCENDANTS_MAX = 4096 };

/* The children of one thread, as text (proc_tid_children(5)); empty where the kernel does not tell. */
static void read_children(int32_t pid, int32_t tid, char *text, size_t size)
{
	char what[64];
	snprintf(what, sizeof(what), "task/%d/children", tid);
	proc_text(pid, what, text, size);
}

static void list_children(int32_t pid, int32_t *pids, size_t *nr)
{
	char path[64], text[8 * DESCENDANTS_MAX];
	snprintf(path, sizeof(path), "/proc/%d/task", pid);
	/* Once for thousands of threads. */
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	DIR *dir = proc_opendir(path);
	const struct dirent *entry;
	while (dir && (entry = readdir(dir))) {
		int32_t tid = atoi(entry->d_name);
		if (tid <= 0)
			continue;
		read_children(pid, tid, text, sizeof(text));
		char *at = text, *end;
		for (long child; *nr < DESCENDANTS_MAX && (child = strtol(at, &end, 10)) > 0;
		     at = end)
			pids[(*nr)++] = (int32_t)child;
	}
	privilege_restore(&before);
	if (dir)
		closedir(dir);
}

/* What is not there by then comes from the loop, as any other answer; ^C is looked at so often. */
#define DESCRIBE_NS (500 * NS_PER_MS)
enum { LOOK_MS = 50 };

static bool is_being_described(const struct broker *broker)
{
	const struct job *job = broker->jobs;
	while (job && job->answer != MESSAGE_PROCESS)
		job = job->next;
	return job != NULL;
}

static void wait_for_maps(struct broker *broker)
{
	struct pollfd fds[BROKER_POLL_MAX];
	const uint64_t until_ns = clock_now_ns() + DESCRIBE_NS;
	while (is_being_described(broker) && clock_now_ns() < until_ns && !end_pending()) {
		poll(fds, broker_poll(broker, fds), LOOK_MS);
		broker_serve(broker);
	}
}

int broker_describe_tree(struct broker *broker, struct channel *channel, int32_t pid)
{
	int32_t pids[DESCENDANTS_MAX];
	struct thread_list threads = {0};
	size_t nr = 1;
	int result = 0;
	pids[0] = pid;
	for (size_t i = 0; !result && i < nr; i++) {
		const struct message_process process = {.pid = pids[i]};
		if (!is_in_profile(broker, pids[i]))
			continue;
		list_children(pids[i], pids, &nr);
		thread_list_open(&threads, &process);
		while (thread_list_is_open(&threads) && result >= 0 && !end_pending())
			result = thread_list_step(&threads, channel);
		thread_list_close(&threads);
		if (result >= 0)
			result = broker_answer_process(broker, channel, &process);
	}
	wait_for_maps(broker);
	return result;
}
