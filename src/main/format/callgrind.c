/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/base/task_id.h>

#include "file_numbers.h"
#include "pieces.h"
#include "tracks.h"

/*
 * Callgrind's format (https://valgrind.org/docs/manual/cl-format.html): what each function costs itself, by address, and what its calls of
 * others cost, by the address of the call. Every event is a column. Each thread is a function that calls the roots of its stacks, so that
 * a function's inclusive cost is the sum of the calls of it.
 *
 * A sample counts once for each function of its stack: where that is there already, the inner call costs nothing, and a function that
 * calls itself is one call. How often functions were called is not known; the number of calls is that of samples.
 *
 * A function's file is that of its hottest line; costs elsewhere say so. Where no line is known, the module stands in the file's place,
 * which keeps functions of one name apart.
 */

#define IS_TRACK  (UINT32_C(1) << 31)
#define NO_CALLEE UINT32_MAX

/* A part of a function's cost: its own at an address, or of a call there. */
struct cost {
	uint32_t function; /* or a track, with IS_TRACK */
	uint32_t callee;
	uint64_t address;
	const char *file; /* borrowed; NULL: the function's */
	uint32_t line;	  /* 0: not known */
	uint32_t event;
	uint64_t weight, samples;
};

struct writing {
	const struct export_request *request;
	struct tracks tracks;
	struct text out;
	struct {
		struct cost *items;
		size_t nr, capacity;
	} costs;
	struct index costs_index;
	struct {
		struct seen {
			uint32_t sample_plus_1; /* the last one that it was found in */
			uint32_t module;
			bool named; /* in the file */
		} * items;	    /* by function */
		size_t nr, capacity;
	} functions;
	struct selection_lines hottest; /* by function */
	struct {
		bool *items; /* by module: is named in the file */
		size_t nr, capacity;
	} modules;
	struct file_numbers files;
	struct {
		uint32_t *items; /* of the stack in hand, leaf first */
		size_t nr, capacity;
	} path;
	uint64_t *totals;  /* by event */
	uint32_t *columns; /* by event: its column; events without samples have none */
	uint32_t nr_columns;
};

/* ---- costs ---- */

static bool is_same_place(const struct cost *a, const struct cost *b)
{
	return a->function == b->function && a->callee == b->callee && a->address == b->address &&
	       a->file == b->file && a->line == b->line;
}

static int add_cost(struct writing *writing, struct cost cost)
{
	const uint64_t hash =
		hash_two(hash_two((uint64_t)cost.function << 32 | cost.callee, cost.address),
			 hash_two((uint64_t)cost.event << 32 | cost.line, (uintptr_t)cost.file));
	struct index_probe probe = index_find(&writing->costs_index, hash);
	uint32_t row;
	while (index_next(&writing->costs_index, &probe, &row)) {
		struct cost *known = &writing->costs.items[row];
		if (!is_same_place(known, &cost) || known->event != cost.event)
			continue;
		known->weight += cost.weight;
		known->samples += cost.samples;
		return 0;
	}
	if (vec_reserve(&writing->costs, writing->costs.nr + 1) ||
	    index_reserve(&writing->costs_index))
		return -ENOMEM;
	index_add(&writing->costs_index, hash, (uint32_t)writing->costs.nr);
	writing->costs.items[writing->costs.nr++] = cost;
	return 0;
}

/* Whether the sample's stack has had the function already. */
static int see(struct writing *writing, const struct track_frame *frame, uint32_t sample,
	       bool *again)
{
	const uint32_t function = frame->function.index;
	if (vec_reserve(&writing->functions, (size_t)function + 1))
		return -ENOMEM;
	for (; writing->functions.nr <= function; writing->functions.nr++)
		writing->functions.items[writing->functions.nr] = (struct seen){0};
	*again = writing->functions.items[function].sample_plus_1 == sample + 1;
	writing->functions.items[function].sample_plus_1 = sample + 1;
	writing->functions.items[function].module = frame->module;
	return 0;
}

/* NULL: not known. */
static const char *file_of(const struct writing *writing, uint32_t function)
{
	const struct selection_lines *hottest = &writing->hottest;
	return function < hottest->nr ? hottest->items[function].file : NULL;
}

static int take_path(struct writing *writing, uint32_t node)
{
	const struct tracks *tracks = &writing->tracks;
	writing->path.nr = 0;
	for (; node; node = tracks->nodes.items[node].parent) {
		if (vec_reserve(&writing->path, writing->path.nr + 1))
			return -ENOMEM;
		writing->path.items[writing->path.nr++] = tracks->nodes.items[node].frame;
	}
	return 0;
}

static int count_sample(struct writing *writing, uint32_t track, uint32_t number)
{
	const struct tracks *tracks = &writing->tracks;
	const struct track_sample *sample = &tracks->samples.items[number];
	struct cost cost = {
		.function = IS_TRACK | track,
		.event = tracks->tracks.items[track].event,
		.weight = sample->weight,
		.samples = sample->samples,
	};
	int result = take_path(writing, sample->node);
	for (size_t i = writing->path.nr; !result && i-- > 0;) {
		const struct track_frame *frame = &tracks->frames.items[writing->path.items[i]];
		bool again = false;
		result = see(writing, frame, number, &again);
		cost.callee = frame->function.index;
		cost.weight = again ? 0 : sample->weight;
		if (!result && cost.callee != cost.function)
			result = add_cost(writing, cost);
		cost.function = frame->function.index;
		cost.address = frame->address;
		cost.line = frame->line;
		cost.file = frame->file == file_of(writing, cost.function) ? NULL : frame->file;
		if (!frame->line)
			cost.file = NULL;
	}
	cost.callee = NO_CALLEE;
	cost.weight = sample->weight;
	return result ? result : add_cost(writing, cost);
}

static int count_all(struct writing *writing)
{
	const struct tracks *tracks = &writing->tracks;
	int result = 0;
	for (uint32_t i = 0; !result && i < tracks->tracks.nr; i++) {
		const struct track *track = &tracks->tracks.items[i];
		writing->totals[track->event] += track->weight;
		writing->columns[track->event] = true; /* for now: it has one */
		for (uint32_t j = 0; !result && j < track->nr; j++)
			result = count_sample(writing, i, tracks->order[track->first + j]);
	}
	return result;
}

static int compare(const void *left, const void *right)
{
	const struct cost *a = left, *b = right;
	if (a->function != b->function)
		return a->function < b->function ? -1 : 1;
	if (a->callee != b->callee)
		return a->callee > b->callee ? -1 : 1; /* its own first */
	if (a->file != b->file)
		return !a->file || (b->file && strcmp(a->file, b->file) < 0) ? -1 : 1;
	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	if (a->line != b->line)
		return a->line < b->line ? -1 : 1;
	return (a->event > b->event) - (a->event < b->event);
}

/* ---- text ---- */

static const char *path_of(const struct writing *writing, uint32_t module)
{
	const char *path = history_module(writing->request->history, module).path;
	return *path ? path : "[unknown]";
}

/* The number of a name, with the name where it comes for the first time. */
static void add_name(struct writing *writing, const char *key, uint32_t number, const char *name,
		     bool *named)
{
	text_addf(&writing->out, "%s=(%" PRIu32 ")", key, number + 1);
	if (!*named) {
		text_add(&writing->out, " ");
		text_add_safe(&writing->out, name);
	}
	*named = true;
	text_add(&writing->out, "\n");
}

static int add_object(struct writing *writing, const char *key, uint32_t module)
{
	if (vec_reserve(&writing->modules, (size_t)module + 1))
		return -ENOMEM;
	for (; writing->modules.nr <= module; writing->modules.nr++)
		writing->modules.items[writing->modules.nr] = false;
	add_name(writing, key, module, path_of(writing, module), &writing->modules.items[module]);
	return 0;
}

static int add_file(struct writing *writing, const char *key, const char *file)
{
	uint32_t number;
	bool named = file_numbers_find(&writing->files, file, &number);
	if (!named && file_numbers_add(&writing->files, file, &number))
		return -ENOMEM;
	add_name(writing, key, number, file, &named);
	return 0;
}

/* Where it has no lines, its module. */
static int add_own_file(struct writing *writing, const char *key, uint32_t function)
{
	const char *file = file_of(writing, function);
	const uint32_t module = writing->functions.items[function].module;
	return add_file(writing, key, file ? file : path_of(writing, module));
}

static int add_function(struct writing *writing, bool is_callee, uint32_t function)
{
	struct seen *seen = &writing->functions.items[function];
	const struct function_id id = {function};
	int result = add_object(writing, is_callee ? "cob" : "ob", seen->module);
	if (!result)
		result = add_own_file(writing, is_callee ? "cfi" : "fl", function);
	add_name(writing, is_callee ? "cfn" : "fn", function,
		 history_function_marked_name(writing->request->history, id), &seen->named);
	return result;
}

static void add_thread(struct writing *writing, uint32_t number)
{
	const struct track *track = &writing->tracks.tracks.items[number];
	text_addf(&writing->out, "ob=[threads]\nfl=[threads]\nfn=");
	text_add_safe(&writing->out, track->comm);
	text_add(&writing->out, " [");
	task_id_add(&writing->out, track->tid);
	text_add(&writing->out, "]");
	if (track->pid != track->tid) {
		text_add(&writing->out, " of ");
		text_add_safe(&writing->out, track->process);
		text_addf(&writing->out, " [%" PRId32 "]", track->pid);
	}
	text_add(&writing->out, "\n");
}

/* One line for what differs only in its event; returns how many those are. */
static size_t add_costs(struct writing *writing, size_t first)
{
	const struct cost *costs = &writing->costs.items[first];
	size_t nr = 0;
	uint32_t column = 0;
	uint64_t samples = 0;
	while (first + nr < writing->costs.nr && is_same_place(&costs[nr], costs))
		samples += costs[nr++].samples;
	if (costs->callee != NO_CALLEE)
		text_addf(&writing->out, "calls=%" PRIu64 " 0 0\n", samples);
	text_addf(&writing->out, "0x%" PRIx64 " %" PRIu32, costs->address, costs->line);
	for (size_t i = 0; i < nr; i++) {
		for (; column < writing->columns[costs[i].event]; column++)
			text_add(&writing->out, " 0");
		text_addf(&writing->out, " %" PRIu64, costs[i].weight);
		column++;
	}
	text_add(&writing->out, "\n");
	return nr;
}

static int write_costs(struct writing *writing)
{
	uint32_t function = NO_CALLEE;
	const char *file = NULL; /* the function's */
	int result = 0;
	for (size_t i = 0; !result && i < writing->costs.nr;) {
		const struct cost *cost = &writing->costs.items[i];
		if (cost->function != function) {
			function = cost->function;
			file = NULL;
			text_add(&writing->out, "\n");
			if (function & IS_TRACK)
				add_thread(writing, function & ~IS_TRACK);
			else
				result = add_function(writing, false, function);
		}
		if (!result && cost->file != file)
			result = cost->file ? add_file(writing, "fi", cost->file)
					    : add_own_file(writing, "fe", function);
		file = cost->file;
		if (!result && cost->callee != NO_CALLEE)
			result = add_function(writing, true, cost->callee);
		i += add_costs(writing, i);
		if (!result)
			result = pieces_offer(writing->request->sink, &writing->out);
	}
	return result;
}

/* ---- the head ---- */

/* One word, of what events are made of as a rule. */
static void add_event(struct writing *writing, size_t event)
{
	const char *name = history_event_name(writing->request->history, event);
	if (!*name)
		text_add(&writing->out, "event");
	for (; *name; name++) {
		const bool is_plain = isalnum((unsigned char)*name) || strchr("_-:.", *name);
		text_add_bytes(&writing->out, is_plain ? name : "_", 1);
	}
}

static void add_fact(struct writing *writing, const char *label, const char *key)
{
	const char *value = history_info(writing->request->history, key);
	if (!value)
		return;
	text_add(&writing->out, label);
	text_add_safe(&writing->out, value);
	text_add(&writing->out, "\n");
}

static void write_head(struct writing *writing)
{
	const struct history *history = writing->request->history;
	const size_t nr = history_nr_events(history);
	struct text summary = {0};
	text_add(&writing->out, "# callgrind format\nversion: 1\ncreator: ctop " CTOP_VERSION "\n");
	add_fact(writing, "cmd: ", "command_line");
	add_fact(writing, "desc: Host: ", "hostname");
	text_add(&writing->out, "positions: instr line\nevents:");
	for (size_t i = 0; i < nr; i++) {
		if (!writing->columns[i])
			continue;
		writing->columns[i] = writing->nr_columns++;
		text_add(&writing->out, " ");
		add_event(writing, i);
		text_addf(&summary, " %" PRIu64, writing->totals[i]);
	}
	writing->out.failed |= summary.failed;
	text_addf(&writing->out, "\nsummary:%s\n", text_string(&summary));
	text_release(&summary);
}

static int write_all(struct writing *writing)
{
	const size_t nr = history_nr_events(writing->request->history) + 1;
	writing->totals = calloc(nr, sizeof(*writing->totals));
	writing->columns = calloc(nr, sizeof(*writing->columns));
	if (!writing->totals || !writing->columns)
		return -ENOMEM;
	int result = selection_hottest_lines(writing->request->selection, &writing->hottest);
	if (!result)
		result = count_all(writing);
	if (result)
		return result;
	if (writing->costs.nr)
		qsort(writing->costs.items, writing->costs.nr, sizeof(struct cost), compare);
	write_head(writing);
	result = write_costs(writing);
	return result ? result : pieces_flush(writing->request->sink, &writing->out);
}

int callgrind_write(const struct export_request *request)
{
	struct writing writing = {.request = request};
	int result = tracks_take(&writing.tracks, request, TRACKS_OF_STACKS);
	if (!result)
		result = write_all(&writing);
	tracks_release(&writing.tracks);
	text_release(&writing.out);
	free(writing.costs.items);
	index_release(&writing.costs_index);
	free(writing.functions.items);
	free(writing.hottest.items);
	free(writing.modules.items);
	file_numbers_release(&writing.files);
	free(writing.path.items);
	free(writing.totals);
	free(writing.columns);
	return result;
}
