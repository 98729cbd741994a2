/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/metadata.h>

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
#include <ctop/metadata/stats_table.h>

/* Collects the first error, so that the lists below read as lists. */
struct adder {
	const struct metadata_sink *sink;
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

/* Of events that ctop paces; 0: there are none. What others step down to is told as a step. */
static uint64_t least_dump_bytes(const struct sampler *sampler)
{
	const struct sampler_sets *sets = sampler_sets(sampler, true);
	uint64_t least = sets->nr ? UINT64_MAX : 0;
	for (uint32_t i = 0; i < sets->nr; i++)
		if (sets->items[i].dump_bytes < least)
			least = sets->items[i].dump_bytes;
	return least;
}

int metadata_start(const struct session *session, const struct options *options,
		   const struct metadata_sink *sink)
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
	add_number(&adder, "event.unit", event->unit);
	add_number(&adder, "event.period", event->period);
	add_number(&adder, "event.frequency_hz", event->frequency_hz);
	add_number(&adder, "event.asked_count", session_asked_count(session));
	add_number(&adder, "event.asked_hz", session_asked_hz(session));
	add(&adder, "call_graph", call_graph_name(options->call_graph));
	add_number(&adder, "dump_bytes", sampler_dump_bytes(sampler));
	add_number(&adder, "dump_bytes_least", least_dump_bytes(sampler));
	add_number(&adder, "ring_pages", sampler_ring_pages(sampler));
	for (size_t i = 0; i < session_nr_steps(session); i++) {
		char key[32];
		snprintf(key, sizeof(key), "step_down.%zu", i);
		add(&adder, key, session_step_down(session, i));
	}
	return adder.result;
}

static void add_event_stats(struct adder *adder, size_t i, const struct session_event *event)
{
	const struct {
		const char *name;
		uint64_t value;
	} counts[] = {
		{"counted", event->counted},
		{"sampled", event->sampled},
		{"lost", event->lost},
		{"counted_ppm", (uint64_t)(1e6 * event->counted_share + 0.5)},
	};
	for (size_t n = 0; n < sizeof(counts) / sizeof(*counts); n++) {
		char key[STAT_KEY_MAX];
		snprintf(key, sizeof(key), "stats.%s.%zu", counts[n].name, i);
		add_number(adder, key, counts[n].value);
	}
}

int metadata_end(const struct session_stats *stats, const struct metadata_sink *sink)
{
	struct adder adder = {sink, 0};
	add_number(&adder, "duration_ns", stats->end_ns - stats->start_ns);
	for (size_t i = 0; i < nr_stat_rows; i++) {
		char key[STAT_KEY_MAX];
		stat_key(&stat_rows[i], key);
		add_number(&adder, key, stat_value(&stat_rows[i], stats));
	}
	for (size_t i = 0; i < stats->nr_events; i++)
		add_event_stats(&adder, i, &stats->events[i]);
	for (uint32_t end = 0; end < NR_STACK_ENDS; end++) {
		char key[64];
		snprintf(key, sizeof(key), "stats.ends.%s", stack_end_name(end));
		add_number(&adder, key, stats->ends[end]);
	}
	if (stats->first_stack_ns > stats->opened_ns)
		add_number(&adder, "stats.first_stack_ns",
			   stats->first_stack_ns - stats->opened_ns);
	for (size_t i = 0; i < stats->nr_late_steps; i++) {
		char key[32];
		snprintf(key, sizeof(key), "step_down.%zu", stats->nr_steps_before + i);
		add(&adder, key, stats->late_steps[i]);
	}
	for (size_t i = 0; i < stats->nr_unreadable; i++) {
		char key[32];
		snprintf(key, sizeof(key), "unreadable.%zu", i);
		add(&adder, key, stats->unreadable[i]);
	}
	return adder.result;
}
