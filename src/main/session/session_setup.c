/* SPDX-License-Identifier: MIT */
#include <ctop/session/session_setup.h>

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <ctop/store/wait_ring.h>
#include <ctop/system/proc_text.h>

void setup_sampling(struct sampler_options *sampling, const struct options *options, bool waits,
		    const struct target *target)
{
	/* A command may run beside: then it is how long. */
	const bool is_of_cpus = options->system_wide || options->cgroup;
	*sampling = (struct sampler_options){
		.nr_events = options->nr_events,
		.pids = target->pids.items,
		.nr_pids = is_of_cpus ? 0 : target->pids.nr,
		.tids = options->tids.items,
		.nr_tids = options->tids.nr,
		.system_wide = is_of_cpus,
		.follows_all = waits && options_follow_all(options),
		.cgroup_fd = target->cgroup_fd,
		.cpus = options->cpus.items,
		.nr_cpus = options->cpus.nr,
		.enable_on_exec = options->argv && !is_of_cpus && !options_start_off(options),
		/* A thread named by its own number is that thread; perf has it so, too. */
		.inherit = !options->no_inherit && !options->tids.nr,
		.count = options->count,
		.frequency_hz = options->frequency_hz,
		.call_graph = options->call_graph,
		.dump_bytes = options->dump_bytes,
		.ring_pages = options->ring_pages,
		.max_overhead_percent = options->max_overhead_percent,
		.budget_share = options->budget_share,
		.strict = options->strict,
		.adapts = !options->strict,
	};
	memcpy(sampling->events, options->events, sizeof(sampling->events));
	if (!sampling->nr_events) {
		static const char standard[] = "cycles";
		struct error never;
		sampling->nr_events = 1;
		event_parse(standard, strlen(standard), &sampling->events[0], &never);
	}
	if (!sampling->count && !sampling->frequency_hz)
		sampling->frequency_hz = DEFAULT_FREQUENCY_HZ;
}

static int send_config(struct channel *channel, const struct sampler *sampler,
		       const struct sampler_options *sampling, const struct target *target,
		       bool waits, bool without_tables, int32_t skip_cpu, uint64_t skip_position)
{
	const int32_t watched_pid = sampling->nr_pids == 1 ? sampling->pids[0] : 0;
	struct message message = {
		.kind = MESSAGE_CONFIG,
		.config =
			{
				.format = *sampler_format(sampler),
				.ring_pages = sampler_ring_pages(sampler),
				.nr_rings = (uint32_t)sampler_nr_rings(sampler),
				.dump_bytes = sampler_dump_bytes(sampler),
				.rest_ms = sampler_rest_ms(sampler),
				.is_calm = sampler_rest_ms(sampler) && sampler_nr_sideband(sampler),
				.frame_pointers = sampling->call_graph == CALL_GRAPH_FP,
				.leaf_only = sampling->call_graph == CALL_GRAPH_NO,
				.filters_pids = sampler_filters_pids(sampler),
				.drop_own = sampling->system_wide || sampling->nr_cpus,
				.filters_comm = target->only_comm != NULL,
				.filters_uid = target->has_uid,
				.wait_pages = waits ? WAIT_RING_PAGES : 0,
				.without_tables = without_tables,
				.watched_pid = watched_pid,
				.watched_started_ns = watched_pid ? proc_start_ns(watched_pid) : 0,
				.uid = target->uid,
				.skip_cpu = skip_cpu,
				.skip_position = skip_position,
			},
	};
	for (int paced = 0; paced < 2; paced++)
		message.config.sets[paced] = *sampler_sets(sampler, paced);
	for (size_t i = 0; i < sampling->nr_events; i++)
		message.config.in_use[i] = (uint8_t)sampler_set_in_use(sampler, i);
	if (target->only_comm)
		snprintf(message.config.comm, sizeof(message.config.comm), "%s", target->only_comm);
	return protocol_send(channel, &message, -1);
}

static int send_events(struct channel *channel, const struct sampler *sampler,
		       const struct sampler_options *sampling)
{
	int result = 0;
	for (size_t i = 0; !result && i < sampling->nr_events; i++) {
		const struct sampler_opened *opened = sampler_opened(sampler, i);
		struct message message = {.kind = MESSAGE_EVENT};
		message.event.period = opened->period;
		message.event.frequency_hz = opened->frequency_hz;
		message.event.without_period = opened->without_period;
		message.event.paced = opened->paced;
		message.event.unit = opened->unit;
		snprintf(message.event.asked, sizeof(message.event.asked), "%s",
			 sampling->events[i].asked);
		snprintf(message.event.opened, sizeof(message.event.opened), "%s", opened->name);
		result = protocol_send(channel, &message, -1);
	}
	return result;
}

/* Those from a number on. */
static int send_ids(struct channel *channel, const struct sampler *sampler, size_t at)
{
	const struct sampler_id *ids = sampler_ids(sampler);
	size_t nr = sampler_nr_ids(sampler);
	int result = 0;
	while (!result && at < nr) {
		struct message message = {.kind = MESSAGE_IDS};
		struct message_ids *list = &message.ids;
		for (; at < nr && list->nr < PROTOCOL_IDS_MAX; at++, list->nr++) {
			list->ids[list->nr].id = ids[at].id;
			list->ids[list->nr].event = ids[at].event;
			list->ids[list->nr].tid = ids[at].tid;
			list->ids[list->nr].cpu = ids[at].cpu;
			list->ids[list->nr].set = ids[at].set;
		}
		result = protocol_send(channel, &message, -1);
	}
	return result;
}

static int send_pids(struct channel *channel, const struct sampler *sampler)
{
	const size_t nr = sampler_nr_processes(sampler);
	int result = 0;
	for (size_t at = 0; !result && at < nr;) {
		struct message message = {.kind = MESSAGE_PIDS};
		for (; at < nr && message.pids.nr < PROTOCOL_PIDS_MAX; at++)
			if (sampler_process(sampler, at))
				message.pids.pids[message.pids.nr++] = sampler_process(sampler, at);
		result = protocol_send(channel, &message, -1);
	}
	return result;
}

static int send_rings(struct channel *channel, const struct sampler *sampler, int waits_fd)
{
	const struct sampler_ring *rings = sampler_rings(sampler);
	int result = 0;
	for (size_t i = 0; !result && i < sampler_nr_rings(sampler); i++) {
		const struct message message = {.kind = MESSAGE_RING, .ring = {rings[i].cpu}};
		result = protocol_send(channel, &message, rings[i].fd);
	}
	if (!result && waits_fd >= 0) {
		const struct message message = {.kind = MESSAGE_RING, .ring = {WAIT_RING_CPU}};
		result = protocol_send(channel, &message, waits_fd);
	}
	return result;
}

static int send_plain(struct channel *channel, enum message_kind kind, int fd)
{
	const struct message message = {.kind = kind};
	return protocol_send(channel, &message, fd);
}

int setup_own(struct worker *worker, const struct message_own *own)
{
	const struct message message = {.kind = MESSAGE_OWN, .own = *own};
	return worker->channel ? protocol_send(worker->channel, &message, -1) : 0;
}

int setup_collector(struct worker *worker, const struct sampler *sampler,
		    const struct sampler_options *sampling, const struct target *target,
		    const struct message_own *own, const struct region *region, int waits_fd,
		    bool without_tables, int32_t skip_cpu, uint64_t skip_position)
{
	struct channel *channel = worker->channel;
	int result = send_config(channel, sampler, sampling, target, waits_fd >= 0, without_tables,
				 skip_cpu, skip_position);
	if (!result)
		result = setup_own(worker, own);
	if (!result)
		result = send_events(channel, sampler, sampling);
	if (!result)
		result = send_ids(channel, sampler, 0);
	if (!result)
		result = send_pids(channel, sampler);
	if (!result)
		result = send_rings(channel, sampler, waits_fd);
	if (!result)
		result = region_send(region, channel, REGION_TABLES);
	return result ? result : send_plain(channel, MESSAGE_START, -1);
}

int setup_late_threads(struct worker *worker, struct sampler *sampler)
{
	if (!worker->channel)
		return -EPIPE;
	size_t nr_before = sampler_nr_ids(sampler);
	int result = sampler_attach_late(sampler);
	int sent = send_ids(worker->channel, sampler, nr_before);
	return result ? result : sent;
}

int setup_file_collector(struct worker *worker, const struct source *source,
			 const struct region *region, bool without_tables,
			 const struct message_part *part)
{
	const struct message message = {
		.kind = MESSAGE_CONFIG,
		.config = {.without_tables = without_tables, .skip_cpu = -1, .part = *part},
	};
	int result = protocol_send(worker->channel, &message, -1);
	if (!result)
		result = send_plain(worker->channel, MESSAGE_SOURCE, source->fd);
	for (size_t i = 0; !result && i < source->nr_parts; i++)
		result = send_plain(worker->channel, MESSAGE_SOURCE, source->parts[i]);
	if (!result)
		result = region_send(region, worker->channel, REGION_TABLES);
	return result ? result : send_plain(worker->channel, MESSAGE_START, -1);
}

int setup_reader(struct worker *worker, int source_fd)
{
	int result = send_plain(worker->channel, MESSAGE_SOURCE, source_fd);
	return result ? result : send_plain(worker->channel, MESSAGE_START, -1);
}

int setup_set(struct worker *worker, const struct message_set *set)
{
	const struct message message = {.kind = MESSAGE_SET, .set = *set};
	return worker->channel ? protocol_send(worker->channel, &message, -1) : 0;
}

int setup_pause(struct worker *worker)
{
	return worker->channel ? send_plain(worker->channel, MESSAGE_PAUSE, -1) : 0;
}

int setup_lines(struct worker *worker)
{
	return worker->channel ? send_plain(worker->channel, MESSAGE_LINES, -1) : 0;
}

int setup_keep_code(struct worker *worker)
{
	return worker->channel ? send_plain(worker->channel, MESSAGE_KEEP_CODE, -1) : 0;
}

int setup_stop(struct worker *worker)
{
	return worker->channel ? send_plain(worker->channel, MESSAGE_STOP, -1) : 0;
}
