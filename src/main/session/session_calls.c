/* SPDX-License-Identifier: MIT */
/* System calls of the target's threads, one by one, into the account: until they are too many. */
#include "session_internal.h"

#include <errno.h>
#include <stdio.h>

int session_begin_calls(struct session *session, struct error *error)
{
	struct session_time *time = &session->time;
	const int result = time->account && time->source != TIME_FROM_LOOKS
				   ? session_follow_with(session, sampler_follow_calls)
				   : -ENOTSUP;
	time->calls.are_followed = !result;
	return result ? sampler_advise_calls(result, error) : 0;
}

static void give_up(struct session *session)
{
	sampler_end_calls(session->sampler);
	time_account_forget_calls(session->time.account);
	session->time.calls.are_followed = false;
	session->time.calls.was_given_up = true;
	if (!session->notice[0])
		snprintf(session->notice, sizeof(session->notice),
			 "system calls: no longer recorded, as they are more than %d a second",
			 CALL_RATE_HZ_MOST);
}

/* Threads that are younger than the target's may be anybody's: it is those known by now, and others from now on. */
static void leave_others_out(struct session *session)
{
	if (session_knows_youngest(&session->time) &&
	    session_follow_with(session, sampler_follow_calls))
		give_up(session);
}

void session_note_call(struct session *session, const struct record *record)
{
	struct session_time *time = &session->time;
	struct session_calls *calls = &time->calls;
	if (!calls->are_followed)
		return;
	if (record->type == RECORD_CALLS_LOST) {
		time_account_forget_calls(time->account);
		return;
	}
	const bool is_ours = time_account_call(time->account, record);
	calls->nr += is_ours && record->call.is_over;
	const enum call_rate_word word = call_rate_note(&calls->rate, record->time_ns, !is_ours);
	if (word == CALL_RATE_OTHERS)
		leave_others_out(session);
	else if (word == CALL_RATE_TOO_MUCH)
		give_up(session);
}
