/* SPDX-License-Identifier: MIT */
/* Where the target's threads wait: looks at their stacks, and how long, to the collector. */
#include "session_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/system/wait_kind.h>

#include <ctop/time/wait_chains.h>
#include <ctop/time/wait_objects.h>

enum { SHARES_AT_ONCE = 256 };

bool session_places_waits(const struct session *session)
{
	return session->time.ring.page != NULL;
}

int session_begin_waits(struct session *session)
{
	struct session_time *time = &session->time;
	time->ring.fd = -1;
	if (!time->account || !session->wants_waits)
		return 0;
	time->objects = wait_objects_new();
	const int result = time->objects ? wait_ring_open(&time->ring) : -ENOMEM;
	if (result)
		return result;
	time->goroutines = goroutines_new(session->broker, time->looker, &time->ring);
	return time->goroutines ? 0 : -ENOMEM;
}

/* What does not fit in is missing, and said to be. */
static void tell_share(struct session_time *time, const struct wait_share *share, uint64_t now_ns)
{
	struct wait_record record = {
		.header = {.type = WAIT_RECORD_TIME},
		.time_ns = now_ns,
		.pid = share->pid,
		.tid = share->tid,
		.place = share->place,
		.ns = share->ns,
		.until_ns = share->until_ns,
	};
	memcpy(record.name, share->name, sizeof(record.name));
	wait_objects_add(time->objects, share->tid, share->place, share->ns);
	if (!wait_ring_put(&time->ring, &record, NULL))
		time->untold_ns += share->ns;
}

void session_tell_waits(struct session_time *time, uint64_t now_ns)
{
	struct wait_share shares[SHARES_AT_ONCE];
	size_t nr;
	while ((nr = time_account_take_shares(time->account, shares, SHARES_AT_ONCE)))
		for (size_t i = 0; i < nr; i++)
			tell_share(time, &shares[i], now_ns);
}

bool session_has_room_for_wait(const struct session_time *time)
{
	return wait_ring_has_room(&time->ring, WAIT_STACK_BYTES_MAX);
}

/* Of one look at a time: copied into the ring at once. */
static uint8_t stack_of_look[WAIT_STACK_BYTES_MAX];

/* "read, pipe:[4711]", until the next look. */
static const char *call_text(struct session_time *time, long number,
			     const struct wait_object *object)
{
	char call[SYSTEM_CALL_TEXT_BYTES];
	struct text *text = &time->call;
	text_clear(text);
	if (number < 0)
		return "";
	text_add(text, system_call_text(number, true, call));
	if (object && object->kind) {
		text_add(text, ", ");
		wait_object_add(object, text);
	}
	return text_string(text);
}

void session_see_wait(struct session_time *time, struct thread_look *look)
{
	const struct system_call call = system_call_read(look->pid, look->tid);
	look->waits_for = wait_kind_read(&call, look->pid, look->tid, look->state);
	look->call = call_text(time, call.is_ours ? call.number : -1, NULL);
}

int session_look_at_wait(struct session_time *time, struct thread_look *look,
			 struct wait_look *seen)
{
	const int result = looker_look(time->looker, look->pid, look->tid, look->state,
				       &look->sched, seen, stack_of_look, sizeof(stack_of_look));
	if (result == -ETIMEDOUT) {
		session_see_wait(time, look);
	} else {
		look->waits_for = seen->kind;
		look->call = call_text(time, seen->call, &seen->object);
		look->lock_holder = seen->object.kind == WAIT_ON_FUTEX ? seen->object.holder : 0;
		if (!result && time->outs.chains && seen->call >= 0)
			wait_chains_learn_place(time->outs.chains, look->pid, seen->pc, seen->kind);
	}
	time->nr_refused += result == -EACCES;
	if (result == -EACCES && !time->refusal)
		time->refusal = trace_refusal_find();
	if (result)
		*seen = (struct wait_look){.kind = look->waits_for, .call = -1};
	return result;
}

void session_place_wait(struct session_time *time, const struct thread_look *look,
			const struct wait_look *seen, uint64_t now_ns)
{
	if (!time_account_is_on(time->account))
		return;
	const enum wait_news news =
		time_account_wait_news(time->account, look->tid, &look->sched, time->read_until_ns);
	session_tell_waits(time, now_ns);
	if (!seen || news == WAIT_IS_KNOWN || news == WAIT_IS_EARLY)
		return;
	/* A sample knows more than a look that was refused. */
	if (!seen->pc && time_account_is_sampled(time->account, look->tid))
		return;
	const char *name = time_account_name(time->account, look->tid);
	struct wait_record record = {
		.header = {.type = WAIT_RECORD_STACK},
		.time_ns = now_ns,
		.pid = look->pid,
		.tid = look->tid,
		.kind = seen->kind,
		.again = news == WAIT_IS_LOST,
		.sp = seen->sp,
		.pc = seen->pc,
		.stack_bytes = seen->stack_bytes,
	};
	snprintf(record.name, sizeof(record.name), "%s", name ? name : "");
	if (!wait_ring_put(&time->ring, &record, stack_of_look))
		return;
	time_account_placed(time->account, look->tid, &look->sched, news, now_ns);
	if (news == WAIT_IS_NEW)
		wait_objects_look(time->objects, look->tid, seen->kind, &seen->object);
}

static int32_t holder_now(struct looker *looker, const struct thread_name *thread)
{
	const struct system_call call = system_call_read(thread->pid, thread->tid);
	const struct wait_object object = looker_object(looker, thread->pid, thread->tid, &call);
	return object.kind == WAIT_ON_FUTEX ? object.holder : 0;
}

size_t session_find_deadlock(const struct session *session, int32_t tids[SESSION_DEADLOCK_MOST])
{
	enum { TRIES = 4 };
	const struct session_time *time = &session->time;
	struct thread_name threads[SESSION_DEADLOCK_MOST];
	for (int i = 0; time->account && time->looker && i < TRIES; i++) {
		const size_t nr =
			time_account_find_deadlock(time->account, threads, SESSION_DEADLOCK_MOST);
		size_t nr_right = 0;
		for (; nr_right < nr; nr_right++) {
			/* A lock may have got another owner without a word to who still waits for it. */
			const int32_t holder = holder_now(time->looker, &threads[nr_right]);
			tids[nr_right] = threads[nr_right].tid;
			if (holder == threads[(nr_right + 1) % nr].tid)
				continue;
			time_account_set_holder(time->account, threads[nr_right].tid, holder);
			break;
		}
		if (nr_right == nr)
			return nr;
	}
	return 0;
}

const struct wait_sum *session_wait_sums(struct session *session, size_t *nr)
{
	*nr = 0;
	return session->time.objects ? wait_objects_sums(session->time.objects, nr) : NULL;
}

void session_forget_places(struct session *session)
{
	if (session_places_waits(session))
		time_account_forget_places(session->time.account);
	if (session->time.goroutines)
		goroutines_forget_stacks(session->time.goroutines);
}

void session_end_waits(struct session *session, uint64_t end_ns)
{
	if (!session_places_waits(session))
		return;
	time_account_close_places(session->time.account, end_ns);
	session_tell_waits(&session->time, end_ns);
	goroutines_end(session->time.goroutines, end_ns);
}

bool session_waits_are_told(struct session *session, bool is_over)
{
	return !session->time.goroutines || goroutines_tell_last(session->time.goroutines, is_over);
}
