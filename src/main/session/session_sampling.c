/* SPDX-License-Identifier: MIT */
/* Sampling is switched on and off, of whom; whoever slipped through the attaching is looked for. */
#include "session_internal.h"

#include <errno.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/session/session_setup.h>
#include <ctop/system/proc_text.h>

/*
 * The maps of the target right before its events are switched on, and right after: what is
 * mapped later comes as a record, what is unmapped before the collector would ask is known.
 */
int session_describe_targets(struct session *session)
{
	int result = 0;
	for (size_t i = 0; !result && i < session->sampling.nr_pids; i++)
		if (!session->sampling.enable_on_exec)
			result = broker_describe_tree(session->broker, session->collector.channel,
						      session->sampling.pids[i]);
	/* It can still ask for what does not fit into the channel now; so can its successor. */
	if (!result || result == -ENOBUFS || result == -EPIPE)
		return 0;
	return error_set(session->error, result, "cannot pass the target to the collector: %s",
			 strerror(-result));
}

/* Records of a ring at a time: main has more to do. */
enum { SIDEBAND_A_TURN = 4096 };

static void take(void *context, const struct record *record)
{
	struct session *session = context;
	struct mapped_file fresh;
	session_tell_time(session, record);
	if (mapped_files_take(broker_mapped_files(session->broker), record, &fresh))
		broker_open_ahead(session->broker, &fresh);
}

void session_take_sideband(struct session *session)
{
	if (session->sampler)
		sampler_read_sideband(session->sampler, SIDEBAND_A_TURN, take, session);
}

void session_name_processes(struct session *session)
{
	struct mapped_files *mapped = broker_mapped_files(session->broker);
	const struct sampler_options *sampling = &session->sampling;
	if (sampling->cgroup_fd >= 0)
		broker_take_cgroup(session->broker, sampling->cgroup_fd);
	else if (!sampling->nr_pids && !sampling->nr_tids)
		mapped_files_take_everybody(mapped);
	if (sampler_filters_pids(session->sampler))
		mapped_files_expect_others(mapped);
	/* Each once: later its number may be another's. */
	for (; session->nr_named < sampler_nr_processes(session->sampler); session->nr_named++)
		mapped_files_add_process(
			mapped, sampler_process(session->sampler, session->nr_named),
			sampler_process_seen_ns(session->sampler, session->nr_named));
	for (; session->nr_named_tids < sampling->nr_tids; session->nr_named_tids++)
		mapped_files_add_process(mapped,
					 proc_of_thread(sampling->tids[session->nr_named_tids]),
					 clock_now_ns());
}

size_t session_processes(const struct session *session, int32_t *pids, size_t most)
{
	return session_is_live(session)
		       ? mapped_files_processes(broker_mapped_files(session->broker), pids, most)
		       : 0;
}

bool session_has_process(const struct session *session, int32_t pid)
{
	return session_is_live(session) && broker_has_process(session->broker, pid);
}

int session_dump(const struct session *session, const struct module_row *row, const char *path)
{
	return session_is_live(session) ? broker_dump(session->broker, row, path) : -1;
}

int session_switch_on(struct session *session)
{
	int result = session_describe_targets(session);
	if (result)
		return result;
	/* What cannot be attached any more (too few descriptors, a collector that died) is left: sampling goes on. */
	setup_late_threads(&session->collector, session->sampler);
	session_name_processes(session);
	const uint64_t now_ns = clock_now_ns();
	session->stats.start_ns += now_ns - session->off_since_ns;
	session_switch_time(session, true, now_ns);
	session->cpus_from =
		cpu_times_plus(session->cpus_from,
			       cpu_times_between(session->cpus_off, session_cpu_times(session)));
	result = sampler_enable(session->sampler);
	if (result)
		return error_set(session->error, result, "cannot switch the events on: %s",
				 strerror(-result));
	/* Who was forked while the events were attached is described by these records alone, if it has ended by now. */
	session_take_sideband(session);
	return session_describe_targets(session);
}

/* A second look: where every CPU is busy, a thread may be in the middle of starting another for some 10 ms. */
void session_look_for_late_threads(struct session *session, uint64_t now_ns)
{
	if (now_ns < session->late_look_ns || session->phase != PHASE_RUNNING || !session->on)
		return;
	session->late_look_ns = UINT64_MAX;
	const size_t nr_before = sampler_nr_ids(session->sampler);
	if (setup_late_threads(&session->collector, session->sampler) == 0)
		sampler_enable_from(session->sampler, nr_before);
	session_name_processes(session);
	session_list_time(session);
}

int session_switch(struct session *session, bool on, struct error *error)
{
	session->error = error;
	if (!session_is_live(session) || session->phase != PHASE_RUNNING || on == session->on)
		return 0;
	session->on = on;
	if (on)
		return session->pausing ? 0 : session_switch_on(session);
	session->off_since_ns = clock_now_ns();
	session_switch_time(session, false, session->off_since_ns);
	session->cpus_off = session_cpu_times(session);
	if (session->pausing)
		return 0; /* it was not on again yet */
	session->pausing = true;
	sampler_disable(session->sampler);
	int result = setup_pause(&session->collector);
	return result == -EPIPE ? 0 : result; /* it died: its successor gets it */
}

bool session_is_on(const struct session *session)
{
	return session->on;
}
