/* SPDX-License-Identifier: MIT */
/*
 * What a live screen costs: samples of many distinct stacks arrive, and twice a second a selection is refreshed
 * and asked for what is visible; then the interface's views are drawn. Prints CPU time; there is no pass or fail.
 *
 *     selection [STACKS [SAMPLES_PER_SECOND [SECONDS [PROCESSES [WEIGHT]]]]]
 *
 * With a number of processes the tree is by process; 0: it is not. Samples weigh from 1 to WEIGHT (1).
 */
#include <ctop/base/clock.h>
#include <ctop/query/selection.h>
#include <ctop/ui/ui.h>

#include <string.h>
#include <time.h>

#include "made.h"

enum { DEFAULT_STACKS = 100000, DEFAULT_RATE = 20000, DEFAULT_SECONDS = 60 };
enum {
	NR_FUNCTIONS = 5000,
	SITES = 4,
	DEPTH = 40,
	NR_TASKS = 64,
	OWN_FRAMES_MOST = 12,
	CALLEES = 8,
	SKEW = 3
};
enum { VISIBLE_ROWS = 50, TREND_SECONDS = 16, REFRESHES_A_SECOND = 2, VIEW_REFRESHES = 20 };

struct bench {
	struct made made;
	struct sample *stacks;
	uint32_t (*sites)[DEPTH]; /* by stack, root first */
	size_t nr_stacks;
	uint64_t nr_processes; /* 0: one, and the tree does not tell it */
	uint64_t weight_most;
	bool skewed;
	uint64_t random;
};

/* CPU time of one kind of query, over all its calls. */
struct cost {
	const char *what;
	uint64_t sum_ns, most_ns, nr;
};

static uint64_t cpu_ns(void)
{
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (uint64_t)now.tv_sec * SECOND_NS + (uint64_t)now.tv_nsec;
}

static void spent(struct cost *cost, uint64_t start_ns)
{
	uint64_t ns = cpu_ns() - start_ns;
	cost->sum_ns += ns;
	cost->nr++;
	if (ns > cost->most_ns)
		cost->most_ns = ns;
}

static void print(const struct cost *cost)
{
	if (cost->nr)
		printf("%-36s %8.2f ms  at most %8.2f ms\n", cost->what,
		       (double)cost->sum_ns / (double)cost->nr / 1e6, (double)cost->most_ns / 1e6);
}

static void open_bench(struct bench *bench)
{
	struct tables_capacity capacity = tables_capacity_default;
	capacity.nr[TABLE_NODES] = 1 << 23;
	made_open(&bench->made, &capacity, NR_TASKS);
	bench->stacks = calloc(bench->nr_stacks, sizeof(*bench->stacks));
	bench->sites = calloc(bench->nr_stacks, sizeof(*bench->sites));
	must(!bench->stacks || !bench->sites, "memory");
}

/* One of the few calls that a function makes. */
static uint32_t call_from(struct bench *bench, uint32_t site)
{
	uint64_t callee = (uint64_t)site * CALLEES + random_next(&bench->random) % CALLEES + 1;
	return (uint32_t)(random_next(&callee) % (NR_FUNCTIONS * SITES));
}

/* Leaves an older stack's way in its innermost frames, as stacks of one program do. */
static void add_stack(struct bench *bench, size_t number)
{
	struct node_id node = {0};
	uint32_t *sites = bench->sites[number];
	int own = DEPTH;
	if (number) {
		memcpy(sites, bench->sites[random_next(&bench->random) % number],
		       sizeof(*bench->sites));
		own = 1 + (int)(random_next(&bench->random) % OWN_FRAMES_MOST);
	}
	for (int i = DEPTH - own; i < DEPTH; i++)
		sites[i] = call_from(bench, i ? sites[i - 1] : 0);
	for (int i = 0; i + 1 < DEPTH; i++)
		must(tables_add_node(bench->made.writer, node, made_frame(&bench->made, sites[i]),
				     FRAME_CFI, &node),
		     "node");
	bench->stacks[number] = (struct sample){
		.weight = 1,
		.task = bench->made.tasks[random_next(&bench->random) % NR_TASKS],
		.node = node,
		.leaf = made_frame(&bench->made, sites[DEPTH - 1]),
		.event = 1,
	};
}

static void fill(struct bench *bench)
{
	char name[64];
	for (uint32_t i = 0; i < NR_FUNCTIONS * SITES; i++) {
		snprintf(name, sizeof(name), "bench::function<%u>()", i / SITES);
		must(symbols_set(bench->made.namer, made_frame(&bench->made, i), SYMBOL_NAMED, name,
				 NULL, i % SITES),
		     "name");
	}
	for (size_t i = 0; i < bench->nr_stacks; i++)
		add_stack(bench, i);
	tables_publish(bench->made.writer);
}

/* Every stack is as likely as every other: the worst case of a refresh. Or the earlier ones are far likelier, as hot paths are. */
static size_t pick_stack(struct bench *bench)
{
	size_t number = random_next(&bench->random) % bench->nr_stacks;
	for (int i = 0; i < SKEW && bench->skewed; i++)
		number = number * (random_next(&bench->random) % bench->nr_stacks) /
			 bench->nr_stacks;
	return number;
}

static void import(struct bench *bench, struct history *history, uint64_t from_ns, size_t nr,
		   uint64_t for_ns, struct cost *cost)
{
	struct sample *batch = calloc(nr, sizeof(*batch));
	must(!batch, "memory");
	for (size_t i = 0; i < nr; i++) {
		batch[i] = bench->stacks[pick_stack(bench)];
		batch[i].time_ns = from_ns + for_ns * i / nr;
		if (bench->weight_most > 1)
			batch[i].weight = 1 + random_next(&bench->random) % bench->weight_most;
	}
	uint64_t start_ns = cpu_ns();
	must(history_import(history, batch, nr), "import");
	spent(cost, start_ns);
	free(batch);
}

/* The hot path is open, each row with its brothers, until the screen is full. */
static void ask_tree(struct selection *selection, struct cost *cost)
{
	struct selection_nodes nodes = {0};
	struct selection_node row;
	uint64_t start_ns = cpu_ns();
	must(selection_root(selection, SELECTION_TREE, (struct function_id){0}, &row), "root");
	for (size_t first = 0; row.has_children && first < VISIBLE_ROWS; first = nodes.nr) {
		first = nodes.nr;
		must(selection_children(selection, row.id, SELECTION_BY_TOTAL, &nodes), "children");
		if (nodes.nr == first)
			break;
		row = nodes.items[first];
	}
	spent(cost, start_ns);
	free(nodes.items);
}

static void ask_trend(struct selection *selection, const struct selection_functions *top,
		      enum selection_measure measure, struct cost *cost)
{
	struct function_id functions[VISIBLE_ROWS];
	uint64_t counts[VISIBLE_ROWS * TREND_SECONDS];
	size_t nr = top->nr < VISIBLE_ROWS ? top->nr : VISIBLE_ROWS;
	for (size_t i = 0; i < nr; i++)
		functions[i] = top->items[i].id;
	uint64_t start_ns = cpu_ns();
	must(selection_trend_functions(selection, measure, functions, nr, TREND_SECONDS, counts),
	     "trend");
	spent(cost, start_ns);
}

/* A screen's life: samples arrive, and half a second later it is drawn. */
static void run(struct bench *bench, struct history *history, struct selection *selection,
		uint64_t *now_ns, uint64_t rate, uint64_t seconds)
{
	struct cost importing = {.what = "import of half a second"},
		    refreshing = {.what = "refresh"}, top = {.what = "top, 200 functions"},
		    tree = {.what = "tree, rows visible"},
		    self = {.what = "trends of 50 functions, self"},
		    total = {.what = "trends of 50 functions, total"};
	struct selection_functions functions = {0};
	for (uint64_t i = 0; i < seconds * REFRESHES_A_SECOND; i++) {
		uint64_t for_ns = SECOND_NS / REFRESHES_A_SECOND;
		import(bench, history, *now_ns, rate / REFRESHES_A_SECOND, for_ns, &importing);
		*now_ns += for_ns;
		uint64_t start_ns = cpu_ns();
		must(selection_refresh(selection, *now_ns - 1), "refresh");
		spent(&refreshing, start_ns);
		start_ns = cpu_ns();
		must(selection_top(selection, SELECTION_BY_SELF, 200, &functions, NULL), "top");
		spent(&top, start_ns);
		ask_tree(selection, &tree);
		ask_trend(selection, &functions, SELECTION_SELF, &self);
		ask_trend(selection, &functions, SELECTION_TOTAL, &total);
	}
	print(&importing);
	print(&refreshing);
	print(&top);
	print(&tree);
	print(&self);
	print(&total);
	free(functions.items);
}

static void ask_once(struct selection *selection, uint64_t end_ns, const char *what)
{
	struct cost cost = {.what = what};
	uint64_t start_ns = cpu_ns();
	must(selection_refresh(selection, end_ns), "refresh");
	spent(&cost, start_ns);
	print(&cost);
}

/* What a key costs. */
static void press_keys(struct selection *selection, uint64_t end_ns)
{
	struct selection_functions top = {0};
	struct selection_tasks tasks = {0};
	struct selection_detail detail = {0};
	struct selection_nodes nodes = {0};
	struct selection_node root;
	struct cost threads = {.what = "threads"}, one = {.what = "a function in detail"},
		    inverted = {.what = "the first rows of the inverted tree"};
	must(selection_top(selection, SELECTION_BY_TOTAL, 10, &top, NULL), "top");
	uint64_t start_ns = cpu_ns();
	must(selection_tasks(selection, SELECTION_THREADS, -1, &tasks), "tasks");
	spent(&threads, start_ns);
	start_ns = cpu_ns();
	must(selection_detail(selection, top.items[top.nr - 1].id, &detail), "detail");
	spent(&one, start_ns);
	start_ns = cpu_ns();
	must(selection_root(selection, SELECTION_INVERTED, (struct function_id){0}, &root), "root");
	must(selection_children(selection, root.id, SELECTION_BY_TOTAL, &nodes), "children");
	spent(&inverted, start_ns);
	print(&threads);
	print(&one);
	print(&inverted);
	const struct selection_criterion criteria[] = {
		{.what = SELECTION_TEXT, .text = "77"},
		{.what = SELECTION_FUNCTION, .function = top.items[0].id, .drop = true},
	};
	must(selection_set_filter(selection, criteria, 2), "filter");
	ask_once(selection, end_ns, "a filter");
	must(selection_set_filter(selection, NULL, 0), "filter");
	ask_once(selection, end_ns, "no filter");
	static const uint32_t windows[] = {60, 600, 3600, SELECTION_SINCE_START};
	static const char *const names[] = {"window of a minute", "of ten minutes", "of an hour",
					    "since the start"};
	for (size_t i = 0; i < sizeof(windows) / sizeof(*windows); i++) {
		must(selection_set_seconds(selection, windows[i]), "window");
		ask_once(selection, end_ns, names[i]);
	}
	free(top.items);
	free(tasks.items);
	free(nodes.items);
	selection_detail_release(&detail);
}

/* The same samples with and without seconds. */
static void compare_imports(struct bench *bench, uint64_t rate)
{
	for (int seconds = 0; seconds < 2; seconds++) {
		struct history *history = history_new();
		struct cost cost = {.what = seconds ? "import, by the second"
						    : "import, known stacks"};
		struct cost first = {0};
		must(!history, "memory");
		if (seconds)
			history_keep_seconds(history);
		must(history_begin_epoch(history, &bench->made.tables, &bench->made.symbols),
		     "epoch");
		import(bench, history, 0, bench->nr_stacks * 10, SECOND_NS, &first);
		for (uint64_t i = 1; i <= 50; i++)
			import(bench, history, i * SECOND_NS, rate, SECOND_NS, &cost);
		printf("%-36s %8.1f ns per sample\n", cost.what,
		       (double)cost.sum_ns / (double)(cost.nr * rate));
		history_free(history);
	}
}

static void tell_facts(void *context, uint32_t event, struct ui_facts *facts)
{
	(void)context;
	(void)event;
	*facts = (struct ui_facts){.state = UI_LIVE, .event = "cpu-clock", .target = "bench"};
}

static int list_threads(void *context, int32_t only_pid, const struct ui_thread **out, size_t *nr)
{
	(void)context;
	(void)only_pid;
	*out = NULL;
	*nr = 0;
	return 0;
}

static bool tell_thread(void *context, int32_t pid, int32_t tid, struct ui_thread_now *now)
{
	(void)context;
	(void)pid;
	(void)tid;
	(void)now;
	return false;
}

static void name_thread(void *context, int32_t pid, int32_t tid, char name[16])
{
	(void)context;
	(void)pid;
	(void)tid;
	name[0] = '\0';
}

/* Each view for so many refreshes: refreshed, drawn, and drawn again after a key. */
static void draw_views(struct bench *bench, struct history *history, uint64_t *now_ns,
		       uint64_t rate, int rows, int cols)
{
	static const char *const names[] = {"top", "tree", "callers", "flame graph", "threads"};
	static const char keys[] = "12356";
	static const struct ui_host host = {.facts = tell_facts,
					    .threads = list_threads,
					    .thread = tell_thread,
					    .thread_name = name_thread};
	const struct ui_options options = {.least_percent = 0.5};
	struct ui *ui = ui_new(&options, &host, history);
	struct cost importing = {0};
	must(!ui || ui_resize(ui, rows, cols) || ui_refresh(ui, *now_ns - 1), "interface");
	for (size_t view = 0; view < sizeof(names) / sizeof(*names); view++) {
		char what[2][64];
		snprintf(what[0], sizeof(what[0]), "%s, %dx%d, beyond the refresh", names[view],
			 cols, rows);
		snprintf(what[1], sizeof(what[1]), "%s, after a key", names[view]);
		struct cost drawing = {.what = what[0]}, key = {.what = what[1]};
		ui_key(ui, keys[view]);
		ui_draw(ui);
		for (int i = 0; i < VIEW_REFRESHES; i++) {
			uint64_t for_ns = SECOND_NS / REFRESHES_A_SECOND;
			import(bench, history, *now_ns, rate / REFRESHES_A_SECOND, for_ns,
			       &importing);
			*now_ns += for_ns;
			must(ui_refresh(ui, *now_ns - 1), "refresh");
			uint64_t start_ns = cpu_ns();
			ui_draw(ui);
			spent(&drawing, start_ns);
			start_ns = cpu_ns();
			ui_key(ui, 'j');
			ui_draw(ui);
			spent(&key, start_ns);
		}
		print(&drawing);
		print(&key);
	}
	ui_free(ui);
}

static uint64_t argument(int argc, char **argv, int nr, uint64_t otherwise)
{
	uint64_t value = argc > nr ? strtoull(argv[nr], NULL, 0) : 0;
	return value ? value : otherwise;
}

int main(int argc, char **argv)
{
	struct bench bench = {.random = 1, .nr_stacks = argument(argc, argv, 1, DEFAULT_STACKS)};
	uint64_t rate = argument(argc, argv, 2, DEFAULT_RATE);
	uint64_t seconds = argument(argc, argv, 3, DEFAULT_SECONDS);
	bench.nr_processes = argument(argc, argv, 4, 0);
	bench.weight_most = argument(argc, argv, 5, 1);
	uint64_t now_ns = 1000 * SECOND_NS;
	open_bench(&bench);
	fill(&bench);
	printf("%zu stacks of %d frames, %u nodes; %llu samples/s\n", bench.nr_stacks, DEPTH,
	       bench.stacks[bench.nr_stacks - 1].node.index, (unsigned long long)rate);
	compare_imports(&bench, rate);
	struct history *history = history_new();
	struct selection *selection = history ? selection_new(history) : NULL;
	must(!selection, "memory");
	history_keep_seconds(history);
	must(history_begin_epoch(history, &bench.made.tables, &bench.made.symbols), "epoch");
	must(selection_set_seconds(selection, 10), "window");
	must(selection_set_by_process(selection, bench.nr_processes != 0), "processes");
	struct cost filling = {.what = "import of every stack, new"};
	for (size_t i = 0; i < bench.nr_stacks; i++)
		bench.stacks[i].time_ns = now_ns;
	uint64_t start_ns = cpu_ns();
	must(history_import(history, bench.stacks, bench.nr_stacks), "import");
	spent(&filling, start_ns);
	print(&filling);
	ask_once(selection, now_ns, "the first refresh");
	now_ns += SECOND_NS;
	run(&bench, history, selection, &now_ns, rate, seconds);
	press_keys(selection, now_ns - 1);
	printf("%zu paths; history %.1f MiB, of it seconds %.1f MiB, selection %.1f MiB\n",
	       selection_nr_paths(selection), (double)history_bytes(history) / (1 << 20),
	       (double)history_seconds(history).bytes / (1 << 20),
	       (double)selection_bytes(selection) / (1 << 20));
	selection_free(selection);
	bench.skewed = true;
	draw_views(&bench, history, &now_ns, rate, 36, 120);
	history_free(history);
	made_close(&bench.made);
	free(bench.stacks);
	free(bench.sites);
	return 0;
}
