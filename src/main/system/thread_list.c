/* SPDX-License-Identifier: MIT */
#include <ctop/system/thread_list.h>

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/privilege.h>
#include <ctop/system/proc_text.h>

/* Threads of a process that are named; the rest show their leader's comm. */
enum { THREADS_MAX = 100000 };

void thread_list_open(struct thread_list *list, const struct message_process *request)
{
	char path[64];
	thread_list_close(list);
	snprintf(path, sizeof(path), "/proc/%d/task", request->pid);
	*list = (struct thread_list){.dir = proc_opendir(path), .request = *request};
}

void thread_list_close(struct thread_list *list)
{
	if (list->dir)
		closedir(list->dir);
	list->dir = NULL;
}

static void read_comm(int32_t pid, int32_t tid, char comm[COMM_MAX])
{
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, tid);
	memset(comm, 0, COMM_MAX);
	int fd = privilege_openat(PRIVILEGE_INSPECT, AT_FDCWD, path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t size = read(fd, comm, COMM_MAX - 1);
	close(fd);
	if (size > 0 && comm[size - 1] == '\n')
		comm[size - 1] = '\0';
}

int thread_list_step(struct thread_list *list, struct channel *channel)
{
	const int32_t pid = list->request.pid;
	struct message message = {.kind = MESSAGE_THREADS, .threads = {.pid = pid}};
	const struct dirent *entry = NULL;
	/* Once for all of them. */
	const struct privilege_before before = privilege_raise(PRIVILEGE_INSPECT);
	while (message.threads.nr < PROTOCOL_THREADS_MAX && list->nr_told < THREADS_MAX &&
	       (entry = readdir(list->dir))) {
		int32_t tid = atoi(entry->d_name);
		if (tid <= 0)
			continue;
		uint32_t at = message.threads.nr++;
		message.threads.threads[at].tid = tid;
		read_comm(pid, tid, message.threads.threads[at].comm);
		list->nr_told++;
	}
	privilege_restore(&before);
	bool more = entry && list->nr_told < THREADS_MAX;
	int result = message.threads.nr ? protocol_send(channel, &message, -1) : 0;
	if (result || !more)
		thread_list_close(list);
	return result ? result : more;
}
