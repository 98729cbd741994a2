/* SPDX-License-Identifier: MIT */
#include "sample_filter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include <ctop/base/clock.h>
#include <ctop/base/hash.h>
#include <ctop/kernel/record.h>

#include "internal.h"

/* A process changes its user without a record: what is older than this is looked up again. */
#define OWNER_AGE_NS NS_PER_SECOND

/* The user of a process, as far as it is known. */
struct owner {
	int32_t pid;
	uint32_t uid, effective_uid;
	bool known;
	bool due; /* it is another program or another process than the one that was looked up */
	bool outstanding;
	uint64_t looked_ns; /* by the records' time */
	UT_hash_handle hh;
};

static struct owner *find_owner(const struct sample_filter *filter, int32_t pid)
{
	struct owner *owner;
	HASH_FIND(hh, filter->owners, &pid, sizeof(pid), owner);
	return owner;
}

static struct owner *make_owner(struct sample_filter *filter, int32_t pid)
{
	struct owner *owner = find_owner(filter, pid);
	if (owner)
		return owner;
	owner = calloc(1, sizeof(*owner));
	if (!owner)
		return NULL;
	owner->pid = pid;
	owner->due = true;
	HASH_ADD(hh, filter->owners, pid, sizeof(owner->pid), owner);
	return owner;
}

/* A child is its parent's user's until that has been looked up: it may be too short for that. */
int sample_filter_fork(struct sample_filter *filter, int32_t pid, int32_t parent_pid)
{
	const struct owner *parent = pid == parent_pid ? NULL : find_owner(filter, parent_pid);
	if (!parent || !parent->known)
		return 0;
	struct owner *owner = make_owner(filter, pid);
	if (!owner)
		return -ENOMEM;
	owner->uid = parent->uid;
	owner->effective_uid = parent->effective_uid;
	owner->known = owner->due = true;
	return 0;
}

void sample_filter_exec(struct sample_filter *filter, int32_t pid)
{
	struct owner *owner = find_owner(filter, pid);
	if (owner)
		owner->due = true;
}

void sample_filter_exit(struct sample_filter *filter, int32_t pid)
{
	struct owner *owner = find_owner(filter, pid);
	if (!owner)
		return;
	HASH_DEL(filter->owners, owner);
	free(owner);
}

void sample_filter_forget_all(struct sample_filter *filter)
{
	struct owner *owner, *next;
	HASH_ITER (hh, filter->owners, owner, next) {
		HASH_DEL(filter->owners, owner);
		free(owner);
	}
}

void sample_filter_owner_answer(struct sample_filter *filter, const struct message_owner *answer,
				uint64_t now_ns)
{
	struct owner *owner = find_owner(filter, answer->pid);
	if (!owner)
		return; /* it has gone meanwhile */
	owner->outstanding = owner->due = false;
	owner->looked_ns = now_ns;
	if (answer->error)
		return; /* what was known before still holds */
	owner->known = true;
	owner->uid = answer->uid;
	owner->effective_uid = answer->effective_uid;
}

/* 0: as well known as it will be; -EAGAIN: the answer is on its way; -ENOMEM. */
static int ask_owner(struct sample_filter *filter, struct channel *channel, int32_t pid,
		     uint64_t now_ns)
{
	struct owner *owner = make_owner(filter, pid);
	if (!owner)
		return -ENOMEM;
	const bool is_old = now_ns > owner->looked_ns + OWNER_AGE_NS;
	if (!owner->due && !is_old)
		return 0;
	if (!owner->outstanding) {
		const struct message message = {.kind = MESSAGE_NEED_OWNER, .owner = {.pid = pid}};
		int result = protocol_send(channel, &message, -1);
		if (result && result != -ENOBUFS)
			return result;
		owner->outstanding = result == 0;
	}
	/* What is merely old serves until the answer is there. */
	return owner->due ? -EAGAIN : 0;
}

static bool is_users(const struct sample_filter *filter, int32_t pid, uint32_t uid)
{
	const struct owner *owner = find_owner(filter, pid);
	return owner && owner->known && (owner->uid == uid || owner->effective_uid == uid);
}

int sample_filter_task(struct collector *collector, struct process *process,
		       const struct record *record, bool patient)
{
	const struct message_config *config = &collector->config;
	int result = config->filters_uid ? ask_owner(&collector->filter, collector->channel,
						     record->pid, record->time_ns)
					 : 0;
	if (!result && config->filters_comm)
		result = ask_process(collector, process, record->tid, false);
	if (result && (patient || result != -EAGAIN))
		return result;
	if (config->filters_uid && !is_users(&collector->filter, record->pid, config->uid)) {
		collector->output.counts.uid++;
		return 1;
	}
	if (config->filters_comm &&
	    strcmp(process_table_comm_of(collector->following.processes, record->pid, record->tid),
		   config->comm) != 0) {
		collector->output.counts.comm++;
		return 1;
	}
	return 0;
}
