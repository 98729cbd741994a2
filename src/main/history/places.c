/* SPDX-License-Identifier: MIT */
/* What is known of a module's addresses that were in stacks: their functions and lines. */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdlib.h>

#include "internal.h"

static void set_place(struct history *history, uint32_t row, struct history_place *place)
{
	const uint32_t function = history_function_of(history, row);
	const struct named_frame *frame = &history->frames.items[row];
	const struct history_site *site = &history->sites.items[frame->site];
	*place = (struct history_place){
		.address = frame->address,
		.function = {function},
		.file = frame->site ? site->file : "",
		.line = frame->site ? site->line : 0,
	};
	place->has_start = frame->offset <= frame->address && frame->offset != UINT32_MAX;
	place->start = place->has_start ? frame->address - frame->offset : 0;
}

int history_places(struct history *history, uint32_t module, struct history_place **places,
		   size_t *nr)
{
	size_t wanted = 0;
	*nr = 0;
	for (size_t i = 1; i < history->frames.nr; i++)
		wanted += history->frames.items[i].module == module;
	*places = calloc(wanted + 1, sizeof(**places));
	if (!*places)
		return -ENOMEM;
	for (size_t i = 1; i < history->frames.nr; i++) {
		struct history_place *place = &(*places)[*nr];
		if (history->frames.items[i].module != module)
			continue;
		set_place(history, (uint32_t)i, place);
		*nr += place->function.index != UINT32_MAX;
	}
	return 0;
}
