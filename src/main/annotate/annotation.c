/* SPDX-License-Identifier: MIT */
#include <ctop/annotate/annotation.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "annotation_lines.h"

/* Shares of a function's weight: one of so many. */
enum { HOT_PART = 10, SOME_PART = 100 };

uint32_t listing_row_at(const struct listing *listing, uint64_t elf_address)
{
	uint32_t low = 0, high = listing->answer.nr_rows;
	while (low < high) {
		const uint32_t middle = low + (high - low) / 2;
		if (listing->rows[middle].address <= elf_address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low)
		return UINT32_MAX;
	const struct listing_row *row = &listing->rows[low - 1];
	return elf_address - row->address < row->size ? low - 1 : UINT32_MAX;
}

static void count_jumps(struct annotation *annotation)
{
	const struct listing *listing = annotation->listing;
	for (uint32_t i = 0; i < listing->answer.nr_rows; i++) {
		const struct listing_row *row = &listing->rows[i];
		const uint32_t at = row->kind == LISTING_JUMP && row->target
					    ? listing_row_at(listing, row->target)
					    : UINT32_MAX;
		if (at != UINT32_MAX)
			annotation->rows[at].nr_jumps++;
	}
}

/* Whether the listing's debug information, which knows this of each instruction, names the function that the profile has there. */
static void set_inlined(struct annotation *annotation, const struct history *history, uint32_t row,
			const struct selection_address *at)
{
	const struct listing *listing = annotation->listing;
	const uint32_t call = listing->rows[row].call;
	const uint32_t name = call ? listing->calls[call - 1].function : 0;
	if (!at->inlined.index)
		return;
	if (!call)
		annotation->rows[row].site = at->site;
	if (!call)
		annotation->rows[row].inlined = at->inlined;
	else if (name && !strcmp(listing->strings + listing->names[name - 1],
				 history_function_name(history, at->inlined)))
		annotation->named[name - 1] = at->inlined;
}

/* An instruction without samples is of a function that has some elsewhere. */
static void name_inlined(struct annotation *annotation)
{
	const struct listing *listing = annotation->listing;
	for (uint32_t i = 0; i < listing->answer.nr_rows; i++) {
		const uint32_t call = listing->rows[i].call;
		const uint32_t name = call ? listing->calls[call - 1].function : 0;
		if (name)
			annotation->rows[i].inlined = annotation->named[name - 1];
	}
}

static void add_samples(struct annotation *annotation, const struct history *history,
			const struct selection_address *at)
{
	const uint32_t row =
		listing_row_at(annotation->listing, at->address + annotation->listing->answer.bias);
	annotation->samples += at->samples;
	annotation->weight += at->weight;
	if (row == UINT32_MAX) {
		annotation->outside_samples += at->samples;
		annotation->outside_weight += at->weight;
		return;
	}
	annotation->rows[row].samples += at->samples;
	annotation->rows[row].weight += at->weight;
	set_inlined(annotation, history, row, at);
}

int annotation_make(struct annotation *annotation, const struct listing *listing,
		    const struct history *history, const struct selection_code *code,
		    uint32_t module, uint64_t start)
{
	*annotation = (struct annotation){
		.listing = listing,
		.rows = calloc(listing->answer.nr_rows + 1, sizeof(*annotation->rows)),
		.named = calloc(listing->answer.nr_names + 1, sizeof(*annotation->named)),
	};
	if (!annotation->rows || !annotation->named)
		return -ENOMEM;
	for (size_t i = 0; i < code->nr; i++)
		if (code->items[i].module == module && code->items[i].start == start)
			add_samples(annotation, history, &code->items[i]);
	name_inlined(annotation);
	count_jumps(annotation);
	return annotation_find_lines(annotation);
}

static void add_amount(struct event_column *column, size_t row, const struct selection_address *at)
{
	const struct selection_amount amount = {at->samples, at->weight, at->squares};
	selection_add_amount(&column->costs.items[row], &amount);
}

/* Of one event: at instructions, and at their lines. */
static void add_event(struct annotation *annotation, const struct history *history,
		      struct event_column *column, const struct selection_address *at)
{
	const struct listing *listing = annotation->listing;
	const uint32_t row = listing_row_at(listing, at->address + listing->answer.bias);
	const uint32_t line = row == UINT32_MAX ? 0 : annotation->rows[row].line;
	column->whole += at->weight;
	if (row != UINT32_MAX) {
		add_amount(column, row, at);
		set_inlined(annotation, history, row, at);
	}
	if (line)
		add_amount(column, (size_t)listing->answer.nr_rows + line - 1, at);
}

int annotation_add_events(struct annotation *annotation, struct selection *selection,
			  const struct history *history, struct function_id function,
			  uint32_t module, uint64_t start)
{
	struct event_columns *events = &annotation->events;
	struct selection_code code = {0};
	event_columns_begin(events, selection, history);
	int result = event_columns_add_empty(events, (size_t)annotation->listing->answer.nr_rows +
							     annotation->nr_lines);
	for (size_t i = 0; !result && i < events->nr; i++) {
		struct event_column *column = &events->columns[i];
		column->whole = 0;
		result = selection_code(selection, function,
					i ? (int32_t)column->event : SELECTION_OWN_EVENT, &code);
		for (size_t j = 0; !result && j < code.nr; j++)
			if (code.items[j].module == module && code.items[j].start == start)
				add_event(annotation, history, column, &code.items[j]);
	}
	free(code.items);
	if (result)
		event_columns_release(events);
	name_inlined(annotation);
	annotation_place_lines(annotation);
	return result;
}

void annotation_release(struct annotation *annotation)
{
	event_columns_release(&annotation->events);
	free(annotation->lines);
	free(annotation->named);
	free(annotation->rows);
	*annotation = (struct annotation){0};
}

enum heat annotation_heat(const struct annotation *annotation, uint32_t row)
{
	const uint64_t weight = annotation->rows[row].weight;
	if (weight && weight >= annotation->weight / HOT_PART)
		return HEAT_HOT;
	return weight && weight >= annotation->weight / SOME_PART ? HEAT_SOME : HEAT_NONE;
}

const struct selection_address *selection_code_hottest(const struct selection_code *code)
{
	const struct selection_address *best = NULL;
	uint64_t most = 0;
	for (size_t i = 0, next; i < code->nr; i = next) {
		const struct selection_address *first = &code->items[i];
		uint64_t weight = 0;
		for (next = i; next < code->nr && code->items[next].module == first->module &&
			       code->items[next].start == first->start;
		     next++)
			weight += code->items[next].weight;
		if (weight > most) {
			most = weight;
			best = first;
		}
	}
	return best;
}
