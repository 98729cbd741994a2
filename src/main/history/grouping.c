/* SPDX-License-Identifier: MIT */
/* Frames that are called after their line, address or module: what --group wants of exports. Each such group is a function like others. */
#include <ctop/history/history.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/vec.h>

#include "internal.h"

void history_set_grouping(struct history *history, enum grouping grouping)
{
	history->grouping = grouping < GROUPING_THREAD ? grouping : GROUPING_INLINE;
}

static bool is_same(const struct history_group *a, const struct history_group *b)
{
	return a->of == b->of && a->address == b->address && a->file == b->file &&
	       a->line == b->line;
}

/* "main.c:12 ": what stands in front of a function's name. NULL: out of memory. */
static char *place_of(const struct history *history, const struct history_group *group)
{
	char *place;
	const int size = history->grouping == GROUPING_ADDRESS
				 ? asprintf(&place, "0x%" PRIx64 " ", group->address)
				 : asprintf(&place, "%.*s:%" PRIu32 " ", HISTORY_STRING_MAX / 2,
					    base_name(group->file), group->line);
	return size < 0 ? NULL : place;
}

static const char *join(struct history *history, const char *place, const char *name)
{
	char *joined;
	if (asprintf(&joined, "%s%s", place, name) < 0)
		return NULL;
	const char *interned = history_intern(history, joined);
	free(joined);
	return interned;
}

/* Of the function, called after the place. UINT32_MAX: out of memory. */
static uint32_t function_there(struct history *history, const struct history_group *group)
{
	struct function function = history->functions.items[group->of];
	char *place = place_of(history, group);
	if (!place)
		return UINT32_MAX;
	function.place_bytes = (uint32_t)strlen(place);
	function.name = join(history, place, function.name);
	if (function.marked)
		function.marked = join(history, place, function.marked);
	const bool failed =
		!function.name || (history->functions.items[group->of].marked && !function.marked);
	free(place);
	return failed ? UINT32_MAX : history_function_row(history, &function);
}

/* All of a module is one. */
static uint32_t function_of_module(struct history *history, const struct history_group *group)
{
	const struct function *of = &history->functions.items[group->of];
	const char *name = *of->module ? of->module : history_intern(history, "[unknown]");
	if (!name)
		return UINT32_MAX;
	const struct function function = {
		.name = name,
		.module = of->module,
		.kernel = of->kernel,
		.named = true,
		.place_bytes = (uint32_t)strlen(name),
	};
	return history_function_row(history, &function);
}

static uint32_t group_of(struct history *history, const struct history_group *wanted)
{
	const uint64_t hash = hash_two((uint64_t)wanted->of << 32 | wanted->line,
				       wanted->address ^ (uintptr_t)wanted->file);
	struct index_probe probe = index_find(&history->groups_index, hash);
	uint32_t row;
	while (index_next(&history->groups_index, &probe, &row))
		if (is_same(&history->groups.items[row], wanted))
			return history->groups.items[row].function;
	struct history_group group = *wanted;
	if (index_reserve(&history->groups_index) ||
	    vec_reserve(&history->groups, history->groups.nr + 1))
		return UINT32_MAX;
	group.function = history->grouping == GROUPING_MODULE ? function_of_module(history, &group)
							      : function_there(history, &group);
	if (group.function == UINT32_MAX)
		return UINT32_MAX;
	index_add(&history->groups_index, hash, (uint32_t)history->groups.nr);
	history->groups.items[history->groups.nr++] = group;
	return group.function;
}

static uint32_t group_of_step(struct history *history, uint32_t frame,
			      const struct history_step *step)
{
	const struct history_site *site = &history->sites.items[step->site];
	struct history_group group = {.of = step->function};
	if (history->grouping == GROUPING_ADDRESS)
		group.address = history->frames.items[frame].address;
	if (history->grouping == GROUPING_LINE && site->line) {
		group.file = site->file;
		group.line = site->line;
	}
	if (history->grouping != GROUPING_MODULE && !group.address && !group.file)
		return step->function;
	return group_of(history, &group);
}

size_t history_group_steps(struct history *history, uint32_t frame, size_t nr,
			   struct history_step steps[HISTORY_STEPS_MAX])
{
	if (history->grouping != GROUPING_INLINE && history->grouping != GROUPING_LINE && nr)
		nr = 1; /* what was inlined belongs to the function that it was put into */
	for (size_t i = 0; i < nr; i++) {
		steps[i].function = group_of_step(history, frame, &steps[i]);
		if (history->grouping == GROUPING_MODULE)
			steps[i].site = 0;
		if (steps[i].function == UINT32_MAX)
			return 0;
	}
	return nr;
}
