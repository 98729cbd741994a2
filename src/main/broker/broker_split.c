/* SPDX-License-Identifier: MIT */
/*
 * The file in which -gsplit-dwarf has left a unit's functions: the package beside the module, or the .dwo file that the unit's skeleton names. The
 * child says of which unit, by its id, and no more: a prober reads in the module, or in its debug file, that there is such a unit and what it
 * names, and in what is found that the unit is there.
 */
#include "broker_internal.h"

#include <errno.h>
#include <unistd.h>

/* False: there is no such path, or it is too long. */
static bool path_of(const struct job *job, unsigned place, char path[PATH_MAX])
{
	return split_place_path((enum split_place)place, job->copy.path,
				job->module.has_debuglink ? job->module.debuglink : NULL,
				job->namer.split_name, path, PATH_MAX);
}

static void look_on(struct job *job);

static void refuse(struct job *job, const char *why)
{
	if (!job->refused_debug.why)
		job->refused_debug.why = why;
}

/* Of each module once: its units have thousands of files. */
static void tell(struct job *job)
{
	struct kept_file *module = find_kept(job->broker, &job->key);
	if (!module || module->is_told_of_split)
		return;
	module->is_told_of_split = true;
	note_split(job->broker, job->copy.path, job->namer.split_name,
		   job->refused_debug.why ? job->refused_debug.why : "was not found");
}

static void take_candidates_word(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	if (!answer->error && answer->has_unit) {
		job_answer(job, job->fd); /* which closes it */
		return;
	}
	/* A package need not have all of them. */
	if (job->candidate > SPLIT_PACKAGE_OF_LINK + 1)
		refuse(job, "is of another build, or damaged");
	close(job->fd);
	job->fd = -1;
	look_on(job);
}

static void take_candidate(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	const char *why = fd < 0 ? why_not_opened(answer->error) : NULL;
	job->fd = fd;
	if (fd >= 0 && may_name(find_kept(job->broker, &job->key), &answer->identity)) {
		job_prove_unit(job, fd, take_candidates_word);
		return;
	}
	if (fd >= 0) {
		close(fd);
		job->fd = -1;
		why = DEBUG_OF_OTHERS;
	}
	if (why)
		refuse(job, why);
	look_on(job);
}

/* job->candidate: the next place. */
static void look_on(struct job *job)
{
	char path[PATH_MAX];
	while (job->candidate < NR_SPLIT_PLACES && !path_of(job, job->candidate, path))
		job->candidate++;
	if (job->candidate >= NR_SPLIT_PLACES) {
		tell(job);
		job_answer(job, -ENOENT);
		return;
	}
	job->candidate++;
	job_open(job,
		 &(struct opener_request){
			 .kind = OPENER_SPLIT,
			 .request = {.pid = job->broker->recorded ? 0 : job->named.pid,
				     .path = path},
		 },
		 take_candidate);
}

static void take_namers_word(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	job->namer = *answer;
	job->candidate = 0;
	if (answer->error || !answer->split_name[0])
		job_answer(job, -ENOENT);
	else
		look_on(job);
}

void split_look_for(struct job *job, int fd)
{
	job->refused_debug = (struct refused_debug){0};
	job_prove_unit(job, fd, take_namers_word);
}
