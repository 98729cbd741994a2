/* SPDX-License-Identifier: MIT */
#include <ctop/history/history.h>
#include <ctop/report/report.h>

#include "small_tables.h"
#include "test.h"

/* A profile made by hand: modules, names and samples as a test wants them. */

struct profile {
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

static struct string_id string_of(struct profile *profile, const char *string)
{
	struct string_id id = {0};
	CHECK_EQ(tables_add_string(profile->writer, string, strlen(string), &id), 0);
	return id;
}

static struct module_id module_of(struct profile *profile, const char *path, enum module_kind kind)
{
	struct module_row row = {.path = string_of(profile, path), .kind = kind, .pid = 42};
	struct module_id id = {0};
	CHECK_EQ(tables_add_module(profile->writer, &row, &id), 0);
	return id;
}

static void profile_begin(struct profile *profile)
{
	*profile = (struct profile){.options = {.min_percent = 0.5, .limit = 40}};
	CHECK_EQ(tables_map(&profile->tables, -1, &small_tables, true), 0);
	CHECK_EQ(symbols_map(&profile->symbols, -1, &small_symbols, true), 0);
	profile->writer = tables_writer_new(&profile->tables);
	profile->names = symbols_writer_new(&profile->symbols);
	profile->history = history_new();
	CHECK(profile->writer && profile->names && profile->history);
	struct event_row event = {.name = string_of(profile, "cpu-clock"),
				  .asked = string_of(profile, "cycles"),
				  .frequency_hz = 999,
				  .weight_unit = WEIGHT_NS};
	uint32_t id;
	CHECK_EQ(tables_add_event(profile->writer, &event, &id), 0);
	profile->program = module_of(profile, "/usr/bin/program", MODULE_FILE);
	profile->kernel = module_of(profile, "[kernel]", MODULE_KERNEL);
	CHECK_EQ(tables_add_task(profile->writer, 42, 42, 0, string_of(profile, "program"),
				 &profile->task),
		 0);
	CHECK_EQ(history_begin_epoch(profile->history, &profile->tables, &profile->symbols), 0);
}

static void profile_end(struct profile *profile)
{
	text_release(&profile->text);
	history_free(profile->history);
	symbols_writer_free(profile->names);
	tables_writer_free(profile->writer);
	symbols_unmap(&profile->symbols);
	tables_unmap(&profile->tables);
}

/* A frame that is named; name NULL: looked for and not found. */
static struct frame_id frame_of(struct profile *profile, struct module_id module, uint64_t address,
				const char *name)
{
	struct frame_id id = {0};
	CHECK_EQ(tables_add_frame(profile->writer, module, address, &id), 0);
	CHECK_EQ(symbols_set(profile->names, id, name ? SYMBOL_NAMED : SYMBOL_UNKNOWN, name, NULL,
			     0),
		 0);
	return id;
}

static struct node_id below(struct profile *profile, struct node_id parent, struct frame_id frame)
{
	struct node_id id = {0};
	CHECK_EQ(tables_add_node(profile->writer, parent, frame, FRAME_CFI, &id), 0);
	return id;
}

static void sample(struct profile *profile, struct node_id node, struct frame_id leaf, size_t nr,
		   enum stack_end end, enum stack_reason reason)
{
	tables_publish(profile->writer);
	for (size_t i = 0; i < nr; i++) {
		profile->time_ns += 1000000;
		const struct sample one = {.time_ns = profile->time_ns,
					   .weight = 1001001,
					   .task = profile->task,
					   .node = node,
					   .leaf = leaf,
					   .event = 1,
					   .end = (uint8_t)end,
					   .reason = (uint8_t)reason};
		CHECK_EQ(history_import(profile->history, &one, 1), 0);
	}
}

static const char *report_of(struct profile *profile)
{
	CHECK_EQ(history_update_names(profile->history), 0);
	text_clear(&profile->text);
	CHECK_EQ(report_text(profile->history, &profile->options, 0, &profile->text), 0);
	return text_string(&profile->text);
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
static void known_profile(struct profile *profile)
{
	struct frame_id main_frame = frame_of(profile, profile->program, 0x100, "main");
	struct frame_id work = frame_of(profile, profile->program, 0x200, "work(int)");
	struct frame_id idle = frame_of(profile, profile->program, 0x300, "idle");
	struct frame_id read_frame =
		frame_of(profile, profile->kernel, 0xffff800000000010, "ksys_read");
	struct frame_id lost_frame = frame_of(profile, profile->program, 0x400, NULL);
	struct node_id in_main = below(profile, (struct node_id){0}, main_frame);
	struct node_id in_work = below(profile, in_main, work);
	sample(profile, in_main, work, 60, STACK_COMPLETE, STACK_REASON_NONE);
	sample(profile, in_work, read_frame, 30, STACK_COMPLETE, STACK_REASON_NONE);
	sample(profile, in_main, idle, 9, STACK_COMPLETE, STACK_REASON_NONE);
	sample(profile, (struct node_id){0}, lost_frame, 1, STACK_BROKEN, STACK_REASON_NO_TABLE);
}

static void list(void)
{
	struct profile profile;
	profile_begin(&profile);
	known_profile(&profile);
	CHECK_STR(from_line(report_of(&profile), " SELF%"),
		  " SELF%  TOTAL%    SAMPLES  FUNCTION       MODULE\n"
		  " 60.00   90.00         60  work(int)      program\n"
		  " 30.00   30.00         30  [k] ksys_read  [kernel]\n"
		  "  9.00    9.00          9  idle           program\n"
		  "  1.00    1.00          1  [program]      program\n"
		  "  0.00   99.00          0  main           program\n");
	profile.options.limit = 1;
	profile.options.min_percent = 5;
	CHECK_STR(from_line(report_of(&profile), "..."),
		  "... 4 more functions with 40.00% self: 1 below 5%, 3 past the first 1\n");
	profile_end(&profile);
}

/* Rows that are not shown take no place of those that are. */
static void names_are_as_wide_as_the_last_row_needs(void)
{
	struct profile profile;
	profile_begin(&profile);
	struct frame_id outer = frame_of(&profile, profile.program, 0x100, "outermost_function");
	struct frame_id often = frame_of(&profile, profile.program, 0x200, "often");
	struct node_id in_outer = below(&profile, (struct node_id){0}, outer);
	sample(&profile, in_outer, often, 99, STACK_COMPLETE, STACK_REASON_NONE);
	sample(&profile, in_outer, frame_of(&profile, profile.program, 0x300, "seldom"), 1,
	       STACK_COMPLETE, STACK_REASON_NONE);
	profile.options.limit = 2;
	profile.options.min_percent = 5;
	CHECK_STR(from_line(report_of(&profile), " SELF%"),
		  " SELF%  TOTAL%    SAMPLES  FUNCTION            MODULE\n"
		  " 99.00   99.00         99  often               program\n"
		  "  0.00  100.00          0  outermost_function  program\n"
		  "... 1 more function with 1.00% self: 1 below 5%\n");
	profile_end(&profile);
}

static void tree(void)
{
	struct profile profile;
	profile_begin(&profile);
	known_profile(&profile);
	profile.options.tree = true;
	CHECK_STR(from_line(report_of(&profile), "TOTAL%"), "TOTAL%   SELF%   CALL TREE\n"
							    " 99.00    0.00   main\n"
							    " 90.00   60.00     work(int)\n"
							    " 30.00   30.00       [k] ksys_read\n"
							    "  9.00    9.00     idle\n"
							    "  1.00    0.00   [broken]\n"
							    "  1.00    1.00     [program]\n");
	profile.options.min_percent = 20;
	CHECK_STR(from_line(report_of(&profile), "TOTAL%"), "TOTAL%   SELF%   CALL TREE\n"
							    " 99.00    0.00   main\n"
							    " 90.00   60.00     work(int)\n"
							    " 30.00   30.00       [k] ksys_read\n"
							    "... 3 more rows below 20%\n");
	profile_end(&profile);
}

/* Three and more calls with one way to go are a row; names in full, they have one each. */
static void tree_of_a_chain(void)
{
	struct profile profile;
	profile_begin(&profile);
	static const char *const names[] = {"_start", "main", "serve", "parse", "scan", "skip"};
	enum { DEEP = 5 };
	struct node_id node = {0};
	for (unsigned i = 0; i < DEEP; i++)
		node = below(&profile, node,
			     frame_of(&profile, profile.program, 0x100 * (i + 1), names[i]));
	struct frame_id leaf = frame_of(&profile, profile.program, 0x900, "skip");
	struct frame_id other = frame_of(&profile, profile.program, 0xa00, "fill");
	sample(&profile, node, leaf, 60, STACK_COMPLETE, STACK_REASON_NONE);
	sample(&profile, node, other, 40, STACK_COMPLETE, STACK_REASON_NONE);
	profile.options.tree = true;
	CHECK_STR(from_line(report_of(&profile), "TOTAL%"), "TOTAL%   SELF%   CALL TREE\n"
							    "100.00    0.00   _start … scan · 5\n"
							    " 60.00   60.00     skip\n"
							    " 40.00   40.00     fill\n");
	profile.options.names_full = true;
	CHECK_STR(from_line(report_of(&profile), "TOTAL%"), "TOTAL%   SELF%   CALL TREE\n"
							    "100.00    0.00   _start\n"
							    "100.00    0.00     main\n"
							    "100.00    0.00       serve\n"
							    "100.00    0.00         parse\n"
							    "100.00    0.00           scan\n"
							    " 60.00   60.00             skip\n"
							    " 40.00   40.00             fill\n");
	profile_end(&profile);
}

static void header(void)
{
	struct profile profile;
	profile_begin(&profile);
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
		{"stats.throttled", "1"},
		{"stats.restarts", "2"},
		{"stats.cpu_ns.main", "20000000"},
		{"stats.cpu_ns.collector", "100000000"},
		{"stats.peak_rss_bytes", "23068672"},
		{"step_down.0", "cycles: no counters here, cpu-clock stands in"},
	};
	for (size_t i = 0; i < sizeof(metadata) / sizeof(*metadata); i++)
		CHECK_EQ(history_set_info(profile.history, metadata[i][0], metadata[i][1]), 0);
	known_profile(&profile);
	const char *report = report_of(&profile);
	*strstr(profile.text.bytes, "\n\n") = '\0';
	CHECK_STR(report,
		  "target     program[42]\n"
		  "host       box, Linux 6.1.0 x86_64, 2 CPUs\n"
		  "event      cycles, opened as cpu-clock\n"
		  "rate       999 Hz asked, 50 samples/s reached; throttled 1 time by the kernel\n"
		  "duration   2.00 s, 100 samples, lost 100 (50.00%)\n"
		  "weight     100 ms in 100 samples\n"
		  "problems   3 late; 1 time throttled by the kernel; 2 restarts of helper "
		  "processes\n"
		  "stacks     complete 99.00%, broken 1.00% (no_table 1)\n"
		  "call graph auto, copies of 32,768 bytes\n"
		  "unnamed    0.44% of 229 frames\n"
		  "fallback   cycles: no counters here, cpu-clock stands in\n"
		  "ctop       0.12 s of CPU time (6.0% of one CPU), 22 MiB");
	profile_end(&profile);
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
	struct profile profile;
	profile_begin(&profile);
	set_metadata(profile.history, of_stolen_cpus,
		     sizeof(of_stolen_cpus) / sizeof(*of_stolen_cpus));
	known_profile(&profile);
	const char *report = report_of(&profile);
	CHECK(strstr(report,
		     "CPUs       busy 24.00%, stolen by the host 76.00%, idle 0.00% of 2 CPUs\n"));
	CHECK(strstr(report, "50 samples/s reached; the host took 76% of the CPUs' time\n"));
	/* Of one process that is no more than the reason for its rate. */
	CHECK_EQ(history_set_info(profile.history, "sampled_cpus", "0"), 0);
	CHECK_EQ(history_set_info(profile.history, "stats.counted.0", "480000000"), 0);
	report = report_of(&profile);
	CHECK(strstr(report, "CPUs       busy 24.00%, stolen by the host 76.00%, idle 0.00%\n"));
	CHECK(strstr(report,
		     "; the target used 24% of a CPU; the host took 76% of the CPUs' time\n"));
	/* A file may say anything. */
	CHECK_EQ(history_set_info(profile.history, "stats.cpus.stolen_ns", "18446744073709551615"),
		 0);
	CHECK(!strstr(report_of(&profile), "stolen"));
	profile_end(&profile);
}

static void no_samples(void)
{
	struct profile profile;
	profile_begin(&profile);
	/* A file that says nothing, one that names its event, one whose recorder was killed, and one that is whole. */
	CHECK(strstr(report_of(&profile),
		     "the file has none.\nIt does not say whether any were lost"));
	CHECK_EQ(history_set_info(profile.history, "event.opened", "cpu-clock"), 0);
	CHECK(strstr(report_of(&profile),
		     "the file has none of cpu-clock.\nIt does not say whether"));
	CHECK_EQ(history_set_info(profile.history, "event.unit", "1"), 0);
	CHECK(strstr(report_of(&profile),
		     "the file has none of cpu-clock.\nIt does not say whether"));
	CHECK_EQ(history_set_info(profile.history, "stats.lost", "0"), 0);
	CHECK(strstr(report_of(&profile), "No samples: the target used no CPU time"));
	CHECK_EQ(history_set_info(profile.history, "stats.lost", "12"), 0);
	CHECK(strstr(report_of(&profile), "12 were lost"));
	profile_end(&profile);

	profile_begin(&profile);
	const struct history_filter nobody = {.comm = "nobody"};
	history_set_filter(profile.history, &nobody);
	known_profile(&profile);
	CHECK(strstr(report_of(&profile), "No sample passes the filter, though 100 were recorded"));
	profile_end(&profile);
}

/* Names are cut to a terminal's width, and never in a pipe. */
static void widths(void)
{
	static char name[301];
	memset(name, 'n', sizeof(name) - 1);
	struct profile profile;
	profile_begin(&profile);
	struct frame_id deep = frame_of(&profile, profile.program, 0x100, name);
	struct node_id node = {0};
	for (size_t i = 0; i < 60; i++)
		node = below(&profile, node, deep);
	sample(&profile, node, deep, 10, STACK_COMPLETE, STACK_REASON_NONE);
	for (size_t i = 0; i < 2; i++) {
		profile.options.tree = i == 1;
		profile.options.columns = 0;
		CHECK(!strstr(report_of(&profile), name));
		CHECK(widest_line(report_of(&profile)) <= 200);
		profile.options.names_full = true;
		CHECK(strstr(report_of(&profile), name));
		profile.options.names_full = false;
		profile.options.columns = 80;
		CHECK(!strstr(report_of(&profile), name));
		CHECK(widest_line(report_of(&profile)) <= 80);
		profile.options.columns = 40;
		CHECK(strstr(report_of(&profile), "nnn"));
		profile.options.columns = 1;
		CHECK(strstr(report_of(&profile), "nnn"));
	}
	profile_end(&profile);
}

/* Symbols, modules, targets and steps come from files that anybody may have written. */
static void hostile_names(void)
{
	static const char evil[] = "\x1b]52;c;AAAA\a\nfake 100.00\x9b[2J";
	struct profile profile;
	profile_begin(&profile);
	static const char *const keys[] = {"target",	 "hostname",	"kernel",
					   "arch",	 "event.asked", "event.opened",
					   "call_graph", "step_down.0", "event.period",
					   "stats.lost", "duration_ns"};
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		CHECK_EQ(history_set_info(profile.history, keys[i], evil), 0);
	struct module_id module = module_of(&profile, evil, MODULE_FILE);
	struct frame_id frame = frame_of(&profile, module, 0x100, evil);
	sample(&profile, below(&profile, (struct node_id){0}, frame), frame, 5, STACK_COMPLETE,
	       STACK_REASON_NONE);
	for (size_t i = 0; i < 2; i++) {
		profile.options.tree = i == 1;
		for (const char *at = report_of(&profile); *at; at++)
			CHECK(*at == '\n' || ((unsigned char)*at >= ' ' && *at != 0x7f));
		CHECK(!strstr(text_string(&profile.text), "\nfake"));
	}
	profile_end(&profile);
}

/* Samples of different events do not add up: one is shown, and the others are named. */
static void other_events(void)
{
	struct profile profile;
	profile_begin(&profile);
	struct event_row faults = {.name = string_of(&profile, "page-faults"),
				   .asked = string_of(&profile, "page-faults")};
	uint32_t id;
	CHECK_EQ(tables_add_event(profile.writer, &faults, &id), 0);
	CHECK_EQ(history_set_info(profile.history, "event.asked", "cycles"), 0);
	CHECK_EQ(history_set_info(profile.history, "event.opened", "cpu-clock"), 0);
	const struct history_filter first = {.event = "cpu-clock"};
	history_set_filter(profile.history, &first);
	struct frame_id frame = frame_of(&profile, profile.program, 0x100, "f");
	tables_publish(profile.writer);
	for (uint8_t event = 2; event >= 1; event--) {
		const struct sample one = {.time_ns = 1,
					   .weight = 1,
					   .task = profile.task,
					   .leaf = frame,
					   .event = event};
		CHECK_EQ(history_import(profile.history, &one, 1), 0);
	}
	CHECK(strstr(report_of(&profile),
		     "page-faults (record, and choose with ctop report --event)\n"));
	profile.options.command = COMMAND_REPORT;
	CHECK(strstr(report_of(&profile), "event      cycles, opened as cpu-clock\n"
					  "others     not shown here: page-faults (choose with "
					  "--event)\n"));
	/* What is said is said of the event shown. */
	CHECK(!strstr(report_of(&profile), " shown (") &&
	      strstr(report_of(&profile), " 1 sample, "));
	CHECK(strstr(report_of(&profile), "weight     1 ns in 1 sample\n"));
	CHECK_EQ(history_set_info(profile.history, "stats.lost", "5"), 0);
	CHECK_EQ(history_set_info(profile.history, "stats.lost.0", "1"), 0);
	CHECK_EQ(history_set_info(profile.history, "stats.lost.1", "4"), 0);
	CHECK(strstr(report_of(&profile), "1 sample, lost 1 (50.00%)"));
	/* A kernel that did not tell whose. */
	CHECK_EQ(history_set_info(profile.history, "stats.lost.1", "0"), 0);
	CHECK(strstr(report_of(&profile), "1 sample, lost 5 of all events\n"));
	profile_end(&profile);
}

static void weigh(struct profile *profile, struct frame_id leaf, uint64_t weight)
{
	const struct sample one = {
		.time_ns = 1, .weight = weight, .task = profile->task, .leaf = leaf, .event = 2};
	CHECK_EQ(history_import(profile->history, &one, 1), 0);
}

static const char *weight_line(struct profile *profile)
{
	const char *line = from_line(report_of(profile), "weight ");
	*strchrnul(profile->text.bytes + (line - profile->text.bytes), '\n') = '\0';
	return line;
}

static void what_samples_stand_for(void)
{
	struct profile profile;
	profile_begin(&profile);
	struct event_row faults = {.name = string_of(&profile, "page-faults"),
				   .asked = string_of(&profile, "faults"),
				   .frequency_hz = 999,
				   .weight_unit = WEIGHT_FAULTS};
	uint32_t id;
	CHECK_EQ(tables_add_event(profile.writer, &faults, &id), 0);
	const struct history_filter only = {.event = "page-faults"};
	history_set_filter(profile.history, &only);
	profile.options.command = COMMAND_REPORT;
	profile.options.event = "faults";
	struct frame_id frame = frame_of(&profile, profile.program, 0x100, "f");
	struct frame_id other = frame_of(&profile, profile.program, 0x200, "g");
	tables_publish(profile.writer);
	for (int i = 0; i < 72; i++)
		weigh(&profile, frame, 1808);
	CHECK_STR(weight_line(&profile), "weight     130 k faults in 72 samples");
	CHECK_EQ(history_set_info(profile.history, "stats.counted.1", "130000"), 0);
	CHECK_STR(weight_line(&profile), "weight     130 k faults in 72 samples");
	CHECK_EQ(history_set_info(profile.history, "stats.counted.1", "9999"), 0);
	CHECK_STR(weight_line(&profile),
		  "weight     130 k faults in 72 samples; the kernel counted 9,999 faults");
	/* Others' are among them. */
	CHECK_EQ(history_set_info(profile.history, "stats.dropped.foreign", "3"), 0);
	CHECK_STR(weight_line(&profile), "weight     130 k faults in 72 samples");
	CHECK_EQ(history_set_info(profile.history, "stats.dropped.foreign", "0"), 0);
	/* A rate that is not reached, and what would do. */
	CHECK_EQ(history_set_info(profile.history, "duration_ns", "2000000000"), 0);
	CHECK(strstr(report_of(&profile),
		     "rate       999 Hz asked, 36 samples/s reached; -c 6 would have "
		     "given 833\n"));
	CHECK_EQ(history_set_info(profile.history, "stats.counted.1", "100"), 0);
	CHECK(strstr(report_of(&profile), " 36 samples/s reached\n"));
	CHECK_EQ(history_set_info(profile.history, "stats.counted.1", "0"), 0);
	weigh(&profile, other, 1000000);
	CHECK_STR(weight_line(&profile),
		  "weight     1.13 M faults in 73 samples; few of them carry most of "
		  "it: as precise as 1 of equal weight");
	/* The one that was taken once carries nine tenths. */
	CHECK(strstr(from_line(report_of(&profile), " SELF%"), " 88.48   88.48          1  g "));
	weigh(&profile, frame, UINT64_MAX);
	CHECK(strstr(report_of(&profile), "problems   1 cut: samples with impossible weights\n"));
	profile_end(&profile);
}

/* A single stack in a million is shown as more than nothing and less than all. */
static void rare_ends(void)
{
	struct profile profile;
	profile_begin(&profile);
	struct frame_id frame = frame_of(&profile, profile.program, 0x100, "f");
	sample(&profile, (struct node_id){0}, frame, 20000, STACK_COMPLETE, STACK_REASON_NONE);
	sample(&profile, (struct node_id){0}, frame, 1, STACK_BROKEN, STACK_REASON_BAD_CFI);
	CHECK(strstr(report_of(&profile),
		     "stacks     complete 99.99%, broken 0.01% (bad_cfi 1)\n"));
	profile_end(&profile);
}

int main(void)
{
	RUN(list);
	RUN(names_are_as_wide_as_the_last_row_needs);
	RUN(tree);
	RUN(tree_of_a_chain);
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
