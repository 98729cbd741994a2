/* SPDX-License-Identifier: MIT */
#include "import_rows.h"

#include <string.h>

#include <ctop/base/vec.h>

int history_remember_row(translation *map, uint32_t id, uint32_t place)
{
	if (id >= map->nr) {
		if (vec_reserve(map, (size_t)id + 1))
			return -ENOMEM;
		memset(map->items + map->nr, 0, ((size_t)id + 1 - map->nr) * sizeof(uint32_t));
		map->nr = (size_t)id + 1;
	}
	map->items[id] = place;
	return 0;
}

/* ---- one row each; the same results as translate() ---- */

static const char *intern_string(struct history *history, struct string_id id)
{
	return history_intern(history, tables_string(&history->reader, id));
}

/* NULL: out of memory; or full, and it would be a new one. */
static const char *string_with_room(struct history *history, struct string_id id)
{
	return history_has_room(history, 0)
		       ? intern_string(history, id)
		       : history_find_string(history, tables_string(&history->reader, id));
}

static int import_event(struct history *history, uint32_t id, uint32_t *to)
{
	struct event_row row;
	tables_event(&history->reader, id, &row);
	struct event event = {
		.period = row.period,
		.frequency_hz = row.frequency_hz,
		.unit = row.weight_unit < NR_WEIGHT_UNITS ? (enum weight_unit)row.weight_unit
							  : WEIGHT_EVENTS,
		.name = intern_string(history, row.name),
		.asked = intern_string(history, row.asked),
	};
	if (!event.name || !event.asked)
		return -ENOMEM;
	event.is_wait = !strcmp(event.name, WAIT_EVENT);
	event.is_stretch =
		event.is_wait || !strcmp(event.name, time_shown_event(TIME_SHOWN_GOROUTINES));
	for (*to = 0; *to < history->events.nr; ++*to) {
		const struct event *known = &history->events.items[*to];
		if (known->name == event.name && known->asked == event.asked)
			return 0;
	}
	if (*to >= HISTORY_EVENTS_MAX)
		return -EINVAL;
	if (vec_reserve(&history->events, *to + 1))
		return -ENOMEM;
	history->events.items[history->events.nr++] = event;
	return 0;
}

/* Code whose addresses mean something in one process only, or on one machine, has a number that says so: of machines it is negative. */
static int32_t owner_of(const struct history *history, const struct module_row *row)
{
	if (row->kind == MODULE_ANON)
		return row->pid;
	return row->kind == MODULE_KERNEL || !row->identity.build_id_size ? -history->machine : 0;
}

static int import_module(struct history *history, uint32_t id, uint32_t *to)
{
	struct module_row row;
	tables_module(&history->reader, (struct module_id){id}, &row);
	const struct history_module module = {
		.path = string_with_room(history, row.path),
		.identity = row.identity,
		.kind = row.kind,
		.pid = owner_of(history, &row),
		.started_ns = row.kind == MODULE_ANON ? row.started_ns : 0,
	};
	if (row.kind >= NR_MODULE_KINDS)
		return -EINVAL;
	if (!module.path && !history->full)
		return -ENOMEM;
	*to = history_find_module(history, &module);
	if (*to != UINT32_MAX) {
		history_take_module_names(history, id, *to);
		return history_begin_merging(history);
	}
	if (!module.path || !history_has_room_for(history, &history->modules)) {
		*to = FOLDED_MODULE; /* which has no frames: they are folded, too */
		return 0;
	}
	int result = history_add_module(history, &module, to);
	if (!result)
		history_take_module_names(history, id, *to);
	return result;
}

static int import_task(struct history *history, uint32_t id, uint32_t *to)
{
	struct task_row row;
	tables_task(&history->reader, (struct task_id){id}, &row);
	const struct history_task task = {.pid = row.pid,
					  .tid = row.tid,
					  .run = history->run,
					  .started_ns = row.started_ns,
					  .comm = string_with_room(history, row.comm)};
	if (!task.comm && !history->full)
		return -ENOMEM;
	uint64_t hash = hash_task(&task);
	struct index_probe probe = index_find(&history->tasks_index, hash);
	while (index_next(&history->tasks_index, &probe, to)) {
		struct history_task *known = &history->tasks.items[*to];
		if (known->pid != task.pid || known->tid != task.tid || known->run != task.run ||
		    known->comm != task.comm ||
		    !history_same_process(history, known->started_ns, task.started_ns))
			continue;
		if (!known->started_ns)
			known->started_ns = task.started_ns;
		return 0;
	}
	if (!task.comm || !history_has_room_for(history, &history->tasks)) {
		*to = FOLDED_TASK;
		return 0;
	}
	if (index_reserve(&history->tasks_index) ||
	    vec_reserve(&history->tasks, history->tasks.nr + 1))
		return -ENOMEM;
	*to = (uint32_t)history->tasks.nr;
	index_add(&history->tasks_index, hash, *to);
	history->tasks.items[history->tasks.nr++] = task;
	return 0;
}

static int find_or_add_frame(struct history *history, uint32_t module, uint64_t address,
			     uint32_t *to)
{
	uint64_t hash = hash_frame(module, address);
	struct index_probe probe = index_find(&history->frames_index, hash);
	while (index_next(&history->frames_index, &probe, to)) {
		const struct named_frame *known = &history->frames.items[*to];
		if (known->address == address && known->module == module)
			return 0;
	}
	if (!history_has_room_for(history, &history->frames)) {
		*to = FOLDED_FRAME;
		return 0;
	}
	if ((history->merges && index_reserve(&history->frames_index)) ||
	    vec_reserve(&history->frames, history->frames.nr + 1))
		return -ENOMEM;
	*to = (uint32_t)history->frames.nr;
	if (history->merges)
		index_add(&history->frames_index, hash, *to);
	/* What has a path and is no module stands for what is not known: "[switched]". */
	const struct history_module *of = &history->modules.items[module];
	history->frames.items[history->frames.nr++] = (struct named_frame){
		.address = address,
		.module = module,
		.offset = UINT32_MAX,
		.name = of->kind == MODULE_NONE && of->path[0] ? of->path : NULL,
	};
	return 0;
}

static int await(struct awaiting_frames *frames, uint32_t id)
{
	if (vec_reserve(frames, frames->nr + 1))
		return -ENOMEM;
	frames->items[frames->nr++] = id;
	return 0;
}

static bool may_have_lines(const struct history *history, uint32_t frame)
{
	const uint32_t kind = history->modules.items[history->frames.items[frame].module].kind;
	return !history->frames.items[frame].site &&
	       (kind == MODULE_FILE || kind == MODULE_KERNEL || kind == MODULE_ANON);
}

static int import_frame(struct history *history, uint32_t id, uint32_t *to)
{
	struct frame_row row;
	uint32_t module;
	tables_frame(&history->reader, (struct frame_id){id}, &row);
	int result = translate(history, TABLE_MODULES, row.module.index, &module);
	if (!result && module == FOLDED_MODULE)
		*to = FOLDED_FRAME;
	else if (!result)
		result = find_or_add_frame(history, module, row.address, to);
	if (!result && !history->frames.items[*to].name)
		result = await(&history->unnamed, id);
	if (!result && !history->without_lines && may_have_lines(history, *to))
		result = await(&history->unlined, id);
	return result;
}

/* The child of a node of the history that the epoch's row describes. */
static int import_child(struct history *history, const struct node_row *row, uint32_t parent,
			uint32_t *to, bool *cut)
{
	uint32_t frame;
	int result = translate(history, TABLE_FRAMES, row->frame.index, &frame);
	return result ? result : history_add_node(history, parent, frame, row->method, to, cut);
}

/*
 * Up to the first ancestor that is known, and down again. Whatever is on the way is remembered,
 * as bad if need be: no row is walked twice, however a damaged table hangs together.
 */
static int import_node(struct history *history, uint32_t id, uint32_t *to)
{
	translation *map = &history->of[TABLE_NODES];
	uint32_t *path = history->path;
	struct node_row row;
	size_t nr = 0;
	int result;
	bool cut;
	while ((result = known_row(map, id, to)) == -ENOENT) {
		if (nr == HISTORY_DEPTH_MAX ||
		    !tables_node(&history->reader, (struct node_id){id}, &row)) {
			result = -EINVAL;
			break;
		}
		path[nr++] = id;
		id = row.parent.index;
	}
	cut = !result && is_cut(history, id);
	while (nr && result != -ENOMEM) {
		id = path[--nr];
		if (!result && !cut) {
			/* Read again: the way down is ours, even if a writer changed his parents meanwhile. */
			tables_node(&history->reader, (struct node_id){id}, &row);
			result = import_child(history, &row, *to, to, &cut);
		}
		uint32_t place = result ? BAD_ROW : (*to + 1) | (cut ? CUT : 0);
		if (result != -ENOMEM && history_remember_row(map, id, place))
			result = -ENOMEM;
	}
	return result;
}

int history_import_row(struct history *history, enum table_kind kind, uint32_t id, uint32_t *to)
{
	static int (*const import[NR_TABLES])(struct history *, uint32_t, uint32_t *) = {
		[TABLE_EVENTS] = import_event, [TABLE_MODULES] = import_module,
		[TABLE_TASKS] = import_task,   [TABLE_FRAMES] = import_frame,
		[TABLE_NODES] = import_node,
	};
	if (id >= history->reader.nr[kind])
		return -EINVAL;
	int result = import[kind](history, id, to);
	if (kind == TABLE_NODES)
		return result; /* the whole way was remembered */
	if (result != -ENOMEM &&
	    history_remember_row(&history->of[kind], id, result ? BAD_ROW : *to + 1))
		result = -ENOMEM;
	return result;
}
