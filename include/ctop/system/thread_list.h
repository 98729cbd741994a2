/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SYSTEM_THREAD_LIST_H
#define CTOP_SYSTEM_THREAD_LIST_H

/*
 * Tells a child of the threads of one process by THREADS, bit by bit: a process may have more of them than main
 * may be kept by. Main only.
 */

#include <dirent.h>
#include <stdbool.h>
#include <stdint.h>

#include <ctop/ipc/channel.h>
#include <ctop/ipc/protocol.h>

struct thread_list {
	DIR *dir; /* NULL: nothing is being told */
	struct message_process request;
	unsigned nr_told;
};

/* A process that is gone has no threads. */
void thread_list_open(struct thread_list *list, const struct message_process *request);
void thread_list_close(struct thread_list *list);
static inline bool thread_list_is_open(const struct thread_list *list)
{
	return list->dir != NULL;
}

/* Tells of the next ones, at most PROTOCOL_THREADS_MAX. 1: there may be more; 0: that was all; -errno of the channel. */
int thread_list_step(struct thread_list *list, struct channel *channel);

#endif
