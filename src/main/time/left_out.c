/* SPDX-License-Identifier: MIT */
/* Where everybody's records come: threads that are not the account's business, and those that they create. */
#include "account_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <linux/perf_event.h>

struct left_out {
	int32_t tid;
	UT_hash_handle hh;
};

static struct left_out *find(const struct time_account *account, int32_t tid)
{
	struct left_out *found;
	HASH_FIND(hh, account->left_out, &tid, sizeof(tid), found);
	return found;
}

int time_account_leave_out(struct time_account *account, int32_t tid)
{
	if (find(account, tid))
		return 0;
	struct left_out *added = calloc(1, sizeof(*added));
	if (!added)
		return -ENOMEM;
	added->tid = tid;
	HASH_ADD(hh, account->left_out, tid, sizeof(added->tid), added);
	if (!added->hh.tbl) { /* uthash had no memory */
		free(added);
		return -ENOMEM;
	}
	return 0;
}

static void forget(struct time_account *account, struct left_out *is)
{
	HASH_DEL(account->left_out, is);
	free(is);
}

void time_account_take_all(struct time_account *account)
{
	account->takes_all = true;
}

void account_release_left_out(struct time_account *account)
{
	struct left_out *is, *next;
	HASH_ITER (hh, account->left_out, is, next)
		forget(account, is);
}

bool account_leaves_out(struct time_account *account, const struct record *record)
{
	const bool is_fork = record->type == PERF_RECORD_FORK;
	/* Whoever ran as it was written: it is of all. */
	if (record->type == PERF_RECORD_LOST)
		return false;
	/* An idle CPU, or who is outside of our pid namespace; whom those send in is not. */
	if (!record->tid)
		return true;
	if (is_fork && record->fork.parent_tid && find(account, record->fork.parent_tid))
		return time_account_leave_out(account, record->tid) == 0;
	struct left_out *is = find(account, record->tid);
	const bool was = is != NULL;
	if (is && (is_fork || record->type == PERF_RECORD_EXIT))
		forget(account, is);
	return was && !is_fork;
}
