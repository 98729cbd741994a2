/* SPDX-License-Identifier: MIT */
#include "pids.h"

#include <errno.h>
#include <stdlib.h>
#include <uthash.h>

#include <ctop/base/hash.h>
#include <ctop/kernel/record.h>

struct followed {
	int32_t pid;
	UT_hash_handle hh;
};

static struct followed *find(const struct pids *pids, int32_t pid)
{
	struct followed *followed;
	HASH_FIND(hh, pids->followed, &pid, sizeof(pid), followed);
	return followed;
}

bool pids_are_followed(const struct pids *pids, int32_t pid)
{
	return find(pids, pid) != NULL;
}

int pids_follow(struct pids *pids, int32_t pid)
{
	if (find(pids, pid))
		return 0;
	struct followed *followed = calloc(1, sizeof(*followed));
	if (!followed)
		return -ENOMEM;
	followed->pid = pid;
	HASH_ADD(hh, pids->followed, pid, sizeof(followed->pid), followed);
	return 0;
}

void pids_forget(struct pids *pids, int32_t pid)
{
	struct followed *followed = find(pids, pid);
	if (!followed)
		return;
	HASH_DEL(pids->followed, followed);
	free(followed);
}

void pids_release(struct pids *pids)
{
	struct followed *followed, *next;
	HASH_ITER (hh, pids->followed, followed, next) {
		HASH_DEL(pids->followed, followed);
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

bool pids_are_ours(const struct pids *pids, int32_t pid)
{
	const struct message_own *ours = &pids->ours;
	return has_pid(ours->pids, sizeof(ours->pids) / sizeof(*ours->pids), pid) ||
	       has_pid(pids->forked_by_ours, NR_FORKED, pid);
}

/* Main starts a process for each question about a file; it has ended before main could tell of it. */
static void note_own_fork(struct pids *pids, const struct record *record)
{
	if (record->pid != record->tid)
		return;
	for (size_t i = 0; i < NR_FORKED; i++)
		if (pids->forked_by_ours[i] == record->pid)
			pids->forked_by_ours[i] = 0; /* somebody else's now */
	if (pids_are_ours(pids, record->fork.parent_pid))
		pids->forked_by_ours[pids->nr_forked++ % NR_FORKED] = record->pid;
}

int pids_note_fork(struct pids *pids, const struct record *record)
{
	note_own_fork(pids, record);
	return pids_are_followed(pids, record->fork.parent_pid) ? pids_follow(pids, record->pid)
								: 0;
}
