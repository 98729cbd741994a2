/* SPDX-License-Identifier: MIT */
/*
 * Samples of all parts of a file, in the order of its records, become samples of the session's tables. Rows come as their first sample
 * does: the task, the callers from the root on, the leaf. Of a module only what says which one it is stays: where it was seen first
 * depends on whose threads saw it.
 */
#include "parts.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/vec.h>

#include "session_internal.h"

/* Merged in one turn. */
enum { MERGED_A_TURN = 64 << 10 };
/* Row 0 of the events is none. */
enum { FIRST_EVENT = 1 };

/* ---- rows: each 0, -EINVAL where the child's makes no sense, -ENOSPC or -ENOMEM ---- */

/* Where the session's row for a child's is kept. */
static int place_of(struct part *part, enum table_kind kind, uint32_t id, uint32_t **place)
{
	struct tables_reader *reader = &part->current->reader;
	if (id >= reader->nr[kind])
		tables_reader_refresh(reader);
	if (id >= reader->nr[kind])
		return -EINVAL;
	if (!part->rows[kind])
		part->rows[kind] = calloc(reader->tables->capacity.nr[kind], sizeof(uint32_t));
	if (!part->rows[kind])
		return -ENOMEM;
	*place = &part->rows[kind][id];
	return 0;
}

/* The child may change its strings at any time. */
static const char *copy_string(struct parts *parts, const struct tables_reader *reader,
			       struct string_id from, unsigned which)
{
	strncpy(parts->strings[which], tables_string(reader, from), TABLES_STRING_MAX);
	return parts->strings[which];
}

static int take_string(struct parts *parts, const struct tables_reader *reader,
		       struct string_id from, struct string_id *to)
{
	return tables_add_string(parts->writer, copy_string(parts, reader, from, 0),
				 TABLES_STRING_MAX, to);
}

static bool is_same_module(const struct module_row *a, const struct module_row *b)
{
	return a->path.index == b->path.index && a->kind == b->kind && a->pid == b->pid &&
	       a->by_offset == b->by_offset && a->started_ns == b->started_ns &&
	       a->start == b->start && !memcmp(&a->identity, &b->identity, sizeof(a->identity));
}

static int add_module(struct parts *parts, const struct module_row *row, struct module_id *to)
{
	const uint64_t hash = hash_two(hash_bytes(&row->identity, sizeof(row->identity)),
				       hash_two(row->path.index, (uint32_t)row->pid));
	struct index_probe probe = index_find(&parts->modules_index, hash);
	uint32_t at;
	while (index_next(&parts->modules_index, &probe, &at))
		if (is_same_module(&parts->modules.items[at].row, row)) {
			*to = parts->modules.items[at].id;
			return 0;
		}
	if (vec_reserve(&parts->modules, parts->modules.nr + 1) ||
	    index_reserve(&parts->modules_index))
		return -ENOMEM;
	int result = tables_add_module(parts->writer, row, to);
	if (result)
		return result;
	index_add(&parts->modules_index, hash, (uint32_t)parts->modules.nr);
	parts->modules.items[parts->modules.nr++] = (struct merged_module){*row, *to};
	return 0;
}

static int take_module(struct parts *parts, struct part *part, uint32_t id, struct module_id *to)
{
	uint32_t *place;
	struct module_row row;
	to->index = 0;
	int result = id ? place_of(part, TABLE_MODULES, id, &place) : 0;
	if (result || !id)
		return result;
	if (*place) {
		to->index = *place - 1;
		return 0;
	}
	tables_module(&part->current->reader, (struct module_id){id}, &row);
	if (row.kind >= NR_MODULE_KINDS || row.identity.build_id_size > BUILD_ID_MAX)
		return -EINVAL;
	struct module_row merged = {
		.kind = row.kind, .identity = row.identity, .by_offset = row.by_offset};
	if (row.kind == MODULE_ANON) {
		merged.pid = row.pid;
		merged.started_ns = row.started_ns;
	} else if (row.kind == MODULE_KERNEL) {
		merged.start = row.start;
	}
	result = take_string(parts, &part->current->reader, row.path, &merged.path);
	if (!result)
		result = add_module(parts, &merged, to);
	if (!result)
		*place = to->index + 1;
	return result;
}

static int add_task(struct parts *parts, const struct tables_reader *reader,
		    const struct task_row *row, struct task_id *to)
{
	struct task_row merged = {.pid = row->pid, .tid = row->tid, .started_ns = row->started_ns};
	int result = take_string(parts, reader, row->comm, &merged.comm);
	return result ? result : tables_add_task_row(parts->writer, &merged, to);
}

/* As task_rows_add(): with a new thread comes its process's main thread. */
static int take_task(struct parts *parts, struct part *part, uint32_t id, struct task_id *to)
{
	const struct tables_reader *reader = &part->current->reader;
	uint32_t *place;
	struct task_row row, process;
	struct task_id main_thread;
	int result = place_of(part, TABLE_TASKS, id, &place);
	if (result)
		return result;
	if (*place) {
		to->index = *place - 1;
		return 0;
	}
	tables_task(reader, (struct task_id){id}, &row);
	const uint32_t nr_before = tables_nr_rows(parts->writer, TABLE_TASKS);
	result = add_task(parts, reader, &row, to);
	if (!result && row.process.index &&
	    tables_nr_rows(parts->writer, TABLE_TASKS) > nr_before &&
	    tables_task(reader, row.process, &process))
		result = add_task(parts, reader, &process, &main_thread);
	if (!result)
		*place = to->index + 1;
	return result;
}

static int take_frame(struct parts *parts, struct part *part, uint32_t id, struct frame_id *to)
{
	uint32_t *place;
	struct frame_row row;
	struct module_id module;
	to->index = 0;
	int result = id ? place_of(part, TABLE_FRAMES, id, &place) : 0;
	if (result || !id)
		return result;
	if (*place) {
		to->index = *place - 1;
		return 0;
	}
	tables_frame(&part->current->reader, (struct frame_id){id}, &row);
	result = take_module(parts, part, row.module.index, &module);
	if (!result)
		result = tables_add_frame(parts->writer, module, row.address, to);
	if (!result)
		*place = to->index + 1;
	return result;
}

/* Up to the first caller that is known, and down again. */
static int take_node(struct parts *parts, struct part *part, uint32_t id, struct node_id *to)
{
	uint32_t *place;
	struct node_row row;
	size_t nr = 0;
	int result = 0;
	to->index = 0;
	while (id) {
		result = place_of(part, TABLE_NODES, id, &place);
		if (!result && *place) {
			to->index = *place - 1;
			break;
		}
		if (!result && (nr == PART_DEPTH_MAX ||
				!tables_node(&part->current->reader, (struct node_id){id}, &row)))
			result = -EINVAL;
		if (result)
			return result;
		parts->path[nr++] = id;
		id = row.parent.index;
	}
	while (!result && nr) {
		struct frame_id frame;
		id = parts->path[--nr];
		tables_node(&part->current->reader, (struct node_id){id}, &row);
		result = take_frame(parts, part, row.frame.index, &frame);
		if (!result)
			result = tables_add_node(parts->writer, *to, frame,
						 (enum frame_method)row.method, to);
		if (!result)
			part->rows[TABLE_NODES][id] = to->index + 1;
	}
	return result;
}

static int take_sample(struct parts *parts, struct part *part, const struct sample *from)
{
	struct sample sample = *from;
	sample_set_number(&sample, 0);
	int result = take_task(parts, part, from->task.index, &sample.task);
	if (!result)
		result = take_node(parts, part, from->node.index, &sample.node);
	if (!result)
		result = take_frame(parts, part, from->leaf.index, &sample.leaf);
	if (!result)
		tables_add_sample(parts->writer, &sample);
	return result;
}

/* ---- what the file says of itself, which all parts have ---- */

static int take_facts(struct parts *parts, const struct tables_reader *reader)
{
	int result = 0;
	for (uint32_t i = 1; !result && i < reader->nr[TABLE_METADATA]; i++) {
		struct info_row row;
		tables_info(reader, i, &row);
		result = tables_add_info(parts->writer, copy_string(parts, reader, row.key, 0),
					 copy_string(parts, reader, row.value, 1));
	}
	return result;
}

static int take_events(struct parts *parts, const struct tables_reader *reader)
{
	int result = 0;
	for (uint32_t i = FIRST_EVENT; !result && i < reader->nr[TABLE_EVENTS]; i++) {
		struct event_row row, merged;
		uint32_t id;
		tables_event(reader, i, &row);
		merged = (struct event_row){.period = row.period,
					    .frequency_hz = row.frequency_hz,
					    .weight_unit = row.weight_unit};
		result = take_string(parts, reader, row.name, &merged.name);
		if (!result)
			result = take_string(parts, reader, row.asked, &merged.asked);
		if (!result)
			result = tables_add_event(parts->writer, &merged, &id);
	}
	return result;
}

/* At the beginning of each of the session's tables. False: the first part has not told yet, or *result. */
static bool has_head(struct parts *parts, int *result)
{
	struct tables_reader *reader = &parts->items[0].current->reader;
	if (parts->has_events)
		return true;
	if (!parts->items[0].current->epoch)
		return false;
	tables_reader_refresh(reader);
	if (reader->nr[TABLE_EVENTS] <= FIRST_EVENT && !parts->items[0].is_done)
		return false;
	tables_reader_refresh(reader); /* what was there before the events, too */
	if (!parts->has_facts)
		*result = take_facts(parts, reader);
	if (!*result)
		*result = take_events(parts, reader);
	if (*result == -ENOSPC)
		*result = 0; /* more than any part of a file says */
	parts->has_facts = parts->has_events = !*result;
	return !*result;
}

/* ---- tables of the session ---- */

static int write_in(struct parts *parts, struct region *region)
{
	if (parts->writer)
		tables_close_epoch(parts->writer);
	tables_writer_free(parts->writer);
	parts->writer = tables_writer_new(&region->tables);
	parts->written = region;
	parts->has_events = false;
	parts->is_fresh = true;
	parts->modules.nr = 0;
	index_clear(&parts->modules_index);
	for (size_t i = 0; i < parts->nr; i++)
		part_forget_rows(&parts->items[i]);
	return parts->writer ? 0 : -ENOMEM;
}

/* A table is full. -EAGAIN: readers have not left the one before yet. */
static int begin_next(struct session *session)
{
	struct parts *parts = session->parts;
	if (session->next->epoch)
		return -EAGAIN;
	int result = region_open(session->next, session->current->epoch + 1);
	return result ? result : write_in(parts, session->next);
}

/* ---- in the order of the file ---- */

/* The next tables of a child that is through with these, and whose samples are merged. */
static int leave_tables(struct part *part)
{
	struct region *old = part->current;
	part->current = part->next;
	part->next = old;
	region_close(old);
	part_forget_rows(part);
	int result = part->owes_tables ? part_give_tables(part) : 0;
	return result == -EPIPE || result == -ENOBUFS ? 0 : result;
}

/* Its next samples. Who sees how far the child is sees all samples from before, as it published these first. */
static int refill(struct session *session, struct part *part)
{
	int result = 0;
	while (!result && part->at == part->nr) {
		struct tables_reader *reader = &part->current->reader;
		const uint64_t published =
			part->is_done ? UINT64_MAX
				      : atomic_load_explicit(&part->worker.status->published,
							     memory_order_acquire);
		part->nr = part->at = 0;
		tables_reader_refresh(reader);
		const bool is_closed = reader->closed;
		part->nr = tables_read_samples(&part->current->tables, part->batch, PART_BATCH,
					       &session->stats.dropped_overrun);
		if (part->nr) {
			tables_reader_refresh(reader);
			worker_signal(&part->worker); /* there is room again */
		} else if (is_closed && part->next->epoch) {
			result = leave_tables(part);
		} else {
			part->until = published > part->merged ? published : part->merged;
			break;
		}
	}
	return result;
}

/* Takes one, whatever becomes of it: 0; -EAGAIN: later; -ENOMEM. */
static int merge_one(struct session *session, struct part *part)
{
	struct parts *parts = session->parts;
	const struct sample *sample = &part->batch[part->at];
	const uint64_t number = sample_number(sample);
	int result = number < part->merged ? 0 : take_sample(parts, part, sample);
	if (result == -ENOSPC && !parts->is_fresh)
		return begin_next(session);
	if (result == -ENOMEM)
		return result;
	parts->damaged += result != 0;
	parts->is_fresh = false;
	part->at++;
	if (number >= part->merged)
		part->merged = number + 1;
	return 0;
}

/* The child whose sample is next; NULL: it may be one of a child that has none to give yet. */
static struct part *find_next(const struct parts *parts)
{
	struct part *next = NULL;
	uint64_t first = UINT64_MAX, until = UINT64_MAX;
	for (size_t i = 0; i < parts->nr; i++) {
		struct part *part = &parts->items[i];
		const bool is_empty = part->at == part->nr;
		const uint64_t number =
			is_empty ? part->until : sample_number(&part->batch[part->at]);
		if (is_empty && number < until)
			until = number;
		if (!is_empty && number < first) {
			first = number;
			next = part;
		}
	}
	return first < until ? next : NULL;
}

static int look_for_more(struct session *session, struct part **next)
{
	int result = 0;
	for (size_t i = 0; !result && i < session->parts->nr; i++)
		result = refill(session, &session->parts->items[i]);
	*next = result ? NULL : find_next(session->parts);
	return result;
}

int parts_merge(struct session *session, bool *more)
{
	struct parts *parts = session->parts;
	int result = parts->written ? 0 : write_in(parts, session->current);
	*more = false;
	if (!parts->writer)
		return -ENOMEM;
	for (size_t i = 0; !result; i++) {
		if (!tables_samples_room(parts->writer) || i == MERGED_A_TURN) {
			/* Of tables that readers have not come to yet there is no more. */
			*more = parts->written == session->current;
			break;
		}
		struct part *part = find_next(parts);
		if (!part)
			result = look_for_more(session, &part);
		parts->are_merged = !part && parts_are_done(parts);
		if (!part || !has_head(parts, &result))
			break;
		result = merge_one(session, part);
	}
	if (!result)
		has_head(parts, &result); /* of a file without samples, too */
	tables_publish(parts->writer);
	return result == -EAGAIN ? 0 : result;
}
