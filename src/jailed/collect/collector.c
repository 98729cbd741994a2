/* SPDX-License-Identifier: MIT */
#include <ctop/collect/collector.h>

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/fault.h>

#include "follow.h"
#include "internal.h"
#include "live.h"
#include "module_files.h"

/*
 * Rings are drained at the kernel's watermark, and this often besides. Where nothing hurries it is half as often once nobody waits
 * for the first names any more, and a quarter as often where nothing came for a while.
 */
enum { DRAIN_INTERVAL_MS = 50, IDLE_ROUNDS = 10 };
/* Where this passes until any ring can have reached its watermark, one timer wakes for all of them; else each ring would. */
enum { REST_LEAST_MS = 10 };
/*
 * Main is woken at most this often, or when the ring of samples has so many that it should not wait. Each time costs it tens of
 * microseconds; only at first somebody waits for the names of what was sampled.
 */
#define TELL_INTERVAL_NS (100 * NS_PER_MS)
#define TELL_FIRST_NS	 (50 * NS_PER_MS)
#define FIRST_FOR_NS	 (2 * NS_PER_SECOND)
enum { TELL_RECORDS = 8192 };
/* While a sample waits for an answer of main's, its patience is looked at this often. */
enum { WAITING_INTERVAL_MS = 10 };

static int add_ring(struct collector *collector, const struct message_ring *message, int fd)
{
	if (fd < 0)
		return -EPROTO;
	if (collector->started) { /* it would never be mapped */
		close(fd);
		return -EPROTO;
	}
	struct collector_ring *rings = reallocarray(collector->source.rings,
						    collector->source.nr_rings + 1, sizeof(*rings));
	if (!rings) {
		close(fd);
		return -ENOMEM;
	}
	collector->source.rings = rings;
	struct collector_ring *ring = &rings[collector->source.nr_rings++];
	*ring = (struct collector_ring){.fd = fd, .cpu = message->cpu};
	return 0;
}

static int add_event_row(struct output *output, const struct message_event *event)
{
	struct event_row row = {
		.period = event->period,
		.frequency_hz = event->frequency_hz,
		.weight_unit = event->unit,
	};
	uint32_t id;
	int result =
		tables_add_string(output->writer, event->opened, strlen(event->opened), &row.name);
	if (!result)
		result = tables_add_string(output->writer, event->asked, strlen(event->asked),
					   &row.asked);
	return result ? result : tables_add_event(output->writer, &row, &id);
}

/* A predecessor may have died in this epoch, its events written. */
static int add_event_rows(struct collector *collector)
{
	struct output *output = &collector->output;
	const struct events *events = &collector->events;
	struct tables_reader reader;
	tables_reader_init(&reader, &output->tables);
	tables_reader_refresh(&reader);
	if (reader.nr[TABLE_EVENTS] > 1)
		return 0;
	int result = 0;
	for (size_t i = 0; i < events->named.nr && !result; i++)
		result = add_event_row(output, &events->named.items[i]);
	return result || !collector->config.wait_pages ? result : waits_add_event(collector);
}

static int open_file(struct collector *collector, struct message_result *answer)
{
	struct error error = {0};
	answer->error = file_start(collector, &error);
	snprintf(answer->cause, sizeof(answer->cause), "%.200s\n%.200s", error.cause, error.remedy);
	return answer->error ? answer->error : add_event_rows(collector);
}

/* Maps every ring, or opens the file, and says how that went. */
static int start(struct collector *collector)
{
	if (collector->started || !collector->status || !collector->output.writer)
		return -EPROTO;
	if (collector->source.fd >= 0 && collector->source.nr_rings)
		return -EPROTO;
	collector->started = true;
	struct message message = {.kind = MESSAGE_MAPPED};
	if (collector->source.fd >= 0) {
		message.result.error = open_file(collector, &message.result);
		int sent = protocol_send(collector->channel, &message, -1);
		return message.result.error ? message.result.error : sent;
	}
	for (size_t i = 0; i < collector->source.nr_rings && !message.result.error; i++) {
		struct collector_ring *ring = &collector->source.rings[i];
		message.result.error =
			ring_map(&ring->ring, ring->fd,
				 ring->cpu == WAIT_RING_CPU ? collector->config.wait_pages
							    : collector->config.ring_pages);
	}
	int result = protocol_send(collector->channel, &message, -1);
	return message.result.error ? message.result.error : result;
}

static int enter_epoch(struct collector *collector, uint32_t epoch, int fd)
{
	int result = output_enter_epoch(&collector->output, epoch, fd);
	return result ? result : add_event_rows(collector);
}

static int add_pids(struct pids *pids, const struct message_pids *message)
{
	for (uint32_t i = 0; i < message->nr; i++)
		if (pids_follow(pids, message->pids[i]))
			return -ENOMEM;
	return 0;
}

static int set_status(struct collector *collector, int fd)
{
	void *page =
		mmap(NULL, sizeof(struct child_status), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (page == MAP_FAILED)
		return -errno;
	if (collector->status)
		munmap(collector->status, sizeof(*collector->status));
	collector->status = page;
	return 0;
}

static int give_module(struct collector *collector, const struct message_module *message, int fd)
{
	struct module *module =
		modules_find_asked(&collector->unwinding.modules, message->epoch, message->module);
	if (!module) {
		if (fd >= 0)
			close(fd);
		return 0;
	}
	module_file_take(collector, module, fd, &message->identity);
	if (message->error == -EUCLEAN)
		module->unreadable = STACK_REASON_UNREADABLE;
	return 0;
}

static void replace_fd(int *fd, int by)
{
	if (*fd >= 0)
		close(*fd);
	*fd = by;
}

/* The file, then those of its directory that have its records. */
static int take_source(struct collector *collector, int fd)
{
	bool has_room = !collector->started && collector->source.nr_parts < PERFDATA_MAX_PARTS;
	if (has_room && collector->source.fd < 0)
		collector->source.fd = fd;
	else if (has_room)
		collector->source.parts[collector->source.nr_parts++] = fd;
	else
		close(fd);
	return has_room ? 0 : -EPROTO;
}

/* fd belongs to whoever handles the message; what nobody took is closed. */
static int handle(struct collector *collector, const struct message *message, int fd)
{
	int result = 0;
	switch ((enum message_kind)message->kind) {
	case MESSAGE_STATUS:
		return set_status(collector, fd);
	case MESSAGE_TO_MAIN:
		replace_fd(&collector->to_main, fd);
		return 0;
	case MESSAGE_TO_CHILD:
		replace_fd(&collector->to_child, fd);
		return 0;
	case MESSAGE_CONFIG:
		collector->config = message->config;
		collector->output.by_offset = message->config.without_tables;
		sets_begin(collector);
		break;
	case MESSAGE_EVENT:
		result = events_add(&collector->events, &message->event);
		break;
	case MESSAGE_IDS:
		result = events_add_ids(&collector->events, &message->ids);
		break;
	case MESSAGE_PIDS:
		result = add_pids(&collector->pids, &message->pids);
		break;
	case MESSAGE_OWN:
		collector->pids.ours = message->own;
		break;
	case MESSAGE_SET:
		sets_use(collector, &message->set);
		break;
	case MESSAGE_RING:
		return add_ring(collector, &message->ring, fd);
	case MESSAGE_TABLES:
		return enter_epoch(collector, message->epoch.epoch, fd);
	case MESSAGE_MODULE:
		return give_module(collector, &message->module, fd);
	case MESSAGE_THREADS:
		result = ask_threads_answer(&collector->following, &message->threads);
		break;
	case MESSAGE_PROCESS:
		result = ask_process_answer(collector, &message->process, fd);
		break;
	case MESSAGE_OWNER:
		sample_filter_owner_answer(&collector->filter, &message->owner,
					   collector->source.last_time_ns);
		break;
	case MESSAGE_CODE:
		result = live_code_answer(collector, &message->code, fd);
		break;
	case MESSAGE_SOURCE:
		return take_source(collector, fd);
	case MESSAGE_START:
		result = start(collector);
		break;
	case MESSAGE_PAUSE:
		collector->pausing = true;
		break;
	case MESSAGE_STOP:
		collector->stopping = true;
		break;
	case MESSAGE_LINES:
	case MESSAGE_KERNEL_CODE:
	case MESSAGE_KEEP_CODE:
	case MESSAGE_SYMBOLS:
	case MESSAGE_OUTPUT:
	case MESSAGE_DEBUG_FILE:
	case MESSAGE_MAPPED:
	case MESSAGE_PAUSED:
	case MESSAGE_NEED_MODULE:
	case MESSAGE_NEED_DEBUG_FILE:
	case MESSAGE_NEED_PROCESS:
	case MESSAGE_NEED_OWNER:
	case MESSAGE_NEED_KERNEL_CODE:
	case MESSAGE_NEED_CODE:
	case MESSAGE_NEED_TABLES:
	case MESSAGE_DOUBLE:
	case MESSAGE_READ:
	case MESSAGE_DONE:
	case NR_MESSAGE_KINDS:
		result = -EPROTO;
		break;
	}
	if (fd >= 0)
		close(fd);
	return result;
}

/* 0; -EPIPE when main has gone; or what a handler could not get over. */
static int handle_messages(struct collector *collector)
{
	for (;;) {
		struct message message;
		int fd = -1;
		int got = protocol_receive(collector->channel, &message, &fd);
		if (got == -EAGAIN)
			return 0;
		if (got <= 0)
			return got ? got : -EPIPE;
		int result = handle(collector, &message, fd);
		if (result)
			return result;
		if (collector->status)
			status_add(&collector->status->turns, 1);
	}
}

static bool is_first(const struct collector *collector)
{
	return !collector->output.first_told_ns ||
	       clock_now_ns() - collector->output.first_told_ns < FIRST_FOR_NS;
}

static bool rests(const struct collector *collector)
{
	return collector->source.nr_idle == 0 && collector->config.rest_ms >= REST_LEAST_MS;
}

static int timeout_ms(const struct collector *collector)
{
	if (!collector->started)
		return -1;
	if (collector->waiting)
		return unwinder_waits_for_code(collector->unwinding.unwinder) ? 0
									      : WAITING_INTERVAL_MS;
	if (collector->source.file && !file_wants_room(&collector->source))
		return 0; /* there is more where that came from */
	int ms = DRAIN_INTERVAL_MS;
	if (collector->config.is_calm && collector->source.nr_idle >= IDLE_ROUNDS)
		ms *= 4;
	else if (collector->config.is_calm && !is_first(collector))
		ms *= 2;
	if (rests(collector) && collector->config.rest_ms < (uint32_t)ms)
		return (int)collector->config.rest_ms;
	return ms;
}

static int wait_for_work(struct collector *collector)
{
	const struct file_source *file = collector->source.file;
	const bool watches = collector->started && !collector->waiting && !rests(collector);
	nfds_t nr_rings = watches ? collector->source.nr_rings : 0;
	nfds_t nr = 2 + nr_rings;
	struct pollfd *fds = calloc(nr, sizeof(*fds));
	if (!fds)
		return -ENOMEM;
	fds[0] = (struct pollfd){
		.fd = channel_fd(collector->channel),
		.events = (short)(channel_waiting(collector->channel) ? POLLIN | POLLOUT : POLLIN),
	};
	fds[1] = (struct pollfd){.fd = file ? collector->to_child : -1, .events = POLLIN};
	for (nfds_t i = 0; i < nr_rings; i++)
		fds[2 + i] = (struct pollfd){.fd = collector->source.rings[i].cpu == WAIT_RING_CPU
							   ? -1 /* memory is always ready */
							   : collector->source.rings[i].fd,
					     .events = POLLIN};
	int result = poll(fds, nr, timeout_ms(collector)) < 0 && errno != EINTR ? -errno : 0;
	uint64_t count;
	if (!result && fds[1].revents & POLLIN &&
	    read(collector->to_child, &count, sizeof(count)) < 0 && errno != EAGAIN)
		result = -errno;
	if (!result && fds[0].revents & POLLOUT)
		result = channel_flush(collector->channel);
	free(fds);
	return result;
}

static void tell_main(struct collector *collector)
{
	static const uint64_t one = 1;
	uint64_t progress =
		atomic_load_explicit(&collector->status->progress, memory_order_relaxed);
	if (progress == collector->output.told_progress)
		return;
	uint64_t now = clock_now_ns();
	bool is_awaited = collector->stopping || collector->pausing ||
			  (collector->source.file && file_wants_room(&collector->source));
	if (!collector->output.first_told_ns)
		collector->output.first_told_ns = now;
	bool soon = now - collector->output.told_ns <
			    (is_first(collector) ? TELL_FIRST_NS : TELL_INTERVAL_NS) &&
		    progress - collector->output.told_progress < TELL_RECORDS;
	if (soon && !is_awaited)
		return; /* the next round is not far */
	collector->output.told_ns = now;
	collector->output.told_progress = progress;
	if (collector->to_main >= 0 && write(collector->to_main, &one, sizeof(one)) < 0)
		return; /* full: main has not looked at the last one yet */
}

static int finish_pause(struct collector *collector)
{
	const struct message message = {.kind = MESSAGE_PAUSED};
	collector->pausing = false;
	follow_forget(collector);
	return protocol_send(collector->channel, &message, -1);
}

static bool is_drained(const struct source *source)
{
	return source->file ? file_drained(source) : merge_drained(source);
}

static int serve(struct collector *collector)
{
	for (;;) {
		/* Before the messages: what main says before it does it is heard before the first record of it is taken. */
		collector->source.clock_ns = clock_now_ns();
		int result = handle_messages(collector);
		if (result)
			return result == -EPIPE ? 0 : result;
		if (collector->started) {
			fault_at("turn", "", collector->channel);
			status_add(&collector->status->turns, 1);
			code_budget_begin(collector);
			result = collector->source.file ? file_round(collector)
							: merge_round(collector);
			code_budget_end(collector);
			tell_main(collector);
			if (result)
				return result;
			result = bound_memory(collector);
			if (result)
				return result;
			bool drained = !collector->waiting && is_drained(&collector->source);
			if ((collector->stopping || collector->source.file) && drained)
				return 0;
			if (collector->pausing && drained)
				result = finish_pause(collector);
			if (result)
				return result;
		}
		result = wait_for_work(collector);
		if (result)
			return result;
	}
}

static void release(struct collector *collector)
{
	file_close(&collector->source);
	if (collector->source.fd >= 0)
		close(collector->source.fd);
	for (size_t i = 0; i < collector->source.nr_parts; i++)
		close(collector->source.parts[i]);
	for (size_t i = 0; i < collector->source.nr_rings; i++) {
		ring_unmap(&collector->source.rings[i].ring);
		if (collector->source.rings[i].fd >= 0)
			close(collector->source.rings[i].fd);
	}
	free(collector->source.rings);
	events_release(&collector->events);
	asks_forget_all(&collector->following);
	sample_filter_forget_all(&collector->filter);
	pids_release(&collector->pids);
	unwinder_free(collector->unwinding.unwinder);
	stitching_free(collector->unwinding.stitching);
	last_stacks_free(collector->unwinding.last_stacks);
	waits_release(&collector->waits);
	modules_release(&collector->unwinding.modules);
	process_table_free(collector->following.processes);
	output_release(&collector->output);
	if (collector->status)
		munmap(collector->status, sizeof(*collector->status));
	if (collector->to_main >= 0)
		close(collector->to_main);
	if (collector->to_child >= 0)
		close(collector->to_child);
	channel_free(collector->channel);
	free(collector);
}

int collector_run(struct channel *channel)
{
	struct collector *collector = calloc(1, sizeof(*collector));
	if (!collector) {
		channel_free(channel);
		return -ENOMEM;
	}
	collector->channel = channel;
	collector->to_main = -1;
	collector->to_child = -1;
	collector->source.fd = -1;
	collector->following.processes = process_table_new();
	collector->unwinding.unwinder = unwinder_new();
	collector->unwinding.stitching = stitching_new();
	collector->unwinding.last_stacks = last_stacks_new();
	int result = -ENOMEM;
	if (collector->following.processes && collector->unwinding.unwinder &&
	    collector->unwinding.stitching && collector->unwinding.last_stacks &&
	    !modules_init(&collector->unwinding.modules))
		result = serve(collector);
	struct message done = {.kind = MESSAGE_DONE, .result = {.error = result}};
	if (!result)
		snprintf(done.result.cause, sizeof(done.result.cause), "%s",
			 file_note(&collector->source));
	protocol_send(channel, &done, -1);
	release(collector);
	return result;
}
