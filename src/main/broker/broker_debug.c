/* SPDX-License-Identifier: MIT */
/*
 * The debug file of a module. The child only hints at where it may be, by a build-id and by the name in a debug link:
 * a candidate is given if it proves to have the build-id, or if the module itself proves to name it and its CRC.
 */
#include "broker_internal.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

static void next_candidate(struct job *job);

static bool is_link_of(const struct prober_answer *module, const struct message_module *request)
{
	return module->has_debuglink && strcmp(module->debuglink, request->name) == 0;
}

static bool is_build_id_of(const struct prober_answer *module, const struct message_module *request)
{
	return module->build_id_size && module->build_id_size == request->build_id_size &&
	       memcmp(module->build_id, request->build_id, module->build_id_size) == 0;
}

static void take_word_and_give_up(void *context, const struct prober_answer *answer);
static bool fetch(struct job *job);
static void give(struct job *job);

/*
 * A name led to a file that is not used: GDB says so, too, and a stale file is soon replaced. It is said if the module itself
 * leads there, and not just a child.
 */
static void give_up(struct job *job)
{
	if (fetch(job))
		return;
	struct kept_file *module = find_kept(job->broker, &job->key);
	const struct refused_debug *refused = &job->refused_debug;
	const bool tells = refused->why && module && !module->is_told;
	if (tells && !job->knows_module && module->fd >= 0) {
		job_prove(job, module->fd, false, take_word_and_give_up);
		return;
	}
	if (tells && (refused->by_link ? is_link_of(&job->module, &job->request)
				       : is_build_id_of(&job->module, &job->request))) {
		module->is_told = true;
		note_refused_debug(job->broker, job->copy.path,
				   refused->by_link ? job->request.name : "of its build-id",
				   refused->why);
	}
	job_answer(job, -ENOENT);
}

static void take_word_and_give_up(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	job->module = *answer;
	job->knows_module = true;
	give_up(job);
}

/* The file in hand, or the one that could not be opened, is not used; of several the first is reported. */
static void refuse(struct job *job, const char *why)
{
	if (!job->refused_debug.why)
		job->refused_debug =
			(struct refused_debug){why, job->looking_for == OPENER_DEBUG_LINK};
}

/* Closes what was not the right one, and looks on. */
static void not_proved(struct job *job)
{
	close(job->fd);
	job->fd = -1;
	next_candidate(job);
}

/* It is the module's debug file; what is wanted may be a file that this names. */
static void give(struct job *job)
{
	const int fd = job->fd;
	const bool is_of_debug = job->request.which == DEBUG_FILE_COMMON_OF_DEBUG ||
				 job->request.which == DEBUG_FILE_SPLIT_OF_DEBUG;
	if (!is_of_debug) {
		job_answer(job, fd); /* which closes it */
		return;
	}
	job->fd = -1;
	if (job->request.which == DEBUG_FILE_COMMON_OF_DEBUG)
		common_look_for(job, fd);
	else
		split_look_for(job, fd);
	close(fd);
}

/* ---- from debuginfod servers ---- */

static const char *why_not_fetched(int error)
{
	switch (error) {
	case -ENOENT:
	case -ECANCELED:
		return NULL; /* no server has it */
	case -ENOSYS:
		return "was not asked of debuginfod: libdebuginfod.so.1 is not installed";
	case -ETIMEDOUT:
		return "was not fetched in time";
	case -EFBIG:
		return "was not fetched: it is too large";
	case -EPERM:
	case -EACCES:
		return "was not fetched: there is no cache of debuginfod's clients that is ours "
		       "alone";
	case -ECONNREFUSED:
	case -EHOSTUNREACH:
		return "was not fetched: the debuginfod servers cannot be reached";
	default:
		return "was not fetched: debuginfod failed";
	}
}

/* Once is enough for a session: children ask in each epoch. */
static void fetch_no_more(struct job *job)
{
	struct kept_file *module = find_kept(job->broker, &job->key);
	if (module)
		module->is_nowhere = true;
	give_up(job);
}

/* A server may send what it likes. */
static void take_fetched_word(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	const struct prober_answer *module = &job->module;
	if (!answer->error && answer->build_id_size == module->build_id_size &&
	    memcmp(answer->build_id, module->build_id, module->build_id_size) == 0) {
		give(job);
		return;
	}
	refuse(job, "from debuginfod does not match: build-id mismatch");
	close(job->fd);
	job->fd = -1;
	fetch_no_more(job);
}

static void take_fetched(void *context, int error, int fd)
{
	struct job *job = context;
	const char *why = error ? why_not_fetched(error) : NULL;
	job->fd = fd;
	if (fd >= 0) {
		job_prove(job, fd, false, take_fetched_word);
		return;
	}
	if (why)
		refuse(job, why);
	fetch_no_more(job);
}

static void take_word_and_fetch(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	job->module = *answer;
	job->knows_module = true;
	give_up(job);
}

/*
 * Where nothing is here, servers are asked; but only by the build-id that the module itself has: a child that fell could send what it
 * likes by others. False: they were asked, or are not to be.
 */
static bool fetch(struct job *job)
{
	struct fetcher *fetcher = job->broker->fetcher;
	if (!fetcher || job->was_fetched || job->copy.row.kind != MODULE_FILE)
		return false;
	const struct kept_file *module = find_kept(job->broker, &job->key);
	if (!module || module->fd < 0 || module->is_nowhere)
		return false;
	if (!job->knows_module) {
		job_prove(job, module->fd, false, take_word_and_fetch);
		return true;
	}
	job->was_fetched = true;
	/* Its size is the prober's word, who was checked for that. */
	return !job->module.error && job->module.build_id_size &&
	       fetcher_ask(fetcher, job->module.build_id, job->module.build_id_size, take_fetched,
			   job) == 0;
}

/* Where the module has a build-id, that decides: a name alone proves nothing, and no sum is needed. */
static void take_candidates_word(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	const struct prober_answer *module = &job->module;
	if (!answer->error && answer->build_id_size == module->build_id_size &&
	    memcmp(answer->build_id, module->build_id, module->build_id_size) == 0) {
		give(job);
	} else {
		refuse(job, "does not match: build-id mismatch");
		not_proved(job);
	}
}

static void take_candidates_sum(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	if (!answer->error && answer->crc == job->module.debuglink_crc) {
		give(job);
	} else {
		refuse(job, answer->error ? "does not match: its CRC was not computed in time"
					  : "does not match: CRC mismatch");
		not_proved(job);
	}
}

static void prove(struct job *job)
{
	if (job->looking_for == OPENER_DEBUG_LINK && !is_link_of(&job->module, &job->request))
		give_up(job);
	else if (job->module.build_id_size)
		job_prove(job, job->fd, false, take_candidates_word);
	else if (job->looking_for == OPENER_DEBUG_LINK)
		job_prove(job, job->fd, true, take_candidates_sum);
	else
		not_proved(job);
}

/* What the module says of itself, as far as a file can: the child's word for it counts nothing. */
static void take_modules_word(void *context, const struct prober_answer *answer)
{
	struct job *job = context;
	job->module = *answer;
	job->knows_module = true;
	if (answer->error)
		give_up(job);
	else
		prove(job);
}

static void look_for(struct job *job, enum opener_kind kind);

static void take_candidate(void *context, const struct opener_answer *answer, int fd)
{
	struct job *job = context;
	job->fd = fd;
	const struct kept_file *module = find_kept(job->broker, &job->key);
	if (fd >= 0) {
		if (!may_name(module, &answer->identity)) {
			refuse(job, DEBUG_OF_OTHERS);
			not_proved(job);
		} else if (job->knows_module)
			prove(job);
		else if (module && module->fd >= 0)
			job_prove(job, module->fd, false, take_modules_word);
		else
			give_up(job);
		return;
	}
	const char *why = why_not_opened(answer->error);
	if (why)
		refuse(job, why);
	job->candidate = 0;
	if (job->looking_for == OPENER_DEBUG_BUILD_ID && job->request.name[0])
		look_for(job, OPENER_DEBUG_LINK);
	else
		give_up(job);
}

static void look_for(struct job *job, enum opener_kind kind)
{
	job_look_for(job, kind, job->request.build_id, job->request.build_id_size,
		     job->request.name, take_candidate);
}

static void next_candidate(struct job *job)
{
	job->candidate++;
	look_for(job, job->looking_for);
}

static void begin(struct job *job)
{
	struct broker *broker = job->broker;
	bool named;
	job->key = key_of(broker, &job->copy, &job->named, &named);
	const struct kept_file *module = find_kept(broker, &job->key);
	if (module && module->refused & job->reader)
		job_answer(job, -EUCLEAN);
	else if (job->copy.row.kind == MODULE_KERNEL)
		kernel_look_for(job);
	else if (job->copy.row.kind != MODULE_FILE || !(named || broker->recorded))
		give_up(job);
	else if (job->request.which == DEBUG_FILE_COMMON_OF_MODULE && module && module->fd >= 0)
		common_look_for(job, module->fd);
	else if (job->request.which == DEBUG_FILE_SPLIT_OF_MODULE && module && module->fd >= 0)
		split_look_for(job, module->fd);
	else if (job->request.which == DEBUG_FILE_COMMON_OF_MODULE ||
		 job->request.which == DEBUG_FILE_SPLIT_OF_MODULE)
		job_answer(job, -ENOENT);
	else
		look_for(job, OPENER_DEBUG_BUILD_ID);
}

int broker_answer_debug_file(struct broker *broker, struct channel *channel,
			     enum broker_reader reader, const struct message_module *request,
			     const struct tables *tables)
{
	struct job *job = job_new(broker, channel, reader, MESSAGE_DEBUG_FILE);
	if (!job)
		return -EPROTO;
	job->request = *request;
	if (job->request.build_id_size > sizeof(job->request.build_id))
		job->request.build_id_size = 0;
	if (!tables || !copy_module(tables, request->module, &job->copy))
		give_up(job);
	else if (!may_ask_again(broker, reader, request, MESSAGE_DEBUG_FILE))
		job_answer(job, -EDQUOT);
	else
		begin(job);
	return 0;
}
