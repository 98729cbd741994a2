/* SPDX-License-Identifier: MIT */
/* Requests under way, and how often a child may ask. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <utlist.h>

#include <ctop/system/proc_text.h>

#include "broker_internal.h"

/* A child asks for what is new in a round; so many at a time are more than any round has. */
enum { JOBS_MAX = 8192 };
/* The collector forgets its files when its memory is full, and asks again. */
enum { ASKS_MAX = 64 };
/* Of a module, for files of its units: so many it asks for, and again where it had to drop them. */
enum { SPLIT_ASKS_MAX = 1024 };
enum { ASKED_MAX = 65536 };

struct asked_key {
	uint32_t epoch, module, reader, what;
};

struct asked {
	struct asked_key key;
	unsigned nr;
	UT_hash_handle hh;
};

struct job *job_new(struct broker *broker, struct channel *channel, enum broker_reader reader,
		    enum message_kind answer)
{
	struct job *job = broker->nr_jobs[reader] < JOBS_MAX ? calloc(1, sizeof(*job)) : NULL;
	if (!job)
		return NULL;
	job->broker = broker;
	job->channel = channel;
	job->reader = reader;
	job->answer = answer;
	job->fd = -1;
	DL_APPEND(broker->jobs, job);
	broker->nr_jobs[reader]++;
	return job;
}

static void end(struct job *job)
{
	DL_DELETE(job->broker->jobs, job);
	job->broker->nr_jobs[job->reader]--;
	if (job->fd >= 0)
		close(job->fd);
	free(job);
}

static void forget(struct job *job)
{
	opener_forget(job->broker->opener, job);
	if (job->broker->kernel_names.opener)
		opener_forget(job->broker->kernel_names.opener, job);
	prober_forget(job->broker->prober, job);
	if (job->broker->fetcher)
		fetcher_forget(job->broker->fetcher, job);
	end(job);
}

void jobs_free(struct broker *broker)
{
	while (broker->jobs)
		forget(broker->jobs);
}

void job_answer(struct job *job, int fd)
{
	struct message message = {.kind = job->answer};
	const int error = fd < 0 ? fd : 0;
	if (job->answer == MESSAGE_PROCESS) {
		message.process = job->process;
		message.process.error = error;
		message.process.same_image =
			mapped_files_same_image(job->broker->mapped, job->process.pid);
		message.process.started_ns = proc_start_ns(job->process.pid);
	} else if (job->answer == MESSAGE_CODE) {
		message.code = job->code;
		message.code.error = error;
	} else if (job->answer == MESSAGE_KERNEL_CODE) {
		message.kernel_code = job->kernel_code;
		message.kernel_code.error = error;
	} else {
		message.module = job->request;
		message.module.error = error;
		message.module.identity = job->identity;
	}
	/* A broken or full channel is the child's end, which its pidfd will tell. */
	protocol_send(job->channel, &message, fd < 0 ? -1 : fd);
	end(job);
}

void job_open(struct job *job, const struct opener_request *request, opener_taker *taker)
{
	int result = opener_ask(job->broker->opener, request, taker, job);
	if (result)
		taker(job, &(struct opener_answer){.error = result}, -1);
}

void job_look_for(struct job *job, enum opener_kind kind, const uint8_t *build_id,
		  size_t build_id_size, const char *debuglink, opener_taker *taker)
{
	const struct opener_request request = {
		.kind = kind,
		.candidate = job->candidate,
		.request =
			{
				.pid = job->broker->recorded ? 0 : job->named.pid,
				.path = job->copy.path,
				.build_id = build_id,
				.build_id_size = build_id_size,
			},
		.debuglink = debuglink,
	};
	job->looking_for = kind;
	job_open(job, &request, taker);
}

const char *why_not_opened(int error)
{
	switch (error) {
	case -ENOENT:
		return NULL; /* there is none */
	case -EINVAL:
	case -ELOOP:
		return "is not a regular file";
	case -EPERM:
		return DEBUG_OF_OTHERS;
	case -ETIMEDOUT:
		return "could not be opened in time";
	default:
		return "could not be opened";
	}
}

static void ask_prober(struct job *job, int fd, const struct prober_question *question,
		       prober_taker *taker)
{
	int result = prober_ask(job->broker->prober, fd, question, taker, job);
	if (result)
		taker(job, &(struct prober_answer){.error = result});
}

void job_prove(struct job *job, int fd, bool sum_up, prober_taker *taker)
{
	ask_prober(job, fd, &(struct prober_question){.sum_up = sum_up}, taker);
}

void job_prove_unit(struct job *job, int fd, prober_taker *taker)
{
	ask_prober(job, fd, &(struct prober_question){.unit = job->request.unit}, taker);
}

bool may_ask_again(struct broker *broker, enum broker_reader reader,
		   const struct message_module *request, enum message_kind what)
{
	struct asked_key key;
	memset(&key, 0, sizeof(key));
	key = (struct asked_key){request->epoch, request->module, reader, what};
	const bool is_split =
		what == MESSAGE_DEBUG_FILE && request->which >= DEBUG_FILE_SPLIT_OF_MODULE;
	if (is_split)
		key.what = MESSAGE_NEED_DEBUG_FILE; /* counted by themselves */
	struct asked *asked;
	HASH_FIND(hh, broker->asked, &key, sizeof(key), asked);
	if (asked)
		return asked->nr++ < (is_split ? SPLIT_ASKS_MAX : ASKS_MAX);
	if (HASH_COUNT(broker->asked) >= ASKED_MAX)
		forget_asked(broker, BROKER_COLLECTOR | BROKER_SYMBOLIZER);
	asked = calloc(1, sizeof(*asked));
	if (!asked)
		return false;
	asked->key = key;
	asked->nr = 1;
	HASH_ADD(hh, broker->asked, key, sizeof(asked->key), asked);
	return true;
}

void forget_asked(struct broker *broker, unsigned readers)
{
	struct asked *asked, *next;
	HASH_ITER (hh, broker->asked, asked, next) {
		if (!(asked->key.reader & readers))
			continue;
		HASH_DEL(broker->asked, asked);
		free(asked);
	}
}

void broker_forget(struct broker *broker, enum broker_reader reader, const struct channel *channel)
{
	struct job *job, *next;
	forget_asked(broker, reader);
	DL_FOREACH_SAFE(broker->jobs, job, next)
	if (job->channel == channel)
		forget(job);
}
