/* SPDX-License-Identifier: MIT */
/*
 * Threads and processes. The history has a task for every comm that a thread went by; here they are one.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

/* ---- the history's tasks, grouped ---- */

static int32_t shown_tid(enum selection_tasks_of which, const struct history_task *task)
{
	return which == SELECTION_THREADS ? task->tid : -1;
}

static uint64_t hash_ids(int32_t pid, int32_t tid)
{
	return hash_u64((uint64_t)(uint32_t)pid << 32 | (uint32_t)tid);
}

uint32_t task_groups_find(const struct task_groups *groups, const struct history *history,
			  const struct task_ids *ids)
{
	struct index_probe probe = index_find(&groups->index, hash_ids(ids->pid, ids->tid));
	uint32_t row;
	while (index_next(&groups->index, &probe, &row)) {
		const struct task_ids *known = &groups->ids.items[row];
		if (known->pid == ids->pid && known->tid == ids->tid &&
		    history_same_process(history, known->started_ns, ids->started_ns))
			return row;
	}
	return UINT32_MAX;
}

static int add_group(struct task_groups *groups, const struct history *history,
		     const struct task_ids *ids, uint32_t *row)
{
	*row = task_groups_find(groups, history, ids);
	if (*row != UINT32_MAX)
		return 0;
	if (index_reserve(&groups->index) || vec_reserve(&groups->ids, groups->ids.nr + 1))
		return -ENOMEM;
	*row = (uint32_t)groups->ids.nr;
	index_add(&groups->index, hash_ids(ids->pid, ids->tid), *row);
	groups->ids.items[groups->ids.nr++] = *ids;
	return 0;
}

int task_groups_init(struct task_groups *groups, const struct history *history,
		     enum selection_tasks_of which)
{
	*groups = (struct task_groups){.of_task = calloc(history->tasks.nr, sizeof(uint32_t))};
	if (!groups->of_task)
		return -ENOMEM;
	int result = 0;
	for (size_t i = 0; !result && i < history->tasks.nr; i++) {
		const struct history_task *task = &history->tasks.items[i];
		const struct task_ids ids = {task->pid, shown_tid(which, task), task->started_ns};
		result = add_group(groups, history, &ids, &groups->of_task[i]);
	}
	return result;
}

void task_groups_release(struct task_groups *groups)
{
	free(groups->of_task);
	free(groups->ids.items);
	index_release(&groups->index);
}

/* ---- samples of groups ---- */

/* What samples of a group weigh whose leaf is one function. */
struct leaf_count {
	uint32_t group, key;
	uint64_t weight;
};

struct adder {
	const struct selection *selection;
	struct task_groups groups;
	struct selection_task *tasks; /* by group */
	bool *sampled;		      /* by the history's tasks */
	/* Of programs. */
	uint32_t *processes;
	const char **names;
	ROWS(struct leaf_count) leaves;
	struct index leaves_index;
};

static int add_leaf(struct adder *adder, uint32_t group, uint32_t key, uint64_t weight)
{
	uint64_t hash = hash_u64((uint64_t)group << 32 | key);
	struct index_probe probe = index_find(&adder->leaves_index, hash);
	uint32_t row;
	while (index_next(&adder->leaves_index, &probe, &row)) {
		struct leaf_count *leaf = &adder->leaves.items[row];
		if (leaf->group == group && leaf->key == key) {
			leaf->weight += weight;
			return 0;
		}
	}
	if (index_reserve(&adder->leaves_index) ||
	    vec_reserve(&adder->leaves, adder->leaves.nr + 1))
		return -ENOMEM;
	index_add(&adder->leaves_index, hash, (uint32_t)adder->leaves.nr);
	adder->leaves.items[adder->leaves.nr++] = (struct leaf_count){group, key, weight};
	return 0;
}

static int add_stacks(struct adder *adder, int32_t only_pid, selection_chosen *chosen,
		      void *context)
{
	const struct selection *selection = adder->selection;
	const struct history *history = selection->history;
	int result = 0;
	for (size_t i = 0; !result && i < selection->stacks.nr; i++) {
		const struct stack_state *state = &selection->stacks.items[i];
		const struct stack_count *count = &selection->counts.items[i];
		uint32_t task = history->stacks.items[i].task;
		if (!state->passes || !count->samples ||
		    (only_pid != -1 && history->tasks.items[task].pid != only_pid) ||
		    (chosen && !chosen(context, state->path)))
			continue;
		uint32_t group = adder->groups.of_task[task];
		adder->tasks[group].samples += count->samples;
		adder->tasks[group].weight += count->weight;
		adder->tasks[group].squares += selection_stack_squares(selection, i);
		adder->sampled[task] = true;
		result = add_leaf(adder, group, state->key, count->weight);
	}
	return result;
}

/* Where most of a group's weight is; by name when that is equal. */
static void find_top(struct adder *adder)
{
	for (size_t i = 0; i < adder->leaves.nr; i++) {
		const struct leaf_count *leaf = &adder->leaves.items[i];
		struct selection_task *task = &adder->tasks[leaf->group];
		struct function_id function = function_of_key(leaf->key);
		if (leaf->weight < task->top_weight ||
		    (leaf->weight == task->top_weight &&
		     history_compare_functions(adder->selection->history, function, task->top) > 0))
			continue;
		task->top = function;
		task->top_weight = leaf->weight;
	}
}

/* Later comms replace earlier ones. */
static void name_tasks(struct adder *adder)
{
	const struct history *history = adder->selection->history;
	for (size_t i = 0; i < history->tasks.nr; i++)
		if (adder->sampled[i])
			adder->tasks[adder->groups.of_task[i]].comm = history->tasks.items[i].comm;
}

/* But a process goes by its main thread's. */
static void name_processes(struct adder *adder)
{
	for (size_t i = 0; i < adder->groups.ids.nr; i++) {
		const struct task_ids *ids = &adder->groups.ids.items[i];
		const char *comm =
			history_process_name(adder->selection->history, ids->pid, ids->started_ns);
		if (comm)
			adder->tasks[i].comm = comm;
	}
}

/* Each thread counts once, by however many comms it went. */
static int count_threads(struct adder *adder)
{
	struct task_groups threads;
	const struct history *history = adder->selection->history;
	int result = task_groups_init(&threads, history, SELECTION_THREADS);
	bool *counted = result ? NULL : calloc(threads.ids.nr, sizeof(*counted));
	if (!result && !counted)
		result = -ENOMEM;
	for (size_t i = 0; !result && i < history->tasks.nr; i++) {
		uint32_t thread = threads.of_task[i];
		if (!adder->sampled[i] || counted[thread])
			continue;
		counted[thread] = true;
		adder->tasks[adder->groups.of_task[i]].nr_threads++;
	}
	free(counted);
	task_groups_release(&threads);
	return result;
}

static int compare(const void *a, const void *b)
{
	const struct selection_task *left = a, *right = b;
	if (left->weight != right->weight)
		return left->weight < right->weight ? 1 : -1;
	if (left->pid != right->pid)
		return left->pid < right->pid ? -1 : 1;
	return (left->tid > right->tid) - (left->tid < right->tid);
}

/* Each process counts once, however many threads of it have samples. */
static int count_processes(struct adder *adder)
{
	const size_t nr = adder->selection->history->tasks.nr;
	bool *counted = calloc(
		nr, sizeof(*counted)); /* by the process's group: there are not more of these */
	if (!counted)
		return -ENOMEM;
	for (size_t i = 0; i < nr; i++) {
		const uint32_t process = adder->processes[i];
		if (!adder->sampled[i] || counted[process])
			continue;
		counted[process] = true;
		adder->tasks[adder->groups.of_task[i]].nr_processes++;
	}
	free(counted);
	return 0;
}

static void name_programs(struct adder *adder)
{
	for (size_t i = 0; i < adder->groups.ids.nr; i++) {
		adder->tasks[i].comm = adder->names[i];
		adder->tasks[i].tid = -2;
	}
}

static int give_out(const struct adder *adder, struct selection_tasks *tasks)
{
	tasks->nr = 0;
	if (vec_reserve(tasks, adder->groups.ids.nr))
		return -ENOMEM;
	for (size_t i = 0; i < adder->groups.ids.nr; i++)
		if (adder->tasks[i].samples)
			tasks->items[tasks->nr++] = adder->tasks[i];
	qsort(tasks->items, tasks->nr, sizeof(*tasks->items), compare);
	return 0;
}

static int add_up(struct adder *adder, enum selection_tasks_of which, int32_t only_pid,
		  selection_chosen *chosen, void *context)
{
	const struct history *history = adder->selection->history;
	int result = task_groups_init(&adder->groups, history, which);
	if (!result && which == SELECTION_PROGRAMS)
		result = task_groups_join_programs(&adder->groups, history, &adder->processes,
						   &adder->names);
	if (result)
		return result;
	adder->tasks = calloc(adder->groups.ids.nr, sizeof(*adder->tasks));
	adder->sampled = calloc(history->tasks.nr, sizeof(*adder->sampled));
	if (!adder->tasks || !adder->sampled)
		return -ENOMEM;
	for (size_t i = 0; i < adder->groups.ids.nr; i++) {
		adder->tasks[i].pid = adder->groups.ids.items[i].pid;
		adder->tasks[i].tid = adder->groups.ids.items[i].tid;
		adder->tasks[i].started_ns = adder->groups.ids.items[i].started_ns;
	}
	result = add_stacks(adder, only_pid, chosen, context);
	if (!result)
		result = count_threads(adder);
	find_top(adder);
	name_tasks(adder);
	if (which == SELECTION_PROCESSES)
		name_processes(adder);
	if (which == SELECTION_PROGRAMS)
		name_programs(adder);
	if (!result && which == SELECTION_PROGRAMS)
		result = count_processes(adder);
	return result;
}

int selection_tasks_where(const struct selection *selection, enum selection_tasks_of which,
			  int32_t only_pid, selection_chosen *chosen, void *context,
			  struct selection_tasks *tasks)
{
	struct adder adder = {.selection = selection};
	int result = add_up(&adder, which, only_pid, chosen, context);
	if (!result)
		result = give_out(&adder, tasks);
	task_groups_release(&adder.groups);
	free(adder.tasks);
	free(adder.sampled);
	free(adder.processes);
	free(adder.names);
	free(adder.leaves.items);
	index_release(&adder.leaves_index);
	return result;
}

int selection_tasks(struct selection *selection, enum selection_tasks_of which, int32_t only_pid,
		    struct selection_tasks *tasks)
{
	return selection_tasks_where(selection, which, only_pid, NULL, NULL, tasks);
}
