/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <ctop/history/history.h>
#include <ctop/report/report.h>

/* A profile made by hand: modules, names and samples as a test wants them. */

static const struct tables_capacity small_tables = {
	.nr = {[TABLE_STRINGS] = 1 << 14,
	       [TABLE_METADATA] = 64,
	       [TABLE_EVENTS] = 16,
	       [TABLE_MODULES] = 64,
	       [TABLE_TASKS] = 64,
	       [TABLE_FRAMES] = 1024,
	       [TABLE_NODES] = 4096},
	.nr_samples = 1024,
};
static const struct symbols_capacity small_symbols = {.nr_frames = 1024, .string_units = 1 << 14};

struct world {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *names;
	struct history *history;
	struct task_id task;
	struct module_id program, kernel;
	struct options options;
	struct text text;
	uint64_t time_ns;
};

static struct string_id string_of(struct world *world, const char *string)
{
	struct string_id id = {0};
	CHECK_EQ(tables_add_string(world->writer, string, strlen(string), &id), 0);
	return id;
}

static struct module_id module_of(struct world *world, const char *path, enum module_kind kind)
{
	struct module_row row = {.path = string_of(world, path), .kind = kind, .pid = 42};
	struct module_id id = {0};
	CHECK_EQ(tables_add_module(world->writer, &row, &id), 0);
	return id;
}

static void world_begin(struct world *world)
{
	*world = (struct world){.options = {.min_percent = 0.5, .limit = 40}};
	CHECK_EQ(tables_map(&world->tables, -1, &small_tables, true), 0);
	CHECK_EQ(symbols_map(&world->symbols, -1, &small_symbols, true), 0);
	world->writer = tables_writer_new(&world->tables);
	world->names = symbols_writer_new(&world->symbols);
	world->history = history_new();
	CHECK(world->writer && world->names && world->history);
	struct event_row event = {.name = string_of(world, "cpu-clock"),
				  .asked = string_of(world, "cycles"),
				  .frequency_hz = 999,
				  .weight_unit = WEIGHT_NS};
	uint32_t id;
	CHECK_EQ(tables_add_event(world->writer, &event, &id), 0);
	world->program = module_of(world, "/usr/bin/program", MODULE_FILE);
	world->kernel = module_of(world, "[kernel]", MODULE_KERNEL);
	CHECK_EQ(tables_add_task(world->writer, 42, 42, 0, string_of(world, "program"),
				 &world->task),
		 0);
	CHECK_EQ(history_begin_epoch(world->history, &world->tables, &world->symbols), 0);
}

static void world_end(struct world *world)
{
	text_release(&world->text);
	history_free(world->history);
	symbols_writer_free(world->names);
	tables_writer_free(world->writer);
	symbols_unmap(&world->symbols);
	tables_unmap(&world->tables);
}

/* A frame that is named; name NULL: looked for and not found. */
static struct frame_id frame_of(struct world *world, struct module_id module, uint64_t address,
				const char *name)
{
	struct frame_id id = {0};
	CHECK_EQ(tables_add_frame(world->writer, module, address, &id), 0);
	CHECK_EQ(symbols_set(world->names, id, name ? SYMBOL_NAMED : SYMBOL_UNKNOWN, name, NULL, 0),
		 0);
	return id;
}

static struct node_id below(struct world *world, struct node_id parent, struct frame_id frame)
{
	struct node_id id = {0};
	CHECK_EQ(tables_add_node(world->writer, parent, frame, FRAME_CFI, &id), 0);
	return id;
}

static void sample(struct world *world, struct node_id node, struct frame_id leaf, size_t nr,
		   enum stack_end end, enum stack_reason reason)
{
	tables_publish(world->writer);
	for (size_t i = 0; i < nr; i++) {
		world->time_ns += 1000000;
		const struct sample one = {.time_ns = world->time_ns,
					   .weight = 1001001,
					   .task = world->task,
					   .node = node,
					   .leaf = leaf,
					   .event = 1,
					   .end = (uint8_t)end,
					   .reason = (uint8_t)reason};
		CHECK_EQ(history_import(world->history, &one, 1), 0);
	}
}

static const char *report_of(struct world *world)
{
	CHECK_EQ(history_update_names(world->history), 0);
	text_clear(&world->text);
	CHECK_EQ(report_text(world->history, &world->options, &world->text), 0);
	return text_string(&world->text);
}

/* The report's part from a line that begins so. */
static const char *from_line(const char *report, const char *beginning)
{
	for (const char *line = report; line; line = strchr(line, '\n')) {
		line += *line == '\n';
		if (!strncmp(line, beginning, strlen(beginning)))
			return line;
	}
	return "";
}

static size_t widest_line(const char *report)
{
	size_t widest = 0;
	for (const char *line = report; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		char copy[1024];
		snprintf(copy, sizeof(copy), "%.*s", (int)strcspn(line, "\n"), line);
		size_t cols = text_cols(copy);
		widest = cols > widest ? cols : widest;
	}
	return widest;
}

/* main -> work (60), main -> work -> [k] read (30), main -> idle (9), broken (1). */
static void known_profile(struct world *world)
{
	struct frame_id main_frame = frame_of(world, world->program, 0x100, "main");
	struct frame_id work = frame_of(world, world->program, 0x200, "work(int)");
	struct frame_id idle = frame_of(world, world->program, 0x300, "idle");
	struct frame_id read_frame =
		frame_of(world, world->kernel, 0xffff800000000010, "ksys_read");
	struct frame_id lost_frame = frame_of(world, world->program, 0x400, NULL);
	struct node_id in_main = below(world, (struct node_id){0}, main_frame);
	struct node_id in_work = below(world, in_main, work);
	sample(world, in_main, work, 60, STACK_COMPLETE, STACK_REASON_NONE);
	sample(world, in_work, read_frame, 30, STACK_COMPLETE, STACK_REASON_NONE);
	sample(world, in_main, idle, 9, STACK_COMPLETE, STACK_REASON_NONE);
	sample(world, (struct node_id){0}, lost_frame, 1, STACK_BROKEN, STACK_REASON_NO_TABLE);
}

static void list(void)
{
	struct world world;
	world_begin(&world);
	known_profile(&world);
	CHECK_STR(from_line(report_of(&world), " SELF%"),
		  " SELF%  TOTAL%    SAMPLES  FUNCTION       MODULE\n"
		  " 60.00   90.00         60  work(int)      program\n"
		  " 30.00   30.00         30  [k] ksys_read  [kernel]\n"
		  "  9.00    9.00          9  idle           program\n"
		  "  1.00    1.00          1  [program]      program\n"
		  "  0.00   99.00          0  main           program\n");
	world.options.limit = 1;
	world.options.min_percent = 5;
	CHECK_STR(from_line(report_of(&world), "..."),
		  "... 4 more functions with 40.00% self: 1 below 5%, 3 past the first 1\n");
	world_end(&world);
}

static void tree(void)
{
	struct world world;
	world_begin(&world);
	known_profile(&world);
	world.options.tree = true;
	CHECK_STR(from_line(report_of(&world), "TOTAL%"), "TOTAL%   SELF%   CALL TREE\n"
							  " 99.00    0.00   main\n"
							  " 90.00   60.00     work(int)\n"
							  " 30.00   30.00       [k] ksys_read\n"
							  "  9.00    9.00     idle\n"
							  "  1.00    0.00   [broken]\n"
							  "  1.00    1.00     [program]\n");
	world.options.min_percent = 20;
	CHECK_STR(from_line(report_of(&world), "TOTAL%"), "TOTAL%   SELF%   CALL TREE\n"
							  " 99.00    0.00   main\n"
							  " 90.00   60.00     work(int)\n"
							  " 30.00   30.00       [k] ksys_read\n"
							  "... 3 more rows below 20%\n");
	world_end(&world);
}

static void header(void)
{
	struct world world;
	world_begin(&world);
	static const char *const metadata[][2] = {
		{"target", "program[42]"},
		{"hostname", "box"},
		{"kernel", "6.1.0"},
		{"arch", "x86_64"},
		{"nr_cpus", "2"},
		{"event.asked", "cycles"},
		{"event.opened", "cpu-clock"},
		{"event.period", "0"},
		{"event.frequency_hz", "999"},
		{"call_graph", "auto"},
		{"dump_bytes", "32768"},
		{"duration_ns", "2000000000"},
		{"stats.lost", "100"},
		{"stats.late", "3"},
		{"stats.cpu_ns.main", "20000000"},
		{"stats.cpu_ns.collector", "100000000"},
		{"stats.peak_rss_bytes", "23068672"},
		{"step_down.0", "cycles: no counters here, cpu-clock stands in"},
	};
	for (size_t i = 0; i < sizeof(metadata) / sizeof(*metadata); i++)
		CHECK_EQ(history_set_info(world.history, metadata[i][0], metadata[i][1]), 0);
	known_profile(&world);
	const char *report = report_of(&world);
	*strstr(world.text.bytes, "\n\n") = '\0';
	CHECK_STR(report, "target     program[42]\n"
			  "host       box, Linux 6.1.0 x86_64, 2 CPUs\n"
			  "event      cycles, opened as cpu-clock\n"
			  "rate       999 Hz asked, 50 samples/s reached\n"
			  "duration   2.00 s, 100 samples, lost 100 (50.00%)\n"
			  "weight     100 ms in 100 samples\n"
			  "problems   3 late\n"
			  "stacks     complete 99.00%, broken 1.00% (no_table 1)\n"
			  "call graph auto, copies of 32,768 bytes\n"
			  "unnamed    0.44% of 229 frames\n"
			  "fallback   cycles: no counters here, cpu-clock stands in\n"
			  "ctop       0.12 s of CPU time (6.0% of one CPU), 22 MiB");
	world_end(&world);
}

static void set_metadata(struct history *history, const char *const (*metadata)[2], size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		CHECK_EQ(history_set_info(history, metadata[i][0], metadata[i][1]), 0);
}

static const char *const of_stolen_cpus[][2] = {
	{"event.asked", "cycles"},     {"event.opened", "cpu-clock"},
	{"event.frequency_hz", "999"}, {"event.asked_hz", "999"},
	{"duration_ns", "2000000000"}, {"sampled_cpus", "2"},
	{"stats.dropped.own", "4"},    {"stats.cpus.busy_ns", "960000000"},
	{"stats.cpus.idle_ns", "0"},   {"stats.cpus.stolen_ns", "3040000000"},
};

/* Of two CPUs 76 % were the host's: they were not 24 % busy and 76 % idle. */
static void time_that_the_host_took(void)
{
	struct world world;
	world_begin(&world);
	set_metadata(world.history, of_stolen_cpus,
		     sizeof(of_stolen_cpus) / sizeof(*of_stolen_cpus));
	known_profile(&world);
	const char *report = report_of(&world);
	CHECK(strstr(report,
		     "CPUs       busy 24.00%, stolen by the host 76.00%, idle 0.00% of 2 CPUs\n"));
	CHECK(strstr(report, "50 samples/s reached; the host took 76% of the CPUs' time\n"));
	/* Of one process that is no more than the reason for its rate. */
	CHECK_EQ(history_set_info(world.history, "sampled_cpus", "0"), 0);
	CHECK_EQ(history_set_info(world.history, "stats.counted.0", "480000000"), 0);
	report = report_of(&world);
	CHECK(strstr(report, "CPUs       busy 24.00%, stolen by the host 76.00%, idle 0.00%\n"));
	CHECK(strstr(report,
		     "; the target used 24% of a CPU; the host took 76% of the CPUs' time\n"));
	/* A file may say anything. */
	CHECK_EQ(history_set_info(world.history, "stats.cpus.stolen_ns", "18446744073709551615"),
		 0);
	CHECK(!strstr(report_of(&world), "stolen"));
	world_end(&world);
}

static void no_samples(void)
{
	struct world world;
	world_begin(&world);
	/* A file that says nothing, one that names its event, one whose recorder was killed, and one that is whole. */
	CHECK(strstr(report_of(&world),
		     "the file has none.\nIt does not say whether any were lost"));
	CHECK_EQ(history_set_info(world.history, "event.opened", "cpu-clock"), 0);
	CHECK(strstr(report_of(&world),
		     "the file has none of cpu-clock.\nIt does not say whether"));
	CHECK_EQ(history_set_info(world.history, "event.unit", "1"), 0);
	CHECK(strstr(report_of(&world),
		     "the file has none of cpu-clock.\nIt does not say whether"));
	CHECK_EQ(history_set_info(world.history, "stats.lost", "0"), 0);
	CHECK(strstr(report_of(&world), "No samples: the target used no CPU time"));
	CHECK_EQ(history_set_info(world.history, "stats.lost", "12"), 0);
	CHECK(strstr(report_of(&world), "12 were lost"));
	world_end(&world);

	world_begin(&world);
	const struct history_filter nobody = {.comm = "nobody"};
	history_set_filter(world.history, &nobody);
	known_profile(&world);
	CHECK(strstr(report_of(&world), "No sample passes the filter, though 100 were recorded"));
	world_end(&world);
}

/* Names are cut to a terminal's width, and never in a pipe. */
static void widths(void)
{
	static char name[301];
	memset(name, 'n', sizeof(name) - 1);
	struct world world;
	world_begin(&world);
	struct frame_id deep = frame_of(&world, world.program, 0x100, name);
	struct node_id node = {0};
	for (size_t i = 0; i < 60; i++)
		node = below(&world, node, deep);
	sample(&world, node, deep, 10, STACK_COMPLETE, STACK_REASON_NONE);
	for (size_t i = 0; i < 2; i++) {
		world.options.tree = i == 1;
		world.options.columns = 0;
		CHECK(strstr(report_of(&world), name));
		world.options.columns = 80;
		CHECK(!strstr(report_of(&world), name));
		CHECK(widest_line(report_of(&world)) <= 80);
		world.options.columns = 40;
		CHECK(strstr(report_of(&world), "nnn"));
		world.options.columns = 1;
		CHECK(strstr(report_of(&world), "nnn"));
	}
	world_end(&world);
}

/* Symbols, modules, targets and steps come from files that anybody may have written. */
static void hostile_names(void)
{
	static const char evil[] = "\x1b]52;c;AAAA\a\nfake 100.00\x9b[2J";
	struct world world;
	world_begin(&world);
	static const char *const keys[] = {"target",	 "hostname",	"kernel",
					   "arch",	 "event.asked", "event.opened",
					   "call_graph", "step_down.0", "event.period",
					   "stats.lost", "duration_ns"};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		CHECK_EQ(history_set_info(world.history, keys[i], evil), 0);
	struct module_id module = module_of(&world, evil, MODULE_FILE);
	struct frame_id frame = frame_of(&world, module, 0x100, evil);
	sample(&world, below(&world, (struct node_id){0}, frame), frame, 5, STACK_COMPLETE,
	       STACK_REASON_NONE);
	for (size_t i = 0; i < 2; i++) {
		world.options.tree = i == 1;
		for (const char *at = report_of(&world); *at; at++)
			CHECK(*at == '\n' || ((unsigned char)*at >= ' ' && *at != 0x7f));
		CHECK(!strstr(text_string(&world.text), "\nfake"));
	}
	world_end(&world);
}

/* Samples of different events do not add up: one is shown, and the others are named. */
static void other_events(void)
{
	struct world world;
	world_begin(&world);
	struct event_row faults = {.name = string_of(&world, "page-faults"),
				   .asked = string_of(&world, "page-faults")};
	uint32_t id;
	CHECK_EQ(tables_add_event(world.writer, &faults, &id), 0);
	CHECK_EQ(history_set_info(world.history, "event.asked", "cycles"), 0);
	CHECK_EQ(history_set_info(world.history, "event.opened", "cpu-clock"), 0);
	const struct history_filter first = {.event = "cpu-clock"};
	history_set_filter(world.history, &first);
	struct frame_id frame = frame_of(&world, world.program, 0x100, "f");
	tables_publish(world.writer);
	for (uint8_t event = 2; event >= 1; event--) {
		const struct sample one = {.time_ns = 1,
					   .weight = 1,
					   .task = world.task,
					   .leaf = frame,
					   .event = event};
		CHECK_EQ(history_import(world.history, &one, 1), 0);
	}
	CHECK(strstr(report_of(&world),
		     "page-faults (record, and choose with ctop report --event)\n"));
	world.options.command = COMMAND_REPORT;
	CHECK(strstr(report_of(&world), "event      cycles, opened as cpu-clock\n"
					"others     not shown here: page-faults (choose with "
					"--event)\n"));
	/* What is said is said of the event shown. */
	CHECK(!strstr(report_of(&world), " shown (") && strstr(report_of(&world), " 1 sample, "));
	CHECK(strstr(report_of(&world), "weight     1 ns in 1 sample\n"));
	CHECK_EQ(history_set_info(world.history, "stats.lost", "5"), 0);
	CHECK_EQ(history_set_info(world.history, "stats.lost.0", "1"), 0);
	CHECK_EQ(history_set_info(world.history, "stats.lost.1", "4"), 0);
	CHECK(strstr(report_of(&world), "1 sample, lost 1 (50.00%)"));
	/* A kernel that did not tell whose. */
	CHECK_EQ(history_set_info(world.history, "stats.lost.1", "0"), 0);
	CHECK(strstr(report_of(&world), "1 sample, lost 5 of all events\n"));
	world_end(&world);
}

static void weigh(struct world *world, struct frame_id leaf, uint64_t weight)
{
	const struct sample one = {
		.time_ns = 1, .weight = weight, .task = world->task, .leaf = leaf, .event = 2};
	CHECK_EQ(history_import(world->history, &one, 1), 0);
}

static const char *weight_line(struct world *world)
{
	const char *line = from_line(report_of(world), "weight ");
	*strchrnul(world->text.bytes + (line - world->text.bytes), '\n') = '\0';
	return line;
}

static void what_samples_stand_for(void)
{
	struct world world;
	world_begin(&world);
	struct event_row faults = {.name = string_of(&world, "page-faults"),
				   .asked = string_of(&world, "faults"),
				   .frequency_hz = 999,
				   .weight_unit = WEIGHT_FAULTS};
	uint32_t id;
	CHECK_EQ(tables_add_event(world.writer, &faults, &id), 0);
	const struct history_filter only = {.event = "page-faults"};
	history_set_filter(world.history, &only);
	world.options.command = COMMAND_REPORT;
	world.options.event = "faults";
	struct frame_id frame = frame_of(&world, world.program, 0x100, "f");
	struct frame_id other = frame_of(&world, world.program, 0x200, "g");
	tables_publish(world.writer);
	for (int i = 0; i < 72; i++)
		weigh(&world, frame, 1808);
	CHECK_STR(weight_line(&world), "weight     130 k faults in 72 samples");
	CHECK_EQ(history_set_info(world.history, "stats.counted.1", "130000"), 0);
	CHECK_STR(weight_line(&world), "weight     130 k faults in 72 samples");
	CHECK_EQ(history_set_info(world.history, "stats.counted.1", "9999"), 0);
	CHECK_STR(weight_line(&world),
		  "weight     130 k faults in 72 samples; the kernel counted 9,999 faults");
	/* Others' are among them. */
	CHECK_EQ(history_set_info(world.history, "stats.dropped.foreign", "3"), 0);
	CHECK_STR(weight_line(&world), "weight     130 k faults in 72 samples");
	CHECK_EQ(history_set_info(world.history, "stats.dropped.foreign", "0"), 0);
	/* A rate that is not reached, and what would do. */
	CHECK_EQ(history_set_info(world.history, "duration_ns", "2000000000"), 0);
	CHECK(strstr(report_of(&world),
		     "rate       999 Hz asked, 36 samples/s reached; -c 6 would have "
		     "given 833\n"));
	CHECK_EQ(history_set_info(world.history, "stats.counted.1", "100"), 0);
	CHECK(strstr(report_of(&world), " 36 samples/s reached\n"));
	CHECK_EQ(history_set_info(world.history, "stats.counted.1", "0"), 0);
	weigh(&world, other, 1000000);
	CHECK_STR(weight_line(&world),
		  "weight     1.13 M faults in 73 samples; few of them carry most of "
		  "it: as precise as 1 of equal weight");
	/* The one that was taken once carries nine tenths. */
	CHECK(strstr(from_line(report_of(&world), " SELF%"), " 88.48   88.48          1  g "));
	weigh(&world, frame, UINT64_MAX);
	CHECK(strstr(report_of(&world),
		     "problems   1 cut: of samples that say they stand for more than can be\n"));
	world_end(&world);
}

/* A single stack in a million is shown as more than nothing and less than all. */
static void rare_ends(void)
{
	struct world world;
	world_begin(&world);
	struct frame_id frame = frame_of(&world, world.program, 0x100, "f");
	sample(&world, (struct node_id){0}, frame, 20000, STACK_COMPLETE, STACK_REASON_NONE);
	sample(&world, (struct node_id){0}, frame, 1, STACK_BROKEN, STACK_REASON_BAD_CFI);
	CHECK(strstr(report_of(&world), "stacks     complete 99.99%, broken 0.01% (bad_cfi 1)\n"));
	world_end(&world);
}

int main(void)
{
	RUN(list);
	RUN(tree);
	RUN(header);
	RUN(time_that_the_host_took);
	RUN(no_samples);
	RUN(widths);
	RUN(hostile_names);
	RUN(other_events);
	RUN(what_samples_stand_for);
	RUN(rare_ends);
	return test_done();
}
