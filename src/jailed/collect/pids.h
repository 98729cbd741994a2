/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_PIDS_H
#define CTOP_COLLECT_PIDS_H

/* Which processes are ctop's own, and which are let through by message_config.filters_pids. */

#include <stdbool.h>
#include <stdint.h>

#include <ctop/base/task_set.h>
#include <ctop/ipc/protocol.h>

struct record;

/* Children of main's that live for a moment: only so many at a time. */
enum { NR_FORKED = 16 };

struct pids {
	struct message_own ours;	   /* processes of ctop's, this one among them */
	int32_t forked_by_ours[NR_FORKED]; /* the last ones since then: see pids_note_fork() */
	unsigned nr_forked;
	struct task_set followed;
};

bool pids_are_ours(const struct pids *pids, int32_t pid);
bool pids_are_followed(const struct pids *pids, int32_t pid);
int pids_follow(struct pids *pids, int32_t pid); /* 0 or -ENOMEM */
/* The process has ended. */
void pids_forget(struct pids *pids, int32_t pid);
/* A child is ours, or followed, if its parent is. 0 or -ENOMEM. */
int pids_note_fork(struct pids *pids, const struct record *record);
void pids_release(struct pids *pids);

#endif
