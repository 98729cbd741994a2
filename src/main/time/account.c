/* SPDX-License-Identifier: MIT */
#include "account_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>
#include <ctop/system/system_call.h>

enum { ENDED_MOST = 4096 };

struct time_account *time_account_new(void)
{
	struct time_account *account = calloc(1, sizeof(*account));
	if (account)
		account->recent = calloc(RECENT_THREADS, sizeof(struct thread *));
	if (account && account->recent)
		return account;
	free(account);
	return NULL;
}

static void remove_live(struct time_account *account, struct thread *thread)
{
	struct thread **recent = &account->recent[account_recent_at(thread->times.tid)];
	if (*recent == thread)
		*recent = NULL;
	HASH_DEL(account->live, thread);
}

static void free_thread(struct thread *thread)
{
	free(thread->call);
	free(thread);
}

void time_account_free(struct time_account *account)
{
	struct thread *thread, *next;
	if (!account)
		return;
	HASH_ITER (hh, account->live, thread, next) {
		HASH_DEL(account->live, thread);
		free_thread(thread);
	}
	free(account->recent);
	free(account->ended.items);
	free(account->shares.items);
	task_set_release(&account->left_out);
	free(account);
}

void time_account_switch(struct time_account *account, bool on, uint64_t ns)
{
	if (on == account->is_on)
		return;
	const uint64_t on_ns = account->is_on ? account_clock(account, ns) : account->on_ns;
	account->last_on_ns = on_ns - account->on_ns;
	account->on_ns = on_ns;
	account->since_ns = ns;
	account->is_on = on;
}

void time_account_leave_children(struct time_account *account)
{
	account->leaves_children = true;
}

bool time_account_is_on(const struct time_account *account)
{
	return account->is_on;
}

static int compare_lives(const void *left, const void *right)
{
	const struct thread_times *a = left, *b = right;
	return (a->observed_ns < b->observed_ns) - (a->observed_ns > b->observed_ns);
}

/* Of those that have ended the ones that lived longest are told one by one, half as many as there is room for. */
static void sum_up_brief_ones(struct time_account *account)
{
	qsort(account->ended.items, account->ended.nr, sizeof(*account->ended.items),
	      compare_lives);
	for (; account->ended.nr > ENDED_MOST / 2; account->nr_others++)
		account_add_times(&account->others, &account->ended.items[--account->ended.nr]);
}

static void end(struct time_account *account, struct thread *thread, enum time_kind last,
		uint64_t at)
{
	account_charge(account, thread, last, at);
	account_close_shares(account, thread);
	const struct thread_times times = account_times_at(thread, last, at);
	account_tell_end(account, thread);
	remove_live(account, thread);
	free_thread(thread);
	if (account->ended.nr == ENDED_MOST)
		sum_up_brief_ones(account);
	if (vec_reserve(&account->ended, account->ended.nr + 1) == 0) {
		account->ended.items[account->ended.nr++] = times;
		return;
	}
	account_add_times(&account->others, &times);
	account->nr_others++;
}

/* ---- records ---- */

/* Events have their time by the kernel's records alone; while it is off nothing happens. */
static bool is_observed(const struct time_account *account, uint64_t ns)
{
	return account_time(account, account_clock(account, ns)) == ns;
}

static void tell_creation(const struct time_account *account, struct thread *thread,
			  const struct record *record)
{
	if (is_observed(account, record->time_ns))
		account_tell_event(account, thread, thread->began,
				   (struct thread_stretch){.event = THREAD_CREATED,
							   .creator_pid = record->fork.parent_pid,
							   .creator_tid = record->fork.parent_tid});
}

/* It is on that CPU: it has lost it, or has just got it. */
static void tell_switch(const struct time_account *account, struct thread *thread,
			const struct record *record)
{
	const bool is_migration =
		!record->switched.out && thread->cpu != NO_CPU && thread->cpu != record->cpu;
	const bool is_preemption = record->switched.out && record->switched.preempted;
	const struct thread_stretch event = {
		.event = is_migration ? THREAD_MIGRATED : THREAD_PREEMPTED,
		.from_cpu = thread->cpu,
		.to_cpu = record->cpu,
	};
	if ((is_migration || is_preemption) && is_observed(account, record->time_ns))
		account_tell_event(account, thread, thread->since, event);
	thread->cpu = record->cpu;
}

/* Who is not known slipped through, and is from now on. */
static int take_switch(struct time_account *account, const struct record *record, uint64_t at)
{
	struct thread *thread = account_find(account, record->tid);
	if (!thread && account->takes_all)
		return 0;
	if (!thread) {
		int result = account_add(account, record->pid, record->tid, at, &thread);
		if (!thread)
			return result;
	}
	const bool is_off = thread->doing == QUEUES || thread->doing == WAITS;
	const bool waited = thread->doing == WAITS || thread->doing == SEEN_OFF;
	/* A thread that was attached twice has each record twice. */
	if (record->switched.out ? is_off : thread->doing == RUNS)
		return 0;
	account_compare_counts(account, thread, account_kind_of(thread->doing), at);
	if (!record->switched.out) {
		thread->nr_recorded++;
		if (is_off)
			at = account_take_cpu(account, thread, at);
	}
	if (thread->doing == UNKNOWN)
		account_charge(account, thread, TIME_UNKNOWN, at);
	else if (record->switched.out)
		account_charge(account, thread, TIME_RUNNING, at);
	else
		account_charge(account, thread,
			       thread->doing == SEEN_READY ? TIME_RUNNABLE
							   : account_kind_of(thread->doing),
			       at);
	tell_switch(account, thread, record);
	thread->doing = !record->switched.out ? RUNS : record->switched.preempted ? QUEUES : WAITS;
	if (waited)
		wait_shares_end(&thread->shares, at);
	if (thread->doing == WAITS)
		wait_shares_begin(&thread->shares, at);
	else
		wait_shares_drop_sample(&thread->shares);
	return 0;
}

/* Of what began before it was switched off and on again, the clock of the account does not know when. */
static uint64_t wait_began(const struct time_account *account, const struct thread *thread)
{
	const bool is_known =
		!account->by_looks && account->is_on && thread->shares.began >= account->on_ns;
	return is_known ? account_time(account, thread->shares.began) : 0;
}

static struct wait_ended wait_that_ends(const struct thread *thread, uint64_t at)
{
	return (struct wait_ended){
		.pid = thread->times.pid,
		.ns = at > thread->shares.began ? at - thread->shares.began : 0,
		.name = thread->times.name,
	};
}

bool time_account_wake(struct time_account *account, const struct record *record,
		       struct wait_ended *ended)
{
	const uint64_t at = account_clock(account, record->time_ns);
	struct thread *thread = account_find(account, record->waking.tid);
	/* To whoever has a CPU, or wants one, it says nothing new. */
	if (!thread || account->by_looks || (thread->doing != WAITS && thread->doing != SEEN_OFF))
		return false;
	account_tell_woken(account, thread, at,
			   record->waking.by_interrupt ? WAKER_INTERRUPT : record->tid);
	account_charge(account, thread, TIME_WAITING, at);
	*ended = wait_that_ends(thread, at);
	wait_shares_end(&thread->shares, at);
	thread->doing = QUEUES;
	return true;
}

bool time_account_ends_unwoken(const struct time_account *account, const struct record *record,
			       uint64_t after_ns, struct wait_ended *ended)
{
	const struct thread *thread = account_find(account, record->tid);
	if (record->switched.out || !thread || account->by_looks || thread->doing != WAITS ||
	    wait_began(account, thread) < after_ns)
		return false;
	const uint64_t at = account_clock(account, record->time_ns);
	*ended = wait_that_ends(thread, account_cpu_since(account, thread, at));
	return true;
}

/* Nothing but one look has told of it. */
static bool is_only_seen(const struct thread *thread)
{
	return (thread->doing == SEEN_READY || thread->doing == SEEN_OFF) &&
	       thread->since == thread->began;
}

static int take_fork(struct time_account *account, const struct record *record, uint64_t at)
{
	struct thread *thread = account_find(account, record->tid);
	if (thread && is_only_seen(thread) && at < thread->began) {
		/* /proc had it before its record was read. */
		thread->began = thread->since = at;
		thread->doing = QUEUES;
		tell_creation(account, thread, record);
	}
	if (thread || account->leaves_children)
		return 0;
	int result = account_add(account, record->pid, record->tid, at, &thread);
	if (thread) {
		const struct thread *parent = account_find(account, record->fork.parent_tid);
		if (parent)
			memcpy(thread->times.name, parent->times.name, sizeof(parent->times.name));
		thread->doing = account->by_looks ? UNKNOWN : QUEUES;
		thread->sched.is_known = true; /* all 0 */
		tell_creation(account, thread, record);
	}
	return result;
}

static void take_exit(struct time_account *account, const struct record *record, uint64_t at)
{
	struct thread *thread = account_find(account, record->tid);
	if (thread)
		end(account, thread,
		    account->by_looks || thread->doing == UNKNOWN ? TIME_UNKNOWN : TIME_RUNNING,
		    at);
}

/* Whoever calls exec becomes its process's only thread, and takes the number of the first, which has ended. */
static void rename_survivor(struct time_account *account, int32_t pid)
{
	struct thread *thread, *next, *survivor = NULL;
	HASH_ITER (hh, account->live, thread, next) {
		if (thread->times.pid == pid)
			survivor = thread;
	}
	if (!survivor)
		return;
	/* What it waited under its old number has its stacks there. */
	account_close_shares(account, survivor);
	survivor->shares = (struct wait_shares){0};
	account_forget_counts(survivor);
	account_tell_end(account, survivor);
	survivor->is_told = false;
	remove_live(account, survivor);
	survivor->times.tid = pid;
	HASH_ADD(hh, account->live, times.tid, sizeof(survivor->times.tid), survivor);
}

static void take_comm(struct time_account *account, const struct record *record)
{
	if (record->comm.exec && record->tid == record->pid && !account_find(account, record->tid))
		rename_survivor(account, record->pid);
	struct thread *thread = account_find(account, record->tid);
	if (thread)
		snprintf(thread->times.name, sizeof(thread->times.name), "%.15s",
			 record->comm.name);
}

/* Whose records they were nobody knows: of each thread all is unknown until there is news of it. */
static void take_lost(struct time_account *account, uint64_t from)
{
	struct thread *thread, *next;
	HASH_ITER (hh, account->live, thread, next) {
		if (thread->doing != UNKNOWN)
			account_charge(account, thread, account_kind_of(thread->doing), from);
		wait_shares_break(&thread->shares);
		account_forget_counts(thread);
		thread->doing = UNKNOWN;
		thread->cpu = NO_CPU;
	}
}

int time_account_take(struct time_account *account, const struct record *record, uint64_t before_ns)
{
	const uint64_t at = account_clock(account, record->time_ns);
	if (account->takes_all && account_leaves_out(account, record))
		return 0;
	switch (record->type) {
	case PERF_RECORD_SWITCH:
		return account->by_looks ? 0 : take_switch(account, record, at);
	case PERF_RECORD_FORK:
		return take_fork(account, record, at);
	case PERF_RECORD_EXIT:
		take_exit(account, record, at);
		return 0;
	case PERF_RECORD_COMM:
		take_comm(account, record);
		return 0;
	case PERF_RECORD_LOST:
		if (!account->by_looks)
			take_lost(account, account_clock(account, before_ns));
		return 0;
	default:
		return 0;
	}
}

/* ---- system calls ---- */

static void tell_call(const struct time_account *account, struct thread *thread,
		      const struct record *record)
{
	char text[SYSTEM_CALL_TEXT_BYTES];
	const struct thread_stretch stretch = {
		.pid = thread->times.pid,
		.tid = thread->times.tid,
		.name = thread->times.name,
		.from_ns = thread->entered_ns,
		.to_ns = record->time_ns,
		.state = THREAD_UNKNOWN,
		.event = THREAD_CALLED,
		.call = system_call_text((long)record->call.number, true, text),
		.begins = !thread->is_told,
	};
	thread->is_told = true;
	account->follow(account->follow_context, &stretch);
}

/* A call that began unseen, or is another one than that which began, says nothing. */
bool time_account_call(struct time_account *account, const struct record *record)
{
	struct thread *thread = account_find(account, record->tid);
	if (!thread)
		return false;
	if (record->call.is_over && account->follow && thread->entered >= 0 &&
	    thread->entered == record->call.number && is_observed(account, thread->entered_ns) &&
	    is_observed(account, record->time_ns))
		tell_call(account, thread, record);
	thread->entered = record->call.is_over ? -1 : record->call.number;
	thread->entered_ns = record->time_ns;
	return true;
}

void time_account_forget_calls(struct time_account *account)
{
	struct thread *thread, *next;
	HASH_ITER (hh, account->live, thread, next)
		thread->entered = -1;
}

/* ---- looks ---- */

void time_account_use_looks(struct time_account *account)
{
	account->by_looks = true;
}

/*
 * Two looks tell how much of the time between was of which kind. The scheduler's clock is another one, and of a thread that runs the
 * last ms are missing: what does not fit is cut.
 */
static void charge_by_looks(const struct time_account *account, struct thread *thread,
			    const struct sched_stat *now, uint64_t at)
{
	const struct sched_stat *before = &thread->sched;
	if (!before->is_known || !now->is_known || now->run_ns < before->run_ns ||
	    now->queue_ns < before->queue_ns) {
		account_charge(account, thread, TIME_UNKNOWN, at);
		return;
	}
	const uint64_t span = at > thread->since ? at - thread->since : 0;
	uint64_t run = now->run_ns - before->run_ns, queue = now->queue_ns - before->queue_ns;
	run = run < span ? run : span;
	queue = queue < span - run ? queue : span - run;
	/* Between looks it waited first, as far as one can tell. */
	if (now->nr_runs != before->nr_runs)
		wait_shares_break(&thread->shares);
	account_charge(account, thread, TIME_WAITING, at - run - queue);
	account_charge(account, thread, TIME_RUNNABLE, at - run);
	account_charge(account, thread, TIME_RUNNING, at);
}

static bool has_run_most(const struct thread *thread, const struct sched_stat *now, uint64_t at)
{
	return now->is_known && thread->sched.is_known &&
	       (now->run_ns - thread->sched.run_ns) * 2 > at - thread->since;
}

static bool is_off(char state)
{
	return state != 'R' && state != '\0';
}

/* With records a look says what they left open: of a thread that has had none yet, and behind a loss. */
static void look_beside_records(struct time_account *account, struct thread *thread,
				const struct thread_look *look, uint64_t at)
{
	if (thread->doing == SEEN_READY && !is_off(look->state) && at > thread->since)
		account_charge(
			account, thread,
			has_run_most(thread, &look->sched, at) ? TIME_RUNNING : TIME_RUNNABLE, at);
	if (thread->doing == UNKNOWN) {
		account_charge(account, thread, TIME_UNKNOWN, at);
		thread->doing = is_off(look->state) ? SEEN_OFF : SEEN_READY;
		wait_shares_begin(&thread->shares, at);
	}
	if (is_off(look->state))
		account_note_count(account, thread, &look->sched, at);
	thread->sched = look->sched;
}

static void note_wait(const struct time_account *account, struct thread *thread,
		      const struct thread_look *look, uint64_t at)
{
	if (!thread->waited || look->call)
		thread->known_at = at;
	thread->waited = is_off(look->state);
	thread->waited_for = look->waits_for;
	thread->waited_at = at;
	if (look->call) {
		free(thread->call);
		thread->call = look->call[0] ? strdup(look->call) : NULL;
		thread->lock_holder = look->lock_holder;
	}
	if (thread->waited && account->is_on) {
		thread->nr_looks[look->waits_for]++;
		thread->nr_looks_all++;
	}
}

bool time_account_still_waits(const struct time_account *account, int32_t tid,
			      const struct sched_stat *now, enum wait_kind *kind)
{
	const struct thread *thread = account_find(account, tid);
	if (!thread || !thread->waited || !now->is_known || !thread->sched.is_known ||
	    now->nr_runs != thread->sched.nr_runs)
		return false;
	*kind = thread->waited_for;
	return true;
}

uint64_t time_account_waits_since(const struct time_account *account, int32_t tid)
{
	const struct thread *thread = account_find(account, tid);
	return thread && thread->doing == WAITS ? wait_began(account, thread) : 0;
}

static struct thread_wait wait_of(const struct thread *thread)
{
	return (struct thread_wait){thread->times.tid, thread->waited_for, thread->times.name};
}

bool time_account_wait_of(const struct time_account *account, int32_t tid, struct thread_wait *wait)
{
	const struct thread *thread = account_find(account, tid);
	if (!thread || !thread->waited || thread->doing != WAITS)
		return false;
	*wait = wait_of(thread);
	return true;
}

bool time_account_find_wait(const struct time_account *account, unsigned kinds, uint64_t least_ns,
			    uint64_t after_ns, uint64_t until_ns, struct thread_wait *wait)
{
	for (const struct thread *thread = account->live; thread; thread = thread->hh.next) {
		const bool waits = thread->doing == WAITS || thread->doing == SEEN_OFF;
		const uint64_t began_ns = waits ? wait_began(account, thread) : 0;
		if (!began_ns || !thread->waited || !(kinds >> thread->waited_for & 1))
			continue;
		/* On a busy machine it may be that long before it is known what for. */
		const uint64_t known_ns = account_time(account, thread->known_at);
		const uint64_t is_long_ns = began_ns + least_ns;
		const uint64_t met_ns = known_ns > is_long_ns ? known_ns : is_long_ns;
		if (met_ns <= after_ns || met_ns > until_ns)
			continue;
		*wait = wait_of(thread);
		return true;
	}
	return false;
}

int time_account_look(struct time_account *account, const struct thread_look *look, uint64_t ns)
{
	const uint64_t at = account_clock(account, ns);
	struct thread *thread = account_find(account, look->tid);
	if (!thread) {
		int result = account_add(account, look->pid, look->tid, at, &thread);
		if (!thread)
			return result;
	}
	if (look->name && look->name[0])
		snprintf(thread->times.name, sizeof(thread->times.name), "%.15s", look->name);
	note_wait(account, thread, look, at);
	if (!account->by_looks) {
		look_beside_records(account, thread, look, at);
		return 0;
	}
	/* Up to the end of the records these tell; the rest is this look's first. */
	if (thread->doing != UNKNOWN) {
		account_charge(account, thread, account_kind_of(thread->doing), at);
		thread->doing = UNKNOWN;
	} else {
		charge_by_looks(account, thread, &look->sched, at);
	}
	thread->sched = look->sched;
	return 0;
}

void time_account_miss(struct time_account *account, int32_t tid, uint64_t ns)
{
	struct thread *thread = account_find(account, tid);
	if (thread && (account->by_looks || thread->doing == UNKNOWN))
		end(account, thread, TIME_UNKNOWN, account_clock(account, ns));
}

/* ---- who is looked at ---- */

size_t time_account_list(const struct time_account *account, bool is_last,
			 struct thread_name *threads, size_t most)
{
	struct thread *thread, *next;
	size_t nr = 0;
	HASH_ITER (hh, account->live, thread, next) {
		const enum doing doing = thread->doing;
		const bool wants_look =
			account->by_looks || doing == UNKNOWN ||
			(is_last ? doing == SEEN_READY : doing == WAITS || doing == SEEN_OFF);
		if (wants_look && nr < most)
			threads[nr++] = (struct thread_name){thread->times.pid, thread->times.tid};
	}
	return nr;
}

/* ---- told ---- */

void time_account_follow(struct time_account *account,
			 void (*follow)(void *context, const struct thread_stretch *stretch),
			 void *context)
{
	account->follow = follow;
	account->follow_context = context;
}

/* What a look or a record has yet to tell is left until then. */
static bool may_tell(const struct time_account *account, const struct thread *thread, bool is_last)
{
	if (is_last)
		return !account->by_looks || thread->doing != UNKNOWN;
	return thread->doing == RUNS || thread->doing == QUEUES || thread->doing == WAITS ||
	       (thread->doing == SEEN_OFF && thread->waited);
}

void time_account_tell(struct time_account *account, uint64_t until_ns, bool is_last)
{
	const uint64_t at = account_clock(account, until_ns);
	struct thread *thread, *next;
	if (!account->follow)
		return;
	HASH_ITER (hh, account->live, thread, next)
		if (may_tell(account, thread, is_last))
			account_tell(account, thread, account_kind_of(thread->doing), at);
}
