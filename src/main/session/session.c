/* SPDX-License-Identifier: MIT */
#include "session_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/end_pending.h>
#include <ctop/base/promptness.h>
#include <ctop/files/source.h>
#include <ctop/jail/jail.h>
#include <ctop/session/session_setup.h>
#include <ctop/system/proc_text.h>

#include "uprobes.h"

/* How long a start may take until the rings are mapped. */
#define START_PATIENCE_NS (10 * NS_PER_SECOND)
#define HOUSEKEEPING_NS	  NS_PER_SECOND
/* How long after the start threads are looked for that were being started meanwhile. */
#define LATE_LOOK_NS (200 * NS_PER_MS)

/* ---- the loop ---- */

static void tell_of_openers(struct session *session)
{
	const int32_t pid = broker_opener_pid(session->broker);
	const int32_t of_names = broker_names_opener_pid(session->broker);
	int32_t *told = session->own.pids;
	if (!session->collector.channel || ((!pid || pid == told[OWN_OPENER]) &&
					    (!of_names || of_names == told[OWN_NAMES_OPENER])))
		return;
	told[OWN_OPENER] = pid ? pid : told[OWN_OPENER];
	told[OWN_NAMES_OPENER] = of_names ? of_names : told[OWN_NAMES_OPENER];
	setup_own(&session->collector, &session->own); /* if it is broken: its successor gets it */
}

static void look_after(const struct session *session, struct worker *worker)
{
	worker_end_if_hung_up(worker);
	worker_end_if_silent(worker);
	if (!session_is_recording(session))
		worker_end_if_stuck(worker);
}

static void keep_house(struct session *session)
{
	uint64_t now = clock_now_ns();
	if (session_is_live(session))
		tell_of_openers(session);
	if (session_is_live(session))
		session_look_for_late_threads(session, now);
	session_serve_time(session, now);
	if (now < session->housekeeping_ns)
		return;
	session->housekeeping_ns = now + HOUSEKEEPING_NS;
	uint64_t bytes = process_anon_bytes(getpid()) + worker_anon_bytes(&session->symbolizer) +
			 region_used_bytes(session->current) + region_used_bytes(session->next);
	for (size_t i = 0; i < session_nr_sources(session); i++)
		bytes += worker_anon_bytes(session_source(session, i));
	for (size_t i = 0; session->parts && i < session->parts->nr; i++)
		bytes += region_used_bytes(session->parts->items[i].current) +
			 region_used_bytes(session->parts->items[i].next);
	if (bytes > session->stats.peak_rss_bytes)
		session->stats.peak_rss_bytes = bytes;
	for (size_t i = 0; i < session_nr_sources(session); i++)
		look_after(session, session_source(session, i));
	look_after(session, &session->symbolizer);
	/* One that reads a file waits for its disk; the symbolizer for frames. */
	if (session_is_live(session))
		worker_end_if_still(&session->collector);
}

enum { NR_WORKER_FDS = 3 };

/* Those of the source, then the symbolizer. */
static struct worker *worker_at(struct session *session, size_t i)
{
	return i < session_nr_sources(session) ? session_source(session, i) : &session->symbolizer;
}

static void poll_worker(const struct worker *worker, struct pollfd *fds)
{
	fds[0] = fds[1] = fds[2] = (struct pollfd){.fd = -1};
	if (!worker->pid)
		return;
	fds[0] = (struct pollfd){.fd = worker->pid_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = worker->from_child, .events = POLLIN};
	/* Who does not take its answers is not heard. One that has hung up has nothing more to say: its end is awaited. */
	fds[2] = (struct pollfd){
		.fd = worker->hung_up ? -1 : channel_fd(worker->channel),
		.events = channel_waiting(worker->channel) ? POLLOUT : POLLIN,
	};
}

static int serve_worker(struct session *session, struct worker *worker, const struct pollfd *fds)
{
	if (fds[1].revents)
		worker_clear_signal(worker);
	if (fds[2].revents & POLLOUT)
		channel_flush(worker->channel); /* a broken channel shows in the pidfd */
	bool speaks = fds[2].revents & POLLIN || session_owes(session, worker);
	int result = speaks ? session_listen(session, worker) : 0;
	if ((fds[2].revents & (POLLIN | POLLHUP)) == POLLHUP)
		worker->hung_up = true;
	if (!result && fds[0].revents)
		result = session_bury(session, worker);
	return result;
}

static int sooner(int a_ms, int b_ms)
{
	return a_ms < 0 || (b_ms >= 0 && b_ms < a_ms) ? b_ms : a_ms;
}

/*
 * The kernel wakes us at each record of its side band, ten for a program that starts: they are taken together, but soon enough for
 * files that are gone in some 10 ms.
 */
#define SIDEBAND_REST_NS (3 * NS_PER_MS)

/* How long until the side band is to wake us again; -1: it is. */
static int sideband_rest_ms(const struct session *session)
{
	const uint64_t now = clock_now_ns(), due = session->sideband_due_ns;
	return due > now ? (int)((due - now) / NS_PER_MS) + 1 : -1;
}

static int wait_and_serve(struct session *session, int timeout_ms)
{
	size_t nr_targets = session->phase == PHASE_RUNNING ? session->target.nr_pid_fds : 0;
	size_t nr_sideband = session->sampler ? sampler_nr_sideband(session->sampler) : 0;
	size_t nr_switches = session->sampler ? sampler_nr_switch_fds(session->sampler) : 0;
	int rest_ms = sideband_rest_ms(session);
	if (rest_ms > 0)
		nr_sideband = 0;
	const size_t nr_sources = session_nr_sources(session);
	struct pollfd *fds = calloc((nr_sources + 1) * NR_WORKER_FDS + 1 + BROKER_POLL_MAX +
					    nr_sideband + nr_switches + nr_targets,
				    sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	/* Who does not run has descriptors that are none. */
	for (size_t i = 0; i <= nr_sources; i++)
		poll_worker(worker_at(session, i), fds + i * NR_WORKER_FDS);
	size_t nr = (nr_sources + 1) * NR_WORKER_FDS;
	fds[nr++] = (struct pollfd){.fd = session->watched_fd, .events = POLLIN};
	nr += broker_poll(session->broker, fds + nr);
	const size_t sideband_at = nr;
	for (size_t i = 0; i < nr_sideband; i++)
		fds[nr++] = (struct pollfd){
			.fd = sampler_sideband_fd(session->sampler, i),
			.events = POLLIN,
		};
	const size_t switches_at = nr;
	for (size_t i = 0; i < nr_switches; i++)
		fds[nr++] = (struct pollfd){
			.fd = sampler_switch_fd(session->sampler, i),
			.events = POLLIN,
		};
	for (size_t i = 0; i < nr_targets; i++)
		fds[nr++] = (struct pollfd){.fd = session->target.pid_fds[i], .events = POLLIN};
	int result = 0;
	timeout_ms = sooner(timeout_ms, broker_timeout_ms(session->broker));
	timeout_ms = sooner(timeout_ms, session_time_rest_ms(session));
	if (poll(fds, nr, sooner(timeout_ms, rest_ms)) < 0) {
		result = errno == EINTR ? 0 : -errno;
	} else {
		for (size_t i = 0; i < nr_sideband; i++)
			if (fds[sideband_at + i].revents)
				session->sideband_due_ns = clock_now_ns() + SIDEBAND_REST_NS;
		for (size_t i = 0; i < nr_switches; i++)
			if (fds[switches_at + i].revents)
				session->time.read_due_ns = 0;
		session_take_sideband(session);
		broker_serve(session->broker);
		for (size_t i = 0; !result && i <= nr_sources; i++)
			if (worker_at(session, i)->pid)
				result = serve_worker(session, worker_at(session, i),
						      fds + i * NR_WORKER_FDS);
	}
	free(fds);
	return result;
}

static void note_changed_files(struct session *session)
{
	const struct child_status *status = session->symbolizer.status;
	unsigned long long nr = status ? atomic_load(&status->changed) : 0;
	if (nr && !session->notice[0])
		snprintf(session->notice, sizeof(session->notice),
			 "without names: %llu file%s changed while read", nr, nr == 1 ? "" : "s");
}

/* It does not come to its end: what the kernel still held is nobody's. */
static void leave_collector(struct session *session)
{
	worker_end(&session->collector);
	session->source_done = true;
	session->stats.undrained = 1;
	snprintf(session->notice, sizeof(session->notice),
		 "the collector had not read all that the kernel held, and was killed");
}

bool session_target_ended(const struct session *session)
{
	return session->stats.target_exited;
}

static bool look_for_end(struct session *session)
{
	struct session_stats *stats = &session->stats;
	if (!stats->target_exited)
		stats->target_exited = target_ended(&session->target, &stats->target_status);
	return stats->target_exited;
}

bool session_await_target(struct session *session, int fd, int timeout_ms)
{
	struct pollfd fds[] = {
		{.fd = session->target.nr_pid_fds ? session->target.pid_fds[0] : -1,
		 .events = POLLIN},
		{.fd = fd, .events = POLLIN},
	};
	if (!look_for_end(session))
		poll(fds, sizeof(fds) / sizeof(*fds), timeout_ms);
	return look_for_end(session);
}

/* A JIT may write its map when it ends, or just before we do. A symbolizer that died since has a successor. */
static void ask_to_look_again(struct session *session)
{
	const struct message message = {.kind = MESSAGE_STOP};
	struct worker *symbolizer = &session->symbolizer;
	if (symbolizer->pid == session->looks_again_pid)
		return;
	session->looks_again_pid = symbolizer->pid;
	if (symbolizer->pid) {
		atomic_store(&symbolizer->status->looked_again, 0);
		atomic_store(&symbolizer->status->kept_code, 0);
		protocol_send(symbolizer->channel, &message, -1);
	}
}

/* Then the collector takes what is left. */
static void tell_last(struct session *session, uint64_t now_ns)
{
	if (!session->is_telling ||
	    !session_waits_are_told(session, now_ns > session->stop_until_ns))
		return;
	session->is_telling = false;
	setup_stop(&session->collector);
}

static int advance(struct session *session)
{
	uint64_t now = clock_now_ns();
	if (session->phase == PHASE_RUNNING && session_is_live(session) && look_for_end(session)) {
		if (session->target.cgroup_fd >= 0 && !session->target.nr_pid_fds)
			snprintf(session->notice, sizeof(session->notice),
				 "cgroup removed; profiling stopped");
		session_stop(session);
	}
	if (session->phase == PHASE_RUNNING && !session_is_live(session) && session->source_done)
		session->phase = PHASE_STOPPING;
	tell_last(session, now);
	if (session->phase == PHASE_STOPPING && session_is_live(session) && !session->source_done &&
	    now > session->stop_until_ns)
		leave_collector(session);
	if (session->phase == PHASE_STOPPING && session->source_done) {
		int result = session_drain(session);
		if (result)
			return result;
		if (session->busy || session->next->epoch ||
		    (session->parts && !session->parts->are_merged))
			return 0; /* the last epoch's names are awaited: session_drain() goes on there */
		session->phase = PHASE_NAMING;
		session->names_patience = patience_with(session->symbolizer.pid, NAMES_PATIENCE_NS);
		worker_signal(&session->symbolizer);
	}
	if (session->phase == PHASE_NAMING && session_is_live(session))
		ask_to_look_again(session);
	if (session->phase == PHASE_NAMING &&
	    (session_is_recording(session) || session_names_final(session) ||
	     session_is_out_of_patience(session)) &&
	    !session_awaits_code(session, now) && !session_awaits_lines(session)) {
		session->phase = PHASE_DRAINED;
		note_changed_files(session);
	}
	return 0;
}

enum { ROOM_MS = 2 };

int session_step(struct session *session, int timeout_ms, enum session_state *state,
		 struct error *error)
{
	session->error = error;
	bool busy = session->busy;
	session->busy = false;
	/* That there is room again wakes nobody. */
	if (session->is_telling && (timeout_ms < 0 || timeout_ms > ROOM_MS))
		timeout_ms = ROOM_MS;
	int result = wait_and_serve(session, busy ? 0 : timeout_ms);
	if (!result)
		session_look_at_spending(session);
	if (!result)
		session_adapt(session);
	if (!result)
		result = session_drain(session);
	if (!result) {
		if (!session_is_recording(session) && session->current->epoch)
			session_wake_symbolizer(session);
		keep_house(session);
		result = advance(session);
	}
	*state = session->phase == PHASE_DRAINED ? SESSION_DRAINED : SESSION_RUNNING;
	if (result && !error->cause[0])
		error_set(error, result, "%s", strerror(-result));
	return result;
}

/* ---- life ---- */

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
		if (!has_all(worker_at(session, i)))
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

void session_stop(struct session *session)
{
	if (session->phase != PHASE_RUNNING && session->phase != PHASE_OPEN)
		return;
	session->stats.end_ns = session->on ? clock_now_ns() : session->off_since_ns;
	session->cpus_end = session->on ? session_cpu_times(session) : session->cpus_off;
	session->phase = PHASE_STOPPING;
	session->stop_until_ns = clock_now_ns() + STOP_PATIENCE_NS;
	if (!session_is_live(session))
		return;
	session_end_spending(session);
	sampler_disable(session->sampler);
	session_end_time(session, session->stats.end_ns);
	session_describe_sets(session, session->stats.end_ns);
	session->is_telling = true;
	tell_last(session, clock_now_ns());
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
