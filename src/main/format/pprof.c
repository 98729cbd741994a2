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
#include <ctop/base/text.h>
#include <ctop/base/vec.h>

#include "gzip.h"
#include "pieces.h"
#include "pprof_tables.h"
#include "process_names.h"
#include "protobuf.h"

/*
 * A pprof profile (https://github.com/google/pprof/blob/main/proto/profile.proto), compressed. Every event is a value of each
 * sample, in its own unit, and has its number of samples beside it. A sample of ours is a distinct (event, thread, stack, CPU), or
 * without the CPU where single samples were not kept.
 *
 * A location is a look-up address (ids.h), as pprof wants it: of a caller, inside the call. It is that of the ELF file. For pprof a
 * mapping of everything, from 0 on, says just that ("the address has already been adjusted"), and with the file's build-id pprof finds
 * names and lines of its own; it does so for mappings that do not claim to have functions: those of which we lack some name. Functions
 * that were inlined are lines of the location of the one that they are in.
 *
 * A message's fields may stand in any order, so that a sample follows what it refers to.
 */

enum value_type_field { VALUE_TYPE = 1, VALUE_UNIT = 2 };
enum sample_field { SAMPLE_LOCATIONS = 1, SAMPLE_VALUES = 2, SAMPLE_LABEL = 3 };
enum label_field { LABEL_KEY = 1, LABEL_STRING = 2 };
enum { PIECE_BYTES = 1 << 16, CPU_UNKNOWN = -1 };

/* Samples of one row on one CPU. */
struct part {
	uint32_t row, cpu;
	uint64_t samples, weight;
};

/* Keys of labels, which come again and again. */
enum word { WORD_PID, WORD_TID, WORD_COMM, WORD_THREAD_COMM, WORD_CPU, WORD_STACK_END, NR_WORDS };
static const char *const words[NR_WORDS] = {"pid",	   "tid", "comm",
					    "thread_comm", "cpu", "stack_end"};

/* Of all samples of a run; ids of strings. */
struct run_label {
	uint32_t run, key, value;
};

struct profile {
	const struct export_request *request;
	struct gzip *gzip;
	struct buffer out, message, inner, path; /* out: not compressed yet */
	struct pprof_tables tables;
	struct text name; /* scratch */
	struct {
		struct part *items;
		size_t nr, capacity;
	} parts;
	struct index parts_index;
	struct process_names processes;
	struct {
		uint32_t
			*items; /* by event: 1 + its place among the values; 0: it has no samples */
		size_t nr, capacity;
	} values;
	uint32_t nr_values;
	uint32_t words[NR_WORDS]; /* ids of their strings */
	struct {
		struct run_label *items; /* by run */
		size_t nr, capacity;
	} run_labels;
};

/* Hands over what was added, once there is enough of it. */
static int offer(struct profile *profile, size_t enough)
{
	struct buffer *out = &profile->out;
	if (profile->message.failed || pprof_tables_failed(&profile->tables))
		return -ENOMEM;
	if (out->size < enough || !out->size)
		return 0;
	int result = gzip_add(profile->gzip, out->bytes, out->size);
	out->size = 0;
	return result;
}

/* ---- samples ---- */

static void add_label(struct profile *profile, uint32_t key, uint32_t value)
{
	put_number(&profile->inner, LABEL_KEY, key);
	put_number(&profile->inner, LABEL_STRING, value);
	put_message(&profile->message, SAMPLE_LABEL, &profile->inner);
}

/* As a string: pprof takes a label whose number is 0, as CPU 0's, for none. */
static int add_number_label(struct profile *profile, uint32_t key, int64_t number)
{
	char digits[24];
	uint32_t value;
	snprintf(digits, sizeof(digits), "%" PRId64, number);
	int result = pprof_add_string(&profile->tables, digits, &value);
	if (!result)
		add_label(profile, key, value);
	return result;
}

static int add_untrusted_label(struct profile *profile, uint32_t key, const char *string)
{
	uint32_t value;
	int result = pprof_add_untrusted(&profile->tables, string, &value);
	if (!result)
		add_label(profile, key, value);
	return result;
}

static void add_run_labels(struct profile *profile, uint32_t run)
{
	const struct run_label *items = profile->run_labels.items;
	size_t low = 0, high = profile->run_labels.nr;
	while (low < high) {
		const size_t middle = (low + high) / 2;
		if (items[middle].run < run)
			low = middle + 1;
		else
			high = middle;
	}
	for (; low < profile->run_labels.nr && items[low].run == run; low++)
		add_label(profile, items[low].key, items[low].value);
}

static int add_thread_name(struct profile *profile, const struct history_stack *stack)
{
	text_clear(&profile->name);
	task_name_add(&profile->name, stack->comm, stack->tid);
	return profile->name.failed ? -ENOMEM
				    : add_untrusted_label(profile, profile->words[WORD_THREAD_COMM],
							  text_string(&profile->name));
}

static int add_labels(struct profile *profile, const struct history_stack *stack, int64_t cpu)
{
	add_run_labels(profile, stack->run);
	int result = add_number_label(profile, profile->words[WORD_PID], stack->pid);
	if (!result)
		result = add_number_label(profile, profile->words[WORD_TID], stack->tid);
	if (!result)
		result = add_untrusted_label(profile, profile->words[WORD_COMM],
					     process_names_of(&profile->processes, stack));
	if (!result)
		result = add_thread_name(profile, stack);
	if (!result && cpu != CPU_UNKNOWN)
		result = add_number_label(profile, profile->words[WORD_CPU], cpu);
	if (!result && stack->end != STACK_COMPLETE && stack->end != STACK_KERNEL_ONLY)
		result = add_untrusted_label(profile, profile->words[WORD_STACK_END],
					     stack_end_name(stack->end));
	return result;
}

static int write_sample(struct profile *profile, const struct history_stack *stack, int64_t cpu)
{
	int result = 0;
	for (size_t i = stack->nr_frames, nr = 1; !result && i-- > 0; nr++) {
		uint64_t id;
		if (stack->frames[i].inlined)
			continue;
		result = pprof_add_location(&profile->tables, &stack->frames[i], nr, &id);
		put_varint(&profile->path, id);
		nr = 0;
	}
	if (!result && !stack->nr_frames) {
		uint64_t id;
		result = pprof_add_no_frames(&profile->tables, &id);
		put_varint(&profile->path, id);
	}
	put_message(&profile->message, SAMPLE_LOCATIONS, &profile->path);
	const uint32_t place = profile->values.items[stack->event] - 1;
	for (uint32_t i = 0; i < profile->nr_values; i++) {
		put_varint(&profile->inner, i == place ? stack->samples : 0);
		put_varint(&profile->inner, i == place ? stack->weight : 0);
	}
	put_message(&profile->message, SAMPLE_VALUES, &profile->inner);
	if (!result)
		result = add_labels(profile, stack, cpu);
	put_message(&profile->out, PROFILE_SAMPLE, &profile->message);
	return result ? result : offer(profile, PIECE_BYTES);
}

static int write_stack(void *context, const struct history_stack *stack)
{
	return write_sample(context, stack, CPU_UNKNOWN);
}

static struct part *find_part(struct profile *profile, uint32_t row, uint32_t cpu)
{
	struct index_probe probe = index_find(&profile->parts_index, hash_two(row, cpu));
	uint32_t number;
	while (index_next(&profile->parts_index, &probe, &number)) {
		struct part *part = &profile->parts.items[number];
		if (part->row == row && part->cpu == cpu)
			return part;
	}
	return NULL;
}

static int count_sample(void *context, const struct history_sample *sample)
{
	struct profile *profile = context;
	struct part *part = find_part(profile, sample->row, sample->cpu);
	if (!part) {
		if (vec_reserve(&profile->parts, profile->parts.nr + 1) ||
		    index_reserve(&profile->parts_index))
			return -ENOMEM;
		index_add(&profile->parts_index, hash_two(sample->row, sample->cpu),
			  (uint32_t)profile->parts.nr);
		part = &profile->parts.items[profile->parts.nr++];
		*part = (struct part){.row = sample->row, .cpu = sample->cpu};
	}
	part->samples++;
	part->weight += sample->stack.weight;
	return 0;
}

static uint32_t row_of_part(void *context, size_t number)
{
	const struct profile *profile = context;
	return profile->parts.items[number].row;
}

static int write_part(void *context, size_t number, const struct history_stack *of_row)
{
	struct profile *profile = context;
	const struct part *part = &profile->parts.items[number];
	struct history_stack stack = *of_row;
	stack.samples = part->samples;
	stack.weight = part->weight;
	return write_sample(profile, &stack, part->cpu);
}

static int write_samples(struct profile *profile)
{
	const struct export_request *request = profile->request;
	if (!request->sink->read_again || history_totals(request->history).not_kept)
		return selection_each_stack(request->selection, write_stack, profile);
	history_give_stacks_once(request->history);
	int result = selection_each_sample(request->selection, count_sample, profile);
	return result ? result
		      : history_each_stack_of(request->history, profile->parts.nr, row_of_part,
					      write_part, profile);
}

/* ---- what there is ---- */

static int find_event(void *context, const struct history_stack *stack)
{
	struct profile *profile = context;
	profile->values.items[stack->event] = true;
	return 0;
}

/* Which events have samples; all of them, where none has. */
static int find_events(struct profile *profile)
{
	const size_t nr = history_nr_events(profile->request->history);
	if (vec_reserve(&profile->values, nr + 1))
		return -ENOMEM;
	memset(profile->values.items, 0, (nr + 1) * sizeof(*profile->values.items));
	profile->values.nr = nr;
	int result = 0;
	if (nr > 1)
		result = selection_each_stack(profile->request->selection, find_event, profile);
	bool some = false;
	for (size_t i = 0; i < nr; i++)
		some |= profile->values.items[i] != 0;
	for (size_t i = 0; i < nr; i++)
		if (profile->values.items[i] || !some)
			profile->values.items[i] = ++profile->nr_values;
	return result;
}

/* ---- the head ---- */

static int add_type(struct profile *profile, enum profile_field field, const char *type,
		    const char *unit)
{
	uint32_t type_id, unit_id;
	int result = pprof_add_untrusted(&profile->tables, type, &type_id);
	if (!result)
		result = pprof_add_untrusted(&profile->tables, unit, &unit_id);
	if (result)
		return result;
	put_number(&profile->message, VALUE_TYPE, type_id);
	put_number(&profile->message, VALUE_UNIT, unit_id);
	put_message(&profile->out, field, &profile->message);
	if (field == PROFILE_PERIOD_TYPE)
		put_number(&profile->out, PROFILE_DEFAULT_TYPE, type_id);
	return 0;
}

/* "samples", as pprof's own profiles have it, or "samples:EVENT" of one of several. */
static int add_samples_type(struct profile *profile, const char *event)
{
	struct text name = {0};
	text_add(&name, "samples");
	if (profile->nr_values > 1)
		text_addf(&name, ":%s", event);
	int result = name.failed
			     ? -ENOMEM
			     : add_type(profile, PROFILE_SAMPLE_TYPE, text_string(&name), "count");
	text_release(&name);
	return result;
}

static int add_period(struct profile *profile, size_t event, const char *name, const char *unit)
{
	const struct history *history = profile->request->history;
	const uint64_t hz = history_event_frequency_hz(history, event);
	uint64_t period = history_event_period(history, event);
	if (!period && hz && history_event_unit(history, event) == WEIGHT_NS)
		period = NS_PER_SECOND / hz;
	put_number(&profile->out, PROFILE_PERIOD, period);
	return add_type(profile, PROFILE_PERIOD_TYPE, name, unit);
}

static int write_types(struct profile *profile)
{
	const struct history *history = profile->request->history;
	int result = 0;
	for (size_t i = 0; !result && i < profile->values.nr; i++) {
		if (!profile->values.items[i])
			continue;
		const char *name = history_event_name(history, i);
		const enum weight_unit unit = history_event_unit(history, i);
		const char *unit_name =
			unit == WEIGHT_NS ? "nanoseconds" : weight_unit_name(unit, 2);
		result = add_samples_type(profile, name);
		if (!result)
			result = add_type(profile, PROFILE_SAMPLE_TYPE, name, unit_name);
		if (!result && profile->values.items[i] == 1)
			result = add_period(profile, i, name, unit_name);
	}
	return result;
}

static int add_comment(struct profile *profile, const char *label, const char *value)
{
	struct text line = {0};
	uint32_t id;
	text_addf(&line, "%s: %s", label, value);
	int result = line.failed ? -ENOMEM
				 : pprof_add_untrusted(&profile->tables, text_string(&line), &id);
	text_release(&line);
	if (!result)
		put_number(&profile->out, PROFILE_COMMENT, id);
	return result;
}

static int add_fact(struct profile *profile, const char *label, const char *key)
{
	const char *value = history_info(profile->request->history, key);
	return value && *value && strcmp(value, "0") != 0 ? add_comment(profile, label, value) : 0;
}

/* Whether ctop has a label of that key itself. */
static bool is_word(const char *key)
{
	for (size_t i = 0; i < NR_WORDS; i++)
		if (!strcmp(key, words[i]))
			return true;
	return false;
}

/* What was said of a run: a comment of the only one, and a label of all its samples. */
static int add_run_label(void *context, uint32_t run, const char *key, const char *value)
{
	struct profile *profile = context;
	struct run_label label = {.run = run};
	struct text comment = {0}, own_key = {0};
	if (vec_reserve(&profile->run_labels, profile->run_labels.nr + 1))
		return -ENOMEM;
	text_addf(&own_key, "%s%s", is_word(key) ? "label." : "", key);
	int result = own_key.failed ? -ENOMEM
				    : pprof_add_untrusted(&profile->tables, text_string(&own_key),
							  &label.key);
	text_release(&own_key);
	if (!result)
		result = pprof_add_untrusted(&profile->tables, value, &label.value);
	text_addf(&comment, "label %.*s", HISTORY_LABEL_MAX, key);
	if (!result && !run)
		result = comment.failed ? -ENOMEM
					: add_comment(profile, text_string(&comment), value);
	text_release(&comment);
	if (!result)
		profile->run_labels.items[profile->run_labels.nr++] = label;
	return result;
}

static int compare_run_labels(const void *a, const void *b)
{
	const struct run_label *left = a, *right = b;
	int order = (left->run > right->run) - (left->run < right->run);
	return order ? order : (left->key > right->key) - (left->key < right->key);
}

static int list_run_labels(struct profile *profile)
{
	int result = history_each_label(profile->request->history, add_run_label, profile);
	if (profile->run_labels.nr)
		qsort(profile->run_labels.items, profile->run_labels.nr, sizeof(struct run_label),
		      compare_run_labels);
	return result;
}

static int write_head(struct profile *profile)
{
	static const struct {
		const char *label, *key;
	} comments[] = {
		{"command line", "command_line"},
		{"host", "hostname"},
		{"kernel", "kernel"},
		{"recorded by", "recorder"},
		{"samples lost", "stats.lost"},
		{"excerpt", "excerpt"},
	};
	uint32_t empty;
	int result = pprof_add_string(&profile->tables, "",
				      &empty); /* number 0, as the format wants it */
	for (size_t i = 0; !result && i < NR_WORDS; i++)
		result = pprof_add_string(&profile->tables, words[i], &profile->words[i]);
	if (!result)
		result = write_types(profile);
	for (size_t i = 0; !result && i < sizeof(comments) / sizeof(*comments); i++)
		result = add_fact(profile, comments[i].label, comments[i].key);
	if (!result)
		result = list_run_labels(profile);
	const struct pieces_span span = pieces_span(profile->request);
	put_number(&profile->out, PROFILE_TIME_NS, span.wall_ns);
	put_number(&profile->out, PROFILE_DURATION_NS, span.to_ns - span.from_ns);
	return result;
}

/* ---- all of it ---- */

static void release(struct profile *profile)
{
	gzip_free(profile->gzip);
	buffer_release(&profile->out);
	buffer_release(&profile->message);
	buffer_release(&profile->inner);
	buffer_release(&profile->path);
	text_release(&profile->name);
	pprof_tables_release(&profile->tables);
	free(profile->parts.items);
	process_names_release(&profile->processes);
	free(profile->values.items);
	free(profile->run_labels.items);
	index_release(&profile->parts_index);
}

int pprof_write(const struct export_request *request)
{
	struct profile profile = {.request = request, .gzip = gzip_new(request->sink)};
	profile.tables = (struct pprof_tables){.history = request->history, .out = &profile.out};
	int result = profile.gzip ? find_events(&profile) : -ENOMEM;
	if (!result)
		result = process_names_take(&profile.processes, request->selection);
	if (!result)
		result = write_head(&profile);
	if (!result)
		result = write_samples(&profile);
	if (!result)
		result = pprof_write_mappings(&profile.tables);
	if (!result)
		result = offer(&profile, 0);
	if (!result)
		result = gzip_end(profile.gzip);
	release(&profile);
	return result;
}
