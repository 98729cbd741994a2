/* SPDX-License-Identifier: MIT */
/* Processes that go by one name, and the stacks on which they, or one thread, spend most and are woken. */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

const char *selection_program_of(const struct history *history, const struct history_task *task)
{
	const char *comm = history_process_name(history, task->pid, task->started_ns);
	return comm ? comm : task->comm;
}

/* ---- groups ---- */

struct programs {
	struct index index;
	const char **names;
	struct task_ids *ids;
	uint32_t nr;
};

/* There is room for as many as there are tasks. UINT32_MAX: out of memory. */
static uint32_t program_of(struct programs *programs, const char *name, const struct task_ids *ids)
{
	const uint64_t hash = hash_bytes(name, strlen(name));
	struct index_probe probe = index_find(&programs->index, hash);
	uint32_t row;
	while (index_next(&programs->index, &probe, &row))
		if (!strcmp(programs->names[row], name))
			return row;
	if (index_reserve(&programs->index))
		return UINT32_MAX;
	index_add(&programs->index, hash, programs->nr);
	programs->names[programs->nr] = name;
	programs->ids[programs->nr] = *ids;
	return programs->nr++;
}

int task_groups_join_programs(struct task_groups *groups, const struct history *history,
			      uint32_t **processes, const char ***names)
{
	const size_t nr = history->tasks.nr + 1;
	struct programs programs = {
		.names = calloc(nr, sizeof(*programs.names)),
		.ids = calloc(nr, sizeof(*programs.ids)),
	};
	*processes = calloc(nr, sizeof(**processes));
	int result = programs.names && programs.ids && *processes ? 0 : -ENOMEM;
	for (size_t i = 0; !result && i < history->tasks.nr; i++) {
		const struct history_task *task = &history->tasks.items[i];
		const uint32_t process = groups->of_task[i];
		(*processes)[i] = process;
		groups->of_task[i] = program_of(&programs, selection_program_of(history, task),
						&groups->ids.items[process]);
		if (groups->of_task[i] == UINT32_MAX)
			result = -ENOMEM;
	}
	if (!result) {
		/* They may be more than the processes: one whose main thread nobody named goes by its threads' names. */
		free(groups->ids.items);
		groups->ids.items = programs.ids;
		groups->ids.nr = programs.nr;
		groups->ids.capacity = nr;
		programs.ids = NULL;
	}
	index_release(&programs.index);
	free(programs.ids);
	*names = programs.names;
	return result;
}

/* ---- the hottest stack ---- */

static bool is_of(const struct history *history, const struct history_task *task,
		  const struct selection_task *wanted)
{
	if (wanted->tid == -2)
		return !strcmp(selection_program_of(history, task), wanted->comm);
	return task->pid == wanted->pid && (wanted->tid == -1 || task->tid == wanted->tid) &&
	       history_same_process(history, task->started_ns, wanted->started_ns);
}

/* By the history's tasks: is it one of those wanted? NULL: out of memory. */
static bool *find_tasks(const struct history *history, const struct selection_task *wanted)
{
	bool *is_wanted = calloc(history->tasks.nr + 1, sizeof(*is_wanted));
	for (size_t i = 0; is_wanted && i < history->tasks.nr; i++)
		is_wanted[i] = is_of(history, &history->tasks.items[i], wanted);
	return is_wanted;
}

/* What the tasks' stacks weigh that end in each path, then that go through it: callers stand before what they call. */
static void weigh(const struct selection *selection, const bool *is_wanted, uint64_t *self,
		  uint64_t *total)
{
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		const struct stack_state *state = &selection->stacks.items[i];
		if (state->passes && is_wanted[selection->history->stacks.items[i].task])
			self[state->path] += selection->counts.items[i].weight;
	}
	for (size_t i = selection->paths.nr; i-- > 1;) {
		total[i] += self[i];
		total[selection->paths.items[i].parent] += total[i];
	}
	total[0] += self[0];
}

static uint32_t heaviest_child(const struct selection *selection, const uint64_t *total,
			       uint32_t path)
{
	uint32_t best = 0;
	for (uint32_t child = selection->paths.items[path].first_child; child;
	     child = selection->paths.items[child].next_sibling)
		if (!best || total[child] > total[best])
			best = child;
	return best;
}

/* What has less than one part in so many says nothing of where the time goes. */
enum { HOT_SHARE = 20 };

static int follow(const struct selection *selection, const uint64_t *self, const uint64_t *total,
		  struct selection_nodes *stack)
{
	stack->nr = 0;
	for (uint32_t path = selection->root;;) {
		path = heaviest_child(selection, total, path);
		if (!path || !total[path] ||
		    total[path] <= self[selection->paths.items[path].parent] ||
		    total[path] < total[0] / HOT_SHARE)
			return 0;
		if (vec_reserve(stack, stack->nr + 1))
			return -ENOMEM;
		const uint32_t key = selection->paths.items[path].key;
		if (key == KEY_PROCESS)
			continue;
		struct selection_node *node = &stack->items[stack->nr++];
		*node = (struct selection_node){
			.cost = {.self_weight = self[path], .total_weight = total[path]},
		};
		if (key < NR_LABELS)
			node->label = selection_key_name(selection, key);
		else
			node->function = function_of_key(key);
	}
}

int selection_hot_stack(const struct selection *selection, const struct selection_task *task,
			struct selection_nodes *stack)
{
	const size_t nr = selection->paths.nr;
	bool *is_wanted = find_tasks(selection->history, task);
	uint64_t *self = calloc(nr, sizeof(*self)), *total = calloc(nr, sizeof(*total));
	int result = is_wanted && self && total ? 0 : -ENOMEM;
	if (!result) {
		weigh(selection, is_wanted, self, total);
		result = follow(selection, self, total, stack);
	}
	free(is_wanted);
	free(self);
	free(total);
	return result;
}

/* ---- who ends its waits ---- */

/* Up to the root of a tree, as it is without a row for each process. */
static void take_callers(const struct selection *selection, uint32_t path,
			 struct selection_waker *waker)
{
	waker->nr_callers = 0;
	while ((path = selection->paths.items[path].parent) &&
	       waker->nr_callers < SELECTION_WAKER_CALLERS) {
		const uint32_t key = selection->paths.items[path].key;
		const struct function_id function = function_of_key(key);
		/* What was inlined is where its caller is. */
		if (key >= NR_LABELS && !history_function_inlined(selection->history, function))
			waker->callers[waker->nr_callers++] = function;
	}
}

/* Of one waker: what it ended in all, and the path on which it ended most. */
struct waker_sum {
	uint32_t key, path;
	uint64_t weight, path_weight;
};
enum { WAKERS_MOST = 64 };

static size_t sum_up(const struct selection *selection, const uint64_t *self,
		     struct waker_sum *sums)
{
	size_t nr = 0;
	for (uint32_t path = 1; path < selection->paths.nr; path++) {
		const uint32_t key = selection->paths.items[path].key;
		size_t at = 0;
		while (at < nr && sums[at].key != key)
			at++;
		if (!self[path] || at == WAKERS_MOST)
			continue;
		if (at == nr)
			sums[nr++] = (struct waker_sum){.key = key};
		sums[at].weight += self[path];
		if (self[path] > sums[at].path_weight) {
			sums[at].path_weight = self[path];
			sums[at].path = path;
		}
	}
	return nr;
}

static int by_weight(const void *a, const void *b)
{
	const struct waker_sum *left = a, *right = b;
	return (left->weight < right->weight) - (left->weight > right->weight);
}

int selection_wakers(const struct selection *selection, const struct selection_task *task,
		     uint32_t event, struct selection_waker *wakers, size_t most, size_t *nr)
{
	struct waker_sum sums[WAKERS_MOST];
	const struct history *history = selection->history;
	bool *is_wanted = find_tasks(history, task);
	uint64_t *self = calloc(selection->paths.nr, sizeof(*self)), all_weight = 0;
	const int result = is_wanted && self ? 0 : -ENOMEM;
	*nr = 0;
	for (size_t i = 0; !result && i < selection->stacks.nr; i++) {
		const struct counted_stack *stack = &history->stacks.items[i];
		const uint64_t weight = selection->counts.items[i].weight;
		if (stack->event != event || !is_wanted[stack->task])
			continue;
		self[selection->stacks.items[i].path] += weight;
		all_weight += weight;
	}
	const size_t nr_sums = result ? 0 : sum_up(selection, self, sums);
	qsort(sums, nr_sums, sizeof(*sums), by_weight);
	for (; *nr < nr_sums && *nr < most; ++*nr) {
		const struct waker_sum *sum = &sums[*nr];
		wakers[*nr] = (struct selection_waker){.waker = function_of_key(sum->key),
						       .weight = sum->weight,
						       .all_weight = all_weight};
		take_callers(selection, sum->path, &wakers[*nr]);
	}
	free(is_wanted);
	free(self);
	return result;
}
