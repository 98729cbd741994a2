/* SPDX-License-Identifier: MIT */
/*
 * Which stacks a selection shows. What a path contains is found once a path, parents first: a bit for each
 * criterion that it, or one above it, meets. Whether a stack passes is found once per stack.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

/* ---- what was asked ---- */

/* The row of a SELECTION_TREE's path. NO_PATH: none has the id; *result -ENOMEM, or -ENOENT. */
static uint32_t path_of_id(const struct selection *selection, uint64_t id, int *result)
{
	uint64_t *ids = calloc(selection->paths.nr, sizeof(*ids));
	*result = -ENOMEM;
	if (!ids)
		return NO_PATH;
	*result = -ENOENT;
	uint32_t found = NO_PATH;
	ids[0] = selection_root_id(SELECTION_TREE, KEY_ALL);
	for (uint32_t i = 0; i < selection->paths.nr; i++) {
		const struct path *path = &selection->paths.items[i];
		if (i)
			ids[i] = selection_path_id(selection, ids[path->parent], i);
		if (ids[i] == id)
			found = i;
	}
	free(ids);
	if (found != NO_PATH)
		*result = 0;
	return found;
}

static int copy_criterion(const struct selection *selection,
			  const struct selection_criterion *asked, struct criterion *copy)
{
	int result = 0;
	*copy = (struct criterion){.asked = *asked};
	copy->asked.text = NULL;
	switch (asked->what) {
	case SELECTION_TEXT:
	case SELECTION_MODULE:
	case SELECTION_PROGRAM:
		if (!asked->text)
			return -EINVAL;
		copy->asked.text = strdup(asked->text);
		return copy->asked.text ? 0 : -ENOMEM;
	case SELECTION_SUBTREE:
		copy->path = path_of_id(selection, asked->id, &result);
		return result;
	case SELECTION_THREAD:
	case SELECTION_PROCESS:
	case SELECTION_EVENT:
	case SELECTION_KERNEL:
	case SELECTION_FUNCTION:
		return 0;
	}
	return -EINVAL;
}

static void free_texts(struct criterion *criteria, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free((char *)(uintptr_t)criteria[i].asked.text);
}

void selection_free_filter(struct selection *selection)
{
	free_texts(selection->criteria, selection->nr_criteria);
}

/* The innermost of the subtrees asked for: stacks that pass lie in all of them. */
static uint32_t root_of(const struct selection *selection)
{
	uint32_t root = 0;
	for (size_t i = 0; i < selection->nr_criteria; i++) {
		const struct criterion *criterion = &selection->criteria[i];
		if (criterion->asked.what == SELECTION_SUBTREE && !criterion->asked.drop &&
		    selection->paths.items[criterion->path].depth >
			    selection->paths.items[root].depth)
			root = criterion->path;
	}
	return root;
}

static bool is_same_criterion(const struct criterion *a, const struct criterion *b)
{
	const struct selection_criterion *left = &a->asked, *right = &b->asked;
	return left->what == right->what && left->drop == right->drop &&
	       left->waits == right->waits && left->number == right->number &&
	       left->id == right->id && left->function.index == right->function.index &&
	       a->path == b->path && !left->text == !right->text &&
	       (!left->text || strcmp(left->text, right->text) == 0);
}

/* What holds already needs no new look at every stack. */
static bool is_same_filter(const struct selection *selection, const struct criterion *criteria,
			   size_t nr)
{
	bool same = selection->nr_criteria == nr;
	for (size_t i = 0; same && i < nr; i++)
		same = is_same_criterion(&selection->criteria[i], &criteria[i]);
	return same;
}

int selection_take_filter(struct selection *selection, const struct selection_criterion *criteria,
			  size_t nr)
{
	struct criterion copies[SELECTION_CRITERIA_MAX];
	for (size_t i = 0; i < nr; i++) {
		int result = copy_criterion(selection, &criteria[i], &copies[i]);
		if (result) {
			free_texts(copies, i);
			return result;
		}
	}
	if (is_same_filter(selection, copies, nr)) {
		free_texts(copies, nr);
		return 0;
	}
	selection_free_filter(selection);
	if (nr)
		memcpy(selection->criteria, copies, nr * sizeof(*copies));
	selection->nr_criteria = nr;
	selection->new_filter = true;
	return 0;
}

/* ---- what paths contain ---- */

uint32_t selection_event(const struct selection *selection)
{
	for (size_t i = 0; i < selection->nr_criteria; i++) {
		const struct selection_criterion *asked = &selection->criteria[i].asked;
		if (asked->what == SELECTION_EVENT && !asked->drop)
			return (uint32_t)asked->number;
	}
	uint32_t event = 0;
	while (event < selection->history->events.nr &&
	       !history_counts_event(selection->history, event))
		event++;
	return event < selection->history->events.nr ? event : 0;
}

bool selection_is_wall(const struct selection *selection)
{
	for (size_t i = 0; i < selection->nr_criteria; i++) {
		const struct selection_criterion *asked = &selection->criteria[i].asked;
		if (asked->what == SELECTION_EVENT && !asked->drop)
			return asked->waits;
	}
	return selection->history->filter.time == TIME_SHOWN_WALL;
}

void selection_find_hits(struct selection *selection)
{
	for (size_t i = 0; i < selection->keys.nr; i++)
		selection->keys.items[i].hits = selection_key_hits(selection, (uint32_t)i);
	for (size_t i = 0; i < selection->paths.nr; i++) {
		struct path *path = &selection->paths.items[i];
		path->hits = selection->keys.items[path->key].hits;
		for (size_t c = 0; c < selection->nr_criteria; c++)
			if (selection->criteria[c].asked.what == SELECTION_SUBTREE &&
			    selection->criteria[c].path == i)
				path->hits |= UINT32_C(1) << c;
		if (i)
			path->hits |= selection->paths.items[path->parent].hits;
	}
	selection->root = root_of(selection);
}

/* ---- stacks ---- */

static const struct history_module *leaf_module(const struct selection *selection,
						const struct counted_stack *stack)
{
	const struct history *history = selection->history;
	return &history->modules.items[history->frames.items[stack->leaf].module];
}

bool selection_is_kernel(const struct selection *selection, const struct counted_stack *stack)
{
	return leaf_module(selection, stack)->kind == MODULE_KERNEL;
}

static bool keeps_event(const struct selection *selection, const struct selection_criterion *asked,
			uint32_t event)
{
	return event == (uint32_t)asked->number ||
	       (asked->waits && history_is_wait(selection->history, event));
}

static bool stack_meets(const struct selection *selection, const struct selection_criterion *asked,
			const struct counted_stack *stack, bool path_meets)
{
	const struct history *history = selection->history;
	const struct history_task *task = &history->tasks.items[stack->task];
	const struct history_module *module = leaf_module(selection, stack);
	switch (asked->what) {
	case SELECTION_MODULE:
		return history_is_module(module, asked->text);
	case SELECTION_THREAD:
		return task->tid == asked->number;
	case SELECTION_PROCESS:
		return task->pid == asked->number;
	case SELECTION_PROGRAM:
		return strcmp(selection_program_of(history, task), asked->text) == 0;
	case SELECTION_EVENT:
		return keeps_event(selection, asked, stack->event);
	case SELECTION_KERNEL:
		return module->kind == MODULE_KERNEL;
	case SELECTION_TEXT:
	case SELECTION_FUNCTION:
	case SELECTION_SUBTREE:
		return path_meets;
	}
	return false;
}

bool selection_keeps_event(const struct selection *selection, uint32_t event)
{
	bool is_asked_for = false;
	for (size_t i = 0; i < selection->nr_criteria; i++) {
		const struct selection_criterion *asked = &selection->criteria[i].asked;
		if (asked->what != SELECTION_EVENT || asked->drop)
			continue;
		if (!keeps_event(selection, asked, event))
			return false;
		is_asked_for = true;
	}
	return is_asked_for || history_counts_event(selection->history, event);
}

bool selection_is_of_event(const struct selection *selection, const struct counted_stack *stack)
{
	return selection_keeps_event(selection, stack->event);
}

bool selection_passes_beside(const struct selection *selection, const struct counted_stack *stack,
			     uint32_t path)
{
	uint32_t hits = selection->paths.items[path].hits;
	for (size_t i = 0; i < selection->nr_criteria; i++) {
		const struct selection_criterion *asked = &selection->criteria[i].asked;
		if (asked->what == SELECTION_EVENT)
			continue;
		if (stack_meets(selection, asked, stack, hits >> i & 1) == asked->drop)
			return false;
	}
	return true;
}

bool selection_passes(const struct selection *selection, const struct counted_stack *stack,
		      uint32_t path)
{
	for (size_t i = 0; i < selection->nr_criteria; i++) {
		const struct selection_criterion *asked = &selection->criteria[i].asked;
		if (asked->what == SELECTION_EVENT && asked->drop &&
		    stack->event == (uint32_t)asked->number)
			return false;
	}
	return selection_keeps_event(selection, stack->event) &&
	       selection_passes_beside(selection, stack, path);
}
