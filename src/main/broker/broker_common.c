/* SPDX-License-Identifier: MIT */
/*
 * The file in which dwz has put what the debug information of several files had in common. A module, or its debug file, names it; a prober
 * reads how, since the child's word for it counts nothing, and the file must prove to have the build-id that stands beside the name.
 */
#include "broker_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void look_for(struct job *job, enum opener_kind kind);

static bool is_named(const struct job *job, const struct prober_answer *answer)
{
	const struct prober_answer *namer = &job->namer;
	return !answer->error && answer->build_id_size == namer->common_build_id_size &&
	       memcmp(answer->build_id, namer->common_build_id, answer->build_id_size) == 0;
}

/* ---- from debuginfod servers, by the build-id that a prober has read ---- */

/* Once is enough for a session. */
static void fetch_no_more(struct job *job)
{
	struct kept_file *module = find_kept(job->broker, &job->key);
	if (module)
		module->has_no_common = true;
	job_answer(job, -ENOENT);
}

static void take_fetched_word(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	if (is_named(job, answer))
		job_answer(job, job->fd);
	else
		fetch_no_more(job);
}

static void take_fetched(void *context, int error, int fd)
{
	struct job *job = context;
	(void)error;
	job->fd = fd;
	if (fd >= 0)
		job_prove(job, fd, false, take_fetched_word);
	else
		fetch_no_more(job);
}

static void fetch(struct job *job)
{
	const struct kept_file *module = find_kept(job->broker, &job->key);
	struct fetcher *fetcher = job->broker->fetcher;
	if (!fetcher || !module || module->has_no_common ||
	    fetcher_ask(fetcher, job->namer.common_build_id, job->namer.common_build_id_size,
			take_fetched, job))
		job_answer(job, -ENOENT);
}

/* ---- here ---- */

static void take_candidates_word(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	if (is_named(job, answer)) {
		job_answer(job, job->fd); /* which closes it */
		return;
	}
	close(job->fd);
	job->fd = -1;
	job->candidate++;
	look_for(job, job->looking_for);
}

static void take_candidate(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	const struct kept_file *module = find_kept(job->broker, &job->key);
	job->fd = fd;
	if (fd >= 0 && may_name(module, &answer->identity)) {
		job_prove(job, fd, false, take_candidates_word);
	} else if (fd >= 0) {
		take_candidates_word(job, &(struct prober_answer){.error = -EPERM});
	} else if (job->looking_for == OPENER_DEBUG_BUILD_ID) {
		job->candidate = 0;
		look_for(job, OPENER_DEBUG_COMMON);
	} else {
		fetch(job);
	}
}

static void look_for(struct job *job, enum opener_kind kind)
{
	const struct prober_answer *namer = &job->namer;
	job_look_for(job, kind, namer->common_build_id, namer->common_build_id_size, namer->common,
		     take_candidate);
}

static void take_namers_word(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	job->namer = *answer;
	job->candidate = 0;
	if (answer->error || !answer->common_build_id_size)
		job_answer(job, -ENOENT);
	else
		look_for(job, OPENER_DEBUG_BUILD_ID);
}

void common_look_for(struct job *job, int fd)
{
	job_prove(job, fd, false, take_namers_word);
}
