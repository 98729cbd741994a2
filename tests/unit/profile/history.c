/* SPDX-License-Identifier: MIT */
#include <ctop/profile/history.h>

#include "test.h"

/*
 * A hand-made profile:
 *
 *     thread 1: main > work > leaf        6 samples
 *     thread 1: main > work > work > leaf 2 samples (recursion)
 *     thread 2: start > [k] syscall       3 samples
 *     thread 2: orphan                    1 sample, truncated
 *     thread 1: main > ?                  1 sample, a frame without a name
 */
struct profile {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct module_id program, kernel;
	struct task_id one, two;
	uint32_t event;
};

static struct frame_id frame(struct profile *profile, struct module_id module, uint64_t address,
			     const char *name)
{
	struct frame_id id;
	CHECK_EQ(tables_add_frame(profile->writer, module, address, &id), 0);
	if (name)
		CHECK_EQ(symbols_set(profile->namer, id, SYMBOL_NAMED, name, NULL, 4), 0);
	return id;
}

static struct node_id node(struct profile *profile, struct node_id parent, struct frame_id at)
{
	struct node_id id;
	CHECK_EQ(tables_add_node(profile->writer, parent, at, FRAME_CFI, &id), 0);
	return id;
}

static struct module_id module(struct profile *profile, enum module_kind kind, const char *path)
{
	struct module_row row = {.kind = kind};
	struct module_id id;
	CHECK_EQ(tables_add_string(profile->writer, path, strlen(path), &row.path), 0);
	CHECK_EQ(tables_add_module(profile->writer, &row, &id), 0);
	return id;
}

static struct task_id task(struct profile *profile, int32_t tid, const char *comm)
{
	struct string_id string;
	struct task_id id;
	CHECK_EQ(tables_add_string(profile->writer, comm, strlen(comm), &string), 0);
	CHECK_EQ(tables_add_task(profile->writer, 10, tid, string, &id), 0);
	return id;
}

static void open_profile(struct profile *profile)
{
	CHECK_EQ(tables_map(&profile->tables, -1, &tables_capacity_default, true), 0);
	CHECK_EQ(symbols_map(&profile->symbols, -1, &symbols_capacity_default, true), 0);
	profile->writer = tables_writer_new(&profile->tables);
	profile->namer = symbols_writer_new(&profile->symbols);
	CHECK(profile->writer && profile->namer);
	profile->program = module(profile, MODULE_FILE, "/bin/program");
	profile->kernel = module(profile, MODULE_KERNEL, "[kernel]");
	profile->one = task(profile, 10, "one");
	profile->two = task(profile, 11, "two");
	struct event_row row = {0};
	CHECK_EQ(tables_add_string(profile->writer, "cpu-clock", 9, &row.name), 0);
	CHECK_EQ(tables_add_event(profile->writer, &row, &profile->event), 0);
}

static void close_profile(struct profile *profile)
{
	tables_writer_free(profile->writer);
	symbols_writer_free(profile->namer);
	tables_unmap(&profile->tables);
	symbols_unmap(&profile->symbols);
}

static void add(struct history *history, const struct profile *profile, struct task_id task,
		struct node_id callers, struct frame_id leaf, enum stack_end end, int samples)
{
	tables_publish(profile->writer);
	for (int i = 0; i < samples; i++) {
		const struct sample sample = {
			.time_ns = 1000 + (uint64_t)i,
			.weight = 10,
			.task = task,
			.node = callers,
			.leaf = leaf,
			.cpu = (uint16_t)i,
			.event = (uint8_t)profile->event,
			.end = (uint8_t)end,
		};
		CHECK_EQ(history_import(history, &sample, 1), 0);
	}
}

static void fill(struct profile *profile, struct history *history)
{
	struct frame_id in_main = frame(profile, profile->program, 0x100, "main");
	struct frame_id in_work = frame(profile, profile->program, 0x200, "work");
	struct frame_id again = frame(profile, profile->program, 0x208, "work");
	struct frame_id leaf = frame(profile, profile->program, 0x300, "leaf");
	struct frame_id start = frame(profile, profile->program, 0x400, "start");
	struct frame_id nameless = frame(profile, profile->program, 0x500, NULL);
	struct frame_id syscall = frame(profile, profile->kernel, 0xffffffff81000000, "syscall");
	struct node_id root = {0};
	struct node_id below_main = node(profile, root, in_main);
	struct node_id below_work = node(profile, below_main, in_work);
	struct node_id twice = node(profile, below_work, again);
	CHECK_EQ(history_begin_epoch(history, &profile->tables, &profile->symbols), 0);
	add(history, profile, profile->one, below_work, leaf, STACK_COMPLETE, 6);
	add(history, profile, profile->one, twice, leaf, STACK_COMPLETE, 2);
	add(history, profile, profile->two, node(profile, root, start), syscall, STACK_COMPLETE, 3);
	add(history, profile, profile->two, root, start, STACK_TRUNCATED, 1);
	add(history, profile, profile->one, below_main, nameless, STACK_COMPLETE, 1);
}

static const struct function_cost *
cost_of(struct history *history, const struct function_cost *costs, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(history_function_name(history, costs[i].function), name) == 0)
			return &costs[i];
	return NULL;
}

#define CHECK_COST(name, self_, total_)                                                            \
	do {                                                                                       \
		const struct function_cost *cost = cost_of(history, costs, nr, name);              \
		CHECK(cost != NULL);                                                               \
		CHECK_EQ(cost->self, self_);                                                       \
		CHECK_EQ(cost->total, total_);                                                     \
	} while (0)

static void top_counts_recursion_once(void)
{
	struct profile profile;
	struct function_cost *costs;
	size_t nr;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	CHECK_EQ(history_top(history, &costs, &nr), 0);
	CHECK_EQ(nr, 6);
	CHECK_STR(history_function_name(history, costs[0].function), "leaf");
	CHECK_COST("leaf", 8, 8);
	CHECK_COST("work", 0, 8);
	CHECK_COST("main", 0, 9);
	CHECK_COST("start", 1, 4);
	CHECK_COST("syscall", 3, 3);
	CHECK_COST("[program]", 1, 1);
	const struct function_cost *syscall = cost_of(history, costs, nr, "syscall");
	const struct function_cost *nameless = cost_of(history, costs, nr, "[program]");
	CHECK(syscall && history_function_kernel(history, syscall->function));
	CHECK(nameless && !history_function_named(history, nameless->function));
	free(costs);
	history_free(history);
	close_profile(&profile);
}

static void totals_add_up(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	struct history_totals totals = history_totals(history);
	CHECK_EQ(totals.samples, 13);
	CHECK_EQ(totals.weight, 130);
	CHECK_EQ(totals.ends[STACK_COMPLETE], 12);
	CHECK_EQ(totals.ends[STACK_TRUNCATED], 1);
	CHECK_EQ(totals.frames, 6 * 3 + 2 * 4 + 3 * 2 + 1 + 2);
	CHECK_EQ(totals.unsymbolized_frames, 1);
	CHECK_EQ(totals.bad_samples, 0);
	history_free(history);
	close_profile(&profile);
}

static uint32_t child(const struct history *history, const struct tree_node *tree, uint32_t parent,
		      const char *name)
{
	for (uint32_t at = tree[parent].first_child; at; at = tree[at].next_sibling) {
		const char *own = tree[at].label
					  ? tree[at].label
					  : history_function_name(history, tree[at].function);
		if (strcmp(own, name) == 0)
			return at;
	}
	return 0;
}

static void frames_without_a_name_are_told_by_module(void)
{
	struct profile profile;
	struct history_unnamed *modules;
	size_t nr;
	struct history *history = history_new();
	CHECK(history);
	CHECK_EQ(history_unnamed(history, &modules, &nr), 0);
	CHECK_EQ(nr, 0);
	free(modules);
	open_profile(&profile);
	fill(&profile, history);
	CHECK_EQ(history_unnamed(history, &modules, &nr), 0);
	CHECK_EQ(nr, 1);
	CHECK_STR(modules[0].path, "/bin/program");
	CHECK_EQ(modules[0].kind, MODULE_FILE);
	CHECK_EQ(modules[0].frames, 1);
	/* 6 x 3 + 2 x 4 + 3 x 1 (the other is the kernel's) + 1 + 2 */
	CHECK_EQ(modules[0].all_frames, 32);
	free(modules);
	history_free(history);
	close_profile(&profile);
}

static void tree_merges_by_function(void)
{
	struct profile profile;
	struct tree_node *tree;
	size_t nr;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	CHECK_EQ(history_tree(history, &tree, &nr), 0);
	CHECK_EQ(tree[0].total, 13);
	uint32_t at = child(history, tree, 0, "main");
	CHECK_EQ(at, tree[0].first_child); /* the heaviest first */
	CHECK_EQ(tree[at].total, 9);
	at = child(history, tree, at, "work");
	CHECK_EQ(tree[at].total, 8);
	uint32_t recursive = child(history, tree, at, "work");
	CHECK_EQ(tree[recursive].total, 2);
	CHECK_EQ(tree[child(history, tree, at, "leaf")].self, 6);
	CHECK_EQ(tree[child(history, tree, recursive, "leaf")].self, 2);
	at = child(history, tree, 0, "[truncated]");
	CHECK(at && tree[at].total == 1);
	CHECK_EQ(tree[child(history, tree, at, "start")].self, 1);
	/* Self and children account for every total. */
	for (uint32_t i = 0; i < nr; i++) {
		uint64_t sum = tree[i].self;
		for (uint32_t c = tree[i].first_child; c; c = tree[c].next_sibling)
			sum += tree[c].total;
		CHECK_EQ(sum, tree[i].total);
	}
	free(tree);
	history_free(history);
	close_profile(&profile);
}

static void filters_let_through_what_they_say(void)
{
	static const int32_t tid_11[] = {11}, cpu_0[] = {0}, pids[] = {3, 10}, pid_3[] = {3};
	static const struct {
		struct history_filter filter;
		uint64_t samples;
	} cases[] = {
		{{0}, 13},
		{{.pids = pids, .nr_pids = 2}, 13},
		{{.pids = pid_3, .nr_pids = 1}, 0},
		{{.tids = tid_11, .nr_tids = 1}, 4},
		{{.cpus = cpu_0, .nr_cpus = 1}, 5},
		{{.comm = "one"}, 9},
		{{.comm = "on"}, 0},
		{{.kernel_only = true}, 3},
		{{.user_only = true}, 10},
		{{.module = "program"}, 10},
		{{.module = "/bin/program"}, 10},
		{{.event = "cpu-clock"}, 13},
		{{.event = "cycles"}, 0},
		{{.module = "bin/program"}, 0},
		{{.from_ns = 2}, 5},
		{{.to_ns = 2}, 8},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile profile;
		struct history *history = history_new();
		open_profile(&profile);
		history_set_filter(history, &cases[i].filter);
		fill(&profile, history);
		CHECK_EQ(history_totals(history).samples, cases[i].samples);
		CHECK_EQ(history_totals(history).samples_before, 13);
		history_free(history);
		close_profile(&profile);
	}
}

static void names_may_come_late(void)
{
	struct profile profile;
	struct function_cost *costs;
	size_t nr;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	CHECK_EQ(history_top(history, &costs, &nr), 0);
	free(costs);
	frame(&profile, profile.program, 0x500, "late");
	CHECK_EQ(history_top(history, &costs, &nr), 0);
	CHECK_COST("late", 1, 1);
	CHECK(!cost_of(history, costs, nr, "[program]"));
	CHECK_EQ(history_totals(history).unsymbolized_frames, 0);
	free(costs);
	history_free(history);
	close_profile(&profile);
}

static void epochs_merge(void)
{
	struct profile first, second;
	struct function_cost *costs;
	size_t nr;
	struct history *history = history_new();
	open_profile(&first);
	fill(&first, history);
	open_profile(&second);
	fill(&second, history);
	CHECK_EQ(history_top(history, &costs, &nr), 0);
	CHECK_EQ(nr, 6);
	CHECK_COST("work", 0, 16);
	free(costs);
	history_free(history);
	close_profile(&first);
	close_profile(&second);
}

/* Per label: where stacks hang that did not reach their root, and those without a user part. */
static void unfinished_stacks_have_their_own_roots(void)
{
	static const struct {
		enum stack_end end;
		const char *below;
	} cases[] = {
		{STACK_COMPLETE, NULL},		{STACK_JOINED, NULL},
		{STACK_SWITCHED, "[switched]"}, {STACK_TRUNCATED, "[truncated]"},
		{STACK_BROKEN, "[broken]"},	{STACK_KERNEL_ONLY, NULL},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct profile profile;
		struct tree_node *tree;
		size_t nr;
		struct history *history = history_new();
		open_profile(&profile);
		struct frame_id leaf = frame(&profile, profile.kernel, 0x10, "leaf");
		CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
		add(history, &profile, profile.one, (struct node_id){0}, leaf, cases[i].end, 3);
		CHECK_EQ(history_tree(history, &tree, &nr), 0);
		CHECK_EQ(nr, cases[i].below ? 3 : 2);
		uint32_t at = 0;
		if (cases[i].below) {
			at = child(history, tree, 0, cases[i].below);
			CHECK(at != 0 && tree[at].total == 3 && tree[at].self == 0);
		}
		at = child(history, tree, at, "leaf");
		CHECK(at != 0 && tree[at].self == 3);
		CHECK_EQ(history_totals(history).ends[cases[i].end], 3);
		free(tree);
		history_free(history);
		close_profile(&profile);
	}
}

/* f in two modules are two functions; nameless frames are one a module, and [unknown] without one. */
static void functions_are_of_a_module(void)
{
	struct profile profile;
	struct function_cost *costs;
	size_t nr;
	struct history *history = history_new();
	struct node_id root = {0};
	open_profile(&profile);
	struct module_id library = module(&profile, MODULE_FILE, "/lib/libx.so.1");
	struct module_id same = module(&profile, MODULE_FILE, "/bin/program");
	const struct frame_id leaves[] = {
		frame(&profile, profile.program, 1, "f"),
		frame(&profile, same, 2, "f"),
		frame(&profile, library, 1, "f"),
		frame(&profile, library, 3, NULL),
		frame(&profile, library, 4, NULL),
		frame(&profile, (struct module_id){0}, 5, NULL),
		{0},
	};
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	for (size_t i = 0; i < sizeof(leaves) / sizeof(leaves[0]); i++)
		add(history, &profile, profile.one, root, leaves[i], STACK_COMPLETE, 1);
	CHECK_EQ(history_top(history, &costs, &nr), 0);
	CHECK_EQ(nr, 4);
	/* Equal weights are sorted by name, then by module. */
	CHECK_STR(history_function_name(history, costs[0].function), "[libx.so.1]");
	CHECK_STR(history_function_name(history, costs[1].function), "[unknown]");
	CHECK_STR(history_function_name(history, costs[2].function), "f");
	CHECK_STR(history_function_module(history, costs[2].function), "/bin/program");
	CHECK_STR(history_function_module(history, costs[3].function), "/lib/libx.so.1");
	CHECK_COST("[libx.so.1]", 2, 2);
	CHECK_COST("[unknown]", 2, 2);
	CHECK_EQ(costs[2].self, 2);
	CHECK_EQ(costs[3].self, 1);
	free(costs);
	history_free(history);
	close_profile(&profile);
}

struct visited {
	const struct history *history;
	size_t nr;
	uint64_t samples;
	bool recursion, kernel;
};

static int visit(void *context, const struct history_stack *stack)
{
	struct visited *visited = context;
	const struct history_frame *frames = stack->frames;
	visited->nr++;
	visited->samples += stack->samples;
	CHECK_EQ(stack->weight, stack->samples * 10);
	CHECK_EQ(stack->pid, 10);
	CHECK_STR(history_event_name(visited->history, stack->event), "cpu-clock");
	if (stack->nr_frames == 4) {
		static const char *const names[] = {"main", "work", "work", "leaf"};
		for (size_t i = 0; i < 4; i++)
			CHECK_STR(history_function_name(visited->history, frames[i].function),
				  names[i]);
		CHECK_EQ(frames[1].address, 0x200);
		CHECK_EQ(frames[2].address, 0x208);
		CHECK_EQ(frames[1].function.index, frames[2].function.index);
		CHECK_EQ(frames[2].method, FRAME_CFI);
		CHECK_EQ(frames[3].method, FRAME_LEAF);
		CHECK_EQ(frames[3].offset, 4);
		CHECK_STR(stack->comm, "one");
		visited->recursion = true;
	}
	if (stack->tid == 11 && stack->nr_frames == 2) {
		CHECK_EQ(frames[1].method, FRAME_KERNEL);
		CHECK_STR(stack->comm, "two");
		visited->kernel = true;
	}
	return 0;
}

static int stop(void *context, const struct history_stack *stack)
{
	(void)stack;
	++*(int *)context;
	return -7;
}

static void each_stack_is_seen_once(void)
{
	struct profile profile;
	struct history *history = history_new();
	struct visited visited = {.history = history};
	int calls = 0;
	open_profile(&profile);
	fill(&profile, history);
	CHECK_EQ(history_each_stack(history, visit, &visited), 0);
	CHECK_EQ(visited.nr, 5);
	CHECK_EQ(visited.samples, 13);
	CHECK(visited.recursion && visited.kernel);
	CHECK_EQ(history_each_stack(history, stop, &calls), -7);
	CHECK_EQ(calls, 1);
	history_free(history);
	close_profile(&profile);
}

/* Samples of several CPUs may come slightly out of order. */
static void a_sample_before_the_first_is_at_its_time(void)
{
	static const struct history_filter to_100 = {.to_ns = 100}, from_1 = {.from_ns = 1};
	const struct history_filter *const filters[] = {&to_100, &from_1};
	for (size_t i = 0; i < 2; i++) {
		struct profile profile;
		struct history *history = history_new();
		open_profile(&profile);
		tables_publish(profile.writer);
		history_set_filter(history, filters[i]);
		CHECK_EQ(history_begin_epoch(history, &profile.tables, NULL), 0);
		const struct sample samples[] = {
			{.time_ns = 5000}, {.time_ns = 4990}, {.time_ns = 5050}};
		CHECK_EQ(history_import(history, samples, 3), 0);
		CHECK_EQ(history_totals(history).samples, i == 0 ? 3 : 1);
		CHECK_EQ(history_totals(history).first_ns, i == 0 ? 4990 : 5050);
		CHECK_EQ(history_totals(history).last_ns, 5050);
		history_free(history);
		close_profile(&profile);
	}
}

static void ids_that_make_no_sense_are_counted(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	const struct sample good = {
		.task = profile.one, .leaf = {1}, .event = (uint8_t)profile.event};
	struct sample bad[8];
	for (size_t i = 0; i < 8; i++)
		bad[i] = good;
	bad[0].task.index = UINT32_MAX;
	bad[1].node.index = UINT32_MAX;
	bad[2].leaf.index = UINT32_MAX;
	bad[3].event = 200;
	bad[4].end = NR_STACK_ENDS;
	bad[5].reason = NR_STACK_REASONS;
	bad[6].leaf.index = 8; /* the first that is not there */
	bad[7].leaf.index = 0; /* callers of nothing */
	bad[7].node.index = 1;
	CHECK_EQ(history_update_names(history), 0);
	uint64_t before = history_bytes(history);
	CHECK_EQ(history_import(history, bad, 8), 0);
	CHECK_EQ(history_totals(history).bad_samples, 8);
	CHECK_EQ(history_totals(history).samples, 13);
	CHECK_EQ(history_bytes(history), before);
	CHECK_EQ(history_import(history, &good, 1), 0);
	CHECK_EQ(history_totals(history).samples, 14);
	history_free(history);
	close_profile(&profile);
}

/* Ten times the samples on the same stacks take the same memory. */
static void memory_grows_with_stacks_only(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	CHECK_EQ(history_update_names(history), 0);
	uint64_t before = history_bytes(history);
	for (int i = 0; i < 10; i++)
		fill(&profile, history);
	CHECK_EQ(history_totals(history).samples, 11 * 13);
	CHECK_EQ(history_bytes(history), before);
	history_free(history);
	close_profile(&profile);
}

static void the_last_fact_holds(void)
{
	struct history *history = history_new();
	CHECK(!history_info(history, "key"));
	CHECK_EQ(history_set_info(history, "key", "1"), 0);
	CHECK_EQ(history_set_info(history, "key", "2"), 0);
	CHECK_STR(history_info(history, "key"), "2");
	struct profile profile;
	open_profile(&profile);
	CHECK_EQ(tables_add_info(profile.writer, "key", "3"), 0);
	CHECK_EQ(tables_add_info(profile.writer, "key", "4"), 0);
	tables_publish(profile.writer);
	CHECK_EQ(history_begin_epoch(history, &profile.tables, NULL), 0);
	CHECK_EQ(history_import(history, NULL, 0), 0);
	CHECK_STR(history_info(history, "key"), "4");
	/* The last word of an epoch is heard when it ends. */
	CHECK_EQ(tables_add_info(profile.writer, "key", "5"), 0);
	tables_publish(profile.writer);
	struct profile next;
	open_profile(&next);
	CHECK_EQ(history_begin_epoch(history, &next.tables, NULL), 0);
	CHECK_STR(history_info(history, "key"), "5");
	history_free(history);
	close_profile(&profile);
	close_profile(&next);
}

static void facts_without_a_sample_are_read(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	CHECK_EQ(tables_add_info(profile.writer, "target", "idle"), 0);
	tables_publish(profile.writer);
	CHECK_EQ(history_update_names(history), 0);
	CHECK_STR(history_info(history, "target"), "idle");
	history_free(history);
	close_profile(&profile);
}

/* A program that renames itself, and maps new files, for ever. */
static void names_without_an_end_are_folded_too(void)
{
	enum { EPOCHS = 4, EACH = 3000 };
	const uint64_t limit_bytes = 1 << 20;
	struct history *history = history_new();
	uint64_t full_bytes = 0;
	history_set_limit(history, limit_bytes);
	static struct profile profiles[EPOCHS];
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		struct profile *profile = &profiles[epoch];
		open_profile(profile);
		CHECK_EQ(history_begin_epoch(history, &profile->tables, &profile->symbols), 0);
		for (int i = 0; i < EACH; i++) {
			char name[300];
			int at = snprintf(name, sizeof(name), "/%d/%d/", epoch, i);
			memset(name + at, 'x', sizeof(name) - 1 - (size_t)at);
			name[sizeof(name) - 1] = '\0';
			/* One address in all of them: a file that is not known is not taken for another. */
			struct module_id file = module(profile, MODULE_FILE, name);
			add(history, profile, task(profile, 1, name), (struct node_id){0},
			    frame(profile, file, 0x1000, NULL), STACK_COMPLETE, 1);
		}
		if (epoch == 1)
			full_bytes = history_bytes(history);
	}
	/* What the last epochs have is its translations, which are the next epoch's again. */
	CHECK(full_bytes > limit_bytes / 2);
	CHECK(history_bytes(history) < full_bytes + 1024);
	const struct history_totals totals = history_totals(history);
	CHECK_EQ(totals.samples, (uint64_t)EPOCHS * EACH);
	CHECK_EQ(totals.bad_samples, 0);
	CHECK(totals.folded > EPOCHS * EACH / 2 && totals.folded < EPOCHS * EACH);
	history_free(history);
	for (int epoch = 0; epoch < EPOCHS; epoch++)
		close_profile(&profiles[epoch]);
}

/* New stacks without an end: memory stays within the bound, totals stay true, and it is said what was folded. */
static void a_full_history_folds(void)
{
	enum { EPOCHS = 3, DEEP = 5000, DEPTH = 40 };
	const uint64_t limit_bytes = 1 << 20;
	struct history *history = history_new();
	uint64_t samples = 0, state = 1;
	history_set_limit(history, limit_bytes);
	static struct profile profiles[EPOCHS];
	for (int epoch = 0; epoch < EPOCHS; epoch++) {
		struct profile *profile = &profiles[epoch];
		open_profile(profile);
		struct frame_id in_main = frame(profile, profile->program, 0x100, "main");
		struct frame_id known = frame(profile, profile->program, 0x300, "known");
		struct node_id below_main = node(profile, (struct node_id){0}, in_main);
		CHECK_EQ(history_begin_epoch(history, &profile->tables, &profile->symbols), 0);
		for (int i = 0; i < DEEP; i++) {
			struct node_id callers = below_main;
			struct frame_id leaf = known;
			for (int depth = 0; depth < DEPTH; depth++) {
				state = state * 6364136223846793005u + 1442695040888963407u;
				leaf = frame(profile, profile->program, 0x1000 + (state >> 50),
					     NULL);
				callers = node(profile, callers, leaf);
			}
			char comm[16];
			snprintf(comm, sizeof(comm), "thread %d", i % 50);
			add(history, profile, task(profile, 100 + i, comm), callers, leaf,
			    STACK_COMPLETE, 1);
			add(history, profile, profile->one, below_main, known, STACK_COMPLETE, 1);
			samples += 2;
		}
		CHECK(history_bytes(history) < limit_bytes * 5 / 4 + 4u * DEEP * DEPTH);
	}
	const struct history_totals totals = history_totals(history);
	CHECK_EQ(totals.samples, samples);
	CHECK_EQ(totals.ends[STACK_COMPLETE], samples);
	CHECK_EQ(totals.bad_samples, 0);
	CHECK(totals.folded > samples / 4 && totals.folded < samples / 2 + 1);

	struct function_cost *costs;
	size_t nr;
	CHECK_EQ(history_top(history, &costs, &nr), 0);
	uint64_t self = 0;
	for (size_t i = 0; i < nr; i++)
		self += costs[i].self;
	CHECK_EQ(self, samples);
	CHECK_COST("known", samples / 2, samples / 2);
	CHECK_COST("main", 0, samples);
	CHECK_COST("[folded]", totals.folded, totals.folded);
	free(costs);
	history_free(history);
	for (int epoch = 0; epoch < EPOCHS; epoch++)
		close_profile(&profiles[epoch]);
}

int main(void)
{
	RUN(top_counts_recursion_once);
	RUN(totals_add_up);
	RUN(frames_without_a_name_are_told_by_module);
	RUN(tree_merges_by_function);
	RUN(filters_let_through_what_they_say);
	RUN(names_may_come_late);
	RUN(epochs_merge);
	RUN(unfinished_stacks_have_their_own_roots);
	RUN(functions_are_of_a_module);
	RUN(each_stack_is_seen_once);
	RUN(a_sample_before_the_first_is_at_its_time);
	RUN(ids_that_make_no_sense_are_counted);
	RUN(memory_grows_with_stacks_only);
	RUN(the_last_fact_holds);
	RUN(facts_without_a_sample_are_read);
	RUN(a_full_history_folds);
	RUN(names_without_an_end_are_folded_too);
	return test_done();
}
