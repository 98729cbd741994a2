/* SPDX-License-Identifier: MIT */
/* Functions that were inlined: what stacks become when their lines come, late or twice, and what stays as it was. */
#include <ctop/history/rows.h>

#include "history/hand_made.h"

struct inlined {
	struct profile profile;
	struct history *history;
	struct selection *selection;
	struct frame_id main, work, leaf;
	uint64_t now_ns; /* each look is later than the one before */
};

static void add_stacks(struct inlined *world, struct node_id callers, struct frame_id leaf, int nr)
{
	while (nr--) {
		const struct sample sample = {.time_ns = 1000,
					      .weight = 10,
					      .task = world->profile.one,
					      .node = callers,
					      .leaf = leaf,
					      .event = 1};
		CHECK_EQ(history_import(world->history, &sample, 1), 0);
	}
}

static void look(struct inlined *world)
{
	world->now_ns += 1000000000;
	CHECK_EQ(selection_refresh(world->selection, world->now_ns), 0);
}

/* main > work > leaf: 6 samples; main > leaf: 2; main: 1. */
static void begin(struct inlined *world)
{
	*world = (struct inlined){.history = history_new()};
	struct profile *profile = &world->profile;
	open_profile(profile);
	world->main = frame(profile, profile->program, 0x100, "main");
	world->work = frame(profile, profile->program, 0x200, "work");
	world->leaf = frame(profile, profile->program, 0x300, "leaf");
	const struct node_id in_main = node(profile, (struct node_id){0}, world->main);
	const struct node_id in_work = node(profile, in_main, world->work);
	tables_publish(profile->writer);
	CHECK_EQ(history_begin_epoch(world->history, &profile->tables, &profile->symbols), 0);
	add_stacks(world, in_work, world->leaf, 6);
	add_stacks(world, in_main, world->leaf, 2);
	add_stacks(world, (struct node_id){0}, world->main, 1);
	world->selection = selection_new(world->history);
	look(world);
}

static void end(struct inlined *world)
{
	selection_free(world->selection);
	history_free(world->history);
	close_profile(&world->profile);
}

/* The tree as text: "main 9/1 work 6/0 leaf 6/6 ..." */
static void add_rows(struct selection *selection, struct history *history, uint64_t id, char *text,
		     size_t size)
{
	struct selection_nodes nodes = {0};
	CHECK_EQ(selection_children(selection, id, SELECTION_BY_TOTAL, &nodes), 0);
	for (size_t i = 0; i < nodes.nr; i++) {
		const struct selection_node *row = &nodes.items[i];
		const size_t used = strlen(text);
		snprintf(text + used, size - used, "%s%s %d/%d", used ? " " : "",
			 history_function_marked_name(history, row->function), (int)row->cost.total,
			 (int)row->cost.self);
		CHECK_EQ(row->cost.total_weight, row->cost.total * 10);
		add_rows(selection, history, row->id, text, size);
	}
	free(nodes.items);
}

static const char *tree(struct selection *selection, struct history *history)
{
	static char text[1024];
	struct selection_node root;
	CHECK_EQ(selection_root(selection, SELECTION_TREE, (struct function_id){0}, &root), 0);
	text[0] = '\0';
	add_rows(selection, history, root.id, text, sizeof(text));
	return text;
}

static const char *shown(struct inlined *world)
{
	look(world);
	return tree(world->selection, world->history);
}

static void set(struct inlined *world, struct frame_id frame, const struct symbol_line *lines,
		size_t nr)
{
	CHECK_EQ(symbols_set_lines(world->profile.namer, frame, lines, nr), 0);
}

static const struct symbol_line leaf_lines[] = {
	{NULL, "leaf.c", 30}, {"mid", "mid.h", 20}, {"leaf", "leaf.h", 10}};
static const char with_leaf[] = "main 9/1 work 6/0 leaf 6/0 mid (inlined) 6/0 leaf (inlined) 6/6 "
				"leaf 2/0 mid (inlined) 2/0 leaf (inlined) 2/2";

static void they_grow_when_lines_come(void)
{
	struct inlined world;
	begin(&world);
	CHECK_STR(shown(&world), "main 9/1 work 6/0 leaf 6/6 leaf 2/2");
	/* A line of its own changes no stack. */
	set(&world, world.main, leaf_lines, 1);
	CHECK_STR(shown(&world), "main 9/1 work 6/0 leaf 6/6 leaf 2/2");
	set(&world, world.leaf, leaf_lines, 3);
	CHECK_STR(shown(&world), with_leaf);
	set(&world, world.work, leaf_lines, 2);
	CHECK_STR(shown(&world),
		  "main 9/1 work 6/0 mid (inlined) 6/0 leaf 6/0 mid (inlined) 6/0 "
		  "leaf (inlined) 6/6 leaf 2/0 mid (inlined) 2/0 leaf (inlined) 2/2");
	CHECK_EQ(selection_totals(world.selection).samples, 9);
	CHECK_EQ(history_totals(world.history).frames, 6 * 3 + 2 * 2 + 1);
	/* What was there all the time, and what is asked now, is the same. */
	struct selection *later = selection_of_all(world.history);
	char before[1024];
	snprintf(before, sizeof(before), "%s", shown(&world));
	CHECK_STR(tree(later, world.history), before);
	selection_free(later);
	end(&world);
}

static void self_is_the_innermost_ones(void)
{
	struct inlined world;
	struct selection_functions top = {0};
	begin(&world);
	set(&world, world.leaf, leaf_lines, 3);
	look(&world);
	CHECK_EQ(selection_top(world.selection, SELECTION_BY_SELF, 0, &top, NULL), 0);
	CHECK_EQ(top.nr, 5);
	CHECK_STR(history_function_marked_name(world.history, top.items[0].id), "leaf (inlined)");
	CHECK(history_function_inlined(world.history, top.items[0].id));
	CHECK_STR(history_function_name(world.history, top.items[0].id), "leaf");
	CHECK_EQ(top.items[0].cost.self, 8);
	struct selection_detail detail = {0};
	CHECK_EQ(selection_detail(world.selection, top.items[0].id, &detail), 0);
	CHECK_EQ(detail.callers.nr, 1);
	CHECK_STR(history_function_name(world.history, detail.callers.items[0].function), "mid");
	selection_detail_release(&detail);
	free(top.items);
	end(&world);
}

static int check_stack(void *context, const struct history_stack *stack)
{
	const struct history *history = context;
	if (stack->samples != 6)
		return 0;
	static const struct {
		const char *name, *file;
		uint32_t line;
		bool inlined;
	} wanted[] = {{"main", "", 0, false},
		      {"work", "", 0, false},
		      {"leaf", "leaf.c", 30, false},
		      {"mid", "mid.h", 20, true},
		      {"leaf", "leaf.h", 10, true}};
	CHECK_EQ(stack->nr_frames, 5);
	for (size_t i = 0; i < 5; i++) {
		const struct history_frame *frame = &stack->frames[i];
		CHECK_STR(history_function_name(history, frame->function), wanted[i].name);
		CHECK_STR(frame->file, wanted[i].file);
		CHECK_EQ(frame->line, wanted[i].line);
		CHECK_EQ(frame->inlined, wanted[i].inlined);
		CHECK_EQ(history_stack_steps(stack, i), i == 2 ? 3 : i == 3 ? 2 : 1);
	}
	CHECK_EQ(stack->frames[4].address, stack->frames[2].address);
	return 1;
}

static void stacks_have_lines(void)
{
	struct inlined world;
	begin(&world);
	set(&world, world.leaf, leaf_lines, 3);
	look(&world);
	CHECK_EQ(selection_each_stack(world.selection, check_stack, world.history), 1);
	end(&world);
}

static struct function_id function(struct inlined *world, const char *marked)
{
	struct selection_functions top = {0};
	struct function_id found = {0};
	CHECK_EQ(selection_top(world->selection, SELECTION_BY_NAME, 0, &top, NULL), 0);
	for (size_t i = 0; i < top.nr; i++)
		if (!strcmp(history_function_marked_name(world->history, top.items[i].id), marked))
			found = top.items[i].id;
	free(top.items);
	CHECK(found.index > 0);
	return found;
}

/* "work work.c:5 6, ..." */
static const char *text_of(struct inlined *world, const struct selection_lines *lines)
{
	static char text[512];
	size_t used = 0;
	text[0] = '\0';
	for (size_t i = 0; i < lines->nr; i++) {
		const struct selection_line *line = &lines->items[i];
		CHECK_EQ(line->weight, line->samples * 10);
		used += (size_t)snprintf(
			text + used, sizeof(text) - used, "%s%s %s:%d %d", used ? ", " : "",
			history_function_marked_name(world->history, line->function), line->file,
			(int)line->line, (int)line->samples);
	}
	return text;
}

static void check_lines(struct inlined *world, const char *name, const char *lines_wanted,
			const char *callers_wanted)
{
	struct selection_detail detail = {0};
	look(world);
	CHECK_EQ(selection_detail(world->selection, function(world, name), &detail), 0);
	CHECK_STR(text_of(world, &detail.lines), lines_wanted);
	CHECK_STR(text_of(world, &detail.call_sites), callers_wanted);
	selection_detail_release(&detail);
}

static const struct symbol_line main_line[] = {{NULL, "main.c", 3}},
				work_line[] = {{NULL, "work.c", 5}};

static void lines_have_what_is_there_and_what_it_calls(void)
{
	struct inlined world;
	begin(&world);
	set(&world, world.main, main_line, 1);
	set(&world, world.leaf, leaf_lines, 3);
	check_lines(&world, "leaf", "leaf leaf.c:30 8", "main main.c:3 2");
	set(&world, world.work, work_line, 1);
	check_lines(&world, "main", "main main.c:3 9", "");
	check_lines(&world, "leaf", "leaf leaf.c:30 8", "work work.c:5 6, main main.c:3 2");
	check_lines(&world, "mid (inlined)", "mid (inlined) mid.h:20 8", "leaf leaf.c:30 8");
	check_lines(&world, "leaf (inlined)", "leaf (inlined) leaf.h:10 8",
		    "mid (inlined) mid.h:20 8");
	struct selection_lines hottest = {0};
	CHECK_EQ(selection_hottest_lines(world.selection, &hottest), 0);
	CHECK_EQ(hottest.items[function(&world, "mid (inlined)").index].line, 20);
	CHECK_EQ(hottest.items[function(&world, "work").index].samples, 6);
	free(hottest.items);
	end(&world);
}

/* By its outermost call, so that lines add up to what the function has. */
static void calls_of_itself_count_once(void)
{
	struct inlined world;
	begin(&world);
	struct profile *profile = &world.profile;
	const struct symbol_line again[] = {{NULL, "work.c", 6}};
	const struct frame_id second = frame(profile, profile->program, 0x210, "work");
	struct node_id callers = node(profile, (struct node_id){0}, world.work);
	for (int i = 0; i < 3; i++)
		callers = node(profile, callers, second);
	tables_publish(profile->writer);
	add_stacks(&world, callers, second, 4);
	set(&world, world.work, work_line, 1);
	set(&world, second, again, 1);
	check_lines(&world, "work", "work work.c:5 10", "");
	end(&world);
}

static void nobody_need_see_them(void)
{
	struct inlined world;
	begin(&world);
	struct history *history = history_new();
	history_leave_out_lines(history);
	set(&world, world.leaf, leaf_lines, 3);
	CHECK_EQ(history_begin_epoch(history, &world.profile.tables, &world.profile.symbols), 0);
	const struct sample sample = {
		.weight = 10, .task = world.profile.one, .leaf = world.leaf, .event = 1};
	CHECK_EQ(history_import(history, &sample, 1), 0);
	struct selection *selection = selection_of_all(history);
	CHECK_STR(tree(selection, history), "leaf 1/1");
	selection_free(selection);
	history_free(history);
	end(&world);
}

/* Of another epoch, and of a symbolizer that knows less. */
static void they_stay_when_frames_come_again(void)
{
	struct inlined world, second;
	begin(&world);
	set(&world, world.leaf, leaf_lines, 3);
	CHECK_STR(shown(&world), with_leaf);
	begin(&second);
	CHECK_EQ(
		history_begin_epoch(world.history, &second.profile.tables, &second.profile.symbols),
		0);
	const struct sample sample = {.time_ns = 1500,
				      .weight = 10,
				      .task = second.profile.one,
				      .leaf = second.leaf,
				      .event = 1};
	CHECK_EQ(history_import(world.history, &sample, 1), 0);
	CHECK_STR(shown(&world), "main 9/1 work 6/0 leaf 6/0 mid (inlined) 6/0 leaf (inlined) 6/6 "
				 "leaf 2/0 mid (inlined) 2/0 leaf (inlined) 2/2 leaf 1/0 "
				 "mid (inlined) 1/0 leaf (inlined) 1/1");
	end(&world);
	end(&second);
}

/* As containers have them: two inodes, one module. What the second one lacks takes nothing from the first. */
static void copies_of_a_file_share_lines(void)
{
	struct inlined world;
	struct module_row row = {.kind = MODULE_FILE, .identity = {.inode = 1, .owner_plus_1 = 1}};
	struct module_id copies[2];
	struct frame_id leaves[2];
	begin(&world);
	struct profile *profile = &world.profile;
	module_identity_set_build_id(&row.identity, "build", 5);
	CHECK_EQ(tables_add_string(profile->writer, "/lib/libc", 9, &row.path), 0);
	for (int i = 0; i < 2; i++, row.identity.inode++) {
		CHECK_EQ(tables_add_module(profile->writer, &row, &copies[i]), 0);
		leaves[i] = frame(profile, copies[i], 0x300, "leaf");
	}
	CHECK(leaves[0].index != leaves[1].index);
	tables_publish(profile->writer);
	for (int i = 0; i < 2; i++)
		add_stacks(&world, (struct node_id){0}, leaves[i], 1);
	look(&world);
	static const char with_lines[] =
		"main 9/1 work 6/0 leaf 6/6 leaf 2/2 leaf 2/0 mid (inlined) 2/0 "
		"leaf (inlined) 2/2";
	set(&world, leaves[0], leaf_lines, 3);
	CHECK_STR(shown(&world), with_lines);
	set(&world, leaves[1], NULL, 0);
	CHECK_STR(shown(&world), with_lines);
	struct selection *later = selection_of_all(world.history);
	CHECK_STR(tree(later, world.history), with_lines);
	selection_free(later);
	end(&world);
}

/* One string of 8 KiB has 2,048 ends that are strings, and one row of lines may be every frame's: more than anybody would write. */
static void a_region_that_lies_costs_little(void)
{
	enum { LONG = 5, FRAMES = 1024, UNITS = 2048 };
	struct inlined world;
	char text[SYMBOLS_STRING_MAX];
	struct frame_id frames[FRAMES];
	struct symbol_line lines[SYMBOLS_LINES_MAX] = {{0}};
	begin(&world);
	struct symbols *symbols = &world.profile.symbols;
	for (size_t i = 0; i < LONG; i++) {
		memset(text, 'a' + (int)i, sizeof(text) - 1);
		text[sizeof(text) - 1] = '\0';
		lines[i] = (struct symbol_line){text, text, 1};
		CHECK_EQ(symbols_set_lines(world.profile.namer, world.main, &lines[i], 1), 0);
	}
	const uint32_t first = symbols->lines[0].file.index;
	for (uint32_t i = 0; i < LONG * UNITS; i++)
		symbols->lines[i] = (struct line_row){{first + i}, {first + i}, i};
	for (uint32_t i = 0; i < FRAMES; i++) {
		frames[i] = frame(&world.profile, world.profile.program, 0x1000 + i, NULL);
		symbols->rows[frames[i].index].nr_lines = SYMBOLS_LINES_MAX;
		symbols->rows[frames[i].index].lines = 1 + i * 9;
	}
	tables_publish(world.profile.writer);
	for (uint32_t i = 0; i < FRAMES; i++)
		add_stacks(&world, (struct node_id){0}, frames[i], 1);
	const uint64_t before = history_bytes(world.history);
	CHECK_EQ(history_update_names(world.history), 0);
	CHECK(history_bytes(world.history) - before <
	      UINT64_C(3) * symbols_capacity_default.string_units * 4 / 2);
	end(&world);
}

static int count_frames(void *context, const struct history_stack *stack)
{
	size_t *most = context;
	*most = stack->nr_frames > *most ? stack->nr_frames : *most;
	return 0;
}

/* With thousands of calls, and as many functions inlined in each: as far as a stack may be deep. */
static void deep_stacks_have_an_end(void)
{
	struct inlined world;
	struct symbol_line lines[SYMBOLS_LINES_MAX] = {{NULL, "a.c", 1}};
	struct node_id callers = {0};
	size_t most = 0;
	begin(&world);
	for (size_t i = 1; i < SYMBOLS_LINES_MAX; i++)
		lines[i] = (struct symbol_line){"inner", "a.c", 1};
	set(&world, world.work, lines, SYMBOLS_LINES_MAX);
	for (int i = 0; i < 8000; i++)
		callers = node(&world.profile, callers, world.work);
	tables_publish(world.profile.writer);
	add_stacks(&world, callers, world.leaf, 1);
	look(&world);
	CHECK_EQ(selection_totals(world.selection).samples, 10);
	CHECK_EQ(selection_each_stack(world.selection, count_frames, &most), 0);
	CHECK(most > 8000 && most <= HISTORY_DEPTH_SHOWN_MAX);
	struct selection_functions top = {0};
	CHECK_EQ(selection_top(world.selection, SELECTION_BY_TOTAL, 0, &top, NULL), 0);
	CHECK_EQ(top.items[0].cost.total, 9);
	free(top.items);
	end(&world);
}

/* Forgetting leaves the sites of frames that stay, and only those. */
static void what_is_forgotten_comes_again(void)
{
	struct inlined world;
	begin(&world);
	history_keep_seconds(world.history);
	set(&world, world.leaf, leaf_lines, 3);
	set(&world, world.work, leaf_lines, 2);
	look(&world);
	CHECK_EQ(selection_restart(world.selection), 0);
	look(&world);
	add_stacks(&world, (struct node_id){0}, world.leaf, 3);
	CHECK_STR(shown(&world), "leaf 3/0 mid (inlined) 3/0 leaf (inlined) 3/3");
	end(&world);
}

/* More rows than are looked at at once: old names stand until all stacks have the new ones, and counts go on meanwhile. */
static void many_stacks_follow_by_parts(void)
{
	enum { NR_FRAMES = 200, NR_STACKS = 20000 };
	struct frame_id frames[NR_FRAMES];
	struct node_id nodes[NR_FRAMES];
	struct inlined world;
	char before[1024];
	begin(&world);
	selection_take_by_parts(world.selection);
	struct profile *profile = &world.profile;
	for (int i = 0; i < NR_FRAMES; i++) {
		frames[i] = frame(profile, profile->program, 0x1000 + 16 * (uint64_t)i, NULL);
		nodes[i] = node(profile, (struct node_id){0}, frames[i]);
	}
	tables_publish(profile->writer);
	for (int i = 0; i < NR_STACKS; i++)
		add_stacks(&world, nodes[i / NR_FRAMES], frames[i % NR_FRAMES], 1);
	look(&world);
	CHECK_EQ(selection_totals(world.selection).unnamed, NR_STACKS);
	struct selection_functions functions = {0};
	size_t nr_all;
	CHECK_EQ(selection_top(world.selection, SELECTION_BY_SELF, 1000, &functions, &nr_all), 0);
	snprintf(before, sizeof(before), "%s",
		 history_function_name(world.history, functions.items[0].id));
	for (int i = 0; i < NR_FRAMES; i++)
		CHECK_EQ(symbols_set(profile->namer, frames[i], SYMBOL_NAMED, "late", NULL, 0), 0);
	int result, nr = 0;
	look(&world);
	while ((result = selection_advance(world.selection)) > 0) {
		nr++;
		add_stacks(&world, nodes[0], frames[0], 1);
		look(&world);
	}
	CHECK_EQ(result, 0);
	CHECK(nr > 0);
	look(&world);
	look(&world);
	CHECK_EQ(selection_totals(world.selection).unnamed, 0);
	CHECK_EQ(selection_totals(world.selection).samples, 9 + NR_STACKS + nr);
	struct selection *at_once = selection_of_all(world.history);
	struct selection_functions others = {0};
	CHECK_EQ(selection_top(world.selection, SELECTION_BY_SELF, 1000, &functions, &nr_all), 0);
	CHECK_EQ(selection_top(at_once, SELECTION_BY_SELF, 1000, &others, &nr_all), 0);
	CHECK_EQ(functions.nr, others.nr);
	for (size_t i = 0; i < others.nr; i++) {
		CHECK_EQ(functions.items[i].id.index, others.items[i].id.index);
		CHECK_EQ(functions.items[i].cost.self, others.items[i].cost.self);
		CHECK_EQ(functions.items[i].cost.total, others.items[i].cost.total);
	}
	CHECK_STR(history_function_name(world.history, functions.items[0].id), "late");
	CHECK(strcmp(before, "late") != 0);
	free(functions.items);
	free(others.items);
	selection_free(at_once);
	end(&world);
}

/* Names may come for ever: what is placed ahead does not wait for them. */
static void stacks_are_placed_while_names_come(void)
{
	struct inlined world;
	begin(&world);
	selection_take_by_parts(world.selection);
	struct profile *profile = &world.profile;
	const struct frame_id unnamed = frame(profile, profile->program, 0x800, NULL);
	tables_publish(profile->writer);
	add_stacks(&world, (struct node_id){0}, unnamed, 2);
	look(&world);
	const size_t before = selection_nr_paths(world.selection);
	const struct frame_id late = frame(profile, profile->program, 0x900, "late");
	tables_publish(profile->writer);
	add_stacks(&world, (struct node_id){0}, late, 1);
	CHECK_EQ(symbols_set(profile->namer, unnamed, SYMBOL_NAMED, "named", NULL, 0), 0);
	CHECK_EQ(selection_advance(world.selection), 0); /* it was not there at the last look */
	CHECK_EQ(selection_nr_paths(world.selection), before);
	CHECK_EQ(selection_advance(world.selection), 0);
	CHECK_EQ(selection_nr_paths(world.selection), before + 1);
	CHECK_STR(shown(&world), "main 9/1 work 6/0 leaf 6/6 leaf 2/2 named 2/2 late 1/1");
	end(&world);
}

int main(void)
{
	RUN(they_grow_when_lines_come);
	RUN(self_is_the_innermost_ones);
	RUN(stacks_have_lines);
	RUN(lines_have_what_is_there_and_what_it_calls);
	RUN(calls_of_itself_count_once);
	RUN(nobody_need_see_them);
	RUN(they_stay_when_frames_come_again);
	RUN(copies_of_a_file_share_lines);
	RUN(a_region_that_lies_costs_little);
	RUN(deep_stacks_have_an_end);
	RUN(what_is_forgotten_comes_again);
	RUN(many_stacks_follow_by_parts);
	RUN(stacks_are_placed_while_names_come);
	return test_done();
}
