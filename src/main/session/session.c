/* SPDX-License-Identifier: MIT */
#include "session_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/end_pending.h>
#include <ctop/base/promptness.h>
#include <ctop/files/source.h>
#include <ctop/jail/jail.h>
#include <ctop/session/session_setup.h>

#include "uprobes.h"

/* How long a start may take until the rings are mapped. */
#define START_PATIENCE_NS (10 * NS_PER_SECOND)
/* How long after the start threads are looked for that were being started meanwhile. */
#define LATE_LOOK_NS (200 * NS_PER_MS)

static struct session *session_new(const struct session_consumer *consumer)
{
	struct session *session = calloc(1, sizeof(*session));
	if (!session)
		return NULL;
	session->stats.opened_ns = clock_now_ns();
	session->consumer = *consumer;
	session->current = &session->regions[0];
	session->next = &session->regions[1];
	session->watched_fd = -1;
	session->own.pids[OWN_MAIN] = getpid();
	session->source.fd = -1;
	session->target.release_fd = -1;
	session->target.failure_fd = -1;
	session->target.cgroup_fd = -1;
	worker_init(&session->collector);
	worker_init(&session->symbolizer);
	session->broker = broker_new();
	if (session->broker)
		return session;
	session_free(session);
	return NULL;
}

/* Whether it has all that it was sent: of what waits for its hello, main holds every descriptor twice. */
static bool has_all(const struct worker *worker)
{
	return !worker->pid || !(channel_held(worker->channel) || channel_waiting(worker->channel));
}

static bool all_have_all(struct session *session)
{
	for (size_t i = 0; i <= session_nr_sources(session); i++)
		if (!has_all(session_worker_at(session, i)))
			return false;
	return true;
}

/* Starts the children on the first epoch, and waits until they have what they need, and the rings are mapped. */
static int start_children(struct session *session, struct error *error)
{
	int result = region_open(session->current, 1);
	if (!result)
		result = session_start_symbolizer(session);
	if (!result && session->parts)
		result = parts_start(session);
	else if (!result)
		result = worker_start(&session->collector, "collector");
	if (!result && !session->parts)
		result = session_tell_collector(session, session->current, -1, 0);
	if (!result)
		result = session_begin_epoch(session);
	if (result)
		return worker_not_started(result, error);
	uint64_t until_ns = clock_now_ns() + START_PATIENCE_NS;
	while (!(session->mapped && all_have_all(session)) && clock_now_ns() < until_ns &&
	       !end_pending()) {
		enum session_state state;
		result = session_step(session, 100, &state, error);
		if (result)
			return result;
	}
	if (!session->mapped && end_pending()) {
		error_set(error, -EINTR, "interrupted before sampling began");
		return error_remedy(
			error, "nothing was sampled: run it again, and wait until sampling begins");
	}
	if (!session->mapped)
		return error_set(error, -ETIMEDOUT, "the collector did not start within 10 s");
	return 0;
}

int session_use_cache(struct session *session)
{
	return broker_use_cache(session->broker);
}

int session_use_debuginfod(struct session *session, const char *urls)
{
	return urls ? broker_use_debuginfod(session->broker, urls) : 0;
}

struct session *session_open_live(const struct options *options, bool waits,
				  const struct session_consumer *consumer, struct error *error)
{
	struct session *session = session_new(consumer);
	if (!session) {
		error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	session->wants_waits = waits;
	broker_use_vmlinux(session->broker, options->vmlinux);
	promptness_ask();
	int result = options->debuginfod
			     ? session_use_debuginfod(session, getenv("DEBUGINFOD_URLS"))
			     : 0;
	if (!result && !options->no_cache)
		result = session_use_cache(session);
	if (result)
		error_set(error, result, "out of memory");
	else
		result = target_open(&session->target, options, error);
	if (!result) {
		/* After the fork of a command, which must stay open to our own events. */
		jail_protect_main();
		setup_sampling(&session->sampling, options, waits, &session->target);
		session->starts_off = options_start_off(options);
		result =
			uprobes_resolve(session->sampling.events, session->sampling.nr_events,
					session->sampling.pids,
					session->target.command_pid ? 0 : session->sampling.nr_pids,
					&session->uprobe_files, error);
	}
	if (!result) {
		session->sampler = sampler_open(&session->sampling, error);
		result = session->sampler ? 0 : -EINVAL;
	}
	if (!result) {
		target_count_children(&session->target, sampler_nr_children(session->sampler));
		session_name_processes(session);
		result = session_begin_time(session);
		if (result)
			error_set(error, result, "out of memory");
	}
	if (!result && options->system_calls)
		result = session_begin_calls(session, error);
	if (!result) {
		result = start_children(session, error);
	}
	if (!result)
		return session;
	session_free(session);
	return NULL;
}

/* result, with the error: whether its source could be opened. NULL, with error. */
static struct session *open_source(struct session *session, size_t nr_jobs, int result,
				   struct error *error)
{
	if (!result && session->source.is_perfdata) {
		session->parts = parts_new(parts_for(&session->source, nr_jobs));
		if (!session->parts)
			result = error_set(error, -ENOMEM, "out of memory");
		broker_serve_recorded(session->broker, source_written_ns(&session->source));
		if (!result)
			result = start_children(session, error);
	} else if (!result) {
		result = worker_start(&session->collector, "reader");
		if (!result)
			result = setup_reader(&session->collector, session->source.fd);
		if (result)
			error_set(error, result, "cannot start the reading process: %s",
				  strerror(-result));
	}
	if (!result)
		return session;
	session_free(session);
	return NULL;
}

static struct session *new_for_file(const char *path, const struct session_consumer *consumer,
				    struct error *error)
{
	struct session *session = session_new(consumer);
	if (session)
		session->path = strdup(path);
	if (session && session->path)
		return session;
	session_free(session);
	error_set(error, -ENOMEM, "out of memory");
	return NULL;
}

struct session *session_open_file(const char *path, size_t nr_jobs,
				  const struct session_consumer *consumer, struct error *error)
{
	struct session *session = new_for_file(path, consumer, error);
	if (!session)
		return NULL;
	jail_protect_main();
	return open_source(session, nr_jobs, source_open(&session->source, path, error), error);
}

struct session *session_open_again(const struct session *before,
				   const struct session_consumer *consumer, struct error *error)
{
	struct session *session = new_for_file(before->path, consumer, error);
	if (!session)
		return NULL;
	return open_source(session, before->parts ? before->parts->nr : 0,
			   source_again(&session->source, &before->source, before->path, error),
			   error);
}

int session_start(struct session *session, struct error *error)
{
	session->stats.start_ns = session->off_since_ns = clock_now_ns();
	session->cpus_from = session->cpus_off = session_cpu_times(session);
	session->phase = PHASE_RUNNING;
	session->cpu_in_hand = -1;
	session->on = !session->starts_off;
	session->late_look_ns = session->stats.start_ns + LATE_LOOK_NS;
	session_begin_spending(session);
	session_begin_sets(session);
	session->error = error;
	if (!session_is_live(session))
		return 0;
	const bool waits_for_exec =
		session->sampling.enable_on_exec && !sampler_filters_pids(session->sampler);
	int result = session->on && !waits_for_exec ? session_switch_on(session) : 0;
	if (waits_for_exec && session->on)
		session_switch_time(session, true, session->stats.start_ns);
	if (!result)
		result = target_start(&session->target, error);
	session->stats.released_ns = clock_now_ns();
	if (!result && session->on && session->sampling.enable_on_exec)
		result = session_describe_targets(session);
	return result;
}

void session_want_lines(struct session *session, enum session_lines lines)
{
	session->lines = lines;
	if (lines && session->symbolizer.channel)
		setup_lines(&session->symbolizer); /* if it is broken: its successor gets it */
}

void session_keep_code(struct session *session)
{
	session->keeps_code = true;
	if (session->symbolizer.channel)
		setup_keep_code(&session->symbolizer); /* as above */
}

void session_leave_out(struct session *session, pid_t pid)
{
	session->own.pids[OWN_LAST_WRITER] = session->own.pids[OWN_WRITER];
	session->own.pids[OWN_WRITER] = pid;
	setup_own(&session->collector, &session->own); /* if it is broken: its successor gets it */
}

void session_watch(struct session *session, int fd)
{
	session->watched_fd = fd;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	thread_list_close(&session->listing);
	session_release_time(session);
	worker_release(&session->collector);
	parts_free(session->parts);
	worker_release(&session->symbolizer);
	sampler_free(session->sampler);
	target_release(&session->target);
	uprobe_files_close(&session->uprobe_files);
	region_close(session->current);
	region_close(session->next);
	broker_free(session->broker);
	source_close(&session->source);
	free(session->path);
	free(session);
}
