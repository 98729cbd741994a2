/* SPDX-License-Identifier: MIT */
#include "annotation_lines.h"

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/index.h>

bool listing_begins_block(const struct listing *listing, uint32_t row)
{
	const struct listing_row *at = &listing->rows[row];
	if (!at->file || !at->line)
		return false;
	return !row || at->file != at[-1].file || at->line != at[-1].line;
}

/* ---- which there are ---- */

static uint64_t line_hash(const struct listing_row *row)
{
	return hash_u64((uint64_t)row->file << 32 | row->line);
}

/* The line of an instruction, 1 + its row. */
static uint32_t find_line(struct annotation *annotation, struct index *index, uint32_t at)
{
	const struct listing_row *rows = annotation->listing->rows;
	struct index_probe probe = index_find(index, line_hash(&rows[at]));
	uint32_t line;
	while (index_next(index, &probe, &line)) {
		const struct listing_row *first = &rows[annotation->lines[line].at];
		if (first->file == rows[at].file && first->line == rows[at].line)
			return line + 1;
	}
	index_add(index, line_hash(&rows[at]), annotation->nr_lines);
	annotation->lines[annotation->nr_lines] = (struct annotated_line){.at = at};
	return ++annotation->nr_lines;
}

int annotation_find_lines(struct annotation *annotation)
{
	const struct listing *listing = annotation->listing;
	const uint32_t nr = listing->answer.nr_rows;
	struct index index = {0};
	uint32_t nr_blocks = 0, line = 0;
	for (uint32_t i = 0; i < nr; i++)
		nr_blocks += listing_begins_block(listing, i);
	annotation->lines = calloc((size_t)nr_blocks + 1, sizeof(*annotation->lines));
	if (!annotation->lines || index_reserve_rows(&index, nr_blocks)) {
		index_release(&index);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < nr; i++) {
		struct annotated *row = &annotation->rows[i];
		const bool is_first = listing_begins_block(listing, i);
		if (is_first)
			line = find_line(annotation, &index, i);
		else if (!listing->rows[i].file || !listing->rows[i].line)
			line = 0;
		row->line = line;
		if (!line)
			continue;
		annotation->lines[line - 1].nr_blocks += is_first;
		annotation->lines[line - 1].samples += row->samples;
		annotation->lines[line - 1].weight += row->weight;
	}
	index_release(&index);
	annotation_place_lines(annotation);
	return 0;
}

/* ---- where their numbers stand ---- */

/* What an instruction has of its line. */
static uint64_t part_of(const struct annotation *annotation, uint32_t row)
{
	const struct annotated *at = &annotation->rows[row];
	uint64_t samples = 0;
	if (annotation->lines[at->line - 1].weight)
		return at->weight;
	for (size_t i = 1; i < annotation->events.nr; i++)
		samples += annotation->events.columns[i].costs.items[row].samples;
	return samples;
}

static uint32_t end_of_block(const struct annotation *annotation, uint32_t row)
{
	const uint32_t line = annotation->rows[row].line;
	while (row < annotation->listing->answer.nr_rows && annotation->rows[row].line == line)
		row++;
	return row;
}

void annotation_place_lines(struct annotation *annotation)
{
	const uint32_t nr = annotation->listing->answer.nr_rows;
	uint64_t *most = calloc((size_t)annotation->nr_lines + 1, sizeof(*most));
	for (uint32_t i = 0, end; most && i < nr; i = end) {
		const uint32_t line = annotation->rows[i].line;
		uint64_t part = 0;
		end = end_of_block(annotation, i);
		for (uint32_t row = i; line && row < end; row++)
			part += part_of(annotation, row);
		if (part > most[line ? line - 1 : 0] && line) {
			most[line - 1] = part;
			annotation->lines[line - 1].at = i;
		}
	}
	free(most); /* without it they stand in front of their first blocks */
}

const struct annotated_line *annotation_line_at(const struct annotation *annotation, uint32_t row)
{
	const uint32_t line = annotation->rows[row].line;
	const struct annotated_line *at = line ? &annotation->lines[line - 1] : NULL;
	const size_t events_row = (size_t)annotation->listing->answer.nr_rows + line - 1;
	if (!at || at->at != row)
		return NULL;
	return at->samples || (annotation->events.nr &&
			       event_columns_have_samples(&annotation->events, events_row))
		       ? at
		       : NULL;
}
