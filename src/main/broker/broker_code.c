/* SPDX-License-Identifier: MIT */
/*
 * Copies of code that processes have made, and of the kernel's. A child that has fallen may ask for anything and for ever: it gets
 * executable memory without a file of processes of the profile, functions of the kernel, and so many bytes. The collector unwinds by
 * them, the symbolizer keeps those of hot functions in a recording: each has its own.
 */
#include "broker_internal.h"

#include <errno.h>
#include <unistd.h>
#include <utlist.h>

#include <ctop/base/clock.h>
#include <ctop/system/proc_text.h>

struct allowance {
	uint64_t at_once_bytes, per_second_bytes, in_all_bytes;
};

/* A runtime that has just started has some MiB of code; later only what is new is asked for. In all half an hour of what may be had: who
 * looks for days looks at what is new. */
static const struct allowance of_collector = {
	.at_once_bytes = UINT64_C(32) << 20,
	.per_second_bytes = UINT64_C(4) << 20,
	.in_all_bytes = UINT64_C(8) << 30,
};
/* A recording keeps 1 MiB of code, of functions that are mostly smaller than the pages which they lie in. */
static const struct allowance of_symbolizer = {
	.at_once_bytes = UINT64_C(4) << 20,
	.per_second_bytes = UINT64_C(256) << 10,
	.in_all_bytes = UINT64_C(64) << 20,
};

static bool may_copy(struct code_spent *spent, const struct allowance *allowance, uint64_t bytes)
{
	const uint64_t now_ns = clock_now_ns();
	const uint64_t passed_ms = (now_ns - spent->filled_ns) / NS_PER_MS;
	if (!spent->filled_ns ||
	    passed_ms / 1000 >= allowance->at_once_bytes / allowance->per_second_bytes) {
		spent->left_bytes = allowance->at_once_bytes;
		spent->filled_ns = now_ns;
	} else {
		spent->left_bytes += allowance->per_second_bytes * passed_ms / 1000;
		spent->filled_ns += passed_ms * NS_PER_MS;
	}
	if (spent->left_bytes > allowance->at_once_bytes)
		spent->left_bytes = allowance->at_once_bytes;
	if (spent->left_bytes < bytes || spent->copied_bytes > allowance->in_all_bytes)
		return false;
	spent->left_bytes -= bytes;
	spent->copied_bytes += bytes;
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

int broker_answer_code(struct broker *broker, struct channel *channel, enum broker_reader reader,
		       const struct message_code *request)
{
	const bool is_collector = reader == BROKER_COLLECTOR;
	const uint64_t page_bytes = (uint64_t)sysconf(_SC_PAGESIZE);
	const struct opener_request code = {
		.kind = OPENER_CODE,
		.request = {.pid = request->pid, .start = request->start, .end = request->end},
	};
	const bool is_whole_pages = request->start < request->end &&
				    request->start % page_bytes == 0 &&
				    request->end % page_bytes == 0;
	struct job *job = is_whole_pages ? job_new(broker, channel, reader, MESSAGE_CODE) : NULL;
	if (!job)
		return -EPROTO;
	job->code = *request;
	job->code.read_ns = clock_now_ns();
	if (!is_in_profile(broker, request->pid) || !is_same_process(request))
		job_answer(job, -ESRCH);
	else if (is_given_up(broker))
		job_answer(job, -ECANCELED);
	else if (!may_copy(is_collector ? &broker->code.collector : &broker->code.symbolizer,
			   is_collector ? &of_collector : &of_symbolizer,
			   request->end - request->start))
		job_answer(job, -EBUSY);
	else
		job_open(job, &code, take_code);
	return 0;
}

static void take_kernel_code(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	struct code_spent *spent = &job->broker->code.symbolizer;
	const uint64_t most = OPENER_KERNEL_CODE_MAX;
	const uint64_t used = fd < 0 ? 0 : answer->whole_bytes < most ? answer->whole_bytes : most;
	/* Most functions are much shorter. */
	spent->left_bytes += most - used;
	spent->copied_bytes -= most - used;
	job->kernel_code.whole_bytes = answer->whole_bytes;
	job_answer(job, fd < 0 ? answer->error : fd);
	if (fd >= 0)
		close(fd);
}

int broker_answer_kernel_code(struct broker *broker, struct channel *channel,
			      const struct message_kernel_code *request)
{
	struct job *job = job_new(broker, channel, BROKER_SYMBOLIZER, MESSAGE_KERNEL_CODE);
	if (!job)
		return -EPROTO;
	job->kernel_code = *request;
	job->kernel_code.read_ns = clock_now_ns();
	const struct opener_request code = {
		.kind = OPENER_KERNEL_CODE,
		.request = {.start = request->start, .path = job->kernel_code.name},
	};
	if (!may_copy(&broker->code.symbolizer, &of_symbolizer, OPENER_KERNEL_CODE_MAX))
		job_answer(job, -EBUSY);
	else
		job_open(job, &code, take_kernel_code);
	return 0;
}
