/* SPDX-License-Identifier: MIT */
#include "pids.h"

#include <ctop/kernel/record.h>

bool pids_are_followed(const struct pids *pids, int32_t pid)
{
	return task_set_has(&pids->followed, pid);
}

int pids_follow(struct pids *pids, int32_t pid)
{
	return task_set_add(&pids->followed, pid);
}

void pids_forget(struct pids *pids, int32_t pid)
{
	task_set_remove(&pids->followed, pid);
}

void pids_release(struct pids *pids)
{
	task_set_release(&pids->followed);
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
