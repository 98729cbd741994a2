/* SPDX-License-Identifier: MIT */
/*
 * Copies of code that processes have made. A collector that has fallen may ask for anything and for ever: it gets
 * executable memory without a file of processes of the profile, and so many bytes.
 */
#include "broker_internal.h"

#include <errno.h>
#include <unistd.h>
#include <utlist.h>

#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>

/* A runtime that has just started has some MiB of code; later only what is new is asked for. */
#define AT_ONCE_BYTES	 (UINT64_C(32) << 20)
#define PER_SECOND_BYTES (UINT64_C(4) << 20)
/* Half an hour of all that may be had. Who looks for days looks at what is new. */
#define IN_ALL_BYTES (UINT64_C(8) << 30)

static bool may_copy(struct broker *broker, uint64_t bytes)
{
	const uint64_t now_ns = clock_now_ns();
	const uint64_t passed_ms = (now_ns - broker->code.filled_ns) / NS_PER_MS;
	if (!broker->code.filled_ns || passed_ms / 1000 >= AT_ONCE_BYTES / PER_SECOND_BYTES) {
		broker->code.left_bytes = AT_ONCE_BYTES;
		broker->code.filled_ns = now_ns;
	} else {
		broker->code.left_bytes += PER_SECOND_BYTES * passed_ms / 1000;
		broker->code.filled_ns += passed_ms * NS_PER_MS;
	}
	if (broker->code.left_bytes > AT_ONCE_BYTES)
		broker->code.left_bytes = AT_ONCE_BYTES;
	if (broker->code.left_bytes < bytes || broker->code.copied_bytes > IN_ALL_BYTES)
		return false;
	broker->code.left_bytes -= bytes;
	broker->code.copied_bytes += bytes;
	return true;
}

/* The next owner of a pid is another process: what it has there is its own. */
static bool is_same_process(const struct message_code *request)
{
	enum { TICK_MS = 10 };
	const uint64_t started_ns = proc_start_ns(request->pid);
	const uint64_t since = started_ns > request->started_ns ? started_ns - request->started_ns
								: request->started_ns - started_ns;
	return started_ns && (!request->started_ns || since <= 2 * TICK_MS * NS_PER_MS);
}

/* Each copy that hangs has all other files wait for seconds: so many, and there are no more of anybody's code. */
static bool is_given_up(const struct broker *broker)
{
	enum { HUNG_MAX = 3 };
	return broker->code.nr_hung >= HUNG_MAX;
}

static void refuse_waiting(struct broker *broker)
{
	struct job *job, *next;
	DL_FOREACH_SAFE(broker->jobs, job, next)
	{
		if (job->answer != MESSAGE_CODE)
			continue;
		opener_forget(broker->opener, job);
		job_answer(job, -ETIMEDOUT);
	}
}

static void take_code(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	struct broker *broker = job->broker;
	if (fd < 0 && (answer->error == -EPERM || answer->error == -ETIMEDOUT))
		note_refused_code(broker, job->code.pid, answer->error);
	job_answer(job, fd < 0 ? answer->error : fd);
	if (fd >= 0)
		close(fd);
	broker->code.nr_hung += fd < 0 && answer->error == -ETIMEDOUT;
	if (is_given_up(broker))
		refuse_waiting(broker);
}

int broker_answer_code(struct broker *broker, struct channel *channel,
		       const struct message_code *request)
{
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct opener_request code = {
		.kind = OPENER_CODE,
		.request = {.pid = request->pid, .start = request->start, .end = request->end},
	};
	const bool is_whole_pages = request->start < request->end &&
				    request->start % page_bytes == 0 &&
				    request->end % page_bytes == 0;
	struct job *job =
		is_whole_pages ? job_new(broker, channel, BROKER_COLLECTOR, MESSAGE_CODE) : NULL;
	if (!job)
		return -EPROTO;
	job->code = *request;
	job->code.read_ns = clock_now_ns();
	if (!is_in_profile(broker, request->pid) || !is_same_process(request))
		job_answer(job, -ESRCH);
	else if (is_given_up(broker))
		job_answer(job, -ECANCELED);
	else if (!may_copy(broker, request->end - request->start))
		job_answer(job, -EBUSY);
	else
		job_open(job, &code, take_code);
	return 0;
}
