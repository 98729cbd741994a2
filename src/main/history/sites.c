/* SPDX-License-Identifier: MIT */
/* Where in the source frames are: lines, and functions that the compiler put into others. They come late, or never. */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

#include "internal.h"

static bool is_same(const struct history_site *a, const struct history_site *b)
{
	return a->outer == b->outer && a->module == b->module && a->name == b->name &&
	       a->file == b->file && a->line == b->line;
}

/* 0, -ENOMEM, or -ENOSPC: the history is full, and it would be a new one. */
static int find_or_add(struct history *history, const struct history_site *site, uint32_t *row)
{
	const uint64_t hash = hash_site(site);
	struct index_probe probe = index_find(&history->sites_index, hash);
	while (index_next(&history->sites_index, &probe, row))
		if (is_same(&history->sites.items[*row], site))
			return 0;
	if (history->sites.nr == history->sites.capacity &&
	    !history_has_room(history, vec_bytes(&history->sites)))
		return -ENOSPC;
	if (index_reserve(&history->sites_index) ||
	    vec_reserve(&history->sites, history->sites.nr + 1))
		return -ENOMEM;
	*row = (uint32_t)history->sites.nr;
	index_add(&history->sites_index, hash, *row);
	history->sites.items[history->sites.nr++] = *site;
	return 0;
}

static const char *intern(struct history *history, struct string_id id)
{
	return history_intern(history, symbols_string(history->symbols, id));
}

/* The site of a line inside another one's; as find_or_add(). */
static int add_line(struct history *history, const struct line_row *line, bool is_own,
		    uint32_t module, uint32_t *row)
{
	struct history_site site = {.outer = *row,
				    .module = module,
				    .file = intern(history, line->file),
				    .line = line->line};
	if (!is_own)
		site.name = intern(history, line->function);
	return !site.file || (!is_own && !site.name) ? -ENOMEM : find_or_add(history, &site, row);
}

/* Rows of a region that lies may overlap, and so may its strings: no more is taken than would fit there side by side. */
static bool may_take(struct history *history, size_t nr)
{
	const struct symbols_capacity *capacity = &history->symbols->capacity;
	history->lines_taken += nr;
	return history->lines_taken <= capacity->nr_lines &&
	       history->line_bytes_taken <= symbols_string_bytes(capacity);
}

int history_take_lines(struct history *history, uint32_t id)
{
	struct line_row lines[SYMBOLS_LINES_MAX];
	struct named_frame *frame = &history->frames.items[history->of[TABLE_FRAMES].items[id] - 1];
	/* Another row of the same module has told: what was shown with its lines keeps them. */
	if (frame->site)
		return 1;
	if (!symbols_has_looked_up_lines(history->symbols, (struct frame_id){id}))
		return 0;
	const size_t nr = symbols_lines(history->symbols, (struct frame_id){id}, lines);
	const uint64_t string_bytes = history->string_bytes;
	uint32_t site = 0;
	int result = may_take(history, nr) ? 0 : -ENOSPC;
	for (size_t i = 0; !result && i < nr; i++)
		result = add_line(history, &lines[i], i == 0, frame->module, &site);
	history->line_bytes_taken += history->string_bytes - string_bytes;
	if (result == -ENOMEM)
		return result;
	/* Some of its functions would be none of it. */
	frame->site = result ? 0 : site;
	history->nr_renamed += frame->function && frame->site && nr > 1;
	return 1;
}

static const char *mark(struct history *history, const char *name)
{
	char *marked;
	if (asprintf(&marked, "%.*s (inlined)", HISTORY_STRING_MAX - 16, name) < 0)
		return NULL;
	const char *interned = history_intern(history, marked);
	free(marked);
	return interned;
}

uint32_t history_function_at(struct history *history, uint32_t id)
{
	struct history_site *site = &history->sites.items[id];
	if (site->function)
		return site->function;
	const struct history_module *module = &history->modules.items[site->module];
	const struct function function = {
		.name = site->name,
		.marked = mark(history, site->name),
		.module = module->label,
		.kernel = module->kind == MODULE_KERNEL,
		.named = true,
		.inlined = true,
	};
	const uint32_t row =
		function.marked ? history_function_row(history, &function) : UINT32_MAX;
	if (row != UINT32_MAX)
		site->function = row;
	return row;
}

static size_t list_steps(struct history *history, uint32_t frame, size_t depth,
			 struct history_step steps[HISTORY_STEPS_MAX])
{
	const uint32_t own = history_function_of(history, frame);
	const uint32_t innermost = history->frames.items[frame].site;
	size_t nr = 0;
	if (own == UINT32_MAX)
		return 0;
	for (uint32_t site = innermost; site; site = history->sites.items[site].outer)
		nr++;
	if (nr < 2 || depth + nr > HISTORY_DEPTH_MAX) {
		steps[0] = (struct history_step){own, nr == 1 ? innermost : 0};
		return 1;
	}
	size_t at = nr;
	for (uint32_t site = innermost; site; site = history->sites.items[site].outer) {
		const uint32_t function = --at ? history_function_at(history, site) : own;
		if (function == UINT32_MAX)
			return 0;
		steps[at] = (struct history_step){function, site};
	}
	return nr;
}

size_t history_steps_of(struct history *history, uint32_t frame, size_t depth,
			struct history_step steps[HISTORY_STEPS_MAX])
{
	const size_t nr = list_steps(history, frame, depth, steps);
	return history->grouping == GROUPING_INLINE
		       ? nr
		       : history_group_steps(history, frame, nr, steps);
}

size_t history_inlined_at(const struct history *history, uint32_t site,
			  struct history_inlined inlined[HISTORY_INLINED_MAX])
{
	const struct history_site *sites = history->sites.items;
	size_t nr = 0, at;
	if (site >= history->sites.nr)
		return 0;
	for (uint32_t i = site; sites[i].outer; i = sites[i].outer)
		nr++;
	/* Of more than there is room for the innermost are left out. */
	for (; nr > HISTORY_INLINED_MAX; nr--)
		site = sites[site].outer;
	for (at = nr; at; site = sites[site].outer) {
		const struct history_site *outer = &sites[sites[site].outer];
		inlined[--at] =
			(struct history_inlined){{sites[site].function}, outer->file, outer->line};
	}
	return nr;
}

bool history_is_inlined_alike(const struct history *history, uint32_t a, uint32_t b)
{
	const struct history_site *sites = history->sites.items;
	const uint32_t nr = (uint32_t)history->sites.nr;
	return a < nr && b < nr && sites[a].outer == sites[b].outer &&
	       sites[a].function == sites[b].function;
}

/* Marks sites that frames have, or that are outside of such, by the rows that they will become; 0: none. Returns how many rows there will be. */
static uint32_t number_sites(struct history *history)
{
	struct history_site *sites = history->sites.items;
	uint32_t nr = 1;
	for (size_t i = 0; i < history->sites.nr; i++)
		sites[i].function = 0;
	for (size_t i = 0; i < history->frames.nr; i++)
		sites[history->frames.items[i].site].function = 1;
	for (size_t i = history->sites.nr; i-- > 1;)
		if (sites[i].function)
			sites[sites[i].outer].function = 1;
	sites[0].function = 0;
	for (size_t i = 1; i < history->sites.nr; i++)
		if (sites[i].function)
			sites[i].function = nr++;
	return nr;
}

void history_move_sites(struct history *history, const uint32_t *modules)
{
	struct history_site *sites = history->sites.items;
	const uint32_t nr = number_sites(history);
	history->lines_taken = 0; /* what comes again is taken again */
	for (size_t i = 0; i < history->frames.nr; i++)
		history->frames.items[i].site = sites[history->frames.items[i].site].function;
	for (size_t i = 1; i < history->sites.nr; i++)
		sites[i].outer = sites[sites[i].outer].function;
	index_clear(&history->sites_index);
	/* None moves behind where it was. Its function is found again. */
	for (size_t i = 1; i < history->sites.nr; i++) {
		struct history_site site = sites[i];
		const uint32_t row = site.function;
		if (!row)
			continue;
		site.function = 0;
		site.module = modules[site.module];
		sites[row] = site;
		index_add(&history->sites_index, hash_site(&site), row);
	}
	history->sites.nr = nr;
}
