/* SPDX-License-Identifier: MIT */
#include "hot_functions.h"

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

enum { SAMPLES_AT_ONCE = 256 };

static uint32_t nr_frames(const struct hot_functions *hot)
{
	return hot->tables->capacity.nr[TABLE_FRAMES];
}

int hot_functions_begin(struct hot_functions *hot, const struct tables *tables)
{
	hot_functions_release(hot);
	hot->tables = tables;
	hot->counts = calloc(nr_frames(hot), sizeof(*hot->counts));
	hot->of = calloc(nr_frames(hot), sizeof(*hot->of));
	hot->order = calloc(nr_frames(hot), sizeof(*hot->order)); /* each has a frame */
	if (hot->counts && hot->of && hot->order)
		return 0;
	hot_functions_release(hot);
	return -ENOMEM;
}

void hot_functions_release(struct hot_functions *hot)
{
	free(hot->counts);
	free(hot->of);
	free(hot->order);
	free(hot->functions.items);
	index_release(&hot->index);
	*hot = (struct hot_functions){0};
}

static void take_samples(struct hot_functions *hot)
{
	struct sample samples[SAMPLES_AT_ONCE];
	size_t nr, most = hot->tables->capacity.nr_samples;
	while (most && (nr = tables_look_at_samples(hot->tables, &hot->position, samples,
						    SAMPLES_AT_ONCE))) {
		for (size_t i = 0; i < nr; i++) {
			uint32_t *count = samples[i].leaf.index < nr_frames(hot)
						  ? &hot->counts[samples[i].leaf.index]
						  : NULL;
			if (count)
				*count += *count < UINT32_MAX;
		}
		hot->samples += nr;
		/* Those that come meanwhile can wait: there may be no end to them. */
		most -= nr < most ? nr : most;
	}
}

/* 1 + the row of the function, found or added. 0: out of memory. */
static uint32_t row_of(struct hot_functions *hot, const struct hot_function *function)
{
	const uint64_t hash = hash_two(function->start, function->module);
	struct index_probe probe = index_find(&hot->index, hash);
	uint32_t row;
	while (index_next(&hot->index, &probe, &row)) {
		const struct hot_function *known = &hot->functions.items[row];
		if (known->module == function->module && known->start == function->start &&
		    known->name == function->name)
			return row + 1;
	}
	if (index_reserve(&hot->index) || vec_reserve(&hot->functions, hot->functions.nr + 1))
		return 0;
	row = (uint32_t)hot->functions.nr++;
	hot->functions.items[row] = *function;
	index_add(&hot->index, hash, row);
	return row + 1;
}

static int find_function(struct hot_functions *hot, const struct tables_reader *reader,
			 const struct symbols *symbols, uint32_t frame)
{
	const struct symbol_row name = symbols_row(symbols, (struct frame_id){frame});
	struct frame_row row;
	if (hot->of[frame] || (name.state != SYMBOL_NAMED && name.state != SYMBOL_BOUNDED))
		return 0;
	tables_frame(reader, (struct frame_id){frame}, &row);
	if (name.offset == UINT32_MAX || name.offset > row.address)
		return 0;
	const struct hot_function function = {
		.start = row.address - name.offset,
		.module = row.module.index,
		.frame = frame,
		.name = name.name.index,
	};
	hot->of[frame] = row_of(hot, &function);
	return hot->of[frame] ? 0 : -ENOMEM;
}

static int compare(const void *a, const void *b, void *context)
{
	const struct hot_function *functions = context;
	const uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
	if (functions[left].samples != functions[right].samples)
		return functions[left].samples < functions[right].samples ? 1 : -1;
	return (left > right) - (left < right);
}

int hot_functions_choose(struct hot_functions *hot, const struct tables_reader *reader,
			 const struct symbols *symbols)
{
	hot->at = hot->nr = 0;
	take_samples(hot);
	for (size_t i = 0; i < hot->functions.nr; i++)
		hot->functions.items[i].samples = 0;
	for (uint32_t i = 1; i < reader->nr[TABLE_FRAMES]; i++) {
		if (!hot->counts[i])
			continue;
		if (find_function(hot, reader, symbols, i))
			return -ENOMEM;
		if (hot->of[i])
			hot->functions.items[hot->of[i] - 1].samples += hot->counts[i];
	}
	for (uint32_t i = 0; i < hot->functions.nr; i++)
		if (!hot->functions.items[i].is_done)
			hot->order[hot->nr++] = i;
	qsort_r(hot->order, hot->nr, sizeof(*hot->order), compare, hot->functions.items);
	return 0;
}

struct hot_function *hot_functions_next(struct hot_functions *hot)
{
	return hot->at < hot->nr ? &hot->functions.items[hot->order[hot->at++]] : NULL;
}
