/* SPDX-License-Identifier: MIT */
/* What a history answers: functions, trees, stacks, totals. */
#include "hand_made.h"

#include <ctop/history/rows.h>

static void top_counts_recursion_once(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	struct selection_functions top = top_of(history);
	CHECK_EQ(top.nr, 6);
	CHECK_STR(history_function_name(history, top.items[0].id), "leaf");
	CHECK_COST("leaf", 8, 8);
	CHECK_COST("work", 0, 8);
	CHECK_COST("main", 0, 9);
	CHECK_COST("start", 1, 4);
	CHECK_COST("syscall", 3, 3);
	CHECK_COST("[program]", 1, 1);
	const struct selection_function *syscall = function_of(history, &top, "syscall");
	const struct selection_function *nameless = function_of(history, &top, "[program]");
	CHECK(syscall && history_function_kernel(history, syscall->id));
	CHECK(nameless && !history_function_named(history, nameless->id));
	free(top.items);
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
	symbols_set_module(profile.namer, profile.program,
			   &(struct module_names){NAMES_FROM_DYNSYM, NAMES_MISSING_DEBUG_FILE});
	CHECK_EQ(history_unnamed(history, &modules, &nr), 0);
	CHECK_EQ(nr, 1);
	CHECK_EQ(modules[0].names.missing, NAMES_MISSING_DEBUG_FILE);
	CHECK_STR(modules[0].path, "/bin/program");
	CHECK_EQ(modules[0].kind, MODULE_FILE);
	CHECK_EQ(modules[0].frames, 1);
	/* 6 x 3 + 2 x 4 + 3 x 1 (the other is the kernel's) + 1 + 2 */
	CHECK_EQ(modules[0].all_frames, 32);
	free(modules);
	history_free(history);
	close_profile(&profile);
}

/* Self and children account for every total, and the heaviest come first. Returns how many rows there are. */
static size_t check_sums(struct selection *selection, const struct selection_node *node)
{
	struct selection_nodes children = {0};
	uint64_t sum = node->cost.self;
	size_t nr = 1;
	CHECK_EQ(selection_children(selection, node->id, SELECTION_BY_TOTAL, &children), 0);
	for (size_t i = 0; i < children.nr; i++) {
		CHECK(i == 0 || children.items[i].cost.total_weight <=
					children.items[i - 1].cost.total_weight);
		sum += children.items[i].cost.total;
		nr += check_sums(selection, &children.items[i]);
	}
	CHECK_EQ(sum, node->cost.total);
	CHECK_EQ(node->has_children, children.nr > 0);
	free(children.items);
	return nr;
}

static void tree_merges_by_function(void)
{
	struct profile profile;
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	struct selection *selection = selection_of_all(history);
	CHECK(selection);
	const struct selection_node root = root_of(selection);
	CHECK_EQ(root.cost.total, 13);
	struct selection_node at = child(history, selection, &root, "main");
	CHECK_EQ(at.cost.total, 9);
	at = child(history, selection, &at, "work");
	CHECK_EQ(at.cost.total, 8);
	const struct selection_node recursive = child(history, selection, &at, "work");
	CHECK_EQ(recursive.cost.total, 2);
	CHECK_EQ(child(history, selection, &at, "leaf").cost.self, 6);
	CHECK_EQ(child(history, selection, &recursive, "leaf").cost.self, 2);
	at = child(history, selection, &root, "[truncated]");
	CHECK_EQ(at.cost.total, 1);
	CHECK_EQ(child(history, selection, &at, "start").cost.self, 1);
	CHECK_EQ(check_sums(selection, &root), selection_nr_paths(selection));
	selection_free(selection);
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
	struct history *history = history_new();
	open_profile(&profile);
	fill(&profile, history);
	free(top_of(history).items);
	frame(&profile, profile.program, 0x500, "late");
	struct selection_functions top = top_of(history);
	CHECK_COST("late", 1, 1);
	CHECK(!function_of(history, &top, "[program]"));
	CHECK_EQ(history_totals(history).unsymbolized_frames, 0);
	free(top.items);
	history_free(history);
	close_profile(&profile);
}

static void epochs_merge(void)
{
	struct profile first, second;
	struct history *history = history_new();
	open_profile(&first);
	fill(&first, history);
	open_profile(&second);
	fill(&second, history);
	struct selection_functions top = top_of(history);
	CHECK_EQ(top.nr, 6);
	CHECK_COST("work", 0, 16);
	free(top.items);
	history_free(history);
	close_profile(&first);
	close_profile(&second);
}

/* Code outside of every mapping, without callers: its frames have no module that would come again. */
static void epochs_merge_what_has_neither_module_nor_callers(void)
{
	struct history *history = history_new();
	for (int epoch = 0; epoch < 2; epoch++) {
		struct profile profile;
		open_profile(&profile);
		struct frame_id leaf = frame(&profile, (struct module_id){0}, 0x10, NULL);
		CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
		add(history, &profile, profile.one, (struct node_id){0}, leaf, STACK_COMPLETE, 1);
		close_profile(&profile);
	}
	CHECK_EQ(history->frames.nr, 3); /* none, the one that folds, and this */
	CHECK_EQ(history->stacks.nr, 1);
	history_free(history);
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
		struct history *history = history_new();
		open_profile(&profile);
		struct frame_id leaf = frame(&profile, profile.kernel, 0x10, "leaf");
		CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
		add(history, &profile, profile.one, (struct node_id){0}, leaf, cases[i].end, 3);
		struct selection *selection = selection_of_all(history);
		CHECK(selection);
		struct selection_node at = root_of(selection);
		CHECK_EQ(selection_nr_paths(selection), cases[i].below ? 3 : 2);
		if (cases[i].below) {
			at = child(history, selection, &at, cases[i].below);
			CHECK(at.cost.total == 3 && at.cost.self == 0);
		}
		CHECK_EQ(child(history, selection, &at, "leaf").cost.self, 3);
		CHECK_EQ(history_totals(history).ends[cases[i].end], 3);
		selection_free(selection);
		history_free(history);
		close_profile(&profile);
	}
}

/* Paths are made when what functions cost is asked for; threads have their functions without them. */
static void who_asks_for_threads_gets_no_paths(void)
{
	struct profile profile;
	struct history *history = history_new();
	struct selection_tasks before = {0}, after = {0};
	open_profile(&profile);
	fill(&profile, history);
	struct selection *selection = selection_of_all(history);
	CHECK(selection);
	CHECK_EQ(selection_tasks(selection, SELECTION_THREADS, -1, &before), 0);
	CHECK_EQ(selection_nr_paths(selection), 1);
	CHECK_EQ(root_of(selection).cost.total, 13);
	CHECK(selection_nr_paths(selection) > 1);
	CHECK_EQ(selection_tasks(selection, SELECTION_THREADS, -1, &after), 0);
	CHECK(before.nr && before.nr == after.nr);
	for (size_t i = 0; i < before.nr; i++)
		CHECK(before.items[i].top.index &&
		      before.items[i].top.index == after.items[i].top.index);
	free(before.items);
	free(after.items);
	selection_free(selection);
	history_free(history);
	close_profile(&profile);
}

/* f in two modules are two functions; nameless frames are one per module, and [unknown] without one. */
static void functions_are_of_a_module(void)
{
	struct profile profile;
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
	struct selection_functions top = top_of(history);
	CHECK_EQ(top.nr, 4);
	/* Equal weights are sorted by name, then by module. */
	CHECK_STR(history_function_name(history, top.items[0].id), "[libx.so.1]");
	CHECK_STR(history_function_name(history, top.items[1].id), "[unknown]");
	CHECK_STR(history_function_name(history, top.items[2].id), "f");
	CHECK_STR(history_function_module(history, top.items[2].id), "/bin/program");
	CHECK_STR(history_function_module(history, top.items[3].id), "/lib/libx.so.1");
	CHECK_COST("[libx.so.1]", 2, 2);
	CHECK_COST("[unknown]", 2, 2);
	CHECK_EQ(top.items[2].cost.self, 2);
	CHECK_EQ(top.items[3].cost.self, 1);
	free(top.items);
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
	struct selection *selection = selection_of_all(history);
	CHECK(selection);
	CHECK_EQ(selection_each_stack(selection, visit, &visited), 0);
	CHECK_EQ(visited.nr, 5);
	CHECK_EQ(visited.samples, 13);
	CHECK(visited.recursion && visited.kernel);
	CHECK_EQ(selection_each_stack(selection, stop, &calls), -7);
	CHECK_EQ(calls, 1);
	selection_free(selection);
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

/* A symbolizer that has fallen lets names begin inside each other: together they are no longer than what they stand in. */
static void names_that_overlap_are_bounded(void)
{
	enum { NR_STRINGS = 8, LENGTH = SYMBOLS_STRING_MAX - 8, UNIT_BYTES = 4, NR_EACH = LENGTH / UNIT_BYTES };
	const uint64_t room = symbols_string_bytes(&symbols_capacity_default);
	struct profile profile;
	struct history *history = history_new();
	char name[LENGTH + 1] = {0};
	CHECK(history);
	open_profile(&profile);
	CHECK_EQ(history_begin_epoch(history, &profile.tables, &profile.symbols), 0);
	for (int i = 0; i < NR_STRINGS; i++) {
		memset(name, 'a' + i, LENGTH);
		for (uint32_t k = 0; k < NR_EACH; k++) {
			struct frame_id at = frame(&profile, profile.program,
						   (uint64_t)(i * NR_EACH + (int)k), name);
			profile.symbols.rows[at.index].name.index += k;
			add(history, &profile, profile.one, (struct node_id){0}, at, STACK_COMPLETE, 1);
		}
	}
	const uint64_t before = history_bytes(history);
	CHECK_EQ(history_update_names(history), 0);
	CHECK((uint64_t)NR_STRINGS * NR_EACH * LENGTH / 2 > 3 * room);
	CHECK(history_bytes(history) - before < 2 * room);
	history_free(history);
	close_profile(&profile);
}

int main(void)
{
	RUN(top_counts_recursion_once);
	RUN(totals_add_up);
	RUN(frames_without_a_name_are_told_by_module);
	RUN(names_that_overlap_are_bounded);
	RUN(tree_merges_by_function);
	RUN(filters_let_through_what_they_say);
	RUN(names_may_come_late);
	RUN(epochs_merge);
	RUN(epochs_merge_what_has_neither_module_nor_callers);
	RUN(unfinished_stacks_have_their_own_roots);
	RUN(who_asks_for_threads_gets_no_paths);
	RUN(functions_are_of_a_module);
	RUN(each_stack_is_seen_once);
	RUN(a_sample_before_the_first_is_at_its_time);
	return test_done();
}
