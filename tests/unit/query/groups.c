/* SPDX-License-Identifier: MIT */
/* Rows by function, line, address, module, thread and process: recursion counts once, what was inlined where it belongs. */
#include <ctop/query/groups.h>

#include "history/hand_made.h"

static const struct symbol_line leaf_lines[] = {
	{NULL, "src/leaf.c", 30}, {"mid", "mid.h", 20}, {"work", "work.h", 10}};
static const struct symbol_line work_lines[] = {{NULL, "work.c", 5}};

struct world {
	struct profile profile;
	struct history *history;
	struct selection *selection;
};

/* As fill() has it: main > work > leaf: 6, with work above itself: 2; start > syscall: 3; start: 1; main > nameless: 1. */
static void begin(struct world *world)
{
	world->history = history_new();
	open_profile(&world->profile);
	fill(&world->profile, world->history);
	for (uint32_t i = 1; i <= 4; i++) {
		const struct frame_id frame = {i};
		const bool is_leaf = i == 4;
		if (i > 1)
			CHECK_EQ(symbols_set_lines(world->profile.namer, frame,
						   is_leaf ? leaf_lines : work_lines,
						   is_leaf ? 3 : 1),
				 0);
	}
	world->selection = selection_new(world->history);
	CHECK(world->selection);
	CHECK_EQ(selection_refresh(world->selection, UINT64_MAX), 0);
}

static void end(struct world *world)
{
	selection_free(world->selection);
	history_free(world->history);
	close_profile(&world->profile);
}

/* Self costs, found without the callers. */
static void check_selfs(struct world *world, enum grouping by, const struct selection_groups *rows)
{
	struct selection_groups selfs = {0};
	size_t nr = 0;
	CHECK_EQ(selection_group_selfs(world->selection, by, SELECTION_OWN_EVENT, &selfs), 0);
	for (size_t i = 0; i < rows->nr; i++) {
		size_t same = 0;
		while (same < selfs.nr &&
		       !group_is_same(&rows->items[i].group, &selfs.items[same].group, by))
			same++;
		CHECK_EQ(same<selfs.nr, rows->items[i].cost.self> 0);
		if (same == selfs.nr)
			continue;
		nr++;
		CHECK_EQ(selfs.items[same].cost.self, rows->items[i].cost.self);
		CHECK_EQ(selfs.items[same].cost.self_weight, rows->items[i].cost.self_weight);
		CHECK(selfs.items[same].self_squares == rows->items[i].self_squares);
	}
	CHECK_EQ(nr, selfs.nr);
	free(selfs.items);
}

/* "function self/total, ..." */
static const char *rows_of(struct world *world, enum grouping by)
{
	static char text[1024];
	struct selection_groups rows = {0};
	size_t used = 0;
	CHECK_EQ(selection_groups(world->selection, by, SELECTION_OWN_EVENT, &rows), 0);
	for (size_t i = 0; i < rows.nr; i++) {
		const struct selection_group *row = &rows.items[i];
		struct text name = {0};
		group_add_place(&name, &row->group);
		text_add(&name, name.size ? " " : "");
		if (row->group.comm)
			text_addf(&name, "%s %d/%d", row->group.comm, row->group.pid,
				  row->group.tid);
		else if (by == GROUPING_MODULE)
			text_add(&name, row->group.module);
		else
			text_add(&name,
				 history_function_marked_name(world->history, row->group.function));
		CHECK_EQ(row->cost.self_weight, row->cost.self * 10);
		CHECK_EQ(row->cost.total_weight, row->cost.total * 10);
		CHECK(row->squares == (double)row->cost.total * 100);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s %d/%d",
					 used ? ", " : "", text_string(&name), (int)row->cost.self,
					 (int)row->cost.total);
		text_release(&name);
	}
	check_selfs(world, by, &rows);
	free(rows.items);
	return text;
}

static void each_as_it_is_called(void)
{
	struct world world;
	begin(&world);
	CHECK_STR(rows_of(&world, GROUPING_INLINE),
		  "work (inlined) 8/8, syscall 3/3, start 1/4, [program] 1/1, main 0/9, "
		  "leaf 0/8, mid (inlined) 0/8, work 0/8");
	CHECK_STR(rows_of(&world, GROUPING_FUNCTION),
		  "leaf 8/8, syscall 3/3, start 1/4, [program] 1/1, main 0/9, work 0/8");
	CHECK_STR(rows_of(&world, GROUPING_LINE),
		  "work.h:10 work (inlined) 8/8, syscall 3/3, start 1/4, [program] 1/1, main 0/9, "
		  "leaf.c:30 leaf 0/8, mid.h:20 mid (inlined) 0/8, work.c:5 work 0/8");
	CHECK_STR(rows_of(&world, GROUPING_ADDRESS),
		  "0x300 leaf 8/8, 0xffffffff81000000 syscall 3/3, 0x400 start 1/4, 0x500 "
		  "[program] 1/1, "
		  "0x100 main 0/9, 0x200 work 0/8, 0x208 work 0/2");
	CHECK_STR(rows_of(&world, GROUPING_MODULE), "/bin/program 10/13, [kernel] 3/3");
	CHECK_STR(rows_of(&world, GROUPING_THREAD), "one 10/10 9/9, two 10/11 4/4");
	CHECK_STR(rows_of(&world, GROUPING_PROCESS), "one 10/-1 13/13");
	end(&world);
}

static void choose(struct world *world, const struct selection_criterion *criterion)
{
	CHECK_EQ(selection_set_filter(world->selection, criterion, 1), 0);
	CHECK_EQ(selection_refresh(world->selection, UINT64_MAX), 0);
}

static void of_a_subtree_what_is_below(void)
{
	struct world world;
	begin(&world);
	const struct selection_node root = root_of(world.selection),
				    in_main = child(world.history, world.selection, &root, "main"),
				    work = child(world.history, world.selection, &in_main, "work"),
				    leaf = child(world.history, world.selection, &work, "leaf"),
				    mid = child(world.history, world.selection, &leaf, "mid");
	choose(&world, &(struct selection_criterion){.what = SELECTION_SUBTREE, .id = work.id});
	CHECK_STR(rows_of(&world, GROUPING_FUNCTION), "leaf 8/8, work 0/8");
	CHECK_STR(rows_of(&world, GROUPING_ADDRESS),
		  "0x300 leaf 8/8, 0x200 work 0/8, 0x208 work 0/2");
	CHECK_STR(rows_of(&world, GROUPING_MODULE), "/bin/program 8/8");
	/* Begun in the middle of what was inlined into a function: that counts as a whole. */
	choose(&world, &(struct selection_criterion){.what = SELECTION_SUBTREE, .id = mid.id});
	CHECK_STR(rows_of(&world, GROUPING_INLINE), "work (inlined) 6/6, mid (inlined) 0/6");
	CHECK_STR(rows_of(&world, GROUPING_FUNCTION), "leaf 6/6");
	CHECK_STR(rows_of(&world, GROUPING_LINE),
		  "work.h:10 work (inlined) 6/6, mid.h:20 mid (inlined) 0/6");
	choose(&world, &(struct selection_criterion){.what = SELECTION_KERNEL});
	CHECK_STR(rows_of(&world, GROUPING_MODULE), "[kernel] 3/3, /bin/program 0/3");
	end(&world);
}

/* A program that names thousands of files, and gives each the same line. */
static void lines_of_many_files_share_no_hash(void)
{
	const struct group line = {.function = {3}, .file = "src/a.c", .line = 1},
			   other = {.function = {3}, .file = "src/b.c", .line = 1},
			   elsewhere = {.function = {3}, .file = "/build/src/a.c", .line = 1};
	CHECK(group_hash(&line, GROUPING_LINE) != group_hash(&other, GROUPING_LINE));
	CHECK(group_is_same(&line, &elsewhere, GROUPING_LINE));
	CHECK_EQ(group_hash(&line, GROUPING_LINE), group_hash(&elsewhere, GROUPING_LINE));
}

int main(void)
{
	RUN(lines_of_many_files_share_no_hash);
	RUN(each_as_it_is_called);
	RUN(of_a_subtree_what_is_below);
	return test_done();
}
