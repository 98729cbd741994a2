/* SPDX-License-Identifier: MIT */
#include "infos.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <fcntl.h>

#include <ctop/base/clock.h>

/* Collects the first error, so that the lists below read as lists. */
struct adder {
	const struct infos_sink *sink;
	int result;
};

static void add(struct adder *adder, const char *key, const char *value)
{
	if (!adder->result)
		adder->result = adder->sink->add(adder->sink->context, key, value);
}

static void add_number(struct adder *adder, const char *key, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	add(adder, key, text);
}

/* The command line of ctop itself, as ps would show it. */
static void add_command_line(struct adder *adder)
{
	char text[4096];
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	ssize_t size = read(fd, text, sizeof(text) - 1);
	close(fd);
	if (size <= 0)
		return;
	for (ssize_t i = 0; i + 1 < size; i++)
		if (!text[i])
			text[i] = ' ';
	text[size] = '\0';
	add(adder, "command_line", text);
}

static void add_machine(struct adder *adder)
{
	struct utsname name;
	add(adder, "version", CTOP_VERSION);
	add_command_line(adder);
	if (uname(&name) == 0) {
		add(adder, "hostname", name.nodename);
		add(adder, "kernel", name.release);
		add(adder, "arch", name.machine);
	}
	add_number(adder, "nr_cpus", (uint64_t)sysconf(_SC_NPROCESSORS_ONLN));
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	add_number(adder, "start_wall_ns",
		   (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec);
	add_number(adder, "start_ns", clock_now_ns());
}

static const char *call_graph_name(enum call_graph call_graph)
{
	switch (call_graph) {
	case CALL_GRAPH_AUTO:
		return "auto";
	case CALL_GRAPH_DWARF:
		return "dwarf";
	case CALL_GRAPH_FP:
		return "fp";
	case CALL_GRAPH_NO:
		return "no";
	}
	return "unknown";
}

int infos_start(const struct session *session, const struct options *options,
		const struct infos_sink *sink)
{
	struct adder adder = {sink, 0};
	const struct sampler *sampler = session_sampler(session);
	const struct sampler_opened *event = sampler_opened(sampler, 0);
	add_machine(&adder);
	add(&adder, "target", session_target(session));
	add(&adder, "target_kind", session_target_kind(session));
	if (options->system_wide)
		add_number(&adder, "sampled_cpus", sampler_nr_rings(sampler));
	add(&adder, "event.asked", options->nr_events ? options->events[0].asked : "cycles");
	add(&adder, "event.opened", event->name);
	add_number(&adder, "event.period", event->period);
	add_number(&adder, "event.frequency_hz", event->frequency_hz);
	add_number(&adder, "event.asked_count", options->count);
	add(&adder, "call_graph", call_graph_name(options->call_graph));
	add_number(&adder, "dump_bytes", sampler_dump_bytes(sampler));
	add_number(&adder, "ring_pages", sampler_ring_pages(sampler));
	for (size_t i = 0; i < session_nr_steps(session); i++) {
		char key[32];
		snprintf(key, sizeof(key), "step_down.%zu", i);
		add(&adder, key, session_step_down(session, i));
	}
	return adder.result;
}

int infos_end(const struct session_stats *stats, const struct infos_sink *sink)
{
	struct adder adder = {sink, 0};
	add_number(&adder, "duration_ns", stats->end_ns - stats->start_ns);
	add_number(&adder, "stats.samples", stats->samples);
	add_number(&adder, "stats.lost", stats->lost);
	add_number(&adder, "stats.late", stats->late);
	add_number(&adder, "stats.throttled", stats->throttled);
	add_number(&adder, "stats.dropped.overrun", stats->dropped_overrun);
	add_number(&adder, "stats.dropped.disk", stats->dropped_disk);
	add_number(&adder, "stats.dropped.crash", stats->dropped_crash);
	add_number(&adder, "stats.dropped.damaged", stats->dropped_damaged);
	add_number(&adder, "stats.dropped.double", stats->dropped_double);
	add_number(&adder, "stats.dropped.own", stats->dropped_own);
	add_number(&adder, "stats.dropped.foreign", stats->dropped_foreign);
	add_number(&adder, "stats.dropped.comm", stats->dropped_comm);
	add_number(&adder, "stats.dropped.uid", stats->dropped_uid);
	add_number(&adder, "stats.drained", stats->drained);
	add_number(&adder, "stats.events_counted", stats->events_counted);
	add_number(&adder, "stats.events_sampled", stats->events_sampled);
	add_number(&adder, "stats.undrained", stats->undrained);
	add_number(&adder, "stats.frames", stats->frames);
	for (uint32_t end = 0; end < NR_STACK_ENDS; end++) {
		char key[64];
		snprintf(key, sizeof(key), "stats.ends.%s", stack_end_name(end));
		add_number(&adder, key, stats->ends[end]);
	}
	add_number(&adder, "stats.cpu_ns.main", stats->cpu_ns[0]);
	add_number(&adder, "stats.cpu_ns.collector", stats->cpu_ns[1]);
	add_number(&adder, "stats.cpu_ns.symbolizer", stats->cpu_ns[2]);
	add_number(&adder, "stats.cpu_ns.writer", stats->cpu_ns[3]);
	add_number(&adder, "stats.peak_rss_bytes", stats->peak_rss_bytes);
	add_number(&adder, "stats.ring_bytes", stats->ring_bytes);
	if (stats->first_stack_ns > stats->opened_ns)
		add_number(&adder, "stats.first_stack_ns",
			   stats->first_stack_ns - stats->opened_ns);
	add_number(&adder, "stats.restarts", stats->restarts);
	for (size_t i = 0; i < stats->nr_unreadable; i++) {
		char key[32];
		snprintf(key, sizeof(key), "unreadable.%zu", i);
		add(&adder, key, stats->unreadable[i]);
	}
	return adder.result;
}
