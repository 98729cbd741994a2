/* SPDX-License-Identifier: MIT */
/* What the children say and ask, and what becomes of a session when they die. */
#include "session_internal.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/session/session_setup.h>

/* ---- what the children say ---- */

/* Or the reader. */
static bool is_collector(const struct session *session, const struct worker *worker)
{
	return worker != &session->symbolizer;
}

/* What a child's role has no use for it must not say: it may be somebody else's by now. */
static bool may_say(const struct session *session, const struct worker *worker, uint32_t kind)
{
	bool is_source = is_collector(session, worker);
	switch (kind) {
	case MESSAGE_NEED_MODULE:
	case MESSAGE_NEED_DEBUG_FILE:
		return !session_is_recording(session);
	case MESSAGE_MAPPED:
		return is_source && !session_is_recording(session);
	case MESSAGE_NEED_PROCESS:
	case MESSAGE_NEED_OWNER:
	case MESSAGE_DOUBLE:
		return is_source && session_is_live(session);
	case MESSAGE_NEED_CODE:
		return (is_source || session->keeps_code) && session_is_live(session);
	case MESSAGE_NEED_KERNEL_CODE:
		return !is_source && session->keeps_code && session_is_live(session);
	case MESSAGE_PAUSED:
		return is_source && session->pausing;
	case MESSAGE_READ:
		return is_source && session_is_recording(session);
	default:
		return is_source;
	}
}

static enum broker_reader reader_of(const struct session *session, const struct worker *worker)
{
	return is_collector(session, worker) ? BROKER_COLLECTOR : BROKER_SYMBOLIZER;
}

/* The collector or the reader is through. What a collector could not get over, its successor may. */
static int finish_source(struct session *session, struct part *part,
			 const struct message_result *message)
{
	/* The kernel's rings have no end of their own: that one is main's to tell. */
	if (session_is_live(session) && !message->error && session->phase != PHASE_STOPPING)
		return -EPROTO;
	if (part)
		part->is_done = !message->error;
	session->source_done = part ? parts_are_done(session->parts)
				    : session_is_recording(session) || !message->error;
	if (!message->error && !session->source_note[0])
		snprintf(session->source_note, sizeof(session->source_note), "%s", message->cause);
	if (!message->error || !session_is_recording(session))
		return 0;
	error_set(session->error, message->error, "cannot read '%s': %s", session->path,
		  message->cause[0] ? message->cause : strerror(-message->error));
	/* A pipe's first bytes cannot be looked at without taking them: it was for the reader to find out. */
	bool from_pipe = lseek(session->source.fd, 0, SEEK_CUR) < 0 && errno == ESPIPE;
	error_remedy(session->error,
		     from_pipe
			     ? "pipe it from ctop record -o - or perf record -o -"
			     : "make one with ctop record -o FILE, or use the ctop that wrote it");
	return message->error;
}

/* Collectors died too often, and nothing can be left out any more. */
static int give_up_collector(struct session *session)
{
	error_set(session->error, -EIO, "the collector died %d times in 10 s%s%s",
		  WORKER_MAX_DEATHS, session->last_words[0] ? "; " : "", session->last_words);
	return error_remedy(session->error,
			    session->source.is_perfdata
				    ? "look at the file with perf report"
				    : "what came before is kept; --call-graph fp reads no "
				      "unwind tables, which may be what it dies on");
}

/* The collector has, or has not, what it is to read. */
static int finish_mapping(struct session *session, struct part *part,
			  const struct message_result *message)
{
	if (part ? part->is_mapped : session->mapped)
		return -EPROTO;
	if (part)
		part->is_mapped = !message->error;
	session->mapped = part ? parts_are_mapped(session->parts) : !message->error;
	if (!message->error)
		return session->sampler ? sampler_redirect(session->sampler) : 0;
	if (session->without_tables && !session_is_live(session))
		return give_up_collector(session);
	if (session_is_live(session))
		return error_set(session->error, message->error,
				 "the collector cannot map the kernel's rings: %s",
				 strerror(-message->error));
	size_t cause = strcspn(message->cause, "\n");
	error_set(session->error, message->error, "'%s' %.*s", session->path, (int)cause,
		  message->cause);
	if (message->cause[cause])
		error_remedy(session->error, "%s", message->cause + cause + 1);
	return message->error;
}

/* The threads of a process a part at a time, then its maps. */
static int go_on_listing(struct session *session, const struct message_process *asked)
{
	struct channel *channel = session->collector.channel;
	const struct message_process request = *asked;
	int result = 0;
	if (thread_list_is_open(&session->listing))
		result = thread_list_step(&session->listing, channel);
	return result ? (result < 0 ? result : 0)
		      : broker_answer_process(session->broker, channel, &request);
}

static bool is_question(uint32_t kind)
{
	return kind == MESSAGE_NEED_MODULE || kind == MESSAGE_NEED_DEBUG_FILE ||
	       kind == MESSAGE_NEED_PROCESS || kind == MESSAGE_NEED_OWNER ||
	       kind == MESSAGE_NEED_CODE || kind == MESSAGE_NEED_KERNEL_CODE ||
	       kind == MESSAGE_NEED_TABLES;
}

static int answer(struct session *session, struct worker *worker, const struct message *message)
{
	struct region *region;
	struct part *part = parts_find(session->parts, worker);
	if (!may_say(session, worker, message->kind))
		return -EPROTO;
	/* What the kernel said up to now comes first: the child may ask about the latest of it. */
	if (is_question(message->kind))
		session_take_sideband(session);
	switch (message->kind) {
	case MESSAGE_MAPPED:
		return finish_mapping(session, part, &message->result);
	case MESSAGE_PAUSED:
		session->pausing = false;
		return session->on && session->phase == PHASE_RUNNING ? session_switch_on(session)
								      : 0;
	case MESSAGE_NEED_MODULE:
		region = session_region(session, message->module.epoch);
		return broker_answer_module(session->broker, worker->channel,
					    reader_of(session, worker), &message->module,
					    region ? &region->tables : NULL);
	case MESSAGE_NEED_DEBUG_FILE:
		region = session_region(session, message->module.epoch);
		return broker_answer_debug_file(session->broker, worker->channel,
						reader_of(session, worker), &message->module,
						region ? &region->tables : NULL);
	case MESSAGE_NEED_PROCESS:
		if (broker_has_process(session->broker, message->process.pid))
			thread_list_open(&session->listing, &message->process);
		return go_on_listing(session, &message->process);
	case MESSAGE_NEED_OWNER:
		return broker_answer_owner(session->broker, worker->channel, &message->owner);
	case MESSAGE_NEED_CODE:
		return broker_answer_code(session->broker, worker->channel,
					  reader_of(session, worker), &message->code);
	case MESSAGE_NEED_KERNEL_CODE:
		return broker_answer_kernel_code(session->broker, worker->channel,
						 &message->kernel_code);
	case MESSAGE_NEED_TABLES:
		return part ? part_give_tables(part) : session_give_tables(session);
	case MESSAGE_DOUBLE:
		sampler_close_id(session->sampler, message->duplicates.id);
		return 0;
	case MESSAGE_READ:
		session->read = message->read;
		return 0;
	case MESSAGE_DONE:
		return finish_source(session, part, &message->result);
	default:
		return -EPROTO; /* out of turn */
	}
}

static bool is_listing_for(const struct session *session, const struct worker *worker)
{
	return worker == &session->collector && thread_list_is_open(&session->listing);
}

bool session_owes(const struct session *session, const struct worker *worker)
{
	return channel_waiting(worker->channel) || is_listing_for(session, worker);
}

/* One message, or a part of a long answer. 1: there may be more; 0: not now; -errno that ends the session. */
static int hear(struct session *session, struct worker *worker)
{
	struct message message;
	int fd = -1, result;
	if (is_listing_for(session, worker)) {
		result = go_on_listing(session, &session->listing.request);
	} else {
		int got = protocol_receive(worker->channel, &message, &fd);
		worker->hung_up = got == 0; /* the pidfd tells of its end */
		if (got == -EAGAIN || got == 0)
			return 0;
		result = got < 0 ? got : answer(session, worker, &message);
	}
	/* Nonsense: whatever happened to it, its successor restarts. */
	if (result == -EPROTO) {
		worker_end(worker);
		return 0;
	}
	/* A full or broken channel is the child's end, which its pidfd will tell. */
	return result && result != -EPIPE && result != -ENOBUFS ? result : 1;
}

int session_listen(struct session *session, struct worker *worker)
{
	struct budget budget = budget_of(SESSION_MESSAGES_A_TURN);
	int result = 1;
	/* Who does not take its answers is not heard: there would be no end to them. */
	while (result > 0 && worker->channel && !channel_waiting(worker->channel)) {
		if (!budget_take(&budget)) {
			session->busy = true;
			break;
		}
		result = hear(session, worker);
	}
	return result < 0 ? result : 0;
}

/* No more than fits into a socket. What it told counts, not what it asked for. */
static int hear_last_words(struct session *session, struct worker *worker)
{
	struct message message;
	int fd = -1, result = 0;
	if (worker == &session->collector)
		thread_list_close(&session->listing);
	while (!result && protocol_receive(worker->channel, &message, &fd) == 1)
		if (!is_question(message.kind))
			result = answer(session, worker, &message);
	return result == -EPROTO || result == -EPIPE || result == -ENOBUFS ? 0 : result;
}

/* ---- children that die ---- */

/* The module that it was reading, if that was its end. */
static void set_aside_module(struct session *session, const struct worker *worker, int wait_status)
{
	uint32_t module = atomic_exchange(&worker->status->busy_module, 0);
	uint32_t epoch = atomic_load(&worker->status->busy_epoch);
	struct region *region = session_region(session, epoch);
	if (module && region && worker_fell(worker, wait_status))
		broker_set_unreadable(session->broker, reader_of(session, worker), &region->tables,
				      module - 1);
}

int session_tell_collector(struct session *session, const struct region *region, int32_t skip_cpu,
			   uint64_t skip_position)
{
	if (session->own.pids[OWN_COLLECTOR] != session->collector.pid) {
		session->own.pids[OWN_LAST_COLLECTOR] = session->own.pids[OWN_COLLECTOR];
		session->own.pids[OWN_COLLECTOR] = session->collector.pid;
	}
	for (size_t i = 0; i < session->sampling.nr_events; i++)
		atomic_store(&session->collector.status->wanted_sets[i],
			     sampler_set_in_use(session->sampler, i));
	return setup_collector(&session->collector, session->sampler, &session->sampling,
			       &session->target, &session->own, region,
			       session_places_waits(session) ? session->time.ring.fd : -1,
			       session->without_tables, skip_cpu, skip_position);
}

/* Its pid first: what it does from now on is not to be in a profile. */
int session_start_symbolizer(struct session *session)
{
	int result = worker_start(&session->symbolizer, "symbolizer");
	session->own.pids[OWN_LAST_SYMBOLIZER] = session->own.pids[OWN_SYMBOLIZER];
	session->own.pids[OWN_SYMBOLIZER] = session->symbolizer.pid;
	if (!result && session->lines)
		result = setup_lines(&session->symbolizer);
	if (!result && session->keeps_code)
		result = setup_keep_code(&session->symbolizer);
	if (!result && session->collector.channel && session_is_live(session))
		setup_own(&session->collector,
			  &session->own); /* if it is broken: its successor gets it */
	return result;
}

/* The record that the collector had in hand is passed over if that was its end, or is it for the second time. */
static int32_t cpu_to_skip(struct session *session, int wait_status, uint64_t position)
{
	const int32_t cpu = atomic_load(&session->collector.status->busy_cpu);
	const bool again = session->cpu_in_hand == cpu && session->position_in_hand == position;
	session->cpu_in_hand = cpu;
	session->position_in_hand = position;
	return again || worker_fell(&session->collector, wait_status) ? cpu : -1;
}

static int restart_collector(struct session *session, int wait_status)
{
	uint64_t skip_position = atomic_load(&session->collector.status->busy_position);
	int32_t skip_cpu = cpu_to_skip(session, wait_status, skip_position);
	struct region *region = session->next->epoch ? session->next : session->current;
	session->mapped = false;
	session->left_current = session->next->epoch != 0;
	session_forget_places(session);
	int result = worker_start(&session->collector, "collector");
	if (!result)
		result = session_tell_collector(session, region, skip_cpu, skip_position);
	if (!result && session->pausing)
		result = setup_pause(&session->collector);
	if (!result && session->phase == PHASE_STOPPING && !session->is_telling)
		result = setup_stop(&session->collector);
	return result;
}

static int restart_symbolizer(struct session *session)
{
	atomic_store(&session->symbolizer.status->busy_cpu, -1);
	int result = session_start_symbolizer(session);
	if (!result)
		result = region_send(session->current, session->symbolizer.channel, REGION_NAMES);
	session->named_frames_asked = 0;
	return result;
}

/* The next one reads nothing but records: whatever file it was that its predecessors died on. */
static void go_on_without_tables(struct session *session, struct worker *worker)
{
	session->without_tables = true;
	worker->nr_deaths = 0;
	snprintf(session->notice, sizeof(session->notice), "%s", SESSION_WITHOUT_TABLES);
}

int session_bury(struct session *session, struct worker *worker)
{
	int wait_status;
	bool too_often;
	struct part *part = parts_find(session->parts, worker);
	const bool is_source = is_collector(session, worker);
	int result = hear_last_words(session, worker);
	if (result)
		return result;
	broker_forget(session->broker, reader_of(session, worker), worker->channel);
	worker_reap(worker, &wait_status, &too_often);
	if (is_source && (part ? part->is_done : session->source_done)) {
		session->owes_tables = false;
		return 0;
	}
	session->stats.restarts++;
	session_note_death(session, worker, wait_status,
			   !session_is_recording(session) &&
				   (!too_often || (is_source && !session->without_tables)));
	if (session_is_recording(session)) {
		error_set(session->error, -EIO, "the process that read '%s' died", session->path);
		return error_remedy(session->error, "read another copy of it, or record again");
	}
	set_aside_module(session, worker, wait_status);
	if (too_often && !is_source) {
		snprintf(session->notice, sizeof(session->notice),
			 "new code has no names: the process that reads them died %d times in 10 s",
			 WORKER_MAX_DEATHS);
		return 0;
	}
	if (too_often && (session->without_tables || session->sampling.strict))
		return give_up_collector(session);
	if (too_often)
		go_on_without_tables(session, worker);
	result = part	     ? part_restart(session, part, wait_status)
		 : is_source ? restart_collector(session, wait_status)
			     : restart_symbolizer(session);
	if (part && result == -ENOSPC)
		return give_up_collector(session);
	return result == -EPIPE ? 0 : result; /* it died at once: its pidfd tells */
}
