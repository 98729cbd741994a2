/* SPDX-License-Identifier: MIT */
/* Where everybody's records come: threads that are not the account's business, and those that they create. */
#include "account_internal.h"

#include <linux/perf_event.h>

int time_account_leave_out(struct time_account *account, int32_t tid)
{
	return task_set_add(&account->left_out, tid);
}

void time_account_take_all(struct time_account *account)
{
	account->takes_all = true;
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
	if (is_fork && record->fork.parent_tid &&
	    task_set_has(&account->left_out, record->fork.parent_tid))
		return time_account_leave_out(account, record->tid) == 0;
	if (!is_fork && record->type != PERF_RECORD_EXIT)
		return task_set_has(&account->left_out, record->tid);
	return task_set_remove(&account->left_out, record->tid) && !is_fork;
}
