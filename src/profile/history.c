/* SPDX-License-Identifier: MIT */
#include <ctop/profile/history.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include <ctop/base/vec.h>

#include "history_internal.h"

/* A string of a region may change while it is looked at: it is cut here before anything else. */
enum { STRING_MAX = 8192 };

struct history_info {
	char *key, *value;
	UT_hash_handle hh;
};

/* ---- life ---- */

/* Row 0 of every table: none. */
static int add_none_rows(struct history *history)
{
	if (vec_reserve(&history->modules, 1) || vec_reserve(&history->tasks, 1) ||
	    vec_reserve(&history->frames, 1) || vec_reserve(&history->nodes, 1) ||
	    vec_reserve(&history->functions, 1))
		return -ENOMEM;
	history->modules.items[history->modules.nr++] = (struct history_module){.path = ""};
	history->tasks.items[history->tasks.nr++] = (struct history_task){.comm = ""};
	history->frames.items[history->frames.nr++] = (struct named_frame){.offset = UINT32_MAX};
	history->nodes.items[history->nodes.nr++] = (struct history_node){0};
	history->functions.items[history->functions.nr++] =
		(struct function){.name = "", .module = ""};
	return 0;
}

struct history *history_new(void)
{
	struct history *history = calloc(1, sizeof(*history));
	if (!history)
		return NULL;
	if (add_none_rows(history) == 0)
		return history;
	history_free(history);
	return NULL;
}

void history_free(struct history *history)
{
	if (!history)
		return;
	struct history_info *info, *next;
	HASH_ITER(hh, history->infos, info, next) {
		HASH_DEL(history->infos, info);
		free(info->key);
		free(info->value);
		free(info);
	}
	for (size_t i = 0; i < history->strings.nr; i++)
		free(history->strings.items[i]);
	free(history->strings.items);
	free(history->modules.items);
	free(history->tasks.items);
	free(history->frames.items);
	free(history->nodes.items);
	free(history->stacks.items);
	free(history->functions.items);
	free(history->events.items);
	free(history->of_module.items);
	free(history->of_task.items);
	free(history->of_frame.items);
	free(history->of_node.items);
	free(history->of_event.items);
	free(history->unnamed.items);
	index_release(&history->strings_index);
	index_release(&history->modules_index);
	index_release(&history->tasks_index);
	index_release(&history->frames_index);
	index_release(&history->nodes_index);
	index_release(&history->stacks_index);
	index_release(&history->functions_index);
	free(history);
}

void history_set_filter(struct history *history, const struct history_filter *filter)
{
	history->filter = *filter;
}

uint64_t history_bytes(const struct history *history)
{
	return history->string_bytes + history->modules.capacity * sizeof(struct history_module) +
	       history->tasks.capacity * sizeof(struct history_task) +
	       history->frames.capacity * (sizeof(struct named_frame) + 16) +
	       history->nodes.capacity * (sizeof(struct history_node) + 16) +
	       history->stacks.capacity * (sizeof(struct counted_stack) + 16) +
	       (history->of_node.capacity + history->of_frame.capacity) * sizeof(uint32_t);
}

/* ---- strings and facts ---- */

const char *history_intern(struct history *history, const char *bytes, size_t size)
{
	char copy[STRING_MAX];
	size = strnlen(bytes, size < sizeof(copy) ? size : sizeof(copy) - 1);
	memcpy(copy, bytes, size);
	copy[size] = '\0';
	size = strlen(copy); /* it may have been cut short meanwhile */
	uint64_t hash = hash_bytes(copy, size);
	struct index_probe probe = index_find(&history->strings_index, hash);
	uint32_t row;
	while (index_next(&history->strings_index, &probe, &row))
		if (strcmp(history->strings.items[row], copy) == 0)
			return history->strings.items[row];
	if (index_reserve(&history->strings_index) ||
	    vec_reserve(&history->strings, history->strings.nr + 1))
		return NULL;
	char *kept = strdup(copy);
	if (!kept)
		return NULL;
	index_add(&history->strings_index, hash, (uint32_t)history->strings.nr);
	history->strings.items[history->strings.nr++] = kept;
	history->string_bytes += size + 32;
	return kept;
}

static const char *intern_string(struct history *history, struct string_id id)
{
	return history_intern(history, tables_string(&history->reader, id), STRING_MAX);
}

int history_set_info(struct history *history, const char *key, const char *value)
{
	struct history_info *info;
	HASH_FIND_STR(history->infos, key, info);
	char *copy = strdup(value);
	if (!copy)
		return -ENOMEM;
	if (info) {
		free(info->value);
		info->value = copy;
		return 0;
	}
	info = calloc(1, sizeof(*info));
	if (!info || !(info->key = strdup(key))) {
		free(info);
		free(copy);
		return -ENOMEM;
	}
	info->value = copy;
	HASH_ADD_KEYPTR(hh, history->infos, info->key, strlen(info->key), info);
	return 0;
}

const char *history_info(const struct history *history, const char *key)
{
	struct history_info *info;
	HASH_FIND_STR(history->infos, key, info);
	return info ? info->value : NULL;
}

static int read_infos(struct history *history)
{
	if (history->nr_infos_read == 0)
		history->nr_infos_read = 1;
	while (history->nr_infos_read < history->reader.nr[TABLE_INFOS]) {
		struct info_row row;
		tables_info(&history->reader, history->nr_infos_read++, &row);
		const char *key = intern_string(history, row.key);
		const char *value = intern_string(history, row.value);
		if (!key || !value || history_set_info(history, key, value))
			return -ENOMEM;
	}
	return 0;
}

/* ---- epochs ---- */

int history_begin_epoch(struct history *history, const struct tables *tables,
			const struct symbols *symbols)
{
	if (history->has_epoch) {
		tables_reader_refresh(&history->reader);
		int result = history_update_names(history);
		if (!result)
			result = read_infos(history);
		if (result)
			return result;
	}
	tables_reader_init(&history->reader, tables);
	history->symbols = symbols;
	history->has_epoch = true;
	history->symbols_version = 0;
	history->nr_infos_read = 0;
	history->of_module.nr = history->of_task.nr = history->of_frame.nr = 0;
	history->of_node.nr = history->of_event.nr = 0;
	history->unnamed.nr = 0;
	return 0;
}

/* The place of a table's id in a translation, which grows as needed; NULL: out of memory. */
static uint32_t *place_of(translation *map, uint32_t id)
{
	if (id >= map->nr) {
		if (vec_reserve(map, (size_t)id + 1))
			return NULL;
		memset(map->items + map->nr, 0, ((size_t)id + 1 - map->nr) * sizeof(uint32_t));
		map->nr = (size_t)id + 1;
	}
	return &map->items[id];
}

/* ---- rows of the epoch to rows of the history; -EINVAL: an id that makes no sense ---- */

static uint64_t hash_two(uint64_t a, uint64_t b)
{
	return hash_u64(a ^ hash_u64(b + UINT64_C(0x9e3779b97f4a7c15)));
}

static int import_module(struct history *history, struct module_id id, uint32_t *to)
{
	/* Checked before room is made: a bad id must not cost gigabytes. */
	if (id.index >= history->reader.nr[TABLE_MODULES])
		return -EINVAL;
	uint32_t *place = place_of(&history->of_module, id.index);
	struct module_row row;
	if (!place)
		return -ENOMEM;
	if (*place) {
		*to = *place - 1;
		return 0;
	}
	if (!tables_module(&history->reader, id, &row))
		return -EINVAL;
	const struct history_module module = {
		.path = intern_string(history, row.path),
		.kind = row.kind < NR_MODULE_KINDS ? row.kind : MODULE_NONE,
		.pid = row.kind == MODULE_ANON ? row.pid : 0,
	};
	if (!module.path)
		return -ENOMEM;
	uint64_t hash = hash_two((uintptr_t)module.path,
				 (uint64_t)module.kind << 32 | (uint32_t)module.pid);
	struct index_probe probe = index_find(&history->modules_index, hash);
	while (index_next(&history->modules_index, &probe, to)) {
		const struct history_module *known = &history->modules.items[*to];
		if (known->path == module.path && known->kind == module.kind &&
		    known->pid == module.pid) {
			*place = *to + 1;
			return 0;
		}
	}
	if (index_reserve(&history->modules_index) ||
	    vec_reserve(&history->modules, history->modules.nr + 1))
		return -ENOMEM;
	*to = (uint32_t)history->modules.nr;
	index_add(&history->modules_index, hash, *to);
	history->modules.items[history->modules.nr++] = module;
	*place = *to + 1;
	return 0;
}

static int import_task(struct history *history, struct task_id id, uint32_t *to)
{
	/* Checked before room is made: a bad id must not cost gigabytes. */
	if (id.index >= history->reader.nr[TABLE_TASKS])
		return -EINVAL;
	uint32_t *place = place_of(&history->of_task, id.index);
	struct task_row row;
	if (!place)
		return -ENOMEM;
	if (*place) {
		*to = *place - 1;
		return 0;
	}
	if (!tables_task(&history->reader, id, &row))
		return -EINVAL;
	const struct history_task task = {row.pid, row.tid, intern_string(history, row.comm)};
	if (!task.comm)
		return -ENOMEM;
	uint64_t hash = hash_two((uint64_t)(uint32_t)task.pid << 32 | (uint32_t)task.tid,
				 (uintptr_t)task.comm);
	struct index_probe probe = index_find(&history->tasks_index, hash);
	while (index_next(&history->tasks_index, &probe, to)) {
		const struct history_task *known = &history->tasks.items[*to];
		if (known->pid == task.pid && known->tid == task.tid && known->comm == task.comm) {
			*place = *to + 1;
			return 0;
		}
	}
	if (index_reserve(&history->tasks_index) ||
	    vec_reserve(&history->tasks, history->tasks.nr + 1))
		return -ENOMEM;
	*to = (uint32_t)history->tasks.nr;
	index_add(&history->tasks_index, hash, *to);
	history->tasks.items[history->tasks.nr++] = task;
	*place = *to + 1;
	return 0;
}

static int import_frame(struct history *history, struct frame_id id, uint32_t *to)
{
	/* Checked before room is made: a bad id must not cost gigabytes. */
	if (id.index >= history->reader.nr[TABLE_FRAMES])
		return -EINVAL;
	uint32_t *place = place_of(&history->of_frame, id.index);
	struct frame_row row;
	uint32_t module;
	if (!place)
		return -ENOMEM;
	if (*place || id.index == 0) {
		*to = *place ? *place - 1 : 0;
		return 0;
	}
	if (!tables_frame(&history->reader, id, &row))
		return -EINVAL;
	int result = import_module(history, row.module, &module);
	if (result)
		return result;
	uint64_t hash = hash_two(row.address, module);
	struct index_probe probe = index_find(&history->frames_index, hash);
	bool known = false;
	while (!known && index_next(&history->frames_index, &probe, to)) {
		const struct named_frame *frame = &history->frames.items[*to];
		known = frame->address == row.address && frame->module == module;
	}
	if (!known) {
		if (index_reserve(&history->frames_index) ||
		    vec_reserve(&history->frames, history->frames.nr + 1))
			return -ENOMEM;
		*to = (uint32_t)history->frames.nr;
		index_add(&history->frames_index, hash, *to);
		history->frames.items[history->frames.nr++] = (struct named_frame){
			.address = row.address,
			.module = module,
			.offset = UINT32_MAX,
		};
	}
	if (!history->frames.items[*to].name) {
		if (vec_reserve(&history->unnamed, history->unnamed.nr + 1))
			return -ENOMEM;
		history->unnamed.items[history->unnamed.nr++] = id.index;
	}
	*place = *to + 1;
	return 0;
}

static int import_one_node(struct history *history, const struct node_row *row, uint32_t parent,
			   uint32_t *to)
{
	uint32_t frame;
	int result = import_frame(history, row->frame, &frame);
	if (result)
		return result;
	uint64_t hash = hash_two((uint64_t)parent << 32 | frame, row->method);
	struct index_probe probe = index_find(&history->nodes_index, hash);
	while (index_next(&history->nodes_index, &probe, to)) {
		const struct history_node *known = &history->nodes.items[*to];
		if (known->parent == parent && known->frame == frame &&
		    known->method == row->method)
			return 0;
	}
	uint32_t depth = history->nodes.items[parent].depth + 1;
	if (depth > HISTORY_DEPTH_MAX)
		return -EINVAL;
	if (index_reserve(&history->nodes_index) ||
	    vec_reserve(&history->nodes, history->nodes.nr + 1))
		return -ENOMEM;
	*to = (uint32_t)history->nodes.nr;
	index_add(&history->nodes_index, hash, *to);
	history->nodes.items[history->nodes.nr++] =
		(struct history_node){parent, frame, row->method, depth};
	return 0;
}

static int import_node(struct history *history, struct node_id id, uint32_t *to)
{
	struct node_row path[HISTORY_DEPTH_MAX];
	uint32_t ids[HISTORY_DEPTH_MAX];
	size_t nr = 0;
	*to = 0;
	/* Up to the first ancestor that is known, */
	while (id.index) {
		uint32_t *place = place_of(&history->of_node, id.index < history->reader.nr[TABLE_NODES]
								      ? id.index
								      : 0);
		if (!place)
			return -ENOMEM;
		if (id.index < history->of_node.nr && history->of_node.items[id.index]) {
			*to = history->of_node.items[id.index] - 1;
			break;
		}
		if (nr == HISTORY_DEPTH_MAX || !tables_node(&history->reader, id, &path[nr]))
			return -EINVAL;
		ids[nr] = id.index;
		id = path[nr++].parent;
	}
	/* and down again. */
	while (nr) {
		nr--;
		int result = import_one_node(history, &path[nr], *to, to);
		if (result)
			return result;
		history->of_node.items[ids[nr]] = *to + 1;
	}
	return 0;
}

static int import_event(struct history *history, uint8_t id, uint8_t *to)
{
	uint32_t *place = place_of(&history->of_event, id);
	struct event_row row;
	if (!place)
		return -ENOMEM;
	if (*place) {
		*to = (uint8_t)(*place - 1);
		return 0;
	}
	tables_event(&history->reader, id, &row);
	const struct event_name event = {intern_string(history, row.name),
					 intern_string(history, row.asked)};
	if (!event.name || !event.asked)
		return -ENOMEM;
	size_t at = 0;
	while (at < history->events.nr && (history->events.items[at].name != event.name ||
					   history->events.items[at].asked != event.asked))
		at++;
	if (at == history->events.nr) {
		if (vec_reserve(&history->events, at + 1))
			return -ENOMEM;
		history->events.items[history->events.nr++] = event;
	}
	*to = (uint8_t)at;
	*place = (uint32_t)at + 1;
	return 0;
}

/* ---- the filter ---- */

static bool among(int32_t value, const int32_t *list, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		if (list[i] == value)
			return true;
	return nr == 0 || !list;
}

static bool is_module(const struct history_module *module, const char *wanted)
{
	const char *base = strrchr(module->path, '/');
	return strcmp(module->path, wanted) == 0 || (base && strcmp(base + 1, wanted) == 0);
}

static bool passes(const struct history *history, const struct sample *sample,
		   const struct counted_stack *stack)
{
	const struct history_filter *filter = &history->filter;
	const struct history_task *task = &history->tasks.items[stack->task];
	const struct history_module *module =
		&history->modules.items[history->frames.items[stack->leaf].module];
	const struct event_name *event = &history->events.items[stack->event];
	uint64_t since_ns = sample->time_ns - history->origin_ns;
	bool kernel = module->kind == MODULE_KERNEL;
	return among(task->pid, filter->pids, filter->nr_pids) &&
	       among(task->tid, filter->tids, filter->nr_tids) &&
	       among(sample->cpu, filter->cpus, filter->nr_cpus) &&
	       (!filter->comm || strcmp(task->comm, filter->comm) == 0) &&
	       (!filter->event || strcmp(event->name, filter->event) == 0 ||
		strcmp(event->asked, filter->event) == 0) &&
	       (!filter->module || is_module(module, filter->module)) &&
	       since_ns >= filter->from_ns && (!filter->to_ns || since_ns < filter->to_ns) &&
	       !(filter->kernel_only && !kernel) && !(filter->user_only && kernel);
}

/* ---- samples ---- */

static int count(struct history *history, const struct counted_stack *stack)
{
	uint64_t hash =
		hash_two((uint64_t)stack->node << 32 | stack->leaf,
			 (uint64_t)stack->task << 24 | (uint64_t)stack->event << 16 |
				 (uint64_t)stack->end << 8 | stack->reason);
	struct index_probe probe = index_find(&history->stacks_index, hash);
	uint32_t row;
	while (index_next(&history->stacks_index, &probe, &row)) {
		struct counted_stack *known = &history->stacks.items[row];
		if (known->node == stack->node && known->leaf == stack->leaf &&
		    known->task == stack->task && known->event == stack->event &&
		    known->end == stack->end && known->reason == stack->reason) {
			known->samples++;
			known->weight += stack->weight;
			return 0;
		}
	}
	if (index_reserve(&history->stacks_index) ||
	    vec_reserve(&history->stacks, history->stacks.nr + 1))
		return -ENOMEM;
	index_add(&history->stacks_index, hash, (uint32_t)history->stacks.nr);
	history->stacks.items[history->stacks.nr++] = *stack;
	return 0;
}

static int import_one(struct history *history, const struct sample *sample)
{
	struct history_totals *totals = &history->totals;
	struct counted_stack stack = {
		.end = sample->end < NR_STACK_ENDS ? sample->end : STACK_BROKEN,
		.reason = sample->reason < NR_STACK_REASONS ? sample->reason : STACK_REASON_NONE,
		.samples = 1,
		.weight = sample->weight,
	};
	int result = import_event(history, sample->event, &stack.event);
	if (!result)
		result = import_task(history, sample->task, &stack.task);
	if (!result)
		result = import_node(history, sample->node, &stack.node);
	if (!result)
		result = import_frame(history, sample->leaf, &stack.leaf);
	if (result)
		return result;
	totals->samples_before++;
	if (!history->origin_ns)
		history->origin_ns = sample->time_ns;
	if (!passes(history, sample, &stack))
		return 0;
	if (!totals->samples || sample->time_ns < totals->first_ns)
		totals->first_ns = sample->time_ns;
	if (sample->time_ns > totals->last_ns)
		totals->last_ns = sample->time_ns;
	totals->samples++;
	totals->weight += sample->weight;
	totals->ends[stack.end]++;
	totals->reasons[stack.reason]++;
	return count(history, &stack);
}

int history_import(struct history *history, const struct sample *samples, size_t nr)
{
	if (!history->has_epoch)
		return -EINVAL;
	tables_reader_refresh(&history->reader);
	int result = read_infos(history);
	for (size_t i = 0; !result && i < nr; i++) {
		result = import_one(history, &samples[i]);
		if (result == -EINVAL) {
			history->totals.bad_samples++;
			result = 0;
		}
	}
	return result;
}

size_t history_nr_events(const struct history *history)
{
	return history->events.nr;
}

const char *history_event_name(const struct history *history, size_t event)
{
	return event < history->events.nr ? history->events.items[event].name : "";
}
