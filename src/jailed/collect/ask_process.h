/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_ASK_PROCESS_H
#define CTOP_COLLECT_ASK_PROCESS_H

/* What main was asked about processes, and its answers: what /proc says of them. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/ipc/protocol.h>
#include <ctop/proc/process_table.h>

struct ask;
struct collector;

enum { LATE_EXITS_MOST = 256 };
struct following {
	struct process_table *processes;
	struct ask *asks;
	/* Exits that are not followed yet (follow.c), the oldest at first, and around. */
	struct late_exit {
		int32_t pid, tid;
		uint64_t time_ns;
	} exits[LATE_EXITS_MOST];
	unsigned first_exit, nr_exits;
};

/* Asks main for what is not known of the process yet. 0: known, or not to be had; -EAGAIN: the answer is on its way. */
int ask_process(struct collector *collector, struct process *process, int32_t tid, bool needs_maps);
/* 0 or -ENOMEM. fd stays the caller's. */
int ask_process_answer(struct collector *collector, const struct message_process *answer, int fd);
int ask_threads_answer(struct following *following, const struct message_threads *answer);
/* What was answered is in doubt: it may be asked for again. */
void asks_doubt_all(struct following *following);
/* The process has ended. */
void asks_forget(struct following *following, int32_t pid);
void asks_forget_all(struct following *following);

#endif
