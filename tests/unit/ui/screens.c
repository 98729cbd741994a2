/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <ctop/profile/history.h>
#include <ctop/ui/ui.h>

/*
 * Whole screens: keys in, text out, compared with tests/golden/ui/NAME.txt. The profile is made by
 * hand and the clock stands still, so that they are the same on every machine. To accept
 * what is drawn now: SCREENS_UPDATE=1 build/unit/ui/screens, then read the difference.
 */

static const struct tables_capacity small_tables = {
	.nr = {[TABLE_STRINGS] = 1 << 14,
	       [TABLE_INFOS] = 64,
	       [TABLE_EVENTS] = 16,
	       [TABLE_MODULES] = 64,
	       [TABLE_TASKS] = 64,
	       [TABLE_FRAMES] = 1024,
	       [TABLE_NODES] = 4096},
	.nr_samples = 1024,
};
static const struct symbols_capacity small_symbols = {.nr_frames = 1024, .string_units = 1 << 14};
static const struct tables_capacity large_tables = {
	.nr = {[TABLE_STRINGS] = 1 << 14,
	       [TABLE_INFOS] = 64,
	       [TABLE_EVENTS] = 16,
	       [TABLE_MODULES] = 64,
	       [TABLE_TASKS] = 64,
	       [TABLE_FRAMES] = 1 << 17,
	       [TABLE_NODES] = 4096},
	.nr_samples = 1024,
};
static const struct symbols_capacity large_symbols = {.nr_frames = 1 << 17,
						      .string_units = 1 << 20};

enum { NR_THREADS = 3, FRAMES_MOST = 8, SECONDS = 30 };

struct world {
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
	struct ui *ui;
	uint64_t now_ns;
};
static struct world world;

/* ---- the profile ---- */

static struct string_id string_of(const char *string)
{
	struct string_id id = {0};
	CHECK_EQ(tables_add_string(world.writer, string, strlen(string), &id), 0);
	return id;
}

static struct module_id module_of(const char *path, enum module_kind kind)
{
	struct module_row row = {.path = string_of(path), .kind = kind, .pid = 42};
	struct module_id id = {0};
	CHECK_EQ(tables_add_module(world.writer, &row, &id), 0);
	return id;
}

/* One function of each name: "k:" in the kernel, "l:" in the library; "?" has no name. */
static struct frame_id frame_of(const char *name)
{
	for (size_t i = 0; i < world.nr_frames; i++)
		if (!strcmp(world.frames[i].name, name))
			return world.frames[i].id;
	bool kernel = !strncmp(name, "k:", 2), library = !strncmp(name, "l:", 2);
	struct module_id module = kernel ? world.kernel : library ? world.library : world.program;
	struct frame_id id = {0};
	bool named = strcmp(name, "?") != 0;
	world.address += 16;
	CHECK_EQ(tables_add_frame(world.writer, module, world.address, &id), 0);
	CHECK_EQ(symbols_set(world.names, id, named ? SYMBOL_NAMED : SYMBOL_UNKNOWN,
			     named ? name + (kernel || library ? 2 : 0) : NULL, NULL, 0),
		 0);
	CHECK(world.nr_frames < sizeof(world.frames) / sizeof(*world.frames));
	world.frames[world.nr_frames].name = name;
	world.frames[world.nr_frames++].id = id;
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

static void add_samples_of(uint8_t event, const struct stack *stack, uint64_t second)
{
	struct node_id node = {0};
	struct frame_id leaf = {0};
	for (size_t i = 0; i < FRAMES_MOST && stack->frames[i]; i++) {
		leaf = frame_of(stack->frames[i]);
		bool is_leaf = i + 1 == FRAMES_MOST || !stack->frames[i + 1];
		if (!is_leaf)
			CHECK_EQ(tables_add_node(world.writer, node, leaf, FRAME_CFI, &node), 0);
	}
	tables_publish(world.writer);
	for (unsigned i = 0; i < stack->a_second; i++) {
		const struct sample sample = {
			.time_ns = second * 1000000000 + 1000000 * (i + 1),
			.weight = 10000000,
			.task = world.threads[stack->thread],
			.node = node,
			.leaf = leaf,
			.event = event,
			.end = (uint8_t)stack->end,
			.reason = STACK_REASON_NONE,
		};
		CHECK_EQ(history_import(world.history, &sample, 1), 0);
	}
}

static void add_samples(const struct stack *stack, uint64_t second)
{
	add_samples_of(1, stack, second);
}

static void make_tables(bool large)
{
	const struct tables_capacity *tables = large ? &large_tables : &small_tables;
	const struct symbols_capacity *symbols = large ? &large_symbols : &small_symbols;
	CHECK_EQ(tables_map(&world.tables, -1, tables, true), 0);
	CHECK_EQ(symbols_map(&world.symbols, -1, symbols, true), 0);
	world.writer = tables_writer_new(&world.tables);
	world.names = symbols_writer_new(&world.symbols);
	world.history = history_new();
	CHECK(world.writer && world.names && world.history);
	history_keep_seconds(world.history);
	struct event_row event = {.name = string_of("cpu-clock"), .asked = string_of("cycles")};
	uint32_t id;
	CHECK_EQ(tables_add_event(world.writer, &event, &id), 0);
	world.program = module_of("/usr/bin/program", MODULE_FILE);
	world.library = module_of("/usr/lib/libc.so.6", MODULE_FILE);
	world.kernel = module_of("[kernel]", MODULE_KERNEL);
	static const char *const names[NR_THREADS] = {"program", "worker-1", "\xff odd"};
	for (int i = 0; i < NR_THREADS; i++)
		CHECK_EQ(tables_add_task(world.writer, 42, 42 + i, string_of(names[i]),
					 &world.threads[i]),
			 0);
	CHECK_EQ(history_begin_epoch(world.history, &world.tables, &world.symbols), 0);
}

/* ---- the host ---- */

static void tell_facts(void *context, uint32_t event, struct ui_facts *facts)
{
	(void)context;
	*facts = world.facts;
	if (event) {
		facts->event = "faults";
		facts->frequency_hz = 0;
		facts->period = 1;
		facts->weighs_ns = false;
	}
}

static void tell_info(void *context, struct text *lines)
{
	(void)context;
	text_add(lines, "target     program[42]\nevent      cpu-clock\n");
}

static void tell_thread(void *context, int32_t pid, int32_t tid, struct text *state)
{
	(void)context;
	CHECK_EQ(pid, 42);
	if (tid != 44) /* of which nothing is known */
		text_add(state, tid == 42 ? "runs" : "in futex_do_wait");
}

static void suggest_name(void *context, char *name, size_t size)
{
	(void)context;
	snprintf(name, size, name[0] ? "suggested.next" : "suggested");
}

static void export(void *context, struct slice *slice, const char *excerpt, const char *path,
		   struct text *message)
{
	(void)context;
	text_add(message, "written: ");
	text_add_safe(message, path);
	text_addf(message, ", %d samples of %s", (int)slice_totals(slice).samples, excerpt);
}

static int list_processes(void *context, struct ui_process **out, size_t *nr)
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

static const struct ui_host host = {NULL,	  tell_facts, tell_info,     tell_thread,
				    suggest_name, export,     list_processes};

static void begin_ui(const struct ui_options *options)
{
	bool picks = options->view == VIEW_PICKER;
	world.ui = ui_new(options, &host, picks ? NULL : world.history);
	CHECK(world.ui);
	world.now_ns = UINT64_C(1000000000) * SECONDS + 500000000;
	CHECK_EQ(ui_refresh(world.ui, world.now_ns), 0);
}

static void begin_world(bool large)
{
	world = (struct world){.facts = {
				       .state = UI_LIVE,
				       .target = "program[42]",
				       .event = "cpu-clock",
				       .call_graph = "auto 64k",
				       .frequency_hz = 999,
				       .rate_hz = 24,
				       .cpu_percent = 187.4,
				       .weighs_ns = true,
				       .own_cpu_percent = 1.8,
				       .own_bytes = 24 << 20,
			       }};
	make_tables(large);
}

static void begin(const struct ui_options *options, bool with_samples)
{
	begin_world(false);
	for (uint64_t second = 1; with_samples && second <= SECONDS; second++)
		for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++)
			/* The worker began late: windows differ. */
			if (stacks[i].thread != 1 || second > SECONDS / 2)
				add_samples(&stacks[i], second);
	begin_ui(options);
}

static void end(void)
{
	ui_free(world.ui);
	history_free(world.history);
	symbols_writer_free(world.names);
	tables_writer_free(world.writer);
	symbols_unmap(&world.symbols);
	tables_unmap(&world.tables);
}

/* ---- scripts ---- */

/* Keys as one writes them: characters, and names in angle brackets. */
static enum ui_wish press(const char *keys)
{
	static const struct {
		const char *name;
		int key;
	} names[] = {
		{"<Up>", KEY_ARROW_UP},	    {"<Down>", KEY_ARROW_DOWN},
		{"<Left>", KEY_ARROW_LEFT}, {"<Right>", KEY_ARROW_RIGHT},
		{"<Enter>", KEY_RETURN},    {"<Esc>", KEY_ESCAPE},
		{"<Tab>", KEY_TAB},	    {"<End>", KEY_TO_END},
		{"<BS>", KEY_ERASE},	    {"<PgDn>", KEY_PAGE_DOWN},
		{"<Home>", KEY_TO_HOME},    {"<S-Tab>", KEY_SHIFT_TAB},
	};
	enum ui_wish wish = UI_WISH_NONE;
	while (*keys) {
		int key = (unsigned char)*keys;
		size_t size = 1;
		for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
			if (!strncmp(keys, names[i].name, strlen(names[i].name))) {
				key = names[i].key;
				size = strlen(names[i].name);
			}
		wish = ui_key(world.ui, key);
		ui_draw(world.ui); /* as the loop does */
		keys += size;
	}
	return wish;
}

static const struct {
	const char *name, *keys;
	int rows, cols;
	bool ascii, since_start;
} screens[] = {
	{"top-80x24", "", 24, 80, false, false},
	{"top-40x10", "", 10, 40, false, false},
	{"top-120x40", "<Down>", 40, 120, false, false},
	{"top-ascii", "", 24, 80, true, false},
	{"top-all", "w", 24, 80, false, false},
	{"top-by-name", "sss", 24, 80, false, false},
	{"top-inverted", "I", 24, 80, false, false},
	{"top-few-rows", "LLL", 24, 80, false, false},
	{"top-full-names", "vv", 24, 80, false, false},
	{"top-filtered", "\\serve<Enter>", 24, 80, false, false},
	{"top-nothing-passes", "\\nothing like it<Enter>", 24, 80, false, false},
	{"top-find", "/copy", 24, 80, false, false},
	{"top-found-next", "/copy<Enter>n", 24, 80, false, false},
	{"top-not-found", "/xyzzy<Enter>", 24, 80, false, false},
	{"top-paused", " ", 24, 80, false, false},
	{"top-unknown-key", "Q", 24, 80, false, false},
	{"top-user-only", "K", 24, 80, false, false},
	{"tree-80x24", "2", 24, 80, false, false},
	{"tree-40x10", "2", 10, 40, false, false},
	{"tree-120x40", "2<Down><Down>", 40, 120, false, false},
	{"tree-ascii", "2", 24, 80, true, false},
	{"tree-closed", "2C", 24, 80, false, false},
	{"tree-all-open", "2E", 24, 80, false, false},
	{"tree-chain-opens", "2C<Right>", 24, 80, false, false},
	{"tree-hot-path", "2CH", 24, 80, false, false},
	{"tree-to-parent", "2E<Down><Down><Down><Left><Left>", 24, 80, false, false},
	{"tree-subtree", "2<Down><Down>F", 24, 80, false, false},
	{"callers-80x24", "3<Right>", 24, 80, false, false},
	{"sandwich-80x24", "/memcpy<Enter>b", 24, 80, false, false},
	{"sandwich-recentred", "/memcpy<Enter>b<Down><Enter>", 24, 80, false, false},
	{"sandwich-closed", "/memcpy<Enter>b<Down><Left>", 24, 80, false, false},
	{"sandwich-of-nothing", "4", 24, 80, false, false},
	{"sandwich-of-nothing-zoomed", "<S-Tab><S-Tab><S-Tab>\\xyzzy<Enter>4<Esc>dfD", 24, 80,
	 false, false},
	{"flame-80x24", "5", 24, 80, false, false},
	{"flame-120x40", "5<Down>", 40, 120, false, false},
	{"flame-zoomed", "5<Down><Down><Enter>", 24, 80, false, false},
	{"threads-80x24", "6", 24, 80, false, false},
	{"threads-120x40", "6", 40, 120, false, false},
	{"threads-40x10", "6", 10, 40, false, false},
	{"processes-80x24", "6p", 24, 80, false, false},
	{"processes-zoomed", "6p<Enter>p", 24, 80, false, false},
	{"threads-zoomed", "6<Down><Enter>1", 24, 80, false, false},
	{"zooms-stack", "f\\find<Enter>", 24, 80, false, false},
	{"zooms-taken-back", "f\\find<Enter><Esc>", 24, 80, false, false},
	{"help-80x24", "?", 24, 80, false, false},
	{"help-of-tree-end", "2?<End>", 24, 80, false, false},
	{"export-asks", "x", 24, 80, false, false},
	{"export-asks-40x10", "x", 10, 40, false, false},
	{"export-other-format", "x<Tab>", 24, 80, false, false},
	{"export-named", "\\serve<Enter>x<BS><BS>\x15one file<Enter>", 24, 80, false, false},
	{"export-given-up", "x<Esc>", 24, 80, false, false},
	{"info-80x24", "i", 24, 80, false, false},
};

static char *read_file(const char *path)
{
	FILE *file = fopen(path, "re");
	char *text = calloc(1, 1 << 16);
	if (file && text && !fread(text, 1, (1 << 16) - 1, file))
		text[0] = '\0';
	if (file)
		fclose(file);
	return text;
}

/* The attributes are part of the picture: what is selected shows in them. */
static void compare(const char *name, const struct cells *cells)
{
	while (ui_dirty(world.ui)) /* what takes long is drawn later */
		cells = ui_draw(world.ui);
	char path[256];
	struct text text = {0};
	cells_text(cells, &text);
	text_add(&text, "\n");
	cells_text_attributes(cells, &text);
	snprintf(path, sizeof(path), "tests/golden/ui/%s.txt", name);
	if (getenv("SCREENS_UPDATE")) {
		FILE *file = fopen(path, "we");
		CHECK(file);
		fputs(text_string(&text), file);
		fclose(file);
	}
	char *wanted = read_file(path);
	bool same = wanted && !strcmp(wanted, text_string(&text));
	if (!same)
		printf("# %s is drawn as\n%s", path, text_string(&text));
	free(wanted);
	text_release(&text);
	CHECK(same);
}

static size_t screen;

static void one_screen(void)
{
	const struct ui_options options = {.ascii = screens[screen].ascii,
					   .since_start = screens[screen].since_start};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, screens[screen].rows, screens[screen].cols), 0);
	ui_draw(world.ui);
	press(screens[screen].keys);
	compare(screens[screen].name, ui_draw(world.ui));
	end();
}

/* Every view at every size, in UTF-8 and ASCII. */
static void every_view_at_every_size(void)
{
	static const struct {
		const char *name, *keys;
	} views[] = {
		{"top", ""},
		{"tree", "2"},
		{"callers", "3"},
		{"sandwich", "/memcpy<Enter>b"},
		{"flame", "5"},
		{"threads", "6"},
		{"info", "i"},
		{"help", "?"},
		{"filtered", "\\serve<Enter>f"},
	};
	static const int sizes[][2] = {{10, 40}, {24, 80}, {40, 120}};
	for (size_t view = 0; view < sizeof(views) / sizeof(*views); view++)
		for (size_t size = 0; size < sizeof(sizes) / sizeof(*sizes); size++)
			for (int ascii = 0; ascii < 2; ascii++) {
				const struct ui_options options = {.ascii = ascii};
				int rows = sizes[size][0], cols = sizes[size][1];
				char name[64];
				begin(&options, true);
				CHECK_EQ(ui_resize(world.ui, rows, cols), 0);
				ui_draw(world.ui);
				press(views[view].keys);
				snprintf(name, sizeof(name), "sizes/%s-%dx%d%s", views[view].name,
					 cols, rows, ascii ? "-ascii" : "");
				compare(name, ui_draw(world.ui));
				end();
			}
}

/* ---- states that keys do not lead to ---- */

static void nothing_sampled_yet(void)
{
	const struct ui_options options = {0};
	begin(&options, false);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	compare("empty-live", ui_draw(world.ui));
	/* No key and no view may stumble over nothing. */
	press("2<Down><Right><Left>*ECHG3<Down>4<Enter>5<Up><Down><Right><Left><Enter>6<Enter>1"
	      "sI/x<Enter>nNybfFDdtiK%L w[]rv<PgDn><End><Home>?<Esc>");
	ui_draw(world.ui);
	end();
}

static void the_target_has_ended(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	world.facts.state = UI_EXITED;
	world.facts.ending = "status 1";
	world.facts.lost = 400;
	world.facts.throttled = 2;
	world.facts.event = "cpu-clock:u";
	world.facts.nr_steps_down = 2;
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(9000) * 1000000000), 0);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	compare("exited", ui_draw(world.ui));
	end();
}

static void the_target_ends_in_a_pause(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	press(" ");
	world.facts.state = UI_EXITED;
	world.facts.ending = "status 1";
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 3)), 0);
	compare("exited-in-a-pause", ui_draw(world.ui));
	end();
}

static void a_file_is_being_read(void)
{
	const struct ui_options options = {.since_start = true};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	world.facts.state = UI_LOADING;
	world.facts.loaded = 0.4;
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * SECONDS), 0);
	compare("loading", ui_draw(world.ui));
	end();
}

static void the_target_becomes_another_program(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	world.facts.execs = 1;
	world.facts.target = "another[42]";
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 1)), 0);
	add_samples(&stacks[4], SECONDS + 2);
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 6)), 0);
	compare("after-an-exec", ui_draw(world.ui));
	end();
}

/* A history that has no room folds what is new into what it knows, and forgets old seconds. */
static void what_had_no_room_is_told(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	history_set_limit(world.history, 1);
	add_samples(&(struct stack){0, 3, STACK_COMPLETE, {"_start", "main", "another"}},
		    SECONDS + 1);
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 1) + 500000000), 0);
	compare("folded", ui_draw(world.ui));
	end();
}

static void the_rate_is_not_reached(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 120), 0);
	world.facts.reached_hz = 950;
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 1)), 0);
	compare("rate-reached", ui_draw(world.ui));
	world.facts.reached_hz = 700;
	world.facts.nr_cpus = 8;
	world.facts.throttled = world.facts.nr_steps_down = 1;
	world.facts.lost = 12;
	world.facts.step_down = "no hardware counters here: cpu-clock instead of cycles";
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 1)), 0);
	compare("rate-not-reached", ui_draw(world.ui));
	end();
}

/* Each event by itself: its samples, its share, its name. */
static void one_of_two_events_is_shown(void)
{
	const struct ui_options options = {0};
	struct event_row event = {.period = 1};
	uint32_t id;
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	event.name = event.asked = string_of("faults");
	CHECK_EQ(tables_add_event(world.writer, &event, &id), 0);
	CHECK_EQ(press("e"), UI_WISH_NONE); /* there is one only */
	compare("event-only", ui_draw(world.ui));
	for (int i = 0; i < 7; i++)
		add_samples_of((uint8_t)id, &stacks[i % 2 ? 4 : 3], SECONDS + 1);
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 1) + 500000000), 0);
	compare("event-first", ui_draw(world.ui));
	press("e");
	compare("event-second", ui_draw(world.ui));
	press("\\serve<Enter>");
	compare("event-filtered", ui_draw(world.ui));
	press("<Esc>");
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 20)), 0);
	compare("event-without-samples", ui_draw(world.ui));
	press("e");
	compare("event-first-again", ui_draw(world.ui));
	end();
}

static void a_pause_stands_still(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	press(" ");
	for (uint64_t second = SECONDS + 1; second < SECONDS + 8; second++)
		add_samples(&stacks[4], second);
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 8)), 0);
	compare("paused-later", ui_draw(world.ui));
	press(" ");
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 8)), 0);
	compare("unpaused", ui_draw(world.ui));
	end();
}

static void the_selection_follows_its_function(void)
{
	const struct ui_options options = {.since_start = true};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	ui_draw(world.ui);
	press("/hash_block<Enter>");
	/* It becomes the first of all. */
	for (uint64_t second = SECONDS + 1; second < SECONDS + 200; second++)
		add_samples(&stacks[4], second);
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 200)), 0);
	compare("selection-followed", ui_draw(world.ui));
	end();
}

/* Moving down, another function overtakes: rows stay for a while, then the order is right again. */
static void rows_stay_while_the_user_moves(void)
{
	const struct ui_options options = {.since_start = true};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	ui_draw(world.ui);
	press("<Down>");
	for (int i = 0; i < 200; i++)
		add_samples(&stacks[4], SECONDS + 1);
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * SECONDS + 1500000000), 0);
	compare("order-held", ui_draw(world.ui));
	CHECK_EQ(ui_refresh(world.ui, UINT64_C(1000000000) * (SECONDS + 3)), 0);
	compare("order-let-go", ui_draw(world.ui));
	end();
}

static void the_picker(void)
{
	const struct ui_options options = {.view = VIEW_PICKER};
	begin(&options, false);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	compare("picker", ui_draw(world.ui));
	press("ali");
	compare("picker-filtered", ui_draw(world.ui));
	CHECK_EQ(press("<Enter>"), UI_WISH_PROFILE);
	CHECK_EQ(ui_picked(world.ui), 42);
	ui_tell(world.ui,
		"cannot sample process 42 (program): it is not yours, and that is all that can "
		"be said of it here\nrun ctop as its owner, or as root");
	compare("picker-refused", ui_draw(world.ui));
	CHECK_EQ(press("<BS>"), UI_WISH_NONE);
	CHECK_EQ(press("<Enter>"), UI_WISH_PROFILE); /* and chosen again */
	end();
	begin(&options, false);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	ui_draw(world.ui);
	CHECK_EQ(press("zzz<Enter>"), UI_WISH_NONE); /* nothing is left to choose */
	CHECK_EQ(press("<Esc>"), UI_WISH_NONE);
	CHECK_EQ(press("<Esc>"), UI_WISH_QUIT);
	end();
}

static void every_size_is_survived(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	for (int rows = 0; rows < 14; rows++)
		for (int cols = 0; cols < 130; cols += 1 + cols / 10) {
			CHECK_EQ(ui_resize(world.ui, rows, cols), 0);
			press("1<Down>2<Down><Right>E3<Down><Right>b5<Down><Right>6?<Down><Esc>i<"
			      "Esc>"
			      "/x<Esc>");
		}
	end();
}

/* ---- every key, everywhere ---- */

/* What is drawn is safe to show, whatever it is drawn from. */
static void check_screen(void)
{
	const struct cells *cells = ui_draw(world.ui);
	struct text text = {0};
	cells_text(cells, &text);
	CHECK(!text.failed);
	const char *string = text_string(&text);
	for (size_t i = 0; string[i]; i++) {
		unsigned char byte = (unsigned char)string[i];
		CHECK(byte != 0x7f && (byte >= ' ' || byte == '\n'));
		CHECK(!cells->ascii || byte < 0x7f);
	}
	/* Nothing is left of what no terminal should get: C1, bidi controls. */
	CHECK(!strstr(string, "\xc2\x9b") && !strstr(string, "\xe2\x80\xae"));
	text_release(&text);
}

/* A key in a view; then an answer, where one is asked for, or another key; then out of what was opened. */
static void press_one(enum view_kind view, int key)
{
	ui_key(world.ui, '1' + (int)view);
	ui_key(world.ui, key);
	check_screen();
	press("a<Enter>");
	check_screen();
	for (int i = 0; i < 4; i++)
		press("<Esc>");
}

static size_t press_every_key(enum view_kind view)
{
	size_t nr = 0;
	for (size_t i = 0; i < nr_key_rows; i++)
		for (size_t k = 0; k < KEYS_A_ROW && key_rows[i].keys[k]; k++) {
			if (!(key_rows[i].views & VIEW_BIT(view)))
				continue;
			CHECK_EQ(keys_action(key_rows[i].keys[k], view), key_rows[i].action);
			press_one(view, key_rows[i].keys[k]);
			nr++;
			world.now_ns += 100000000;
			CHECK_EQ(ui_refresh(world.ui, world.now_ns), 0);
		}
	return nr;
}

static void press_every_key_in_every_view(bool ascii)
{
	static const int sizes[][2] = {{10, 40}, {24, 80}, {40, 120}, {100, 300}, {2, 3}};
	const struct ui_options options = {.ascii = ascii};
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		begin_ui(&options);
		CHECK_EQ(ui_resize(world.ui, sizes[i][0], sizes[i][1]), 0);
		for (int view = 0; view < NR_VIEWS; view++)
			CHECK(press_every_key((enum view_kind)view) > 30);
		ui_free(world.ui);
	}
}

static void every_key(const struct stack *some, size_t nr)
{
	for (int ascii = 0; ascii < 2; ascii++) {
		begin_world(false);
		for (size_t i = 0; i < nr; i++)
			add_samples(&some[i], SECONDS);
		press_every_key_in_every_view(ascii);
		world.ui = NULL;
		end();
	}
}

static void every_key_on_many_rows(void)
{
	every_key(stacks, sizeof(stacks) / sizeof(*stacks));
}

static void every_key_on_one_row(void)
{
	static const struct stack one = {0, 1, STACK_COMPLETE, {"main"}};
	every_key(&one, 1);
}

static void every_key_on_no_row(void)
{
	every_key(NULL, 0);
}

static void every_key_on_hostile_names(void)
{
	static char endless[4000];
	static const struct stack hostile[] = {
		{0,
		 6,
		 STACK_COMPLETE,
		 {"\x1b]52;c;AAAA\x07", "\x1b[2J\x1b[H",
		  "\xc2\x9b"
		  "31mred"}},
		{1,
		 5,
		 STACK_COMPLETE,
		 {"\xe2\x80\xae"
		  "drawkcab",
		  "a\nb\rc\td", "\xff\xfe\xc0\x80"}},
		{2,
		 4,
		 STACK_BROKEN,
		 {"e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81", "\xed\xa0\x80", ""}},
		{2,
		 3,
		 STACK_COMPLETE,
		 {"((((<<<<", ">>>>))))", "operator()(<", "\xf0\x9f\x98\x80\xef\xbc\xa1"}},
		{1,
		 2,
		 STACK_SWITCHED,
		 {"%s%n%d", endless, "~vector<>::<lambda(", "\xe2\x80\x8b\xe2\x80\x8f"}},
	};
	memset(endless, 'x', sizeof(endless) - 1);
	every_key(hostile, sizeof(hostile) / sizeof(*hostile));
}

/* As many functions, each below main and for itself. */
static void a_hundred_thousand_rows(void)
{
	enum { NR = 100000 };
	const struct ui_options options = {0};
	struct node_id node;
	struct frame_id frame;
	char name[32];
	begin_world(true);
	CHECK_EQ(tables_add_node(world.writer, (struct node_id){0}, frame_of("main"), FRAME_CFI,
				 &node),
		 0);
	for (int i = 0; i < NR; i++) {
		snprintf(name, sizeof(name), "function_%d", i);
		CHECK_EQ(tables_add_frame(world.writer, world.program, 0x100000 + 16 * (uint64_t)i,
					  &frame),
			 0);
		CHECK_EQ(symbols_set(world.names, frame, SYMBOL_NAMED, name, NULL, 0), 0);
		const struct sample sample = {.time_ns = UINT64_C(1000000000) * SECONDS,
					      .weight = 1,
					      .task = world.threads[0],
					      .node = node,
					      .leaf = frame,
					      .event = 1};
		tables_publish(world.writer);
		CHECK_EQ(history_import(world.history, &sample, 1), 0);
	}
	begin_ui(&options);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	ui_draw(world.ui);
	press("<End>");
	compare("rows-100000-end", ui_draw(world.ui));
	press("/function_77777<Enter>");
	compare("rows-100000-found", ui_draw(world.ui));
	press("\\_4242<Enter>2E<End><PgDn>");
	compare("rows-100000-filtered", ui_draw(world.ui));
	press("<Esc>3<End>5<Down>6<Enter>");
	check_screen();
	end();
}

static void wishes(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(world.ui, 24, 80), 0);
	ui_draw(world.ui);
	CHECK_EQ(press("q"), UI_WISH_QUIT);
	CHECK_EQ(press("\x1a"), UI_WISH_SUSPEND);
	CHECK_EQ(press("\x0c"), UI_WISH_REPAINT);
	CHECK_EQ(press("m"), UI_WISH_MOUSE);
	CHECK(ui_mouse(world.ui));
	CHECK_EQ(press("/memcpy<Enter>y"), UI_WISH_COPY);
	CHECK_STR(ui_copied(world.ui), "memcpy");
	CHECK_EQ(press("/q"), UI_WISH_NONE); /* typed, not pressed */
	CHECK_EQ(press("\x03"), UI_WISH_QUIT);
	end();
}

int main(void)
{
	for (screen = 0; screen < sizeof(screens) / sizeof(*screens); screen++)
		test_run(screens[screen].name, one_screen);
	RUN(every_view_at_every_size);
	RUN(nothing_sampled_yet);
	RUN(the_target_has_ended);
	RUN(the_target_ends_in_a_pause);
	RUN(a_file_is_being_read);
	RUN(the_target_becomes_another_program);
	RUN(what_had_no_room_is_told);
	RUN(the_rate_is_not_reached);
	RUN(one_of_two_events_is_shown);
	RUN(a_pause_stands_still);
	RUN(the_selection_follows_its_function);
	RUN(rows_stay_while_the_user_moves);
	RUN(the_picker);
	RUN(every_size_is_survived);
	RUN(every_key_on_many_rows);
	RUN(every_key_on_one_row);
	RUN(every_key_on_no_row);
	RUN(every_key_on_hostile_names);
	RUN(a_hundred_thousand_rows);
	RUN(wishes);
	return test_done();
}
