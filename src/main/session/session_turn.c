/* SPDX-License-Identifier: MIT */
/* One turn of the loop: waits for children, the kernel and the target, serves who has something to say, and goes on. */
#include "session_internal.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/session/session_setup.h>

#define HOUSEKEEPING_NS NS_PER_SECOND

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
		poll_worker(session_worker_at(session, i), fds + i * NR_WORKER_FDS);
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
			if (session_worker_at(session, i)->pid)
				result = serve_worker(session, session_worker_at(session, i),
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
