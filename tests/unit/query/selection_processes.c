/* SPDX-License-Identifier: MIT */
/*
 * Trees with a row for each process: known stacks by hand, and random profiles beside selections that are filtered
 * to one process each.
 */
#include <errno.h>

#include "processes.h"

/* ---- by hand ---- */

static void two_processes(void)
{
	open_profile(1);
	IMPORT(FIRST, STACK_COMPLETE, 4, MAIN, WORK, LEAF);
	IMPORT(FIRST_THREAD, STACK_COMPLETE, 1, MAIN, WORK);
	IMPORT(SECOND, STACK_COMPLETE, 3, MAIN, WORK, LEAF);
	IMPORT(SECOND, STACK_TRUNCATED, 2, LEAF);
	refresh(profile.selection);
}

static void the_same_stack_in_two_processes_is_two_rows(void)
{
	static const char merged[] = "main 0/8\n"
				     " work 1/8\n"
				     "  leaf 7/7\n"
				     "[truncated] 0/2\n"
				     " leaf 2/2\n";
	two_processes();
	check_tree(SELECTION_BY_TOTAL, merged);
	CHECK_EQ(selection_set_by_process(profile.selection, true), 0);
	refresh(profile.selection);
	check_tree(SELECTION_BY_TOTAL, "nginx=20 0/5\n"
				       " main 0/3\n"
				       "  work 0/3\n"
				       "   leaf 3/3\n"
				       " [truncated] 0/2\n"
				       "  leaf 2/2\n"
				       "sh=10 0/5\n"
				       " main 0/5\n"
				       "  work 1/5\n"
				       "   leaf 4/4\n");
	CHECK_EQ(selection_set_by_process(profile.selection, false), 0);
	refresh(profile.selection);
	check_tree(SELECTION_BY_TOTAL, merged);
	close_profile();
}

/* Samples that come later find their process, also where a node was another's before. */
static void new_samples_go_to_their_process(void)
{
	two_processes();
	CHECK_EQ(selection_set_by_process(profile.selection, true), 0);
	refresh(profile.selection);
	struct selection_node root = root_of(profile.selection);
	uint64_t id = child(&root, "sh").id;
	profile.newest++;
	IMPORT(FIRST_RENAMED, STACK_COMPLETE, 2, MAIN, WORK, READ);
	IMPORT(ONLY_THREAD, STACK_COMPLETE, 1, MAIN, WORK, READ);
	IMPORT(ODD, STACK_COMPLETE, 9, POLL);
	refresh(profile.selection);
	check_tree(SELECTION_BY_TOTAL, "\x1b[2Jodd=-7 0/9\n"
				       " poll 9/9\n"
				       "python3=10 0/7\n"
				       " main 0/7\n"
				       "  work 1/7\n"
				       "   leaf 4/4\n"
				       "   read 2/2\n"
				       "nginx=20 0/5\n"
				       " main 0/3\n"
				       "  work 0/3\n"
				       "   leaf 3/3\n"
				       " [truncated] 0/2\n"
				       "  leaf 2/2\n"
				       "only a thread=30 0/1\n"
				       " main 0/1\n"
				       "  work 0/1\n"
				       "   read 1/1\n");
	/* It is the same row by whatever name, in whatever order; and in every selection. */
	struct selection_node renamed = child(&root, "python3");
	CHECK_EQ(renamed.id, id);
	CHECK_EQ(renamed.pid, 10);
	struct selection *other = selection_new(profile.history);
	CHECK(other != NULL);
	CHECK_EQ(selection_set_by_process(other, true), 0);
	refresh(other);
	struct selection_nodes nodes = {0};
	CHECK_EQ(selection_children(other, root_of(other).id, SELECTION_BY_NAME, &nodes), 0);
	CHECK_EQ(nodes.nr, 4);
	CHECK_EQ(nodes.items[3].id, renamed.id);
	free(nodes.items);
	selection_free(other);
	close_profile();
}

/* A main thread that only waits for the others names the process all the same; and it is no thread that has samples. */
static void a_main_thread_need_not_be_sampled(void)
{
	struct task_id id;
	struct selection_tasks processes = {0}, threads = {0};
	const char *comms[8];
	open_profile(1);
	IMPORT(ONLY_THREAD, STACK_COMPLETE, 1, MAIN);
	CHECK_EQ(tables_add_task(profile.writer, 30, 30, 0, string("java"), &id), 0);
	IMPORT(ONLY_THREAD, STACK_COMPLETE, 1, MAIN);
	CHECK_EQ(selection_set_by_process(profile.selection, true), 0);
	refresh(profile.selection);
	check_tree(SELECTION_BY_TOTAL, "java=30 0/2\n main 2/2\n");
	CHECK_EQ(selection_tasks(profile.selection, SELECTION_PROCESSES, -1, &processes), 0);
	CHECK_EQ(processes.nr, 1);
	CHECK_STR(processes.items[0].comm, "java");
	CHECK_EQ(processes.items[0].nr_threads, 1);
	CHECK_EQ(selection_tasks(profile.selection, SELECTION_THREADS, -1, &threads), 0);
	CHECK_EQ(threads.nr, 1);
	CHECK_STR(threads.items[0].comm, "only a thread");
	CHECK_EQ(history_names(profile.history, HISTORY_COMMS, comms, 8), 1);
	CHECK_STR(comms[0], "only a thread");
	free(processes.items);
	free(threads.items);
	close_profile();
}

static void shares_fall_with_filters(void)
{
	two_processes();
	CHECK_EQ(selection_set_by_process(profile.selection, true), 0);
	refresh(profile.selection);
	struct selection_criterion criterion = {.what = SELECTION_PROCESS, .number = 10};
	CHECK_EQ(selection_set_filter(profile.selection, &criterion, 1), 0);
	refresh(profile.selection);
	check_tree(SELECTION_BY_TOTAL, "sh=10 0/5\n main 0/5\n  work 1/5\n   leaf 4/4\n");
	criterion.drop = true;
	CHECK_EQ(selection_set_filter(profile.selection, &criterion, 1), 0);
	refresh(profile.selection);
	check_tree(SELECTION_BY_NAME, "nginx=20 0/5\n [truncated] 0/2\n  leaf 2/2\n"
				      " main 0/3\n  work 0/3\n   leaf 3/3\n");
	criterion = (struct selection_criterion){.what = SELECTION_THREAD, .number = 11};
	CHECK_EQ(selection_set_filter(profile.selection, &criterion, 1), 0);
	refresh(profile.selection);
	check_tree(SELECTION_BY_TOTAL, "sh=10 0/1\n main 0/1\n  work 1/1\n");
	/* The text is one of functions: neither a process's name nor what stands for it is one. */
	static const char *const texts[] = {"sh", "proc", "nginx"};
	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		criterion = (struct selection_criterion){.what = SELECTION_TEXT, .text = texts[i]};
		CHECK_EQ(selection_set_filter(profile.selection, &criterion, 1), 0);
		refresh(profile.selection);
		CHECK_EQ(selection_totals(profile.selection).samples, 0);
	}
	close_profile();
}

static void focus(uint64_t id, bool drop)
{
	const struct selection_criterion criterion = {
		.what = SELECTION_SUBTREE, .id = id, .drop = drop};
	CHECK_EQ(selection_set_filter(profile.selection, &criterion, 1), 0);
	refresh(profile.selection);
}

static void a_process_is_a_subtree(void)
{
	two_processes();
	CHECK_EQ(selection_set_by_process(profile.selection, true), 0);
	refresh(profile.selection);
	struct selection_node root = root_of(profile.selection), sh = child(&root, "sh");
	struct selection_node main = child(&sh, "main"), work = child(&main, "work");
	focus(sh.id, false);
	root = root_of(profile.selection);
	CHECK_EQ(root.id, sh.id);
	CHECK_STR(root.comm, "sh");
	CHECK_EQ(root.cost.total, 5);
	check_tree(SELECTION_BY_TOTAL, "main 0/5\n work 1/5\n  leaf 4/4\n");
	CHECK_EQ(child(&root, "main").id, main.id);
	focus(work.id, false);
	check_tree(SELECTION_BY_TOTAL, "leaf 4/4\n");
	focus(work.id, true); /* only that process's */
	check_tree(
		SELECTION_BY_TOTAL,
		"nginx=20 0/5\n main 0/3\n  work 0/3\n   leaf 3/3\n [truncated] 0/2\n  leaf 2/2\n");
	focus(sh.id, true);
	check_tree(
		SELECTION_BY_TOTAL,
		"nginx=20 0/5\n main 0/3\n  work 0/3\n   leaf 3/3\n [truncated] 0/2\n  leaf 2/2\n");
	close_profile();
}

static void callers_end_below_the_process(void)
{
	two_processes();
	CHECK_EQ(selection_set_by_process(profile.selection, true), 0);
	refresh(profile.selection);
	struct selection_functions top = {0};
	CHECK_EQ(selection_top(profile.selection, SELECTION_BY_NAME, 0, &top, NULL), 0);
	CHECK_EQ(top.nr, 3);
	CHECK_EQ(top.items[0].cost.total, 9); /* leaf */
	CHECK_EQ(top.items[1].cost.total, 8); /* main */
	struct selection_node callers;
	CHECK_EQ(selection_root(profile.selection, SELECTION_CALLERS, top.items[1].id, &callers),
		 0);
	CHECK_EQ(callers.cost.total, 8);
	CHECK(!callers.has_children);
	CHECK_EQ(selection_root(profile.selection, SELECTION_CALLERS, top.items[0].id, &callers),
		 0);
	struct text rows = rows_below(profile.selection, &callers, SELECTION_BY_TOTAL);
	CHECK_STR(text_string(&rows), "work 0/7\n main 7/7\n[truncated] 2/2\n");
	text_release(&rows);
	free(top.items);
	close_profile();
}

static void a_subtree_in_force_keeps_the_tree_as_it_is(void)
{
	two_processes();
	struct selection_node root = root_of(profile.selection), main = child(&root, "main");
	const struct selection_criterion criterion = {.what = SELECTION_SUBTREE, .id = main.id};
	CHECK_EQ(selection_set_filter(profile.selection, &criterion, 1), 0);
	CHECK_EQ(selection_set_by_process(profile.selection, true), -EBUSY);
	refresh(profile.selection);
	check_tree(SELECTION_BY_TOTAL, "work 1/8\n leaf 7/7\n");
	CHECK_EQ(selection_set_by_process(profile.selection, false), 0);
	CHECK_EQ(selection_set_filter(profile.selection, NULL, 0), 0);
	CHECK_EQ(selection_set_by_process(profile.selection, true), 0);
	/* An id of the other tree is none of this. */
	CHECK_EQ(selection_set_filter(profile.selection, &criterion, 1), -ENOENT);
	/* Until the refresh nothing is there to be asked for. */
	root = root_of(profile.selection);
	CHECK_EQ(root.cost.total, 0);
	CHECK(!root.has_children);
	refresh(profile.selection);
	CHECK_EQ(root_of(profile.selection).cost.total, 10);
	CHECK_EQ(selection_set_filter(profile.selection, &criterion, 1), -ENOENT);
	close_profile();
}

static void nothing_sampled(void)
{
	open_profile(1);
	CHECK_EQ(selection_set_by_process(profile.selection, true), 0);
	struct selection_node root = root_of(profile.selection);
	CHECK_EQ(root.cost.total, 0);
	refresh(profile.selection);
	check_tree(SELECTION_BY_TOTAL, "");
	profile.newest++;
	IMPORT(SECOND, STACK_COMPLETE, 1, MAIN);
	refresh(profile.selection);
	check_tree(SELECTION_BY_TOTAL, "nginx=20 0/1\n main 1/1\n");
	close_profile();
}

/* ---- random, beside selections of one process each ---- */

static const int32_t pids[] = {10, 20, 30, -7};
enum { NR_PIDS = sizeof(pids) / sizeof(*pids), DEPTH_MOST = 7 };

/* The same numbers in every run (xorshift64, Marsaglia 2003). */
static uint64_t below(uint64_t limit)
{
	profile.random ^= profile.random << 13;
	profile.random ^= profile.random >> 7;
	profile.random ^= profile.random << 17;
	return profile.random % limit;
}

static void import_random(void)
{
	static const enum stack_end ends[] = {STACK_COMPLETE, STACK_COMPLETE, STACK_TRUNCATED,
					      STACK_BROKEN};
	int functions[DEPTH_MOST], nr = 1 + (int)below(DEPTH_MOST);
	for (int i = 0; i < nr; i++)
		functions[i] = (int)below(below(2) ? 2 : NR_FUNCTIONS);
	import((int)below(NR_TASKS), ends[below(4)], functions, nr, 1 + below(3));
}

static void set_filter(struct selection *selection, struct selection_criterion also, bool has_also,
		       int32_t pid)
{
	struct selection_criterion criteria[2] = {{.what = SELECTION_PROCESS, .number = pid}, also};
	CHECK_EQ(selection_set_filter(selection, criteria, has_also ? 2 : 1), 0);
}

static void check_same_text(struct text *one, struct text *two)
{
	CHECK_STR(text_string(one), text_string(two));
	text_release(one);
	text_release(two);
}

/* Rows below a process are one level deeper than below the root of all. */
static struct text without_indent(struct text *rows, size_t more)
{
	struct text out = {0};
	const char *line = text_string(rows);
	while (*line) {
		size_t size = strcspn(line, "\n") + 1;
		text_add_bytes(&out, line + more, size - more);
		line += size;
	}
	text_release(rows);
	return out;
}

static void check_processes(struct selection *plain, struct selection_criterion also, bool has_also)
{
	struct selection_node root = root_of(profile.selection);
	struct selection_nodes processes = {0};
	uint64_t nr_processes = 0;
	CHECK_EQ(selection_children(profile.selection, root.id, SELECTION_BY_TOTAL, &processes), 0);
	for (int i = 0; i < NR_PIDS; i++) {
		set_filter(plain, also, has_also, pids[i]);
		refresh(plain);
		struct selection_node alone = root_of(plain);
		nr_processes += alone.cost.total != 0;
		for (size_t row = 0; row < processes.nr; row++) {
			if (processes.items[row].pid != pids[i])
				continue;
			struct text wanted = rows_below(plain, &alone, SELECTION_BY_TOTAL);
			struct text rows = rows_below(profile.selection, &processes.items[row],
						      SELECTION_BY_TOTAL);
			rows = without_indent(&rows, 1);
			CHECK_EQ(processes.items[row].cost.total, alone.cost.total);
			check_same_text(&rows, &wanted);
		}
	}
	CHECK_EQ(processes.nr, nr_processes);
	free(processes.items);
}

static void check_other_shapes(struct selection *plain)
{
	struct selection_functions one = {0}, two = {0};
	struct selection_node left, right;
	CHECK_EQ(selection_top(profile.selection, SELECTION_BY_SELF, 0, &one, NULL), 0);
	CHECK_EQ(selection_top(plain, SELECTION_BY_SELF, 0, &two, NULL), 0);
	CHECK_EQ(one.nr, two.nr);
	for (size_t i = 0; i < one.nr; i++) {
		CHECK_EQ(one.items[i].id.index, two.items[i].id.index);
		CHECK(memcmp(&one.items[i].cost, &two.items[i].cost, sizeof(one.items->cost)) == 0);
	}
	for (enum selection_shape shape = SELECTION_INVERTED; one.nr && shape <= SELECTION_CALLEES;
	     shape++) {
		struct function_id function = one.items[below(one.nr)].id;
		CHECK_EQ(selection_root(profile.selection, shape, function, &left), 0);
		CHECK_EQ(selection_root(plain, shape, function, &right), 0);
		CHECK_EQ(left.id, right.id);
		struct text rows = rows_below(profile.selection, &left, SELECTION_BY_TOTAL);
		struct text wanted = rows_below(plain, &right, SELECTION_BY_TOTAL);
		check_same_text(&rows, &wanted);
	}
	free(one.items);
	free(two.items);
}

static void check_random(uint64_t seed)
{
	bool by_process = false, named = false, has_also = false;
	struct selection_criterion also = {0};
	open_profile(seed);
	struct selection *plain = selection_new(profile.history);
	CHECK(plain != NULL);
	for (int step = 0; step < 30; step++) {
		for (uint64_t i = below(40); i > 0; i--)
			import_random();
		if (below(3) == 0)
			by_process = !by_process;
		if (below(8) == 0 && !named) {
			name(LATE);
			named = true;
		}
		CHECK_EQ(selection_set_seconds(plain, 2), 0);
		CHECK_EQ(selection_set_seconds(profile.selection, 2), 0);
		has_also = below(2);
		also = below(2) ? (struct selection_criterion){.what = SELECTION_TEXT,
							       .text = "read"}
				: (struct selection_criterion){.what = SELECTION_PROCESS,
							       .number = 20};
		also.drop = below(2);
		CHECK_EQ(selection_set_by_process(profile.selection, by_process), 0);
		CHECK_EQ(selection_set_filter(profile.selection, &also, has_also), 0);
		CHECK_EQ(selection_set_filter(plain, &also, has_also), 0);
		refresh(profile.selection);
		refresh(plain);
		check_other_shapes(plain);
		if (by_process)
			check_processes(plain, also, has_also);
		profile.newest += below(2);
	}
	selection_free(plain);
	close_profile();
}

static void like_each_process_alone(void)
{
	for (uint64_t seed = 1; seed <= 10; seed++)
		check_random(seed);
}

int main(void)
{
	RUN(the_same_stack_in_two_processes_is_two_rows);
	RUN(new_samples_go_to_their_process);
	RUN(a_main_thread_need_not_be_sampled);
	RUN(shares_fall_with_filters);
	RUN(a_process_is_a_subtree);
	RUN(callers_end_below_the_process);
	RUN(a_subtree_in_force_keeps_the_tree_as_it_is);
	RUN(nothing_sampled);
	RUN(like_each_process_alone);
	return test_done();
}
