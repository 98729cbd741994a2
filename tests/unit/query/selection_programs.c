/* SPDX-License-Identifier: MIT */
/* Processes of one name, and the stack on which a thread, a process or a program spends most. */
#include "processes.h"

/* Two processes of one name, one of which had another at first; a third that has only a thread. */
static void processes_of_one_name_are_a_program(void)
{
	struct selection_tasks programs = {0};
	open_profile(1);
	import(SECOND, STACK_COMPLETE, (int[]){MAIN, WORK}, 2, 3);
	import(FIRST, STACK_COMPLETE, (int[]){MAIN, LEAF}, 2, 2);
	import(FIRST_THREAD, STACK_COMPLETE, (int[]){WORK}, 1, 1);
	import(FIRST_RENAMED, STACK_COMPLETE, (int[]){MAIN, LEAF}, 2, 1);
	import(ONLY_THREAD, STACK_COMPLETE, (int[]){MAIN}, 1, 1);
	refresh(profile.selection);
	CHECK_EQ(selection_tasks(profile.selection, SELECTION_PROGRAMS, -1, &programs), 0);
	CHECK_EQ(programs.nr, 3);
	CHECK_STR(programs.items[0].comm, "python3");
	CHECK_EQ(programs.items[0].samples, 4);
	CHECK_EQ(programs.items[0].nr_threads, 2);
	CHECK_EQ(programs.items[0].nr_processes, 1);
	CHECK_EQ(programs.items[0].tid, -2);
	CHECK_STR(history_function_name(profile.history, programs.items[0].top), "leaf");
	CHECK_STR(programs.items[1].comm, "nginx");
	CHECK_STR(programs.items[2].comm, "only a thread");
	/* Alone. */
	const struct selection_criterion criterion = {.what = SELECTION_PROGRAM, .text = "python3"};
	CHECK_EQ(selection_set_filter(profile.selection, &criterion, 1), 0);
	refresh(profile.selection);
	CHECK_EQ(selection_totals(profile.selection).samples, 4);
	free(programs.items);
	close_profile();
}

/* Then each of its threads is a program: there are more of these than processes. */
static void a_process_whose_main_thread_nobody_named(void)
{
	enum { NR_THREADS = 300 };
	struct selection_tasks programs = {0};
	open_profile(1);
	for (int i = 0; i < NR_THREADS; i++) {
		char comm[16];
		struct task_id id;
		snprintf(comm, sizeof(comm), "thread-%d", i);
		CHECK_EQ(tables_add_task(profile.writer, 30, 100 + i, 0, string(comm), &id), 0);
		import_task(id, STACK_COMPLETE, (int[]){MAIN}, 1, 1);
	}
	refresh(profile.selection);
	CHECK_EQ(selection_tasks(profile.selection, SELECTION_PROGRAMS, -1, &programs), 0);
	CHECK_EQ(programs.nr, NR_THREADS);
	for (size_t i = 0; i < programs.nr; i++) {
		CHECK_EQ(programs.items[i].samples, 1);
		CHECK_EQ(programs.items[i].pid, 30);
	}
	free(programs.items);
	close_profile();
}

static void check_hot(const struct selection_task *task, const char *wanted)
{
	struct selection_nodes stack = {0};
	struct text text = {0};
	CHECK_EQ(selection_hot_stack(profile.selection, task, &stack), 0);
	for (size_t i = 0; i < stack.nr; i++)
		text_addf(&text, "%s%s %d", i ? ", " : "",
			  stack.items[i].label
				  ? stack.items[i].label
				  : history_function_name(profile.history, stack.items[i].function),
			  (int)stack.items[i].cost.total_weight);
	CHECK_STR(text_string(&text), wanted);
	text_release(&text);
	free(stack.items);
}

/* The way of most, as far as it goes on to more than what ends there; by processes or not, of one's own samples. */
static void the_hottest_stack(void)
{
	open_profile(1);
	import(FIRST, STACK_COMPLETE, (int[]){MAIN, WORK, LEAF}, 3, 5);
	import(FIRST, STACK_COMPLETE, (int[]){MAIN, WORK, READ}, 3, 4);
	import(FIRST, STACK_COMPLETE, (int[]){MAIN, POLL}, 2, 7);
	import(FIRST, STACK_COMPLETE, (int[]){MAIN, POLL, READ}, 3, 1);
	import(FIRST_THREAD, STACK_TRUNCATED, (int[]){READ}, 1, 3);
	import(SECOND, STACK_COMPLETE, (int[]){MAIN}, 1, 100);
	for (int by_process = 0; by_process < 2; by_process++) {
		CHECK_EQ(selection_set_by_process(profile.selection, by_process), 0);
		refresh(profile.selection);
		check_hot(&(struct selection_task){.pid = 10, .tid = 10},
			  "main 51, work 27, leaf 15");
		check_hot(&(struct selection_task){.pid = 10, .tid = 11}, "[truncated] 9, read 9");
		check_hot(&(struct selection_task){.pid = 10, .tid = -1},
			  "main 51, work 27, leaf 15");
		check_hot(&(struct selection_task){.tid = -2, .comm = "nginx"}, "main 300");
		check_hot(&(struct selection_task){.pid = 99, .tid = 99}, "");
	}
	close_profile();
}

/* As wakeups are: another event's, with whoever wakes as its leaf. */
static void import_wakeup(int task, const int *functions, int nr, uint64_t weight)
{
	struct node_id node = {0};
	struct task_id id;
	CHECK_EQ(tables_add_task(profile.writer, tasks[task].pid, tasks[task].tid, 0,
				 string(tasks[task].comm), &id),
		 0);
	for (int i = 0; i + 1 < nr; i++)
		CHECK_EQ(tables_add_node(profile.writer, node, profile.frames[functions[i]],
					 FRAME_CFI, &node),
			 0);
	tables_publish(profile.writer);
	const struct sample sample = {.time_ns = profile.newest * SECOND_NS,
				      .weight = weight,
				      .task = id,
				      .node = node,
				      .leaf = profile.frames[functions[nr - 1]],
				      .event = 2,
				      .end = STACK_COMPLETE};
	CHECK_EQ(history_import(profile.history, &sample, 1), 0);
}

static void check_wakers(const struct selection_task *task, size_t most, const char *wanted)
{
	struct selection_waker wakers[4];
	struct text text = {0};
	size_t nr;
	CHECK_EQ(selection_wakers(profile.selection, task, 1, wakers, most, &nr), 0);
	for (size_t i = 0; i < nr; i++) {
		text_addf(&text, "%s%s %d of %d:", i ? "; " : "",
			  history_function_name(profile.history, wakers[i].waker),
			  (int)wakers[i].weight, (int)wakers[i].all_weight);
		for (size_t j = 0; j < wakers[i].nr_callers; j++)
			text_addf(&text, " %s",
				  history_function_name(profile.history, wakers[i].callers[j]));
	}
	CHECK_STR(text_string(&text), wanted);
	text_release(&text);
}

/* Whatever is shown meanwhile; each at the stack on which it ended most. */
static void who_ended_its_waits(void)
{
	uint32_t event;
	open_profile(1);
	struct event_row wakeups = {.name = string(WAKEUP_EVENT), .weight_unit = WEIGHT_NS};
	CHECK_EQ(tables_add_event(profile.writer, &wakeups, &event), 0);
	CHECK_EQ(event, 2);
	import(FIRST, STACK_COMPLETE, (int[]){MAIN, WORK, LEAF}, 3, 5);
	import_wakeup(FIRST, (int[]){MAIN, WORK, LEAF}, 3, 70);
	import_wakeup(FIRST, (int[]){MAIN, LEAF}, 2, 40);
	import_wakeup(FIRST, (int[]){MAIN, WORK, WORK, POLL, WORK, READ}, 6, 100);
	import_wakeup(FIRST_RENAMED, (int[]){POLL}, 1, 5);
	import_wakeup(FIRST_THREAD, (int[]){MAIN, POLL}, 2, 1);
	for (int by_process = 0; by_process < 2; by_process++) {
		CHECK_EQ(selection_set_by_process(profile.selection, by_process), 0);
		CHECK_EQ(selection_set_filter(profile.selection,
					      &(struct selection_criterion){.what = SELECTION_EVENT,
									    .number = 0},
					      1),
			 0);
		refresh(profile.selection);
		check_wakers(&(struct selection_task){.pid = 10, .tid = 10}, 4,
			     "leaf 110 of 215: work main; read 100 of 215: work poll work work; "
			     "poll 5 of 215:");
		check_wakers(&(struct selection_task){.pid = 10, .tid = 10}, 1,
			     "leaf 110 of 215: work main");
		check_wakers(&(struct selection_task){.pid = 10, .tid = 11}, 4,
			     "poll 1 of 1: main");
		check_wakers(&(struct selection_task){.pid = 20, .tid = 20}, 4, "");
	}
	close_profile();
}

int main(void)
{
	RUN(processes_of_one_name_are_a_program);
	RUN(a_process_whose_main_thread_nobody_named);
	RUN(the_hottest_stack);
	RUN(who_ended_its_waits);
	return test_done();
}
