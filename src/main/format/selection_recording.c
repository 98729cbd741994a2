/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <ctop/base/vec.h>
#include <ctop/recorder/recording_writer.h>
#include <ctop/store/kept_code.h>

/*
 * A recording of what a selection shows: its stacks and their names, as if nothing else had been sampled. Samples lie evenly in
 * the second that they were counted in; which CPU took them is not known any more, and said to be 0. Of the history's own
 * metadata those are kept that are true of a part: how it was made, and what was lost of the whole.
 */

/* Rows of a recording are those of tables: these are filled for it, epoch by epoch. */
struct recorder {
	const struct history *history;
	bool (*keeps)(const char *key); /* of its metadata */
	struct recording_writer *writer;
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *rows;
	struct symbols_writer *names;
	uint32_t event;	   /* the only one, as the history counts them */
	uint32_t nr_named; /* frames that have their names in this epoch */
	struct {
		struct known_module {
			uint32_t module; /* the history's */
			struct module_id id;
		} * items;
		size_t nr, capacity;
	} modules; /* of this epoch */
	uint32_t epoch;
	struct {
		struct known_stack {
			uint32_t epoch; /* in which its rows were added */
			struct sample rows;
		} * items;
		size_t nr, capacity;
	} stacks; /* by row of the selection's */
	uint64_t nr_samples, nr_flushed;
};

/* So many samples are written at a time. */
enum { FLUSH_SAMPLES = 1 << 16 };

/* ---- epochs ---- */

static void close_epoch(struct recorder *recorder)
{
	symbols_writer_free(recorder->names);
	tables_writer_free(recorder->rows);
	symbols_unmap(&recorder->symbols);
	tables_unmap(&recorder->tables);
	recorder->names = NULL;
	recorder->rows = NULL;
	recorder->modules.nr = 0;
	recorder->nr_named = 0;
}

static int add_string(struct recorder *recorder, const char *bytes, struct string_id *id)
{
	return tables_add_string(recorder->rows, bytes, strlen(bytes), id);
}

static int add_event(struct recorder *recorder)
{
	const struct history *history = recorder->history;
	const size_t event = recorder->event;
	const char *name = history_event_name(history, event);
	struct event_row row = {
		.period = history_event_period(history, event),
		.frequency_hz = history_event_frequency_hz(history, event),
		.weight_unit = history_event_unit(history, event),
	};
	uint32_t id;
	int result = add_string(recorder, name, &row.name);
	if (!result)
		result = add_string(recorder, history_event_asked(history, event), &row.asked);
	return result ? result : tables_add_event(recorder->rows, &row, &id);
}

static int open_epoch(struct recorder *recorder)
{
	int result = tables_map(&recorder->tables, -1, &tables_capacity_default, true);
	if (!result)
		result = symbols_map(&recorder->symbols, -1, &symbols_capacity_default, true);
	if (result)
		return result;
	recorder->epoch++;
	recorder->rows = tables_writer_new(&recorder->tables);
	recorder->names = symbols_writer_new(&recorder->symbols);
	if (!recorder->rows || !recorder->names)
		return -ENOMEM;
	result = recorder->event < history_nr_events(recorder->history) ? add_event(recorder) : 0;
	return result ? result
		      : recording_begin_epoch(recorder->writer, &recorder->tables,
					      &recorder->symbols);
}

static int flush(struct recorder *recorder)
{
	tables_publish(recorder->rows);
	recorder->nr_flushed = recorder->nr_samples;
	return recording_flush(recorder->writer);
}

/* ---- rows ---- */

struct kept_module {
	struct symbols *symbols;
	struct module_id id;
};

/* What there is no room for in this epoch is left out. */
static int keep_code(void *context, uint64_t start, const struct history_code *history_code)
{
	const struct kept_module *module = context;
	const struct kept_code code = {
		.start = start,
		.bias = history_code->bias,
		.read_ns = history_code->read_ns,
		.name = history_code->name,
		.name_bytes = (uint32_t)strlen(history_code->name),
		.module = module->id,
		.size = history_code->size,
		.machine = history_code->machine,
		.is_cut = history_code->is_cut,
	};
	symbols_keep_code(module->symbols, &code, history_code->bytes);
	return 0;
}

static int add_module(struct recorder *recorder, uint32_t module, struct module_id *id)
{
	const struct history_module_facts facts = history_module(recorder->history, module);
	struct module_row row = {
		.kind = facts.kind,
		.pid = facts.pid,
		.started_ns = facts.started_ns,
		.identity = facts.identity,
	};
	for (size_t i = 0; i < recorder->modules.nr; i++) {
		const struct known_module *known = &recorder->modules.items[i];
		*id = known->id;
		if (known->module == module)
			return 0;
	}
	int result = vec_reserve(&recorder->modules, recorder->modules.nr + 1);
	if (!result)
		result = add_string(recorder, facts.path, &row.path);
	if (!result)
		result = tables_add_module(recorder->rows, &row, id);
	if (result)
		return result;
	recorder->modules.items[recorder->modules.nr++] = (struct known_module){module, *id};
	symbols_set_module(recorder->names, *id, &facts.names);
	struct kept_module kept = {&recorder->symbols, *id};
	return history_each_code(recorder->history, module, keep_code, &kept);
}

static int name_frame(struct recorder *recorder, const struct history_frame *frame,
		      struct frame_id id)
{
	const struct history *history = recorder->history;
	bool named = history_function_named(history, frame->function);
	if (history_function_bounded(history, frame->function))
		return symbols_set(recorder->names, id, SYMBOL_BOUNDED, NULL, NULL, frame->offset);
	return symbols_set(recorder->names, id, named ? SYMBOL_NAMED : SYMBOL_UNKNOWN,
			   named ? history_function_name(history, frame->function) : NULL,
			   named ? frame->module_name : NULL, named ? frame->offset : UINT32_MAX);
}

/* nr steps of one frame: its own, and those inlined there. */
static int set_lines(struct recorder *recorder, const struct history_frame *steps, size_t nr,
		     struct frame_id id)
{
	struct symbol_line lines[SYMBOLS_LINES_MAX];
	if (nr > SYMBOLS_LINES_MAX || (nr == 1 && !steps->line))
		return 0;
	for (size_t i = 0; i < nr; i++)
		lines[i] = (struct symbol_line){
			i ? history_function_name(recorder->history, steps[i].function) : NULL,
			steps[i].file, steps[i].line};
	return symbols_set_lines(recorder->names, id, lines, nr);
}

static int add_frame(struct recorder *recorder, const struct history_frame *frame, size_t nr,
		     struct frame_id *id)
{
	struct module_id module;
	int result = add_module(recorder, frame->module, &module);
	if (!result)
		result = tables_add_frame(recorder->rows, module, frame->address, id);
	if (result || id->index <= recorder->nr_named)
		return result;
	recorder->nr_named = id->index;
	result = name_frame(recorder, frame, *id);
	return result ? result : set_lines(recorder, frame, nr, *id);
}

/* The rows that samples of the stack refer to. -ENOSPC: the epoch is full. */
static int add_stack(struct recorder *recorder, const struct history_stack *stack,
		     struct sample *sample)
{
	struct string_id comm;
	int result = add_string(recorder, stack->comm, &comm);
	*sample = (struct sample){
		.event = 1,
		.end = (uint8_t)stack->end,
		.reason = (uint8_t)stack->reason,
	};
	if (!result)
		result = tables_add_task(recorder->rows, stack->pid, stack->tid, stack->started_ns,
					 comm, &sample->task);
	for (size_t i = 0, nr; !result && i < stack->nr_frames; i += nr) {
		nr = history_stack_steps(stack, i);
		result = add_frame(recorder, &stack->frames[i], nr, &sample->leaf);
		if (!result && i + nr < stack->nr_frames)
			result = tables_add_node(recorder->rows, sample->node, sample->leaf,
						 stack->frames[i].method, &sample->node);
	}
	return result;
}

/* ---- samples ---- */

/* What samples of a stack have in this epoch: looked for once. */
static int rows_of(struct recorder *recorder, const struct history_sample *of_selection,
		   struct sample *rows)
{
	size_t nr = (size_t)of_selection->row + 1;
	if (vec_reserve(&recorder->stacks, nr))
		return -ENOMEM;
	for (; recorder->stacks.nr < nr; recorder->stacks.nr++)
		recorder->stacks.items[recorder->stacks.nr] = (struct known_stack){0};
	struct known_stack *known = &recorder->stacks.items[of_selection->row];
	int result = 0;
	if (known->epoch != recorder->epoch)
		result = add_stack(recorder, &of_selection->stack, &known->rows);
	if (!result)
		known->epoch = recorder->epoch;
	*rows = known->rows;
	return result;
}

static int next_epoch(struct recorder *recorder)
{
	int result = flush(recorder);
	if (result)
		return result;
	close_epoch(recorder);
	return open_epoch(recorder);
}

static int record_sample(void *context, const struct history_sample *of_selection)
{
	struct recorder *recorder = context;
	struct sample sample;
	int result = rows_of(recorder, of_selection, &sample);
	if (result == -ENOSPC) {
		result = next_epoch(recorder);
		if (!result)
			result = rows_of(recorder, of_selection, &sample);
	}
	if (result)
		return result;
	sample.time_ns = of_selection->time_ns;
	sample.weight = of_selection->stack.weight;
	result = recording_add_samples(recorder->writer, &sample, 1);
	recorder->nr_samples++;
	if (!result && recorder->nr_samples - recorder->nr_flushed >= FLUSH_SAMPLES)
		result = flush(recorder);
	return result;
}

/* ---- metadata ---- */

static int add_info(void *context, const char *key, const char *value)
{
	const struct recorder *recorder = context;
	return recorder->keeps(key) ? recording_add_info(recorder->writer, key, value) : 0;
}

static int add_number(const struct recorder *recorder, const char *key, uint64_t value)
{
	char text[24];
	snprintf(text, sizeof(text), "%" PRIu64, value);
	return recording_add_info(recorder->writer, key, text);
}

static int add_event_metadata(const struct recorder *recorder)
{
	const struct history *history = recorder->history;
	const size_t event = recorder->event;
	if (event >= history_nr_events(history))
		return 0;
	int result = recording_add_info(recorder->writer, "event.asked",
					history_event_asked(history, event));
	if (!result)
		result = recording_add_info(recorder->writer, "event.opened",
					    history_event_name(history, event));
	if (!result)
		result = add_number(recorder, "event.period", history_event_period(history, event));
	if (!result)
		result = add_number(recorder, "event.frequency_hz",
				    history_event_frequency_hz(history, event));
	return result;
}

static int add_metadata(struct recorder *recorder, const struct export_request *request)
{
	const struct selection_totals totals = selection_totals(request->selection);
	int result = history_each_info(recorder->history, add_info, recorder);
	if (!result)
		result = add_event_metadata(recorder);
	if (!result)
		result = recording_add_info(recorder->writer, "excerpt", request->excerpt);
	if (!result)
		result = add_number(recorder, "duration_ns", totals.to_ns - totals.from_ns);
	return result ? result : add_number(recorder, "stats.samples", recorder->nr_samples);
}

static int record(struct recorder *recorder, const struct export_request *request)
{
	int result = open_epoch(recorder);
	if (!result)
		result = selection_each_sample(request->selection, record_sample, recorder);
	if (!result)
		result = add_metadata(recorder, request);
	if (!result)
		result = flush(recorder);
	return result;
}

int selection_recording_write(const struct export_request *request)
{
	struct recorder recorder = {
		.history = request->history,
		.keeps = request->keeps,
		.event = selection_event(request->selection),
	};
	int fd = fcntl(request->sink->fd, F_DUPFD_CLOEXEC, 0); /* the writer closes its own */
	if (fd < 0)
		return -errno;
	recorder.writer = recording_writer_new(fd);
	if (!recorder.writer) {
		close(fd);
		return -ENOMEM;
	}
	uint64_t bytes;
	int result = record(&recorder, request);
	if (result)
		recording_abandon(recorder.writer);
	else
		result = recording_finish(recorder.writer, &bytes);
	close_epoch(&recorder);
	free(recorder.modules.items);
	free(recorder.stacks.items);
	return result;
}
