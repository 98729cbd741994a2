/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/index.h>
#include <ctop/base/task_id.h>
#include <ctop/base/vec.h>
#include <ctop/module_identity.h>

#include "chrome_states.h"
#include "json.h"
#include "pieces.h"
#include "process_names.h"

/*
 * Trace events (https://docs.google.com/document/d/1CvAClvFfyA5R-PhYUmn5OOQtYMH4h6I0nSsKchNAySU), for chrome://tracing, Perfetto and what
 * else reads them: slices along time, a row for each thread and event. A slice is no call: neighbouring samples that have a function at
 * the same place of their stacks are put together, and the file says so. A sample of a clock takes the time that it stands for, up to
 * when it was taken; of other events, which take no time, a microsecond. How many samples a slice has, and what they stand for, are its
 * arguments, exact where times are cut to fit.
 *
 * Of each row the slices that are open are kept, and nothing else.
 */

enum {
	MOMENT_NS = 1000,
	IDS_OF_AN_EVENT = 10000000, /* more than there are threads */
	LABELS_BYTES_MOST = 4 << 20,
};

/* A function that is open in a row. */
struct slice {
	uint32_t function;
	uint64_t samples, weight;
};

struct row {
	int32_t pid, tid;
	uint64_t started_ns;
	uint32_t event;
	uint64_t id;	 /* among the file's threads */
	uint64_t end_ns; /* of what is open */
	char ids[64];	 /* as its events have them, up to their time */
	size_t ids_bytes;
	struct {
		struct slice *items; /* root first */
		size_t nr, capacity;
	} slices;
};

struct chrome {
	const struct export_request *request;
	struct process_names processes;
	struct text out, scratch;
	struct {
		struct row *items;
		size_t nr, capacity;
	} rows;
	struct index rows_index;
	struct text labels; /* what events say of functions, one behind the other; */
	struct {
		struct label {
			uint32_t at, bytes;
		} * items; /* by function: where; 0 bytes: it is to be made */
		size_t nr, capacity;
	} label_of;
};

/* ---- events of the file ---- */

static void begin_event(struct chrome *chrome, const struct row *row, char phase, uint64_t time_ns)
{
	const uint64_t of_us = time_ns % 1000;
	const char end[] = {'.', (char)('0' + of_us / 100), (char)('0' + of_us / 10 % 10),
			    (char)('0' + of_us % 10)};
	text_add(&chrome->out, phase == 'B' ? ",\n{\"ph\":\"B\"," : ",\n{\"ph\":\"E\",");
	text_add_bytes(&chrome->out, row->ids, row->ids_bytes);
	json_add_number(&chrome->out, time_ns / 1000);
	text_add_bytes(&chrome->out, end, sizeof(end));
}

static void add_name(struct chrome *chrome, struct text *text, const char *key,
		     const char *untrusted)
{
	text_addf(text, ",\"%s\":", key);
	json_add_name(text, &chrome->scratch, untrusted);
}

static void add_metadata(struct chrome *chrome, const struct row *row, const char *what,
			 const char *name)
{
	text_addf(&chrome->out,
		  ",\n{\"ph\":\"M\",\"pid\":%" PRId32 ",\"tid\":%" PRIu64
		  ",\"name\":\"%s\",\"args\":{\"name\":",
		  row->pid, row->id, what);
	json_add_name(&chrome->out, &chrome->scratch, name);
	text_add(&chrome->out, "}}");
}

/* Functions are few, and their events many: what these say of them is made once, as long as there is room for all. */
static const struct label *label_of(struct chrome *chrome, uint32_t function)
{
	const struct history *history = chrome->request->history;
	const size_t nr = (size_t)function + 1;
	if (vec_reserve(&chrome->label_of, nr))
		return NULL;
	for (; chrome->label_of.nr < nr; chrome->label_of.nr++)
		chrome->label_of.items[chrome->label_of.nr] = (struct label){0};
	struct label *label = &chrome->label_of.items[function];
	if (label->bytes)
		return label;
	if (chrome->labels.size > LABELS_BYTES_MOST) {
		text_clear(&chrome->labels);
		memset(chrome->label_of.items, 0, chrome->label_of.nr * sizeof(*label));
	}
	label->at = (uint32_t)chrome->labels.size;
	add_name(chrome, &chrome->labels, "name",
		 history_function_marked_name(history, (struct function_id){function}));
	add_name(chrome, &chrome->labels, "cat",
		 history_function_module(history, (struct function_id){function}));
	label->bytes = (uint32_t)chrome->labels.size - label->at;
	return label;
}

static int open_slice(struct chrome *chrome, const struct row *row, uint64_t time_ns)
{
	const uint32_t function = row->slices.items[row->slices.nr - 1].function;
	begin_event(chrome, row, 'B', time_ns);
	if (function == UINT32_MAX) {
		text_add(&chrome->out, ",\"name\":\"[unknown]\",\"cat\":\"\"}");
		return 0;
	}
	const struct label *label = label_of(chrome, function);
	if (!label || chrome->labels.failed)
		return -ENOMEM;
	text_add_bytes(&chrome->out, chrome->labels.bytes + label->at, label->bytes);
	text_add(&chrome->out, "}");
	return 0;
}

static void close_slices(struct chrome *chrome, struct row *row, size_t left)
{
	while (row->slices.nr > left) {
		const struct slice *slice = &row->slices.items[--row->slices.nr];
		begin_event(chrome, row, 'E', row->end_ns);
		text_add(&chrome->out, ",\"args\":{\"samples\":");
		json_add_number(&chrome->out, slice->samples);
		text_add(&chrome->out, ",\"weight\":");
		json_add_number(&chrome->out, slice->weight);
		text_add(&chrome->out, "}}");
	}
}

/* ---- rows ---- */

static void name_row(struct chrome *chrome, const struct row *row,
		     const struct history_stack *stack)
{
	const struct history *history = chrome->request->history;
	struct text name = {0};
	task_name_add(&name, stack->comm, stack->tid);
	if (history_nr_events(history) > 1)
		text_addf(&name, ", %s", history_event_name(history, stack->event));
	chrome->out.failed |= name.failed;
	add_metadata(chrome, row, "thread_name", text_string(&name));
	add_metadata(chrome, row, "process_name", process_names_of(&chrome->processes, stack));
	text_release(&name);
}

static struct row *find_row(struct chrome *chrome, const struct history_stack *stack)
{
	const uint64_t hash =
		hash_two((uint64_t)(uint32_t)stack->pid << 32 | (uint32_t)stack->tid, stack->event);
	struct index_probe probe = index_find(&chrome->rows_index, hash);
	uint32_t number;
	while (index_next(&chrome->rows_index, &probe, &number)) {
		struct row *row = &chrome->rows.items[number];
		if (row->pid == stack->pid && row->tid == stack->tid &&
		    row->event == stack->event &&
		    (row->started_ns == stack->started_ns ||
		     process_start_same(row->started_ns, stack->started_ns)))
			return row;
	}
	if (vec_reserve(&chrome->rows, chrome->rows.nr + 1) || index_reserve(&chrome->rows_index))
		return NULL;
	index_add(&chrome->rows_index, hash, (uint32_t)chrome->rows.nr);
	struct row *row = &chrome->rows.items[chrome->rows.nr++];
	*row = (struct row){
		.pid = stack->pid,
		.tid = stack->tid,
		.started_ns = stack->started_ns,
		.event = stack->event,
		/* The first event's rows have their threads' own ids. */
		.id = (uint64_t)stack->event * IDS_OF_AN_EVENT + (uint32_t)stack->tid,
	};
	row->ids_bytes = (size_t)snprintf(
		row->ids, sizeof(row->ids),
		"\"pid\":%" PRId32 ",\"tid\":%" PRIu64 ",\"ts\":", row->pid, row->id);
	name_row(chrome, row, stack);
	return row;
}

/* How many of the open slices the stack has as well. */
static size_t shared_slices(const struct row *row, const struct history_stack *stack)
{
	size_t nr = 0;
	while (nr < row->slices.nr && nr < stack->nr_frames &&
	       row->slices.items[nr].function == stack->frames[nr].function.index)
		nr++;
	return nr;
}

static int put_stack(struct chrome *chrome, struct row *row, const struct history_stack *stack,
		     uint64_t from_ns)
{
	static const struct history_frame nothing = {.function = {UINT32_MAX}};
	const struct history_frame *frames = stack->nr_frames ? stack->frames : &nothing;
	const size_t nr = stack->nr_frames ? stack->nr_frames : 1;
	if (vec_reserve(&row->slices, nr))
		return -ENOMEM;
	int result = 0;
	for (size_t i = row->slices.nr; !result && i < nr; i++) {
		row->slices.items[row->slices.nr++] =
			(struct slice){.function = frames[i].function.index};
		result = open_slice(chrome, row, from_ns);
	}
	for (size_t i = 0; i < row->slices.nr; i++) {
		row->slices.items[i].samples += stack->samples;
		row->slices.items[i].weight += stack->weight;
	}
	return result;
}

static int add_sample(void *context, const struct history_sample *sample)
{
	struct chrome *chrome = context;
	const struct history_stack *stack = &sample->stack;
	struct row *row = find_row(chrome, stack);
	if (!row)
		return -ENOMEM;
	const bool is_time =
		history_event_unit(chrome->request->history, stack->event) == WEIGHT_NS;
	const uint64_t takes_ns = is_time ? stack->weight : MOMENT_NS;
	uint64_t from_ns = sample->time_ns > takes_ns ? sample->time_ns - takes_ns : 0;
	uint64_t to_ns = sample->time_ns;
	if (!is_time) {
		from_ns = sample->time_ns;
		to_ns = from_ns + takes_ns;
	}
	/* A timer is late now and then: less than half a sample is no gap. */
	const bool goes_on = is_time && row->end_ns && from_ns <= row->end_ns + takes_ns / 2;
	close_slices(chrome, row, goes_on ? shared_slices(row, stack) : 0);
	if (goes_on || from_ns < row->end_ns)
		from_ns = row->end_ns;
	int result = put_stack(chrome, row, stack, from_ns);
	row->end_ns = to_ns > from_ns ? to_ns : from_ns;
	return result ? result : pieces_offer(chrome->request->sink, &chrome->out);
}

/* ---- all of it ---- */

static void write_head(struct chrome *chrome)
{
	const char *command = history_info(chrome->request->history, "command_line");
	text_add(&chrome->out,
		 "{\"displayTimeUnit\":\"ns\",\"otherData\":{\"note\":\"Slices are samples put "
		 "together, not calls: "
		 "a function may have returned and been called again between two of them.\"");
	add_name(chrome, &chrome->out, "writer", "ctop " CTOP_VERSION);
	add_name(chrome, &chrome->out, "command line", command ? command : "");
	/* An event that says nothing, so that a comma may stand in front of all others. */
	text_add(&chrome->out,
		 "},\n\"traceEvents\":[\n{\"ph\":\"M\",\"pid\":0,\"tid\":0,\"name\":\"trace_name\","
		 "\"args\":{\"name\":\"ctop\"}}");
}

static int write_all(struct chrome *chrome)
{
	write_head(chrome);
	int result = pieces_each_sample(chrome->request, add_sample, chrome);
	for (size_t i = 0; !result && i < chrome->rows.nr; i++)
		close_slices(chrome, &chrome->rows.items[i], 0);
	if (!result)
		result = chrome_add_states(chrome->request, &chrome->out);
	text_add(&chrome->out, "\n]}\n");
	return result ? result : pieces_flush(chrome->request->sink, &chrome->out);
}

int chrome_write(const struct export_request *request)
{
	struct chrome chrome = {.request = request};
	int result = process_names_take(&chrome.processes, request->selection);
	if (!result)
		result = write_all(&chrome);
	for (size_t i = 0; i < chrome.rows.nr; i++)
		free(chrome.rows.items[i].slices.items);
	free(chrome.rows.items);
	index_release(&chrome.rows_index);
	process_names_release(&chrome.processes);
	text_release(&chrome.out);
	text_release(&chrome.scratch);
	text_release(&chrome.labels);
	free(chrome.label_of.items);
	return result;
}
