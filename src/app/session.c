/* SPDX-License-Identifier: MIT */
#include <ctop/app/session.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/jail.h>
#include <ctop/format/recording.h>
#include <ctop/perfdata/perfdata.h>
#include <ctop/perf/sampler.h>

#include "broker.h"
#include "region.h"
#include "session_setup.h"
#include "target.h"
#include "worker.h"

/* Samples handed to the consumer at a time. */
enum { BATCH = 4096 };
/* How long the end of a session, or of an epoch, waits for names still being read. */
#define NAMES_PATIENCE_NS (10 * NS_PER_SECOND)
/* How long a start may take until the rings are mapped. */
#define START_PATIENCE_NS (10 * NS_PER_SECOND)
/* New frames are named in batches: waking the symbolizer for each would cost more than the names. */
#define NAMES_INTERVAL_NS (50 * NS_PER_MS)
#define HOUSEKEEPING_NS	  NS_PER_SECOND
#define LATE_LOOK_NS	  (200 * NS_PER_MS)

enum phase {
	PHASE_OPEN, /* children run, sampling is off */
	PHASE_RUNNING,
	PHASE_STOPPING, /* the collector or the reader takes what is left */
	PHASE_NAMING,	/* the symbolizer finishes */
	PHASE_DRAINED,
};

struct session {
	struct session_consumer consumer;
	struct target target;	 /* live only */
	struct sampler *sampler; /* live only */
	struct sampler_options sampling;
	char *path; /* of a file; NULL: live */
	int source_fd;
	bool is_perfdata; /* the file has no stacks and no names, but what they are made from */
	char source_note[PROTOCOL_CAUSE_MAX];
	struct broker *broker;
	struct worker collector;  /* or the reader */
	struct worker symbolizer; /* live only */
	struct region regions[2]; /* readers keep pointers into them: a region stays where it is */
	struct region *current, *next; /* next: epoch 0 until it is asked for */
	bool mapped, source_done;
	bool owes_tables;  /* the collector has filled next, too, and waits */
	bool left_current; /* the collector goes on in next, but did not live to say so in current */
	bool starts_off;
	bool on;      /* sampling, or about to */
	bool pausing; /* the collector takes what was sampled before it was switched off */
	uint64_t off_since_ns;
	enum phase phase;
	int watched_fd;
	uint64_t symbolizer_due_ns;  /* when it may be woken again */
	uint64_t named_frames_asked; /* frames published when the symbolizer was woken last */
	uint64_t patience_until_ns;
	uint64_t housekeeping_ns;
	uint64_t late_look_ns; /* when to look for threads that slipped through */
	struct session_stats stats;
	struct recording_read read; /* of a file */
	int failure;		    /* -errno that ends the session, with its cause */
	struct error *error;
	struct sample batch[BATCH];
};

static bool is_live(const struct session *session)
{
	return session->path == NULL;
}

/* A recording is read by the reader, and has its names inside. */
static bool is_recording(const struct session *session)
{
	return session->path && !session->is_perfdata;
}

/* ---- epochs ---- */

static int begin_epoch(struct session *session)
{
	session->named_frames_asked = 0;
	int result = session->consumer.begin_epoch(
		session->consumer.context, &session->current->tables, &session->current->symbols);
	if (!result && session->symbolizer.channel)
		result = region_send(session->current, session->symbolizer.channel, true);
	return result;
}

/* The child needs a fresh region: it goes on there at once, readers follow when they are through. */
static int give_tables(struct session *session)
{
	session->owes_tables = session->next->epoch != 0;
	if (session->owes_tables)
		return 0; /* until the readers have left current */
	bool first = !session->current->epoch;
	struct region *region = first ? session->current : session->next;
	int result = region_open(region, first ? 1 : session->current->epoch + 1);
	if (!result)
		result = region_send(region, session->collector.channel, is_recording(session));
	if (!result && first)
		result = begin_epoch(session);
	return result;
}

static struct region *region_of(struct session *session, uint32_t epoch)
{
	if (epoch && session->current->epoch == epoch)
		return session->current;
	return epoch && session->next->epoch == epoch ? session->next : NULL;
}

/* True when every frame published so far has its final name. */
static bool names_final(struct session *session)
{
	const struct child_status *status = session->symbolizer.status;
	if (!session->symbolizer.pid)
		return true;
	tables_reader_refresh(&session->current->reader);
	return atomic_load(&status->named_epoch) == session->current->epoch &&
	       atomic_load(&status->named_frames) >= session->current->reader.nr[TABLE_FRAMES];
}

static void wake_symbolizer(struct session *session)
{
	tables_reader_refresh(&session->current->reader);
	uint64_t frames = session->current->reader.nr[TABLE_FRAMES];
	uint64_t now = clock_now_ns();
	if (frames == session->named_frames_asked || now < session->symbolizer_due_ns)
		return;
	session->symbolizer_due_ns = now + NAMES_INTERVAL_NS;
	session->named_frames_asked = frames;
	worker_signal(&session->symbolizer);
}

/* ---- samples ---- */

static void count(struct session *session, const struct sample *samples, size_t nr)
{
	struct session_stats *stats = &session->stats;
	stats->samples += nr;
	for (size_t i = 0; i < nr; i++) {
		stats->events_sampled += samples[i].weight;
		if (samples[i].end < NR_STACK_ENDS)
			stats->ends[samples[i].end]++;
		if (samples[i].end == STACK_COMPLETE && !stats->first_stack_ns)
			stats->first_stack_ns = samples[i].time_ns;
	}
}

/* Hands everything that the ring holds to the consumer. */
static int drain(struct session *session)
{
	while (session->current->epoch) {
		tables_reader_refresh(&session->current->reader);
		bool closed = session->current->reader.closed || session->left_current;
		size_t nr;
		while ((nr = tables_read_samples(&session->current->tables, session->batch, BATCH,
						 &session->stats.dropped_overrun))) {
			int result = session->consumer.samples(session->consumer.context,
							       session->batch, nr);
			if (result == -EAGAIN)
				session->stats.dropped_disk += nr;
			else if (result)
				return result;
			else
				count(session, session->batch, nr);
			if (!is_live(session))
				worker_signal(&session->collector); /* there is room again */
		}
		if (!closed || !session->next->epoch)
			return 0;
		uint64_t now = clock_now_ns();
		if (!is_recording(session) && !names_final(session)) {
			if (!session->patience_until_ns)
				session->patience_until_ns = now + NAMES_PATIENCE_NS;
			if (now < session->patience_until_ns)
				return 0;
		}
		session->patience_until_ns = 0;
		struct region *old = session->current;
		session->left_current = false;
		session->current = session->next;
		session->next = old;
		int result = begin_epoch(session);
		region_close(old);
		if (!result && session->owes_tables)
			result = give_tables(session);
		if (result && result != -EPIPE && result != -ENOBUFS)
			return result;
	}
	return 0;
}

/* ---- on and off ---- */

/*
 * The maps of the target right before its events are switched on, and right after: what is
 * mapped later comes as a record, what is unmapped before the collector would ask is known.
 */
static int describe_targets(struct session *session)
{
	int result = 0;
	for (size_t i = 0; !result && i < session->sampling.nr_pids; i++)
		if (!session->sampling.enable_on_exec)
			result = broker_describe_tree(session->collector.channel,
						      session->sampling.pids[i]);
	/* It can still ask for what does not fit into the channel now; so can its successor. */
	if (!result || result == -ENOBUFS || result == -EPIPE)
		return 0;
	return error_set(session->error, result, "cannot tell the collector of the target: %s",
			 strerror(-result));
}

static int switch_on(struct session *session)
{
	int result = describe_targets(session);
	if (result)
		return result;
	/* What cannot be attached any more (too few descriptors, a collector that died) is left: sampling goes on. */
	setup_late_threads(&session->collector, session->sampler);
	session->stats.start_ns += clock_now_ns() - session->off_since_ns;
	result = sampler_enable(session->sampler);
	if (result)
		return error_set(session->error, result, "cannot switch the events on: %s",
				 strerror(-result));
	return describe_targets(session);
}

/* ---- what the children say ---- */

/* What a child's role has no use for it must not say: it may be somebody else's by now. */
static bool may_say(const struct session *session, const struct worker *worker, uint32_t kind)
{
	bool is_source = worker == &session->collector;
	switch (kind) {
	case MESSAGE_NEED_MODULE:
	case MESSAGE_NEED_DEBUG_FILE:
		return !is_recording(session);
	case MESSAGE_MAPPED:
		return is_source && !is_recording(session);
	case MESSAGE_NEED_PROCESS:
	case MESSAGE_DOUBLE:
		return is_source && is_live(session);
	case MESSAGE_PAUSED:
		return is_source && session->pausing;
	case MESSAGE_READ:
		return is_source && is_recording(session);
	default:
		return is_source;
	}
}

static enum broker_reader reader_of(const struct session *session, const struct worker *worker)
{
	return worker == &session->collector ? BROKER_COLLECTOR : BROKER_SYMBOLIZER;
}

static int take_read(struct session *session, const struct message_read *message)
{
	session->read = (struct recording_read){
		.chunks = message->chunks,
		.samples = message->samples,
		.lost_samples = message->lost_samples,
		.maimed_samples = message->maimed_samples,
		.lost_chunks = message->lost_chunks,
		.damaged_places = message->damaged_places,
		.skipped_bytes = message->skipped_bytes,
		.whole = message->whole != 0,
	};
	return 0;
}

/* The collector or the reader is through. What a collector could not get over, its successor may. */
static int finish_source(struct session *session, const struct message_result *message)
{
	session->source_done = is_recording(session) || !message->error;
	if (!message->error)
		snprintf(session->source_note, sizeof(session->source_note), "%s", message->cause);
	if (!message->error || !is_recording(session))
		return 0;
	error_set(session->error, message->error, "cannot read '%s': %s", session->path,
		  message->cause[0] ? message->cause : strerror(-message->error));
	error_remedy(session->error,
		     "make one with ctop record -o FILE, or use the ctop that wrote it");
	return message->error;
}

/* The collector has, or has not, what it is to read. */
static int finish_mapping(struct session *session, const struct message_result *message)
{
	session->mapped = !message->error;
	if (session->mapped)
		return session->sampler ? sampler_redirect(session->sampler) : 0;
	if (is_live(session))
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

static int answer(struct session *session, struct worker *worker, const struct message *message)
{
	struct region *region;
	if (!may_say(session, worker, message->kind))
		return -EPROTO;
	switch (message->kind) {
	case MESSAGE_MAPPED:
		return finish_mapping(session, &message->result);
	case MESSAGE_PAUSED:
		session->pausing = false;
		return session->on && session->phase == PHASE_RUNNING ? switch_on(session) : 0;
	case MESSAGE_NEED_MODULE:
		region = region_of(session, message->module.epoch);
		return broker_answer_module(session->broker, worker->channel,
					    reader_of(session, worker), &message->module,
					    region ? &region->tables : NULL);
	case MESSAGE_NEED_DEBUG_FILE:
		region = region_of(session, message->module.epoch);
		return broker_answer_debug_file(session->broker, worker->channel,
						reader_of(session, worker), &message->module,
						region ? &region->tables : NULL);
	case MESSAGE_NEED_PROCESS:
		return broker_answer_process(worker->channel, &message->process);
	case MESSAGE_NEED_TABLES:
		return give_tables(session);
	case MESSAGE_DOUBLE:
		sampler_close_id(session->sampler, message->twice.id);
		return 0;
	case MESSAGE_READ:
		return take_read(session, &message->read);
	case MESSAGE_DONE:
		return finish_source(session, &message->result);
	default:
		return -EPROTO; /* out of turn */
	}
}

static int listen(struct session *session, struct worker *worker)
{
	while (worker->channel) {
		struct message message;
		int fd = -1;
		int got = protocol_receive(worker->channel, &message, &fd);
		if (got == -EAGAIN || got == 0)
			return 0; /* gone: the pidfd tells */
		int result = got < 0 ? got : answer(session, worker, &message);
		/* Nonsense: whatever happened to it, its successor starts anew. */
		if (result == -EPROTO) {
			worker_end(worker);
			return 0;
		}
		/* A full or broken channel is the child's end, which its pidfd will tell. */
		if (result && result != -EPIPE && result != -ENOBUFS)
			return result;
	}
	return 0;
}

/* ---- children that die ---- */

/* The module that it was reading, if that was its end. */
static void set_aside_module(struct session *session, const struct worker *worker, int wait_status)
{
	uint32_t module = atomic_exchange(&worker->status->busy_module, 0);
	uint32_t epoch = atomic_load(&worker->status->busy_epoch);
	struct region *region = region_of(session, epoch);
	if (module && region && worker_fell(worker, wait_status))
		broker_set_unreadable(session->broker, reader_of(session, worker), &region->tables,
				      module - 1);
}

static int tell_collector(struct session *session, const struct region *region, int32_t skip_cpu,
			  uint64_t skip_position)
{
	if (session->is_perfdata)
		return setup_file_collector(&session->collector, session->source_fd, region,
					    skip_cpu, skip_position);
	return setup_collector(&session->collector, session->sampler, &session->sampling,
			       session->symbolizer.pid, region, skip_cpu, skip_position);
}

static int restart_collector(struct session *session)
{
	const struct child_status *status = session->collector.status;
	int32_t skip_cpu = atomic_load(&status->busy_cpu);
	uint64_t skip_position = atomic_load(&status->busy_position);
	struct region *region = session->next->epoch ? session->next : session->current;
	session->mapped = false;
	session->left_current = session->next->epoch != 0;
	int result = worker_start(&session->collector, "collector");
	if (!result)
		result = tell_collector(session, region, skip_cpu, skip_position);
	if (!result && session->pausing)
		result = setup_pause(&session->collector);
	if (!result && session->phase == PHASE_STOPPING)
		result = setup_stop(&session->collector);
	return result;
}

static int restart_symbolizer(struct session *session)
{
	atomic_store(&session->symbolizer.status->busy_cpu, -1);
	int result = worker_start(&session->symbolizer, "symbolizer");
	if (!result)
		result = region_send(session->current, session->symbolizer.channel, true);
	session->named_frames_asked = 0;
	return result;
}

static int bury(struct session *session, struct worker *worker)
{
	int wait_status;
	bool too_often;
	bool is_collector = worker == &session->collector;
	int result = listen(session, worker); /* its last words */
	if (result)
		return result;
	worker_reap(worker, &wait_status, &too_often);
	if (is_collector && session->source_done)
		return 0;
	session->stats.restarts++;
	if (is_recording(session)) {
		error_set(session->error, -EIO, "the process that read '%s' died", session->path);
		error_remedy(session->error, "read another copy of it, or record again");
		return -EIO;
	}
	set_aside_module(session, worker, wait_status);
	if (too_often && !is_collector)
		return 0; /* go on without names */
	if (too_often) {
		error_set(session->error, -EIO, "the collector died %d times in 10 s",
			  WORKER_MAX_DEATHS);
		error_remedy(session->error, "what came before is kept; --call-graph fp reads no "
					     "unwind tables, which may be what it dies on");
		return -EIO;
	}
	result = is_collector ? restart_collector(session) : restart_symbolizer(session);
	return result == -EPIPE ? 0 : result; /* it died at once: its pidfd tells */
}

/* ---- the loop ---- */

/* A second look: where every CPU is busy, a thread may be in the middle of starting another for some 10 ms. */
static void look_for_late_threads(struct session *session, uint64_t now)
{
	if (now < session->late_look_ns || session->phase != PHASE_RUNNING || !session->on)
		return;
	session->late_look_ns = UINT64_MAX;
	if (setup_late_threads(&session->collector, session->sampler) == 0)
		sampler_enable(session->sampler);
}

static void keep_house(struct session *session)
{
	uint64_t now = clock_now_ns();
	if (is_live(session))
		look_for_late_threads(session, now);
	if (now < session->housekeeping_ns)
		return;
	session->housekeeping_ns = now + HOUSEKEEPING_NS;
	uint64_t bytes = process_anon_bytes(getpid()) + worker_anon_bytes(&session->collector) +
			 worker_anon_bytes(&session->symbolizer) +
			 region_used_bytes(session->current) + region_used_bytes(session->next);
	if (bytes > session->stats.peak_rss_bytes)
		session->stats.peak_rss_bytes = bytes;
	if (!is_recording(session)) {
		worker_end_if_stuck(&session->collector);
		worker_end_if_stuck(&session->symbolizer);
	}
}

enum { NR_WORKER_FDS = 3 };

static size_t poll_worker(const struct worker *worker, struct pollfd *fds)
{
	if (!worker->pid)
		return 0;
	fds[0] = (struct pollfd){.fd = worker->pid_fd, .events = POLLIN};
	fds[1] = (struct pollfd){.fd = worker->from_child, .events = POLLIN};
	fds[2] = (struct pollfd){
		.fd = channel_fd(worker->channel),
		.events = (short)(channel_waiting(worker->channel) ? POLLIN | POLLOUT : POLLIN),
	};
	return NR_WORKER_FDS;
}

static int serve_worker(struct session *session, struct worker *worker, const struct pollfd *fds)
{
	if (fds[1].revents)
		worker_clear_signal(worker);
	if (fds[2].revents & POLLOUT)
		channel_flush(worker->channel); /* a broken channel shows in the pidfd */
	int result = fds[2].revents & (POLLIN | POLLHUP) ? listen(session, worker) : 0;
	if (!result && fds[0].revents)
		result = bury(session, worker);
	return result;
}

static int wait_and_serve(struct session *session, int timeout_ms)
{
	size_t nr_targets = session->phase == PHASE_RUNNING ? session->target.nr_pid_fds : 0;
	struct pollfd *fds = calloc(2 * NR_WORKER_FDS + 1 + nr_targets, sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	size_t nr_collector = poll_worker(&session->collector, fds);
	size_t nr_symbolizer = poll_worker(&session->symbolizer, fds + nr_collector);
	size_t nr = nr_collector + nr_symbolizer;
	fds[nr++] = (struct pollfd){.fd = session->watched_fd, .events = POLLIN};
	for (size_t i = 0; i < nr_targets; i++)
		fds[nr++] = (struct pollfd){.fd = session->target.pid_fds[i], .events = POLLIN};
	int result = 0;
	if (poll(fds, nr, timeout_ms) < 0)
		result = errno == EINTR ? 0 : -errno;
	else {
		if (nr_collector)
			result = serve_worker(session, &session->collector, fds);
		if (!result && nr_symbolizer)
			result = serve_worker(session, &session->symbolizer, fds + nr_collector);
	}
	free(fds);
	return result;
}

static int advance(struct session *session)
{
	uint64_t now = clock_now_ns();
	if (session->phase == PHASE_RUNNING && is_live(session) &&
	    target_ended(&session->target, &session->stats.target_status)) {
		session->stats.target_exited = true;
		session_stop(session);
	}
	if (session->phase == PHASE_RUNNING && !is_live(session) && session->source_done)
		session->phase = PHASE_STOPPING;
	if (session->phase == PHASE_STOPPING && session->source_done) {
		int result = drain(session);
		if (result)
			return result;
		if (session->next->epoch)
			return 0; /* the last epoch's names are awaited: drain() goes on there */
		session->phase = PHASE_NAMING;
		session->patience_until_ns = now + NAMES_PATIENCE_NS;
		worker_signal(&session->symbolizer);
	}
	if (session->phase == PHASE_NAMING &&
	    (is_recording(session) || names_final(session) || now > session->patience_until_ns))
		session->phase = PHASE_DRAINED;
	return 0;
}

int session_step(struct session *session, int timeout_ms, enum session_state *state,
		 struct error *error)
{
	session->error = error;
	int result = wait_and_serve(session, timeout_ms);
	if (!result)
		result = drain(session);
	if (!result) {
		if (!is_recording(session) && session->current->epoch)
			wake_symbolizer(session);
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
	session->source_fd = -1;
	session->target.release_fd = -1;
	session->target.failure_fd = -1;
	worker_init(&session->collector);
	worker_init(&session->symbolizer);
	session->broker = broker_new();
	if (session->broker)
		return session;
	session_free(session);
	return NULL;
}

/* Starts both children on the first epoch, and waits until the rings are mapped. */
static int start_children(struct session *session, struct error *error)
{
	int result = region_open(session->current, 1);
	if (!result)
		result = worker_start(&session->symbolizer, "symbolizer");
	if (!result)
		result = worker_start(&session->collector, "collector");
	if (!result)
		result = tell_collector(session, session->current, -1, 0);
	if (!result)
		result = begin_epoch(session);
	if (result)
		return error_set(error, result, "cannot start ctop's own processes: %s",
				 strerror(-result));
	uint64_t until_ns = clock_now_ns() + START_PATIENCE_NS;
	while (!session->mapped && clock_now_ns() < until_ns) {
		enum session_state state;
		result = session_step(session, 100, &state, error);
		if (result)
			return result;
	}
	if (!session->mapped)
		return error_set(error, -ETIMEDOUT, "the collector did not start within 10 s");
	return 0;
}

struct session *session_open_live(const struct options *options,
				  const struct session_consumer *consumer, struct error *error)
{
	struct session *session = session_new(consumer);
	if (!session) {
		error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	int result = target_open(&session->target, options, error);
	if (!result) {
		/* After the fork of a command, which must stay open to our own events. */
		jail_protect_main();
		setup_sampling(&session->sampling, options, &session->target);
		session->starts_off = options_start_off(options);
		session->sampler = sampler_open(&session->sampling, error);
		result = session->sampler ? start_children(session, error) : -EINVAL;
	}
	if (!result)
		return session;
	session_free(session);
	return NULL;
}

static int open_source(const char *path, bool *is_perfdata, struct error *error)
{
	int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		int code = -errno;
		error_set(error, code, "cannot open '%s': %s", path, strerror(-code));
		error_remedy(error, code == -ENOENT
					    ? "make one with ctop record, or name another file"
					    : "check the file's permissions");
		return code;
	}
	unsigned char head[8] = {0};
	ssize_t got = pread(fd, head, sizeof(head), 0);
	*is_perfdata = got > 0 && perfdata_is(head, (size_t)got);
	if ((got < 0 && errno == ESPIPE) || (got > 0 && recording_is(head, (size_t)got)) ||
	    *is_perfdata)
		return fd;
	int code = got < 0 ? -errno : -EINVAL;
	if (got == 0)
		error_set(error, code, "'%s' is empty", path);
	else if (got < 0)
		error_set(error, code, "cannot read '%s': %s", path, strerror(-code));
	else
		error_set(error, code, "'%s' is neither a ctop recording nor a perf.data file",
			  path);
	error_remedy(error, "make one with ctop record -o FILE");
	close(fd);
	return code;
}

struct session *session_open_file(const char *path, const struct session_consumer *consumer,
				  struct error *error)
{
	struct session *session = session_new(consumer);
	if (!session) {
		error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	int result = 0;
	jail_protect_main();
	session->path = strdup(path);
	session->source_fd = session->path ? open_source(path, &session->is_perfdata, error)
					   : error_set(error, -ENOMEM, "out of memory");
	result = session->source_fd < 0 ? session->source_fd : 0;
	if (!result && session->is_perfdata) {
		broker_serve_recorded(session->broker);
		result = start_children(session, error);
	} else if (!result) {
		result = worker_start(&session->collector, "reader");
		if (!result)
			result = setup_reader(&session->collector, session->source_fd);
		if (result)
			error_set(error, result, "cannot start the reading process: %s",
				  strerror(-result));
	}
	if (!result)
		return session;
	session_free(session);
	return NULL;
}

int session_start(struct session *session, struct error *error)
{
	session->stats.start_ns = session->off_since_ns = clock_now_ns();
	session->phase = PHASE_RUNNING;
	session->on = !session->starts_off;
	session->late_look_ns = session->stats.start_ns + LATE_LOOK_NS;
	session->error = error;
	if (!is_live(session))
		return 0;
	int result = session->on && !session->sampling.enable_on_exec ? switch_on(session) : 0;
	if (!result)
		result = target_start(&session->target, error);
	if (!result && session->on && session->sampling.enable_on_exec)
		result = describe_targets(session);
	return result;
}

int session_switch(struct session *session, bool on, struct error *error)
{
	session->error = error;
	if (!is_live(session) || session->phase != PHASE_RUNNING || on == session->on)
		return 0;
	session->on = on;
	if (on)
		return session->pausing ? 0 : switch_on(session);
	session->off_since_ns = clock_now_ns();
	if (session->pausing)
		return 0; /* it was not on again yet */
	session->pausing = true;
	sampler_disable(session->sampler);
	int result = setup_pause(&session->collector);
	return result == -EPIPE ? 0 : result; /* it died: its successor is told */
}

bool session_is_on(const struct session *session)
{
	return session->on;
}

void session_stop(struct session *session)
{
	if (session->phase != PHASE_RUNNING && session->phase != PHASE_OPEN)
		return;
	session->stats.end_ns = session->on ? clock_now_ns() : session->off_since_ns;
	session->phase = PHASE_STOPPING;
	if (!is_live(session))
		return;
	sampler_disable(session->sampler);
	setup_stop(&session->collector);
}

void session_watch(struct session *session, int fd)
{
	session->watched_fd = fd;
}

void session_free(struct session *session)
{
	if (!session)
		return;
	worker_release(&session->collector);
	worker_release(&session->symbolizer);
	sampler_free(session->sampler);
	target_release(&session->target);
	region_close(session->current);
	region_close(session->next);
	broker_free(session->broker);
	if (session->source_fd >= 0)
		close(session->source_fd);
	free(session->path);
	free(session);
}

/* ---- what it has to tell ---- */

/* What the kernel counted and lost: its own count of losses where it has one, for the last records of loss may be lost too. */
static void read_events(const struct session *session, struct session_stats *stats)
{
	uint64_t summed = 0;
	stats->lost = atomic_load(&session->collector.status->lost);
	for (size_t i = 0; session->sampler && i < session->sampling.nr_events; i++) {
		uint64_t counted, lost;
		sampler_read(session->sampler, i, &counted, &lost);
		stats->events_counted += counted;
		summed += lost;
	}
	if (summed > stats->lost)
		stats->lost = summed;
}

struct session_stats session_stats(struct session *session)
{
	struct session_stats stats = session->stats;
	struct child_status *status = session->collector.status;
	stats.unreadable = broker_unreadable(session->broker, &stats.nr_unreadable);
	stats.cpu_ns[0] = clock_cpu_ns();
	stats.cpu_ns[1] = worker_cpu_ns(&session->collector);
	stats.cpu_ns[2] = worker_cpu_ns(&session->symbolizer);
	if (!stats.end_ns)
		stats.end_ns = session->on ? clock_now_ns() : session->off_since_ns;
	if (session->sampler)
		stats.ring_bytes = (uint64_t)sampler_nr_rings(session->sampler) *
				   (sampler_ring_pages(session->sampler) + 1) *
				   (uint64_t)sysconf(_SC_PAGESIZE);
	if (!status)
		return stats;
	read_events(session, &stats);
	stats.late = atomic_load(&status->late);
	stats.throttled = atomic_load(&status->throttled);
	stats.dropped_crash = atomic_load(&status->skipped);
	stats.dropped_damaged = atomic_load(&status->damaged);
	stats.dropped_double = atomic_load(&status->twice);
	stats.dropped_own = atomic_load(&status->own);
	stats.dropped_foreign = atomic_load(&status->foreign);
	stats.drained = atomic_load(&status->drained);
	stats.frames = atomic_load(&status->frames);
	stats.cache_hits = atomic_load(&status->cache_hits);
	stats.cache_misses = atomic_load(&status->cache_misses);
	return stats;
}

bool session_is_perfdata(const struct session *session)
{
	return session->is_perfdata;
}

const char *session_source_note(const struct session *session)
{
	return session->source_note;
}

struct recording_read session_read(const struct session *session)
{
	return session->read;
}

size_t session_nr_steps(const struct session *session)
{
	return session->sampler ? sampler_nr_steps(session->sampler) : 0;
}

const char *session_step_down(const struct session *session, size_t i)
{
	return sampler_step(session->sampler, i);
}

const char *session_notice(const struct session *session)
{
	return broker_notice(session->broker);
}

const struct sampler *session_sampler(const struct session *session)
{
	return session->sampler;
}

const char *session_target(const struct session *session)
{
	return is_live(session) ? session->target.description : session->path;
}

const char *session_target_kind(const struct session *session)
{
	return is_live(session) ? session->target.kind : "file";
}
