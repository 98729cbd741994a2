/* SPDX-License-Identifier: MIT */
/* Screens of a whole machine: the tree begins with its processes. */
#include <ctop/history/history.h>
#include <ctop/ui/ui.h>

#include "script.h"
#include "test.h"

enum { NR_TASKS = 4, SECONDS = 20, FRAMES_MOST = 4 };
static const uint64_t SECOND_NS = 1000000000;

struct profile {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *names;
	struct history *history;
	struct module_id program, kernel;
	struct task_id tasks[NR_TASKS];
	struct {
		const char *name;
		struct frame_id id;
	} frames[16];
	size_t nr_frames;
	struct ui_facts facts;
	struct ui *ui;
};
static struct profile profile;

static const struct {
	int32_t pid, tid;
	const char *comm;
} tasks[NR_TASKS] = {
	{4711, 4711, "python3"},
	{4711, 4712, "helper"},
	{20, 20, "nginx"},
	{7, 7, "\x1b[2Jodd"},
};

struct stack {
	size_t task;
	unsigned a_second; /* samples */
	enum stack_end end;
	const char *frames[FRAMES_MOST]; /* the root first */
};

static const struct stack stacks[] = {
	{0, 6, STACK_COMPLETE, {"_start", "main", "parse(int)"}},
	{1, 2, STACK_COMPLETE, {"start_thread", "worker"}},
	{2, 3, STACK_COMPLETE, {"_start", "main", "serve", "k:read"}},
	{2, 2, STACK_COMPLETE, {"_start", "main", "parse(int)"}},
	{2, 1, STACK_TRUNCATED, {"deep"}},
	{3, 1, STACK_COMPLETE, {"_start", "main"}},
};

static struct string_id string_of(const char *string)
{
	struct string_id id = {0};
	CHECK_EQ(tables_add_string(profile.writer, string, strlen(string), &id), 0);
	return id;
}

static struct module_id module_of(const char *path, enum module_kind kind)
{
	struct module_row row = {.path = string_of(path), .kind = kind};
	struct module_id id = {0};
	CHECK_EQ(tables_add_module(profile.writer, &row, &id), 0);
	return id;
}

static struct frame_id frame_of(const char *name)
{
	for (size_t i = 0; i < profile.nr_frames; i++)
		if (!strcmp(profile.frames[i].name, name))
			return profile.frames[i].id;
	bool kernel = !strncmp(name, "k:", 2);
	struct frame_id id = {0};
	CHECK(profile.nr_frames < sizeof(profile.frames) / sizeof(*profile.frames));
	CHECK_EQ(tables_add_frame(profile.writer, kernel ? profile.kernel : profile.program,
				  16 * profile.nr_frames + 1, &id),
		 0);
	CHECK_EQ(symbols_set(profile.names, id, SYMBOL_NAMED, name + (kernel ? 2 : 0), NULL, 0), 0);
	profile.frames[profile.nr_frames].name = name;
	profile.frames[profile.nr_frames++].id = id;
	return id;
}

static void add_samples(const struct stack *stack, uint64_t second, unsigned times)
{
	struct node_id node = {0};
	struct frame_id leaf = {0};
	for (size_t i = 0; i < FRAMES_MOST && stack->frames[i]; i++) {
		leaf = frame_of(stack->frames[i]);
		if (i + 1 < FRAMES_MOST && stack->frames[i + 1])
			CHECK_EQ(tables_add_node(profile.writer, node, leaf, FRAME_CFI, &node), 0);
	}
	tables_publish(profile.writer);
	const struct sample sample = {
		.time_ns = second * SECOND_NS,
		.weight = 10000000,
		.task = profile.tasks[stack->task],
		.node = node,
		.leaf = leaf,
		.event = 1,
		.end = (uint8_t)stack->end,
	};
	for (unsigned i = 0; i < times; i++)
		CHECK_EQ(history_import(profile.history, &sample, 1), 0);
}

/* ---- the host ---- */

static void tell_facts(void *context, uint32_t event, struct ui_facts *facts)
{
	(void)context;
	(void)event;
	*facts = profile.facts;
}

static bool tell_thread(void *context, int32_t pid, int32_t tid, struct ui_thread_now *now)
{
	(void)context;
	(void)pid;
	(void)tid;
	*now = (struct ui_thread_now){.state = 'R', .still_s = -1};
	return true;
}

static void add_command(void *context, int32_t pid, uint64_t started_ns, struct text *out)
{
	(void)context;
	(void)started_ns;
	if (pid == 20)
		text_add(out, "nginx: worker process");
	if (pid == 21)
		text_add(out, "/usr/sbin/nginx -g daemon off; -c /etc/nginx/a/very/long/name.conf");
}

static const struct ui_host host = {
	.facts = tell_facts, .thread = tell_thread, .command = add_command};

/* nr_cpus: 0 where no whole machine is watched. */
static void begin(uint64_t nr_cpus, int rows, int cols, bool ascii)
{
	const struct ui_options options = {.ascii = ascii};
	struct event_row event = {.period = 1};
	uint32_t id;
	profile = (struct profile){.facts = {
					   .state = UI_LIVE,
					   .target = "system",
					   .event = "cpu-clock",
					   .call_graph = "auto 64k",
					   .frequency_hz = 999,
					   .rate_hz = 15,
					   .cpu_percent = nr_cpus ? 152 : 40,
					   .nr_cpus = nr_cpus,
					   .unit = WEIGHT_NS,
					   .own_cpu_percent = 1.8,
					   .own_bytes = 24 << 20,
				   }};
	CHECK_EQ(tables_map(&profile.tables, -1, &tables_capacity_default, true), 0);
	CHECK_EQ(symbols_map(&profile.symbols, -1, &symbols_capacity_default, true), 0);
	profile.writer = tables_writer_new(&profile.tables);
	profile.names = symbols_writer_new(&profile.symbols);
	profile.history = history_new();
	CHECK(profile.writer && profile.names && profile.history);
	history_keep_seconds(profile.history);
	event.name = event.asked = string_of("cpu-clock");
	CHECK_EQ(tables_add_event(profile.writer, &event, &id), 0);
	profile.program = module_of("/usr/bin/program", MODULE_FILE);
	profile.kernel = module_of("[kernel]", MODULE_KERNEL);
	for (int i = 0; i < NR_TASKS; i++)
		CHECK_EQ(tables_add_task(profile.writer, tasks[i].pid, tasks[i].tid, 0,
					 string_of(tasks[i].comm), &profile.tasks[i]),
			 0);
	CHECK_EQ(history_begin_epoch(profile.history, &profile.tables, &profile.symbols), 0);
	for (uint64_t second = 1; second <= SECONDS; second++)
		for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
			add_samples(&stacks[i], second, stacks[i].a_second);
	profile.ui = ui_new(&options, &host, profile.history);
	CHECK(profile.ui);
	CHECK_EQ(ui_resize(profile.ui, rows, cols), 0);
	CHECK_EQ(ui_refresh(profile.ui, SECONDS * SECOND_NS + 500000000), 0);
	ui_draw(profile.ui);
}

static void end(void)
{
	ui_free(profile.ui);
	history_free(profile.history);
	symbols_writer_free(profile.names);
	tables_writer_free(profile.writer);
	symbols_unmap(&profile.symbols);
	tables_unmap(&profile.tables);
}

static enum ui_wish press(const char *keys)
{
	return press_keys(profile.ui, keys);
}

static void compare(const char *name)
{
	compare_screen(profile.ui, name);
}

/* ---- screens ---- */

static const struct {
	const char *name, *keys;
	int rows, cols;
	bool ascii;
} screens[] = {
	{"by-process-80x24", "2", 24, 80, false},
	{"by-process-40x10", "2", 10, 40, false},
	{"by-process-120x40", "2<Down>", 40, 120, false},
	{"by-process-ascii", "2", 24, 80, true},
	{"by-process-closed", "2C", 24, 80, false},
	{"by-process-all-open", "2E", 24, 80, false},
	{"by-process-merged", "2p", 24, 80, false},
	{"by-process-found", "2/nginx<Enter>", 24, 80, false},
	{"by-process-zoomed", "2/nginx<Enter><Enter>", 24, 80, false},
	{"by-process-focused", "2/nginx<Enter>f<Home><Down><Down><Down>f", 24, 80, false},
	{"by-process-subtree", "2/nginx<Enter>F", 24, 80, false},
	{"by-process-subtree-stays", "2/nginx<Enter>Fp", 24, 80, false},
	{"by-process-dropped", "2/python3<Enter>D", 24, 80, false},
	{"by-process-chosen-with-t", "2/nginx<Enter>t1", 24, 80, false},
	{"by-process-copied", "2/odd<Enter>y", 24, 80, false},
	{"by-process-flame", "5", 24, 80, false},
	{"by-process-flame-zoomed", "5<Down><Enter>", 24, 80, false},
	{"by-process-callers", "3E", 24, 80, false},
	{"by-process-sandwich", "/main<Enter>4", 24, 80, false},
	{"programs-80x24", "6", 24, 80, false},
	{"programs-ascii", "6", 24, 80, true},
	{"programs-40x10", "6", 10, 40, false},
	{"programs-120x36", "6", 36, 120, false},
	{"programs-one-process", "6/python3<Enter><Enter>", 24, 80, false},
};
static size_t screen;

static void one_screen(void)
{
	begin(2, screens[screen].rows, screens[screen].cols, screens[screen].ascii);
	press(screens[screen].keys);
	compare(screens[screen].name);
	end();
}

/* Some processes are not kept apart, unless that is asked for. */
static void only_whole_machines_are_shown_by_process(void)
{
	begin(0, 24, 80, false);
	press("2");
	compare("by-process-not-asked");
	press("p");
	compare("by-process-asked");
	press("p<Home>");
	compare("by-process-not-asked");
	end();
}

/* A recording says that it was of a whole machine; that may be read after the first samples. */
static void a_recording_tells_late(void)
{
	begin(0, 24, 80, false);
	profile.facts.state = UI_LOADING;
	CHECK_EQ(ui_refresh(profile.ui, SECONDS * SECOND_NS + 500000000), 0);
	press("2");
	profile.facts.state = UI_FILE;
	profile.facts.nr_cpus = 2;
	CHECK_EQ(ui_refresh(profile.ui, SECONDS * SECOND_NS + 500000000), 0);
	compare("by-process-file");
	/* And when and where it was. */
	profile.facts.recorded = "2026-11-22 14:03, 12.5 s, host\x1b[2J";
	CHECK_EQ(ui_refresh(profile.ui, SECONDS * SECOND_NS + 500000000), 0);
	compare("by-process-file-of-a-day");
	end();
}

/* What is open and what is selected stay, though the order of processes turns round and one goes by another name. */
static void rows_stay_themselves(void)
{
	static const struct stack more = {2, 0, STACK_COMPLETE, {"_start", "main", "serve"}};
	begin(2, 24, 80, false);
	press("2C/nginx<Enter><Right>");
	struct task_id renamed;
	CHECK_EQ(tables_add_task(profile.writer, 20, 20, 0, string_of("nginx: worker"), &renamed),
		 0);
	add_samples(&more, SECONDS, 300);
	profile.tasks[2] = renamed;
	add_samples(&more, SECONDS, 1);
	CHECK_EQ(ui_refresh(profile.ui, SECONDS * SECOND_NS + 600000000), 0);
	compare("by-process-followed");
	press("[[");
	compare("by-process-followed-shorter");
	end();
}

/* Keys that come faster than the screen is drawn mean what would have been drawn. */
static void keys_typed_ahead(void)
{
	begin(2, 24, 80, false);
	for (const char *keys = "2C"; *keys; keys++)
		ui_key(profile.ui, *keys);
	compare("by-process-closed");
	for (const char *keys = "/nginx\nF"; *keys; keys++)
		ui_key(profile.ui, *keys);
	for (const char *keys = "1\0332C"; *keys; keys++)
		ui_key(profile.ui, *keys);
	press("<Home>");
	compare("by-process-closed");
	end();
}

/* Into those of one name, into one of these, and back. */
static void a_program_of_two_processes(void)
{
	static const struct stack more = {2, 0, STACK_COMPLETE, {"_start", "main", "serve"}};
	begin(2, 24, 80, false);
	CHECK_EQ(tables_add_task(profile.writer, 21, 21, 0, string_of("nginx"), &profile.tasks[2]),
		 0);
	add_samples(&more, SECONDS, 30);
	CHECK_EQ(ui_refresh(profile.ui, SECONDS * SECOND_NS + 600000000), 0);
	press("6");
	compare("programs-two");
	press("<Enter>");
	compare("programs-processes");
	press("/21 nginx<Enter><Enter>");
	compare("programs-threads");
	press("<Esc><Esc>");
	compare("programs-two");
	press("pp");
	press("p");
	compare("programs-two");
	end();
}

int main(void)
{
	for (screen = 0; screen < sizeof(screens) / sizeof(*screens); screen++)
		test_run(screens[screen].name, one_screen);
	RUN(only_whole_machines_are_shown_by_process);
	RUN(a_recording_tells_late);
	RUN(rows_stay_themselves);
	RUN(keys_typed_ahead);
	RUN(a_program_of_two_processes);
	return test_done();
}
