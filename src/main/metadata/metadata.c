/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/metadata.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/system/distribution.h>

#include "fact_table.h"

static int set_info(void *context, const char *key, const char *value)
{
	return history_set_info(context, key, value);
}

struct metadata_sink metadata_to_history(struct history *history)
{
	return (struct metadata_sink){history, set_info};
}

/* Collects the first error, so that what follows reads as a list. */
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

static void add_list(struct adder *adder, const char *key, const struct fact_list *list)
{
	char numbered[FACT_KEY_MAX];
	for (size_t i = 0; i < list->nr; i++)
		add(adder, fact_key_of(numbered, key, list->first + i), list->items[i]);
}

static void add_ends(struct adder *adder, const char *key, const uint64_t ends[NR_STACK_ENDS])
{
	char named[FACT_KEY_MAX];
	for (uint32_t end = 0; end < NR_STACK_ENDS; end++)
		add_number(adder, fact_key_of_end(named, key, end), ends[end]);
}

static void add_fact(struct adder *adder, const char *key, const struct fact_row *row,
		     const void *base)
{
	const void *fact = fact_at(row, base);
	switch (row->kind) {
	case FACT_TEXT:
		if (*(const char *const *)fact)
			add(adder, key, *(const char *const *)fact);
		return;
	case FACT_NUMBER:
	case FACT_NS:
		if (!row->unless_0 || fact_number(row, base))
			add_number(adder, key, fact_number(row, base));
		return;
	case FACT_SHARE:
		add_number(adder, key, (uint64_t)(1e6 * fact_decimal(row, base) + 0.5));
		return;
	case FACT_LIST:
		add_list(adder, key, fact);
		return;
	case FACT_ENDS:
		add_ends(adder, key, fact);
		return;
	case FACT_DECIMAL: /* of --stats alone */
		return;
	}
}

static int add_facts(const struct metadata_sink *sink, const struct run_facts *facts, unsigned uses)
{
	struct adder adder = {sink, 0};
	char key[FACT_KEY_MAX];
	for (size_t i = 0; i < nr_fact_rows; i++)
		if (fact_rows[i].key && fact_rows[i].uses & uses)
			add_fact(&adder, fact_rows[i].key, &fact_rows[i], facts);
	for (size_t event = 0; event < facts->stats.nr_events && uses & FACT_AT_END; event++) {
		for (size_t i = 0; i < nr_event_fact_rows; i++) {
			const struct fact_row *row = &event_fact_rows[i];
			if (row->key)
				add_fact(&adder, fact_key_of(key, row->key, event), row,
					 &facts->stats.events[event]);
		}
	}
	return adder.result;
}

/* The command line of ctop itself, as ps would show it; NULL: it cannot be had. */
static const char *command_line(char *text, size_t max)
{
	int fd = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return NULL;
	ssize_t size = read(fd, text, max - 1);
	close(fd);
	if (size <= 0)
		return NULL;
	for (ssize_t i = 0; i + 1 < size; i++)
		if (!text[i])
			text[i] = ' ';
	text[size] = '\0';
	return text;
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

/* Of events that ctop paces; 0: there are none. What others fall back to is reported as a fallback. */
static uint64_t least_dump_bytes(const struct sampler *sampler)
{
	const struct sampler_sets *sets = sampler_sets(sampler, true);
	uint64_t least = sets->nr ? UINT64_MAX : 0;
	for (uint32_t i = 0; i < sets->nr; i++)
		if (sets->items[i].dump_bytes < least)
			least = sets->items[i].dump_bytes;
	return least;
}

/* A container's packages are not known: nobody but its own tools could say. */
static enum distribution distribution_of_target(const struct session *session)
{
	int32_t pid = 0;
	return session_processes(session, &pid, 1) && has_other_root(pid) ? DISTRIBUTION_UNKNOWN
									  : distribution_own();
}

static const char label_prefix[] = "label.";

static int add_labels(const struct options *options, const struct metadata_sink *sink)
{
	char key[sizeof(label_prefix) + LABEL_KEY_MAX];
	int result = 0;
	for (size_t i = 0; !result && i < options->nr_labels; i++) {
		const char *label = options->labels[i];
		const size_t size = strcspn(label, "=");
		snprintf(key, sizeof(key), "%s%.*s", label_prefix, (int)size, label);
		result = sink->add(sink->context, key, label + size + 1);
	}
	return result;
}

int metadata_start(const struct session *session, const struct options *options,
		   const struct metadata_sink *sink)
{
	const struct sampler *sampler = session_sampler(session);
	const struct sampler_opened *event = sampler_opened(sampler, 0);
	struct utsname name;
	const bool knows_name = uname(&name) == 0;
	char command[4096];
	struct timespec now;
	clock_gettime(CLOCK_REALTIME, &now);
	struct run_facts facts = {
		.version = CTOP_VERSION,
		.command_line = command_line(command, sizeof(command)),
		.hostname = knows_name ? name.nodename : NULL,
		.kernel = knows_name ? name.release : NULL,
		.arch = knows_name ? name.machine : NULL,
		.distribution = distribution_word(distribution_of_target(session)),
		.nr_cpus = (uint64_t)sysconf(_SC_NPROCESSORS_ONLN),
		.start_wall_ns = (uint64_t)now.tv_sec * NS_PER_SECOND + (uint64_t)now.tv_nsec,
		.start_ns = clock_now_ns(),
		.target = session_target(session),
		.target_kind = session_target_kind(session),
		.sampled_cpus = options->system_wide ? sampler_nr_rings(sampler) : 0,
		.event = {.asked = options->nr_events ? options->events[0].asked : "cycles",
			  .opened = event->name,
			  .unit = event->unit,
			  .period = event->period,
			  .frequency_hz = event->frequency_hz,
			  .asked_count = session_asked_count(session),
			  .asked_hz = session_asked_hz(session)},
		.call_graph = call_graph_name(options->call_graph),
		.dump_bytes = sampler_dump_bytes(sampler),
		.dump_bytes_least = least_dump_bytes(sampler),
		.ring_pages = sampler_ring_pages(sampler),
	};
	run_facts_set_fallbacks(session, &facts);
	const int result = add_facts(sink, &facts, FACT_AT_START);
	return result ? result : add_labels(options, sink);
}

int metadata_end(const struct session_stats *stats, const struct metadata_sink *sink)
{
	struct run_facts facts;
	run_facts_of_session(stats, &facts);
	return add_facts(sink, &facts, FACT_AT_END | FACT_COST);
}

/* The key of a row, or one of several that begin with it: "step_down.0", "stats.ends.complete". */
static bool is_key_of(const char *key, const struct fact_row *row)
{
	const size_t size = row->key ? strlen(row->key) : 0;
	return size && !strncmp(key, row->key, size) && (!key[size] || key[size] == '.');
}

bool metadata_holds_for_part(const char *key)
{
	if (!strncmp(key, label_prefix, sizeof(label_prefix) - 1))
		return true;
	for (size_t i = 0; i < nr_fact_rows; i++)
		if (is_key_of(key, &fact_rows[i]))
			return fact_rows[i].uses & FACT_OF_PART;
	return false;
}

int metadata_of_file(const struct session_stats *stats, const struct metadata_sink *sink)
{
	struct run_facts facts;
	run_facts_of_session(stats, &facts);
	return add_facts(sink, &facts, FACT_OF_FILE);
}
