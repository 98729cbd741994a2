/* SPDX-License-Identifier: MIT */
/*
 * Samples of an epoch become counts of the history. Each row of the epoch's tables is looked at
 * once and translated; from then on a sample costs four array look-ups and one probe of a hash.
 */
#include <ctop/history/history.h>

#include <errno.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "internal.h"

/* ---- translations ---- */

/* The history's row for a table's, if that was met before: 0, -EINVAL when it was bad, -ENOENT when new. */
static inline int known_row(const translation *map, uint32_t id, uint32_t *to)
{
	uint32_t place = id < map->nr ? map->items[id] : 0;
	if (!place)
		return -ENOENT;
	*to = (place & ~CUT) - 1;
	return place == BAD_ROW ? -EINVAL : 0;
}

/* id is below the table's length: a bad one must not cost gigabytes. */
static int remember(translation *map, uint32_t id, uint32_t place)
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

static int import_row(struct history *history, enum table_kind kind, uint32_t id, uint32_t *to);

/* Row id of a table as the history's row *to: 0, -EINVAL when the row makes no sense, -ENOMEM. */
static inline int translate(struct history *history, enum table_kind kind, uint32_t id,
			    uint32_t *to)
{
	int result = known_row(&history->of[kind], id, to);
	return result == -ENOENT ? import_row(history, kind, id, to) : result;
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

static bool is_cut(const struct history *history, uint32_t node)
{
	const translation *map = &history->of[TABLE_NODES];
	return node < map->nr && map->items[node] != BAD_ROW && map->items[node] & CUT;
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
		if (result != -ENOMEM && remember(map, id, place))
			result = -ENOMEM;
	}
	return result;
}

static int import_row(struct history *history, enum table_kind kind, uint32_t id, uint32_t *to)
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
	if (result != -ENOMEM && remember(&history->of[kind], id, result ? BAD_ROW : *to + 1))
		result = -ENOMEM;
	return result;
}

/*
 * Events are few, and are taken over before the first sample: their order is that of the table, the
 * one they were asked in, and not that of who was sampled first.
 */
static int read_events(struct history *history)
{
	int result = 0;
	for (; result != -ENOMEM && history->nr_events_read < history->reader.nr[TABLE_EVENTS];
	     history->nr_events_read++) {
		uint32_t event;
		if (history->nr_events_read != 0) /* none */
			result = translate(history, TABLE_EVENTS, history->nr_events_read, &event);
	}
	return result == -ENOMEM ? result : 0;
}

/* ---- epochs ---- */

/* What the epoch had to tell last. */
static int leave_epoch(struct history *history)
{
	if (!history->has_epoch)
		return 0;
	tables_reader_refresh(&history->reader);
	int result = history_update_names(history);
	return result ? result : history_read_metadata(history);
}

int history_begin_epoch(struct history *history, const struct tables *tables,
			const struct symbols *symbols)
{
	int result = leave_epoch(history);
	if (!result && history->frames.nr > NR_FIXED)
		result = history_begin_merging(history);
	tables_reader_init(&history->reader, tables);
	history->symbols = symbols;
	history->has_epoch = true;
	history->symbols_version = 0;
	history->nr_metadata_read = history->nr_events_read = history->nr_tasks_read = 0;
	history->unnamed.nr = history->unnamed.nr_looked_at = 0;
	history->unlined.nr = history->unlined.nr_looked_at = 0;
	history->lines_taken = history->name_bytes_taken = history->line_bytes_taken = 0;
	history_begin_code(history);
	for (enum table_kind kind = 0; kind < NR_TABLES; kind++) {
		history->of[kind].nr = 0;
		/* Row 0 means none, in the history as well; but an event is always one. */
		if (kind != TABLE_EVENTS && !result)
			result = remember(&history->of[kind], 0, 0 + 1);
	}
	return result;
}

/* ---- samples ---- */

static void note_leaf(struct history *history, const struct counted_stack *stack)
{
	history->modules.items[history->frames.items[stack->leaf].module].has_leaves = true;
}

static bool count_at(struct history *history, uint32_t row, const struct counted_stack *stack)
{
	struct counted_stack *known = &history->stacks.items[row];
	if (!is_same_stack(known, stack))
		return false;
	known->samples += stack->samples;
	known->weight += stack->weight;
	return true;
}

/* Adds one sample to its stack, whose row is then *row, and may be that already. 0, -ENOMEM, or -ENOSPC: the history is full, and the stack would be a new one. */
static int count(struct history *history, const struct counted_stack *stack, uint32_t *row)
{
	if (*row < history->stacks.nr && count_at(history, *row, stack))
		return 0;
	uint64_t hash = hash_stack(stack);
	struct index_probe probe = index_find(&history->stacks_index, hash);
	while (index_next(&history->stacks_index, &probe, row))
		if (count_at(history, *row, stack))
			return 0;
	if ((stack->leaf != FOLDED_FRAME || stack->task != FOLDED_TASK) &&
	    !history_has_room_for(history, &history->stacks))
		return -ENOSPC;
	if (index_reserve(&history->stacks_index) ||
	    vec_reserve(&history->stacks, history->stacks.nr + 1))
		return -ENOMEM;
	note_leaf(history, stack);
	*row = (uint32_t)history->stacks.nr;
	index_add(&history->stacks_index, hash, *row);
	history->stacks.items[history->stacks.nr++] = *stack;
	return 0;
}

/* Fills in the stack that a sample fell on. -EINVAL when the sample makes no sense. */
static int stack_of(struct history *history, const struct sample *sample,
		    struct counted_stack *stack)
{
	uint32_t event;
	if (sample->end >= NR_STACK_ENDS || sample->reason >= NR_STACK_REASONS)
		return -EINVAL;
	if (sample->node.index && !sample->leaf.index) /* callers of nothing */
		return -EINVAL;
	*stack = (struct counted_stack){
		.end = sample->end,
		.reason = sample->reason,
		.samples = 1,
	};
	int result = translate(history, TABLE_EVENTS, sample->event, &event);
	if (!result)
		result = translate(history, TABLE_TASKS, sample->task.index, &stack->task);
	if (!result)
		result = translate(history, TABLE_NODES, sample->node.index, &stack->node);
	if (!result)
		result = translate(history, TABLE_FRAMES, sample->leaf.index, &stack->leaf);
	stack->event = (uint8_t)event;
	return result ? result : history_move_state(history, stack);
}

/* A sample that passed: its stack's row, or that of its known callers where it is new and there is no room. */
static int count_known(struct history *history, const struct sample *sample,
		       struct counted_stack *stack, uint32_t *row)
{
	if (is_cut(history, sample->node.index))
		stack->leaf = FOLDED_FRAME;
	int result = count(history, stack, row);
	if (result == -ENOSPC) {
		stack->leaf = FOLDED_FRAME;
		stack->task = FOLDED_TASK;
		result = count(history, stack, row);
	}
	return result;
}

/*
 * What a sample counts for. A file may say anything: what all weights together have no room for is left out, so that
 * what is a sum of some of them needs no look at overflows.
 */
static uint64_t count_weight(struct history *history, uint64_t weight)
{
	uint64_t room = WEIGHTS_MOST - history->weight_before;
	history->totals.cut_weights += weight > room;
	weight = weight < room ? weight : room;
	history->weight_before += weight;
	return weight;
}

static void add_to_totals(struct history *history, const struct sample *sample,
			  const struct counted_stack *stack)
{
	struct history_totals *totals = &history->totals;
	if (!totals->samples || sample->time_ns < totals->first_ns)
		totals->first_ns = sample->time_ns;
	if (sample->time_ns > totals->last_ns)
		totals->last_ns = sample->time_ns;
	totals->samples++;
	totals->weight += stack->weight;
	history->events.items[stack->event].weight_shown += stack->weight;
	totals->ends[sample->end]++;
	totals->unplaced += sample->end == STACK_KERNEL_ONLY && !sample->node.index &&
			    history_is_wait(history, stack->event);
	totals->reasons[sample->reason]++;
}

/* What the filter leaves of it. False: nothing. */
static bool passes(const struct history *history, struct sample *sample,
		   const struct counted_stack *stack)
{
	return history_passes(history, sample, stack) &&
	       history_cut_to_time(history, stack->event, sample);
}

/* One that was counted when its source was read first. */
static int follow_one(struct history *history, const struct sample *sample,
		      struct counted_stack *stack, uint32_t row)
{
	struct sample part = *sample;
	if (history->filtered && !passes(history, &part, stack))
		return 0;
	stack->samples = 0;
	int result = count_known(history, sample, stack, &row);
	return result ? result : history_keep_sample(history, &part, row, stack->event);
}

/* Returns whether its samples have different weights. */
static bool count_event(struct event *event, uint64_t weight)
{
	if (!event->samples || weight < event->weight_least)
		event->weight_least = weight;
	if (weight > event->weight_most)
		event->weight_most = weight;
	event->samples++;
	event->weight += weight;
	return event->weight_least != event->weight_most;
}

static int import_one(struct history *history, const struct sample *sample,
		      struct counted_stack *stack, uint32_t row)
{
	struct history_totals *totals = &history->totals;
	struct sample part;
	int result = 0;
	totals->samples_before++;
	stack->weight = count_weight(history, sample->weight);
	if (count_event(&history->events.items[stack->event], stack->weight) &&
	    !history->weights_differ)
		result = history_begin_squares(history);
	if (result)
		return result;
	if (history->filtered) {
		note_leaf(history, stack);
		part = *sample;
		if (!passes(history, &part, stack))
			return 0;
		sample = &part;
		stack->weight = part.weight < stack->weight ? part.weight : stack->weight;
	}
	const bool is_beside = !history_counts_event(history, stack->event);
	if (!is_beside)
		add_to_totals(history, sample, stack);
	result = count_known(history, sample, stack, &row);
	if (!result && history->weights_differ)
		result = history_add_square(history, row, stack->weight);
	if (!is_beside) {
		totals->folded += stack->leaf == FOLDED_FRAME;
		totals->frames += history_stack_depth(history, stack);
		totals->unsymbolized_frames += history_stack_unnamed(history, stack);
	}
	if (!result && history->seconds.wanted)
		result = history_count_second(history, sample->time_ns, row, stack->weight);
	if (!result && history->timeline)
		result = history_note_moment(history, sample, row);
	return result || !history->samples.most
		       ? result
		       : history_keep_sample(history, sample, row, stack->event);
}

/*
 * Where a sample fell is looked up some samples before it is counted: what that will read of the rows is anywhere in
 * memory, and is asked for meanwhile.
 */
enum { LOOKED_UP_AHEAD = 16 };

struct looked_up {
	struct counted_stack stack;
	uint64_t hash;
	uint32_t row; /* likely; UINT32_MAX: there is none yet */
	int result;   /* of stack_of() */
};

static void look_up(struct history *history, const struct sample *sample, struct looked_up *found)
{
	struct counted_stack *stack = &found->stack;
	found->result = stack_of(history, sample, stack);
	if (found->result)
		return;
	if (!history->origin_ns)
		history->origin_ns = sample->time_ns;
	__builtin_prefetch(&history->nodes.items[stack->node]);
	__builtin_prefetch(&history->frames.items[stack->leaf]);
	found->hash = hash_stack(stack);
	index_prefetch(&history->stacks_index, found->hash);
}

static void find_row(const struct history *history, struct looked_up *found)
{
	struct index_probe probe = index_find(&history->stacks_index, found->hash);
	if (!index_next(&history->stacks_index, &probe, &found->row)) {
		found->row = UINT32_MAX;
		return;
	}
	__builtin_prefetch(&history->stacks.items[found->row], 1);
	if (found->row < history->seconds.slots.nr)
		__builtin_prefetch(&history->seconds.slots.items[found->row], 1);
}

static int count_sample(struct history *history, const struct sample *sample,
			struct looked_up *found)
{
	if (!found->result)
		return (history_follows(history) ? follow_one : import_one)(
			history, sample, &found->stack, found->row);
	if (found->result == -EINVAL)
		history->totals.bad_samples += !history_follows(history);
	return found->result == -EINVAL ? 0 : found->result;
}

static int import_some(struct history *history, const struct sample *samples, size_t nr)
{
	struct looked_up found[LOOKED_UP_AHEAD];
	int result = 0;
	for (size_t i = 0; i < nr; i++)
		look_up(history, &samples[i], &found[i]);
	for (size_t i = 0; i < nr; i++)
		if (!found[i].result)
			find_row(history, &found[i]);
	for (size_t i = 0; !result && i < nr; i++)
		result = count_sample(history, &samples[i], &found[i]);
	return result;
}

int history_import(struct history *history, const struct sample *samples, size_t nr)
{
	if (!history->has_epoch)
		return -EINVAL;
	tables_reader_refresh(&history->reader);
	int result = history_read_metadata(history);
	history_follow_run(history);
	if (!result)
		result = read_events(history);
	if (!result && !history->full)
		result = history_read_processes(history);
	for (size_t i = 0; !result && i < nr; i += LOOKED_UP_AHEAD)
		result = import_some(history, samples + i,
				     nr - i < LOOKED_UP_AHEAD ? nr - i : LOOKED_UP_AHEAD);
	return result;
}
