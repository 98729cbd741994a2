/* SPDX-License-Identifier: MIT */
/*
 * What groups cost: the history's nodes are walked depth first, so that a group is open while a frame of it is above. It counts
 * for all that is below the outermost one, once.
 */
#include <ctop/query/groups.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

struct node_links {
	uint32_t child, sibling;       /* nodes; 0: none */
	uint32_t stack_plus_1;	       /* that ends here, linked by walk.next_stacks; 0: none */
	struct selection_amount below; /* of all stacks that go through it, or end in it */
};

/* What entering a node opened. */
struct level {
	uint32_t nr_steps, nr_open, last; /* last: the group of its last step; UINT32_MAX: none */
};

struct walk {
	struct selection *selection;
	int32_t event; /* SELECTION_OWN_EVENT, or another */
	struct groups groups;
	size_t skipped; /* steps at the beginning of stacks that are not shown: a subtree is */
	size_t depth;	/* steps of the nodes entered */
	struct node_links *nodes;
	uint32_t *next_stacks; /* plus 1 */
	ROWS(struct level) levels;
	ROWS(uint32_t) open; /* groups, one after the other as they were met */
	struct {
		struct group_row {
			struct selection_cost cost;
			double squares, self_squares;
			uint32_t open; /* how often it is */
		} * items;
		size_t nr, capacity;
	} rows; /* by group */
};

/* Functions of a subtree's path above its last one. */
static size_t steps_above(const struct selection *selection)
{
	size_t nr = 0;
	for (uint32_t path = selection->root; path; path = selection->paths.items[path].parent)
		nr += selection->paths.items[path].key >= NR_LABELS;
	return nr ? nr - 1 : 0;
}

static int link_stacks(struct walk *walk)
{
	const struct selection *selection = walk->selection;
	const struct history *history = selection->history;
	walk->nodes = calloc(history->nodes.nr + 1, sizeof(*walk->nodes));
	walk->next_stacks = calloc(history->stacks.nr + 1, sizeof(*walk->next_stacks));
	if (!walk->nodes || !walk->next_stacks)
		return -ENOMEM;
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		const struct stack_count *count = &selection->counts.items[i];
		struct node_links *node = &walk->nodes[history->stacks.items[i].node];
		if (!selection_counts(selection, i, walk->event))
			continue;
		walk->next_stacks[i] = node->stack_plus_1;
		node->stack_plus_1 = (uint32_t)i + 1;
		node->below.samples += count->samples;
		node->below.weight += count->weight;
		node->below.squares += selection_squares_of(selection, i, walk->event);
	}
	/* Parents come before their children. */
	for (size_t i = history->nodes.nr; i-- > 1;) {
		struct node_links *node = &walk->nodes[i];
		struct node_links *parent = &walk->nodes[history->nodes.items[i].parent];
		if (!node->below.samples && !node->below.weight)
			continue;
		parent->below.samples += node->below.samples;
		parent->below.weight += node->below.weight;
		parent->below.squares += node->below.squares;
		node->sibling = parent->child;
		parent->child = (uint32_t)i;
	}
	return 0;
}

/* ---- steps ---- */

static int open_group(struct walk *walk, const struct history_frame *frame,
		      const struct selection_amount *amount, struct level *level)
{
	const uint32_t group = groups_find(&walk->groups, walk->selection->history, frame);
	if (group == UINT32_MAX || vec_reserve(&walk->rows, (size_t)group + 1) ||
	    vec_reserve(&walk->open, walk->open.nr + 1))
		return -ENOMEM;
	if (group == walk->rows.nr)
		walk->rows.items[walk->rows.nr++] = (struct group_row){0};
	struct group_row *row = &walk->rows.items[group];
	if (!row->open++) {
		row->cost.total += amount->samples;
		row->cost.total_weight += amount->weight;
		row->squares += amount->squares;
	}
	walk->open.items[walk->open.nr++] = group;
	level->nr_open++;
	level->last = group;
	return 0;
}

/* Of a frame's steps. */
static struct history_frame frame_of(const struct history *history, uint32_t id,
				     const struct history_step *steps, size_t i)
{
	const struct named_frame *frame = &history->frames.items[id];
	const struct history_site *site = &history->sites.items[steps[i].site];
	return (struct history_frame){
		.function = {steps[i].function},
		.module = frame->module,
		.address = frame->address,
		.file = site->file,
		.line = site->line,
		.inlined = i > 0,
	};
}

/* Opens the groups of a frame, and of what was inlined there, for the samples below it. */
static int enter(struct walk *walk, uint32_t id, const struct selection_amount *amount)
{
	struct history *history = walk->selection->history;
	struct history_step steps[HISTORY_STEPS_MAX];
	struct level level = {
		.nr_steps = (uint32_t)history_steps_of(history, id, walk->depth, steps),
		.last = UINT32_MAX,
	};
	int result =
		level.nr_steps && !vec_reserve(&walk->levels, walk->levels.nr + 1) ? 0 : -ENOMEM;
	/* One that belongs to the frame as a whole is shown as soon as the last of its steps is. */
	for (size_t i = 0; !result && i < level.nr_steps; i++) {
		const struct history_frame frame = frame_of(history, id, steps, i);
		const bool is_whole =
			walk->groups.by == GROUPING_FUNCTION || walk->groups.by == GROUPING_ADDRESS;
		if (groups_have(&walk->groups, &frame) &&
		    walk->depth + (is_whole ? level.nr_steps - 1 : i) >= walk->skipped)
			result = open_group(walk, &frame, amount, &level);
	}
	if (result)
		return result;
	walk->depth += level.nr_steps;
	walk->levels.items[walk->levels.nr++] = level;
	return 0;
}

static void leave(struct walk *walk)
{
	const struct level *level = &walk->levels.items[--walk->levels.nr];
	for (uint32_t i = 0; i < level->nr_open; i++)
		walk->rows.items[walk->open.items[--walk->open.nr]].open--;
	walk->depth -= level->nr_steps;
}

/* Samples in the frame that was entered last. */
static void add_self(struct walk *walk, const struct selection_amount *amount)
{
	const uint32_t group = walk->levels.items[walk->levels.nr - 1].last;
	if (group == UINT32_MAX) /* above the subtree, which stacks that pass reach */
		return;
	walk->rows.items[group].cost.self += amount->samples;
	walk->rows.items[group].cost.self_weight += amount->weight;
	walk->rows.items[group].self_squares += amount->squares;
}

static int add_stacks(struct walk *walk, uint32_t node)
{
	const struct selection *selection = walk->selection;
	int result = 0;
	for (uint32_t next = walk->nodes[node].stack_plus_1; !result && next;
	     next = walk->next_stacks[next - 1]) {
		const struct counted_stack *stack = &selection->history->stacks.items[next - 1];
		const struct stack_count *count = &selection->counts.items[next - 1];
		const struct selection_amount amount = {
			count->samples, count->weight,
			selection_squares_of(selection, next - 1, walk->event)};
		/* Where nothing at all is known, there is still [unknown]. */
		const bool has_leaf = stack->leaf || !node;
		if (has_leaf)
			result = enter(walk, stack->leaf, &amount);
		if (!result)
			add_self(walk, &amount);
		if (!result && has_leaf)
			leave(walk);
	}
	return result;
}

static int walk_nodes(struct walk *walk)
{
	const struct history *history = walk->selection->history;
	uint32_t node = 0;
	int result = add_stacks(walk, node);
	while (!result) {
		uint32_t next = walk->nodes[node].child;
		for (; !next && node; node = history->nodes.items[node].parent) {
			next = walk->nodes[node].sibling;
			leave(walk);
			if (next)
				break;
		}
		if (!next)
			break;
		node = next;
		result = enter(walk, history->nodes.items[node].frame, &walk->nodes[node].below);
		if (!result)
			result = add_stacks(walk, node);
	}
	return result;
}

/* ---- rows ---- */

static int compare(const void *a, const void *b, void *context)
{
	const struct selection_group *left = a, *right = b;
	if (left->cost.self_weight != right->cost.self_weight)
		return left->cost.self_weight < right->cost.self_weight ? 1 : -1;
	if (left->cost.total_weight != right->cost.total_weight)
		return left->cost.total_weight < right->cost.total_weight ? 1 : -1;
	const struct group *x = &left->group, *y = &right->group;
	int order = history_compare_functions(context, x->function, y->function);
	if (!order)
		order = strcmp(x->file, y->file);
	if (!order)
		order = (x->line > y->line) - (x->line < y->line);
	if (!order)
		order = (x->address > y->address) - (x->address < y->address);
	return order ? order : (x->module_row > y->module_row) - (x->module_row < y->module_row);
}

static int give_out(const struct walk *walk, struct selection_groups *rows)
{
	if (vec_reserve(rows, walk->rows.nr + 1))
		return -ENOMEM;
	for (size_t i = 0; i < walk->rows.nr; i++)
		rows->items[rows->nr++] = (struct selection_group){
			walk->groups.all.items[i], walk->rows.items[i].cost,
			walk->rows.items[i].squares, walk->rows.items[i].self_squares};
	qsort_r(rows->items, rows->nr, sizeof(*rows->items), compare, walk->selection->history);
	return 0;
}

static int add_tasks(struct selection *selection, enum selection_tasks_of which,
		     struct selection_groups *rows)
{
	struct selection_tasks tasks = {0};
	int result = selection_tasks(selection, which, -1, &tasks);
	if (!result && vec_reserve(rows, tasks.nr + 1))
		result = -ENOMEM;
	for (size_t i = 0; !result && i < tasks.nr; i++) {
		const struct selection_task *task = &tasks.items[i];
		rows->items[rows->nr++] = (struct selection_group){
			.group = {.function = task->top,
				  .module = "",
				  .file = "",
				  .pid = task->pid,
				  .tid = task->tid,
				  .started_ns = task->started_ns,
				  .comm = task->comm},
			.cost = {task->samples, task->samples, task->weight, task->weight},
			.squares = task->squares,
			.self_squares = task->squares,
		};
	}
	free(tasks.items);
	return result;
}

/* Of another event than the selection's: whose stacks count, and no more is known of them. */
static int add_tasks_beside(struct selection *selection, enum selection_tasks_of which,
			    int32_t event, struct selection_groups *rows)
{
	const struct history *history = selection->history;
	struct task_groups tasks;
	int result = task_groups_init(&tasks, history, which);
	if (!result && vec_reserve(rows, tasks.ids.nr + 1))
		result = -ENOMEM;
	for (size_t i = 0; !result && i < tasks.ids.nr; i++)
		rows->items[i] = (struct selection_group){
			.group = {
				.module = "",
				.file = "",
				.pid = tasks.ids.items[i].pid,
				.tid = tasks.ids.items[i].tid,
				.started_ns = tasks.ids.items[i].started_ns,
			}};
	for (size_t i = 0; !result && i < selection->stacks.nr; i++) {
		if (!selection_counts(selection, i, event))
			continue;
		const struct stack_count *count = &selection->counts.items[i];
		struct selection_group *row =
			&rows->items[tasks.of_task[history->stacks.items[i].task]];
		row->cost.self = row->cost.total += count->samples;
		row->cost.self_weight = row->cost.total_weight += count->weight;
		row->squares += selection_squares_of(selection, i, event);
		row->self_squares = row->squares;
	}
	rows->nr = result ? 0 : tasks.ids.nr;
	task_groups_release(&tasks);
	return result;
}

/* The group of the frame that a stack ends in. UINT32_MAX: out of memory. */
static uint32_t self_group(struct walk *walk, const struct counted_stack *stack)
{
	struct history *history = walk->selection->history;
	struct history_step steps[HISTORY_STEPS_MAX];
	const uint32_t id =
		stack->leaf || !stack->node ? stack->leaf : history->nodes.items[stack->node].frame;
	const size_t nr = history_steps_of(history, id, 0, steps);
	if (!nr)
		return UINT32_MAX;
	struct history_frame frame = frame_of(history, id, steps, nr - 1);
	if (!groups_have(&walk->groups, &frame))
		frame = frame_of(history, id, steps, 0);
	return groups_find(&walk->groups, history, &frame);
}

static int add_selfs(struct walk *walk)
{
	const struct selection *selection = walk->selection;
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		if (!selection_counts(selection, i, walk->event))
			continue;
		const struct stack_count *count = &selection->counts.items[i];
		const uint32_t group = self_group(walk, &selection->history->stacks.items[i]);
		if (group == UINT32_MAX || vec_reserve(&walk->rows, (size_t)group + 1))
			return -ENOMEM;
		if (group == walk->rows.nr)
			walk->rows.items[walk->rows.nr++] = (struct group_row){0};
		struct group_row *row = &walk->rows.items[group];
		row->cost.self += count->samples;
		row->cost.self_weight += count->weight;
		row->self_squares += selection_squares_of(selection, i, walk->event);
	}
	return 0;
}

int selection_group_selfs(struct selection *selection, enum grouping by, int32_t event,
			  struct selection_groups *rows)
{
	struct walk walk = {.selection = selection, .event = event, .groups = {.by = by}};
	if (by == GROUPING_THREAD || by == GROUPING_PROCESS)
		return selection_groups(selection, by, event, rows);
	rows->nr = 0;
	int result = add_selfs(&walk);
	if (!result)
		result = give_out(&walk, rows);
	groups_release(&walk.groups);
	free(walk.rows.items);
	return result;
}

int selection_groups(struct selection *selection, enum grouping by, int32_t event,
		     struct selection_groups *rows)
{
	struct walk walk = {
		.selection = selection,
		.event = event,
		.groups = {.by = by},
		.skipped = steps_above(selection),
	};
	rows->nr = 0;
	const enum selection_tasks_of which =
		by == GROUPING_THREAD ? SELECTION_THREADS : SELECTION_PROCESSES;
	if (by == GROUPING_THREAD || by == GROUPING_PROCESS)
		return event == SELECTION_OWN_EVENT
			       ? add_tasks(selection, which, rows)
			       : add_tasks_beside(selection, which, event, rows);
	int result = link_stacks(&walk);
	if (!result)
		result = walk_nodes(&walk);
	if (!result)
		result = give_out(&walk, rows);
	groups_release(&walk.groups);
	free(walk.nodes);
	free(walk.next_stacks);
	free(walk.levels.items);
	free(walk.open.items);
	free(walk.rows.items);
	return result;
}
