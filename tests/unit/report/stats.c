/* SPDX-License-Identifier: MIT */
#include "main/metadata/fact_table.h"
#include "test.h"

#include <errno.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/metadata/metadata.h>
#include <ctop/metadata/stats.h>

static char directory[] = "/tmp/ctop-stats-XXXXXX";

static const char *path_of(const char *name)
{
	static char path[128];
	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return path;
}

static const char *contents(const char *path)
{
	static char bytes[4096];
	FILE *file = fopen(path, "r");
	size_t size = file ? fread(bytes, 1, sizeof(bytes) - 1, file) : 0;
	if (file)
		fclose(file);
	bytes[size] = '\0';
	return bytes;
}

static struct run_facts example(void)
{
	static const char *const fallbacks[] = {"cycles: no counters, \"cpu-clock\" stands in"};
	struct session_stats stats = {
		.sets = {{65528, 1, 1500000000}, {8192, 4, 0}},
		.nr_sets = 2,
		.samples = 100,
		.lost = 7,
		.late = 3,
		.hurried = 2,
		.throttled = 1,
		.lost_sideband = 8,
		.unfollowed = 9,
		.cpus = {NS_PER_SECOND, 2 * NS_PER_SECOND, 3 * NS_PER_SECOND / 2},
		.dropped_overrun = 5,
		.dropped_double = 6,
		.drained = 111,
		.events_counted = 1200,
		.events_sampled = 1000,
		.counted_share = 0.75,
		.events = {{.samples = 99,
			    .lost = 3,
			    .counted = 990,
			    .sampled = 980,
			    .counted_share = 1},
			   {.samples = 1, .counted_share = 0.5}},
		.nr_events = 2,
		.ends = {[STACK_COMPLETE] = 98, [STACK_BROKEN] = 2},
		.frames = 1000,
		.start_ns = NS_PER_SECOND,
		.end_ns = 3 * NS_PER_SECOND + NS_PER_SECOND / 2,
		.cpu_ns = {NS_PER_SECOND / 2, NS_PER_SECOND / 4, NS_PER_SECOND / 4},
		.kernel_names = 3,
		.cache_hits = 970,
		.cache_misses = 30,
		.peak_rss_bytes = 4096,
		.ring_bytes = 8192,
	};
	struct run_facts facts;
	run_facts_of_session(&stats, &facts);
	facts.fallbacks = (struct fact_list){.items = fallbacks, .nr = 1};
	facts.unsymbolized_frames = 10;
	facts.output_bytes = 12;
	facts.rate_hz = 40;
	facts.events[0] = (struct run_event){
		.asked = "cycles", .opened = "cpu-clock", .frequency_hz = 999, .unit = WEIGHT_NS};
	facts.events[1] =
		(struct run_event){.asked = "page-faults", .opened = "page-faults", .period = 1};
	static const struct thread_times thread = {
		7,
		8,
		"a\"b",
		4000000000,
		{1000000000, 500000000, 2250000000, 250000000},
		{[WAIT_LOCK] = 2000000000, [WAIT_POLL] = 250000000}};
	facts.threads = &thread;
	facts.nr_threads = 1;
	facts.stats.times = thread;
	facts.stats.time_source = TIME_FROM_SWITCHES;
	facts.stats.nr_timed = 1;
	return facts;
}

static void whole_object(void)
{
	struct error error = {0};
	const struct run_facts input = example();
	CHECK_EQ(stats_write(path_of("stats.json"), &input, -1, &error), 0);
	CHECK_STR(contents(path_of("stats.json")),
		  "{\n"
		  "  \"samples\": 100,\n"
		  "  \"lost\": 7,\n"
		  "  \"dropped\": {\"overrun\": 5, \"disk\": 0, \"crash\": 0, \"damaged\": 0, "
		  "\"double\": 6, "
		  "\"own\": 0, \"foreign\": 0, \"comm\": 0, \"uid\": 0},\n"
		  "  \"drained\": 111,\n"
		  "  \"undrained\": 0,\n"
		  "  \"events_counted\": 1200,\n"
		  "  \"events_sampled\": 1000,\n"
		  "  \"counted_share\": 0.750000,\n"
		  "  \"late\": 3,\n"
		  "  \"hurried\": 2,\n"
		  "  \"throttled\": 1,\n"
		  "  \"lost_sideband\": 8,\n"
		  "  \"unfollowed\": 9,\n"
		  "  \"duration_seconds\": 2.500000,\n"
		  "  \"rate_hz\": 40.000000,\n"
		  "  \"cpus_seconds\": {\"busy\": 1.000000, \"idle\": 2.000000, "
		  "\"stolen\": 1.500000},\n"
		  "  \"time\": {\"source\": 1, \"threads\": 1, \"observed_seconds\": 4.000000, "
		  "\"running_seconds\": 1.000000, \"runnable_seconds\": 0.500000, "
		  "\"waiting_seconds\": 2.250000, \"unknown_seconds\": 0.250000, "
		  "\"switch_cost_ns\": 0},\n"
		  "  \"waits_seconds\": {\"lock\": 2.000000, \"io\": 0.000000, \"poll\": 0.250000, "
		  "\"sleep\": 0.000000, \"child\": 0.000000, \"fault\": 0.000000, "
		  "\"other\": 0.000000, \"unseen\": 0.000000},\n"
		  "  \"untimed\": 0,\n"
		  "  \"waits_estimated_seconds\": 0.000000,\n"
		  "  \"waits_unplaced\": 0,\n"
		  "  \"waits_refused\": 0,\n"
		  "  \"waits_refused_by\": 0,\n"
		  "  \"waits_silent\": 0,\n"
		  "  \"waits_unasked\": 0,\n"
		  "  \"waits_untold_ns\": 0,\n"
		  "  \"wakings_lost\": 0,\n"
		  "  \"wakings_untold\": 0,\n"
		  "  \"switch_outs\": 0,\n"
		  "  \"switch_outs_lost\": 0,\n"
		  "  \"switch_out_period\": 0,\n"
		  "  \"wakeups_unseen\": 0,\n"
		  "  \"wakeups_given_up\": 0,\n"
		  "  \"wakeups_untold_ns\": 0,\n"
		  "  \"calls\": 0,\n"
		  "  \"calls_lost\": 0,\n"
		  "  \"calls_given_up\": 0,\n"
		  "  \"goroutines_refusal\": 0,\n"
		  "  \"goroutines_left_out\": 0,\n"
		  "  \"goroutines_joined\": 0,\n"
		  "  \"stacks\": {\"complete\": 98, \"joined\": 0, \"switched\": 0, "
		  "\"truncated\": 0, \"broken\": 2, \"kernel_only\": 0},\n"
		  "  \"first_stack_seconds\": 0.000000,\n"
		  "  \"frames\": 1000,\n"
		  "  \"unlined\": 0,\n"
		  "  \"unsymbolized_frames\": 10,\n"
		  "  \"cpu_seconds\": 1.000000,\n"
		  "  \"cpu_seconds_of\": {\"main\": 0.500000, \"collector\": 0.250000, "
		  "\"symbolizer\": 0.250000, \"writer\": 0.000000},\n"
		  "  \"budget\": {\"ppm\": 0, \"own_cpu_seconds\": 0.000000, "
		  "\"kernel_cpu_seconds\": 0.000000, \"machine_cpu_seconds\": 0.000000},\n"
		  "  \"kernel_names\": 3,\n"
		  "  \"rule_cache\": {\"hits\": 970, \"misses\": 30},\n"
		  "  \"peak_rss_bytes\": 4096,\n"
		  "  \"ring_bytes\": 8192,\n"
		  "  \"output_bytes\": 12,\n"
		  "  \"restarts\": 0,\n"
		  "  \"unreadable\": [],\n"
		  "  \"steps_down\": [\"cycles: no counters, \\\"cpu-clock\\\" stands in\"],\n"
		  "  \"sets\": [{\"dump_bytes\": 65528, \"fewer\": 1, \"seconds\": 1.500000}, "
		  "{\"dump_bytes\": 8192, \"fewer\": 4, \"seconds\": 0.000000}],\n"
		  "  \"threads\": [\n"
		  "    {\"pid\": 7, \"tid\": 8, \"name\": \"a\\\"b\", \"observed\": 4.000000000, "
		  "\"running\": 1.000000000, \"runnable\": 0.500000000, "
		  "\"waiting\": 2.250000000, \"unknown\": 0.250000000, \"waits\": {\"lock\": "
		  "2.000000000, \"poll\": 0.250000000}}],\n"
		  "  \"woken\": [],\n"
		  "  \"event\": {\"asked\": \"cycles\", \"opened\": \"cpu-clock\", \"period\": 0, "
		  "\"frequency_hz\": 999, \"unit\": \"ns\"},\n"
		  "  \"events\": [\n"
		  "    {\"asked\": \"cycles\", \"opened\": \"cpu-clock\", \"period\": 0, "
		  "\"frequency_hz\": 999, \"unit\": \"ns\", \"samples\": 99, \"lost\": 3, "
		  "\"counted\": 990, "
		  "\"sampled\": 980, \"counted_share\": 1.000000},\n"
		  "    {\"asked\": \"page-faults\", \"opened\": \"page-faults\", \"period\": 1, "
		  "\"frequency_hz\": 0, \"unit\": \"events\", \"samples\": 1, \"lost\": 0, "
		  "\"counted\": 0, "
		  "\"sampled\": 0, \"counted_share\": 0.500000}]\n"
		  "}\n");
}

/* What a division by nothing gave must not make the file unreadable for JSON's readers. */
static void nothing_measured(void)
{
	struct error error = {0};
	const struct run_facts input = {.rate_hz = (double)NAN};
	CHECK_EQ(stats_write(path_of("empty.json"), &input, -1, &error), 0);
	const char *text = contents(path_of("empty.json"));
	CHECK(strstr(text, "\"rate_hz\": 0.000000"));
	CHECK(strstr(text, "\"steps_down\": []"));
	CHECK(strstr(text, "\"asked\": \"\""));
}

static void replaces_a_file_and_leaves_no_other(void)
{
	struct error error = {0};
	const struct run_facts input = example();
	const char *path = path_of("again.json");
	FILE *old = fopen(path, "w");
	CHECK(old);
	fputs("old", old);
	fclose(old);
	CHECK_EQ(stats_write(path, &input, -1, &error), 0);
	CHECK(contents(path)[0] == '{');
	char beside[160];
	snprintf(beside, sizeof(beside), "%s.%d.tmp", path, (int)getpid());
	CHECK(access(beside, F_OK) < 0);
}

static void devices_are_written_as_they_are(void)
{
	struct error error = {0};
	const struct run_facts input = example();
	struct stat stat_of;
	CHECK_EQ(stats_write("/dev/null", &input, -1, &error), 0);
	CHECK_EQ(stat("/dev/null", &stat_of), 0);
	CHECK(S_ISCHR(stat_of.st_mode));
	CHECK_EQ(stats_write("/dev/full", &input, -1, &error), -ENOSPC);
	CHECK(strstr(error.cause, "/dev/full"));
	CHECK(strstr(error.remedy, "--stats"));
}

static void unwritable(void)
{
	struct error error = {0};
	const struct run_facts input = example();
	CHECK_EQ(stats_write(path_of("no/such/directory"), &input, -1, &error), -ENOENT);
	CHECK(strstr(error.cause, "no/such/directory"));
	CHECK(error.remedy[0]);
	CHECK_EQ(stats_write(directory, &input, -1, &error), -EISDIR);
}

/* False: it is no number. */
static bool set_number(const struct fact_row *row, void *base, uint64_t value)
{
	bool is_number = row->kind == FACT_NUMBER || row->kind == FACT_NS;
	if (is_number)
		memcpy((char *)base + row->offset, &value, sizeof(value));
	return is_number;
}

/* No two rows are about one field, and none is of another size than it says. */
static void each_count_has_a_place_of_its_own(void)
{
	struct run_facts facts = {0};
	for (size_t i = 0; i < nr_fact_rows; i++)
		set_number(&fact_rows[i], &facts, ~(uint64_t)i);
	for (size_t i = 0; i < nr_fact_rows; i++) {
		const struct fact_row *row = &fact_rows[i];
		if (row->kind == FACT_NUMBER || row->kind == FACT_NS)
			CHECK_EQ(fact_number(row, &facts), ~(uint64_t)i);
		CHECK(row->key || row->json);
		CHECK(!row->uses == !row->key);
		for (size_t n = 0; n < i; n++)
			CHECK(row->offset != fact_rows[n].offset);
		for (size_t n = 0; n < i && row->key; n++)
			CHECK(!fact_rows[n].key || strcmp(row->key, fact_rows[n].key) != 0);
	}
}

/* An excerpt is of one event, of a part of the time; how the run was made, and what it lost, it has from all of it. */
static void what_holds_for_a_part(void)
{
	static const char *const kept[] = {
		"version",
		"target",
		"sampled_cpus",
		"start_ns",
		"call_graph",
		"step_down.0",
		"unreadable.3",
		"stats.lost",
		"stats.lost.2",
		"stats.late",
		"stats.hurried",
		"stats.throttled",
		"stats.dropped.overrun",
		"stats.dropped.own",
		"stats.restarts",
		"stats.lost_sideband",
	};
	static const char *const others[] = {
		"event.asked",	  "event.unit",		 "duration_ns",	      "stats.samples",
		"stats.frames",	  "stats.drained",	 "stats.counted.0",   "stats.counted_ppm.1",
		"stats.fewer_ns", "stats.ends.complete", "stats.cpu_ns.main", "stats.unfollowed",
	};
	for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
		CHECK(metadata_holds_for_part(kept[i]));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++)
		CHECK(!metadata_holds_for_part(others[i]));
}

/* What is counted, recorded, and read again is the same: of every row. */
static void each_count_is_read_back(void)
{
	struct history *history = history_new();
	const struct metadata_sink sink = metadata_to_history(history);
	struct run_facts facts = {0}, again = {0};
	CHECK(history);
	for (size_t i = 0; i < nr_fact_rows; i++)
		set_number(&fact_rows[i], &facts, i + 1);
	facts.stats.start_ns = 1000;
	facts.stats.end_ns = 1000 + facts.duration_ns;
	facts.stats.opened_ns = 1000;
	facts.stats.first_stack_ns = 1000 + facts.first_stack_ns;
	CHECK_EQ(metadata_end(&facts.stats, &sink), 0);
	run_facts_read(history, FACT_RECORDED, &again);
	for (size_t i = 0; i < nr_fact_rows; i++) {
		const struct fact_row *row = &fact_rows[i];
		const bool is_recorded = row->uses & (FACT_AT_END | FACT_COST);
		if (!is_recorded || !set_number(row, &facts, i + 1))
			continue;
		CHECK_EQ(fact_number(row, &again), i + 1);
		CHECK(run_facts_know(&again, fact_at(row, &again)));
	}
	CHECK(!run_facts_know(&again, &again.nr_cpus));
	CHECK(!again.target);
	history_free(history);
}

int main(void)
{
	if (!mkdtemp(directory))
		return 1;
	RUN(whole_object);
	RUN(each_count_has_a_place_of_its_own);
	RUN(what_holds_for_a_part);
	RUN(each_count_is_read_back);
	RUN(nothing_measured);
	RUN(replaces_a_file_and_leaves_no_other);
	RUN(devices_are_written_as_they_are);
	RUN(unwritable);
	static const char *const names[] = {"stats.json", "empty.json", "again.json"};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		unlink(path_of(names[i]));
	rmdir(directory);
	return test_done();
}
