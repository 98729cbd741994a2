/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "pieces.h"
#include "tracks.h"

/*
 * A table for spreadsheets and data frames (RFC 4180): a row for each function in each thread, of each event. Costs and shares may be added
 * up over threads: each sample is of one. Within a thread only self costs may, as a sample counts for all functions of its stack.
 */

/* What a function, or what else frames are grouped by, has in the thread in hand. */
struct cell {
	uint32_t track_plus_1;	/* what it says is of this one */
	uint32_t sample_plus_1; /* the last one counted, so that recursion counts once */
	uint64_t self, total, self_samples, total_samples;
};

struct table {
	const struct export_request *request;
	struct tracks tracks;
	struct text out, scratch;
	struct {
		struct cell *items; /* by function */
		size_t nr, capacity;
	} cells;
	struct {
		uint32_t *items; /* functions that have a cell of the thread in hand */
		size_t nr, capacity;
	} used;
	struct {
		uint64_t *items; /* by event: the weight of all */
		size_t nr, capacity;
	} weights;
};

/*
 * A quoted field. What a spreadsheet would take for a formula does not begin with its sign: that is spelled out, as what would harm a
 * terminal.
 */
static void add_name(struct table *table, const char *untrusted)
{
	struct text *out = &table->out, *safe = &table->scratch;
	text_clear(safe);
	if (*untrusted && strchr("=+-@", *untrusted))
		text_addf(safe, "\\x%02x", (unsigned)*untrusted++);
	text_add_safe(safe, untrusted);
	out->failed |= safe->failed;
	text_add(out, ",\"");
	for (const char *at = text_string(safe); *at;) {
		const size_t size = strcspn(at, "\"");
		text_add_bytes(out, at, size);
		at += size;
		if (*at) {
			text_add(out, "\"\"");
			at++;
		}
	}
	text_add(out, "\"");
}

/* A function's cell in the thread; NULL: out of memory. */
static struct cell *cell_of(struct table *table, uint32_t function, uint32_t track)
{
	if (vec_reserve(&table->cells, (size_t)function + 1) ||
	    vec_reserve(&table->used, table->used.nr + 1))
		return NULL;
	for (; table->cells.nr <= function; table->cells.nr++)
		table->cells.items[table->cells.nr] = (struct cell){0};
	struct cell *cell = &table->cells.items[function];
	if (cell->track_plus_1 != track + 1) {
		*cell = (struct cell){.track_plus_1 = track + 1};
		table->used.items[table->used.nr++] = function;
	}
	return cell;
}

static int count_sample(struct table *table, uint32_t track, uint32_t number)
{
	const struct tracks *tracks = &table->tracks;
	const struct track_sample *sample = &tracks->samples.items[number];
	bool is_leaf = true;
	for (uint32_t node = sample->node; node; node = tracks->nodes.items[node].parent) {
		const struct track_frame *frame =
			&tracks->frames.items[tracks->nodes.items[node].frame];
		struct cell *cell = cell_of(table, frame->function.index, track);
		if (!cell)
			return -ENOMEM;
		if (is_leaf) {
			is_leaf = false;
			cell->self += sample->weight;
			cell->self_samples += sample->samples;
		}
		if (cell->sample_plus_1 == number + 1)
			continue;
		cell->sample_plus_1 = number + 1;
		cell->total += sample->weight;
		cell->total_samples += sample->samples;
	}
	return 0;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 0;
}

static void add_row(struct table *table, const struct track *track, const char *function,
		    const char *module, const struct cell *cell)
{
	const struct history *history = table->request->history;
	const uint64_t whole = table->weights.items[track->event];
	const enum weight_unit unit = history_event_unit(history, track->event);
	text_addf(&table->out, "%" PRId32 ",%" PRId32, track->pid, track->tid);
	add_name(table, track->process);
	add_name(table, track->comm);
	add_name(table, history_event_name(history, track->event));
	text_addf(&table->out, ",%s",
		  unit == WEIGHT_NS ? "nanoseconds" : weight_unit_name(unit, 2));
	add_name(table, function);
	add_name(table, module);
	text_addf(&table->out, ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%" PRIu64 ",%.4f,%.4f\n",
		  cell->self, cell->total, cell->self_samples, cell->total_samples,
		  percent(cell->self, whole), percent(cell->total, whole));
}

static int write_track(struct table *table, uint32_t number)
{
	const struct tracks *tracks = &table->tracks;
	const struct track *track = &tracks->tracks.items[number];
	const struct history *history = table->request->history;
	struct cell frameless = {0}; /* without its row the table would not add up */
	int result = 0;
	table->used.nr = 0;
	for (uint32_t i = 0; !result && i < track->nr; i++) {
		const uint32_t sample = tracks->order[track->first + i];
		result = count_sample(table, number, sample);
		if (!tracks->samples.items[sample].node) {
			frameless.self_samples += tracks->samples.items[sample].samples;
			frameless.self += tracks->samples.items[sample].weight;
		}
	}
	for (size_t i = 0; !result && i < table->used.nr; i++) {
		const struct function_id function = {table->used.items[i]};
		/* A module has a column of its own. */
		const char *name = table->request->grouping == GROUPING_MODULE
					   ? ""
					   : history_function_marked_name(history, function);
		add_row(table, track, name, history_function_module(history, function),
			&table->cells.items[function.index]);
		result = pieces_offer(table->request->sink, &table->out);
	}
	frameless.total_samples = frameless.self_samples;
	frameless.total = frameless.self;
	if (frameless.self_samples)
		add_row(table, track, "[unknown]", "", &frameless);
	return result;
}

static int add_weights(struct table *table)
{
	const size_t nr = history_nr_events(table->request->history) + 1;
	if (vec_reserve(&table->weights, nr))
		return -ENOMEM;
	memset(table->weights.items, 0, nr * sizeof(*table->weights.items));
	for (size_t i = 0; i < table->tracks.tracks.nr; i++)
		table->weights.items[table->tracks.tracks.items[i].event] +=
			table->tracks.tracks.items[i].weight;
	return 0;
}

static int write_table(struct table *table)
{
	int result = add_weights(table);
	text_add(&table->out, "pid,tid,process,thread,event,unit,function,module,self,total,"
			      "self_samples,total_samples,self_percent,total_percent\n");
	for (uint32_t i = 0; !result && i < table->tracks.tracks.nr; i++)
		result = write_track(table, i);
	return result ? result : pieces_flush(table->request->sink, &table->out);
}

int csv_write(const struct export_request *request)
{
	struct table table = {.request = request};
	int result = tracks_take(&table.tracks, request, TRACKS_OF_STACKS);
	if (!result)
		result = write_table(&table);
	tracks_release(&table.tracks);
	text_release(&table.out);
	text_release(&table.scratch);
	free(table.cells.items);
	free(table.used.items);
	free(table.weights.items);
	return result;
}
