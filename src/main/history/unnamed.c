/* SPDX-License-Identifier: MIT */
/* Which modules have the frames that have no name. */
#include <ctop/history/history.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"

/* A frame of so many samples. */
static void add_frame(const struct history *history, uint32_t id, uint64_t samples,
		      struct history_unnamed *modules)
{
	const struct named_frame *frame = &history->frames.items[id];
	struct history_unnamed *module = &modules[frame->module];
	module->all_frames += samples;
	if (!frame->name)
		module->frames += samples;
}

static int compare(const void *a, const void *b)
{
	const struct history_unnamed *left = a, *right = b;
	if (left->frames != right->frames)
		return left->frames < right->frames ? 1 : -1;
	return strcmp(left->path, right->path);
}

int history_unnamed(struct history *history, struct history_unnamed **out, size_t *nr)
{
	int result = history_update_names(history);
	struct history_unnamed *modules = calloc(history->modules.nr + 1, sizeof(*modules));
	if (result || !modules) {
		free(modules);
		return result ? result : -ENOMEM;
	}
	for (size_t i = 0; i < history->stacks.nr; i++) {
		const struct counted_stack *stack = &history->stacks.items[i];
		if (!history_counts_event(history, stack->event))
			continue;
		if (stack->leaf)
			add_frame(history, stack->leaf, stack->samples, modules);
		for (uint32_t node = stack->node; node; node = history->nodes.items[node].parent)
			add_frame(history, history->nodes.items[node].frame, stack->samples,
				  modules);
	}
	*nr = 0;
	for (size_t i = 0; i < history->modules.nr; i++) {
		if (!modules[i].frames)
			continue;
		struct history_unnamed module = modules[i];
		const char *path = history->modules.items[i].label;
		module.path = path ? path : "[unknown]";
		module.kind = (enum module_kind)history->modules.items[i].kind;
		module.names = history->modules.items[i].names;
		modules[(*nr)++] = module;
	}
	qsort(modules, *nr, sizeof(*modules), compare);
	*out = modules;
	return 0;
}
