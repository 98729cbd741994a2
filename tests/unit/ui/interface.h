/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_UI_INTERFACE_H
#define CTOP_TEST_UI_INTERFACE_H

/*
 * An interface on a profile that is made by hand, with a clock that stands still, so that what is drawn is the
 * same on every machine. Keys go in; whole screens come out, and are compared with tests/golden/ui/NAME.txt. To
 * accept what is drawn now: SCREENS_UPDATE=1 build/unit/ui/PROGRAM, then read the difference.
 */

#include <ctop/history/history.h>
#include <ctop/ui/ui.h>

#include "script.h"
#include "small_tables.h"
#include "test.h"

static const struct tables_capacity large_tables = {
	.nr = {[TABLE_STRINGS] = 1 << 14,
	       [TABLE_METADATA] = 64,
	       [TABLE_EVENTS] = 16,
	       [TABLE_MODULES] = 64,
	       [TABLE_TASKS] = 64,
	       [TABLE_FRAMES] = 1 << 17,
	       [TABLE_NODES] = 4096},
	.nr_samples = 1024,
};
static const struct symbols_capacity large_symbols = {
	.nr_frames = 1 << 17, .string_units = 1 << 20, .nr_modules = 64, .nr_lines = 64};

enum { NR_THREADS = 3, FRAMES_MOST = 8, SECONDS = 30 };

struct profile {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *names;
	struct history *history;
	struct module_id program, library, kernel;
	struct task_id threads[NR_THREADS];
	uint64_t address;
	struct {
		const char *name;
		struct frame_id id;
	} frames[32];
	size_t nr_frames;
	struct ui_facts facts;
	const struct ui_thread *sleepers;
	size_t nr_sleepers;
	bool has_times;	     /* there is an account of what they did */
	struct ui_code code; /* of whatever function */
	struct ui *ui;
	uint64_t now_ns;
};
static struct profile profile;

/* ---- the profile ---- */

static inline struct string_id string_of(const char *string)
{
	struct string_id id = {0};
	CHECK_EQ(tables_add_string(profile.writer, string, strlen(string), &id), 0);
	return id;
}

static inline struct module_id module_of(const char *path, enum module_kind kind)
{
	struct module_row row = {.path = string_of(path), .kind = kind, .pid = 42};
	struct module_id id = {0};
	CHECK_EQ(tables_add_module(profile.writer, &row, &id), 0);
	return id;
}

/* One function of each name: "k:" in the kernel, "l:" in the library; "?" has no name. */
static inline struct frame_id frame_of(const char *name)
{
	for (size_t i = 0; i < profile.nr_frames; i++)
		if (!strcmp(profile.frames[i].name, name))
			return profile.frames[i].id;
	bool kernel = !strncmp(name, "k:", 2), library = !strncmp(name, "l:", 2);
	struct module_id module = kernel    ? profile.kernel
				  : library ? profile.library
					    : profile.program;
	struct frame_id id = {0};
	bool named = strcmp(name, "?") != 0;
	profile.address += 16;
	CHECK_EQ(tables_add_frame(profile.writer, module, profile.address, &id), 0);
	CHECK_EQ(symbols_set(profile.names, id, named ? SYMBOL_NAMED : SYMBOL_UNKNOWN,
			     named ? name + (kernel || library ? 2 : 0) : NULL, NULL, 0),
		 0);
	CHECK(profile.nr_frames < sizeof(profile.frames) / sizeof(*profile.frames));
	profile.frames[profile.nr_frames].name = name;
	profile.frames[profile.nr_frames++].id = id;
	return id;
}

struct stack {
	size_t thread;
	unsigned a_second; /* samples */
	enum stack_end end;
	const char *frames[FRAMES_MOST]; /* the root first */
};

static const struct stack stacks[] = {
	{0, 6, STACK_COMPLETE, {"_start", "main", "serve(int)", "parse_request(char const*)"}},
	{0,
	 3,
	 STACK_COMPLETE,
	 {"_start", "main", "serve(int)", "parse_request(char const*)",
	  "std::map<int, std::vector<int> >::find(int const&)"}},
	{0, 4, STACK_COMPLETE, {"_start", "main", "serve(int)", "l:memcpy"}},
	{0,
	 2,
	 STACK_COMPLETE,
	 {"_start", "main", "serve(int)", "l:write", "k:ksys_write", "k:copy_from_user"}},
	{1,
	 5,
	 STACK_COMPLETE,
	 {"start_thread", "worker(void*)", "hash_block(unsigned char const*)"}},
	{1, 1, STACK_COMPLETE, {"start_thread", "worker(void*)", "l:memcpy"}},
	{2, 2, STACK_COMPLETE, {"start_thread", "漢字_\x1b[31m_name", "?"}},
	{2, 1, STACK_TRUNCATED, {"deep", "deeper"}},
};

static inline void add_samples_of_weight(uint8_t event, const struct stack *stack, uint64_t second,
					 uint64_t weight)
{
	struct node_id node = {0};
	struct frame_id leaf = {0};
	for (size_t i = 0; i < FRAMES_MOST && stack->frames[i]; i++) {
		leaf = frame_of(stack->frames[i]);
		bool is_leaf = i + 1 == FRAMES_MOST || !stack->frames[i + 1];
		if (!is_leaf)
			CHECK_EQ(tables_add_node(profile.writer, node, leaf, FRAME_CFI, &node), 0);
	}
	tables_publish(profile.writer);
	for (unsigned i = 0; i < stack->a_second; i++) {
		const struct sample sample = {
			.time_ns = second * 1000000000 + 1000000 * (i + 1),
			.weight = weight,
			.task = profile.threads[stack->thread],
			.node = node,
			.leaf = leaf,
			.event = event,
			.end = (uint8_t)stack->end,
			.reason = STACK_REASON_NONE,
		};
		CHECK_EQ(history_import(profile.history, &sample, 1), 0);
	}
}

static inline void add_samples_of(uint8_t event, const struct stack *stack, uint64_t second)
{
	add_samples_of_weight(event, stack, second, 10000000);
}

static inline void add_samples(const struct stack *stack, uint64_t second)
{
	add_samples_of(1, stack, second);
}

static inline void make_tables(bool large)
{
	const struct tables_capacity *tables = large ? &large_tables : &small_tables;
	const struct symbols_capacity *symbols = large ? &large_symbols : &small_symbols;
	CHECK_EQ(tables_map(&profile.tables, -1, tables, true), 0);
	CHECK_EQ(symbols_map(&profile.symbols, -1, symbols, true), 0);
	profile.writer = tables_writer_new(&profile.tables);
	profile.names = symbols_writer_new(&profile.symbols);
	profile.history = history_new();
	CHECK(profile.writer && profile.names && profile.history);
	history_keep_seconds(profile.history);
	CHECK_EQ(history_keep_timeline(profile.history), 0);
	struct event_row event = {.name = string_of("cpu-clock"), .asked = string_of("cycles")};
	uint32_t id;
	CHECK_EQ(tables_add_event(profile.writer, &event, &id), 0);
	profile.program = module_of("/usr/bin/program", MODULE_FILE);
	profile.library = module_of("/usr/lib/libc.so.6", MODULE_FILE);
	profile.kernel = module_of("[kernel]", MODULE_KERNEL);
	static const char *const names[NR_THREADS] = {"program", "worker-1", "\xff odd"};
	for (int i = 0; i < NR_THREADS; i++)
		CHECK_EQ(tables_add_task(profile.writer, 42, 42 + i, 0, string_of(names[i]),
					 &profile.threads[i]),
			 0);
	CHECK_EQ(history_begin_epoch(profile.history, &profile.tables, &profile.symbols), 0);
}

/* ---- the host ---- */

static inline void tell_facts(void *context, uint32_t event, struct ui_facts *facts)
{
	(void)context;
	*facts = profile.facts;
	if (event) {
		facts->event = "faults";
		facts->frequency_hz = 0;
		facts->period = 1;
		facts->unit = WEIGHT_FAULTS;
	}
}

static inline void tell_info(void *context, uint32_t event, enum time_shown time,
			     struct text *lines)
{
	(void)context;
	(void)event;
	(void)time;
	text_add(lines, "target     program[42]\nevent      cpu-clock\n");
}

/* None but those that have samples, unless a test has others. */
static inline int list_threads(void *context, int32_t only_pid, const struct ui_thread **out,
			       size_t *nr)
{
	(void)context;
	(void)only_pid;
	*out = profile.sleepers;
	*nr = profile.nr_sleepers;
	return 0;
}

static inline bool tell_thread(void *context, int32_t pid, int32_t tid, struct ui_thread_now *now)
{
	(void)context;
	CHECK_EQ(pid, 42);
	*now = (struct ui_thread_now){.state = 'R', .name = "program", .still_s = -1};
	if (tid == 44) /* of which nothing is known */
		return false;
	if (tid != 42)
		*now = (struct ui_thread_now){.state = 'S',
					      .name = "sleeper",
					      .place = "futex_do_wait",
					      .call = "futex",
					      .still_s = profile.has_times ? 12.34 : 754,
					      .is_exact = profile.has_times,
					      .woken_by = "4711 main 81%, an interrupt 19%"};
	return true;
}

static inline bool tell_times(void *context, int32_t pid, int32_t tid, uint32_t seconds,
			      struct ui_times *times)
{
	(void)context;
	CHECK_EQ(pid, 42);
	/* The window's, as well as of all. */
	const double running = tid == -1 ? 150 : tid == 42 ? 75.5 : seconds ? 0.3 : 12;
	*times = (struct ui_times){.cpu_percent = running,
				   .running_percent = tid == -1 ? 50 : running,
				   .runnable_percent = 0.2,
				   .waiting_percent = tid == -1 ? 49.8 : 99.8 - running};
	return profile.has_times && tid != 44;
}

static inline void add_module_remedy(void *context, uint32_t module, struct text *out)
{
	(void)context;
	if (history_module(profile.history, module).names.missing)
		text_add(out, "find-dbgsym-packages --install /usr/lib/libc.so.6");
}

static inline void name_thread(void *context, int32_t pid, int32_t tid, char name[16])
{
	(void)context;
	snprintf(name, 16, "named %d", tid);
	CHECK_EQ(pid, 42);
}

static inline void suggest_name(void *context, char *name, size_t size)
{
	(void)context;
	snprintf(name, size, name[0] ? "suggested.next" : "suggested");
}

static inline void export(void *context, struct selection *selection, const char *excerpt,
			  const char *path, struct text *message)
{
	(void)context;
	text_add(message, "written: ");
	text_add_safe(message, path);
	text_addf(message, ", %d samples of %s", (int)selection_totals(selection).samples, excerpt);
}

static inline int list_processes(void *context, struct ui_process **out, size_t *nr)
{
	static const struct ui_process processes[] = {
		{7, "idle", "root", "/sbin/idle", 0, 1},
		{42, "program", "alice", "/usr/bin/program --serve", 187.5, 3},
		{4711, "bad\x1b[2J", "bob", "bad\x1b[2J", 3.2, 1},
	};
	(void)context;
	*out = malloc(sizeof(processes));
	if (!*out)
		return -1;
	memcpy(*out, processes, sizeof(processes));
	*nr = sizeof(processes) / sizeof(*processes);
	return 0;
}

static inline const struct ui_code *get_code(void *context, struct selection *selection,
					     struct function_id function)
{
	(void)context;
	(void)selection;
	profile.code.holder = function;
	return &profile.code;
}

static const struct ui_host host = {
	.code = get_code,
	.facts = tell_facts,
	.info = tell_info,
	.threads = list_threads,
	.thread = tell_thread,
	.times = tell_times,
	.thread_name = name_thread,
	.module_remedy = add_module_remedy,
	.suggest_name = suggest_name,
	.export = export,
	.processes = list_processes,
};

static inline void begin_ui(const struct ui_options *options)
{
	bool picks = options->view == VIEW_PICKER;
	profile.ui = ui_new(options, &host, picks ? NULL : profile.history);
	CHECK(profile.ui);
	profile.now_ns = UINT64_C(1000000000) * SECONDS + 500000000;
	CHECK_EQ(ui_refresh(profile.ui, profile.now_ns), 0);
}

static inline void begin_profile(bool large)
{
	profile = (struct profile){.code = {.cause = "", .remedy = ""},
				   .facts = {
					   .state = UI_LIVE,
					   .target = "program[42]",
					   .event = "cpu-clock",
					   .call_graph = "auto 64k",
					   .frequency_hz = 999,
					   .rate_hz = 24,
					   .cpu_percent = 187.4,
					   .unit = WEIGHT_NS,
					   .own_cpu_percent = 1.8,
					   .own_bytes = 24 << 20,
				   }};
	make_tables(large);
}

static inline void begin(const struct ui_options *options, bool with_samples)
{
	begin_profile(false);
	for (uint64_t second = 1; with_samples && second <= SECONDS; second++)
		for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
			/* The worker began late: windows differ. */
			if (stacks[i].thread != 1 || second > SECONDS / 2)
				add_samples(&stacks[i], second);
	begin_ui(options);
}

static inline void end(void)
{
	ui_free(profile.ui);
	history_free(profile.history);
	symbols_writer_free(profile.names);
	tables_writer_free(profile.writer);
	symbols_unmap(&profile.symbols);
	tables_unmap(&profile.tables);
}

/* ---- scripts ---- */

static inline enum ui_wish press(const char *keys)
{
	return press_keys(profile.ui, keys);
}

static inline void compare(const char *name)
{
	compare_screen(profile.ui, name);
}

#endif
