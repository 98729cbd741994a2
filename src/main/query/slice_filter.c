/* SPDX-License-Identifier: MIT */
/*
 * Which stacks a slice shows. What a path contains is found once a path, parents first: a bit for each
 * criterion that it, or one above it, meets. Whether a stack passes is found once a stack.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "slice_internal.h"

/* ---- what was asked ---- */

static bool has_capitals(const char *text)
{
	for (; *text; text++)
		if (*text >= 'A' && *text <= 'Z')
			return true;
	return false;
}

/* The row of a SLICE_TREE's path. NO_PATH: none has the id; *result -ENOMEM, or -ENOENT. */
static uint32_t path_of_id(const struct slice *slice, uint64_t id, int *result)
{
	uint64_t *ids = calloc(slice->paths.nr, sizeof(*ids));
	*result = -ENOMEM;
	if (!ids)
		return NO_PATH;
	*result = -ENOENT;
	uint32_t found = NO_PATH;
	ids[0] = slice_root_id(SLICE_TREE, KEY_ALL);
	for (uint32_t i = 0; i < slice->paths.nr; i++) {
		const struct path *path = &slice->paths.items[i];
		if (i)
			ids[i] = slice_path_id(slice, ids[path->parent], i);
		if (ids[i] == id)
			found = i;
	}
	free(ids);
	if (found != NO_PATH)
		*result = 0;
	return found;
}

static int copy_criterion(const struct slice *slice, const struct slice_criterion *asked,
			  struct criterion *copy)
{
	int result = 0;
	*copy = (struct criterion){.asked = *asked};
	copy->asked.text = NULL;
	switch (asked->what) {
	case SLICE_TEXT:
	case SLICE_MODULE:
		if (!asked->text)
			return -EINVAL;
		copy->asked.text = strdup(asked->text);
		return copy->asked.text ? 0 : -ENOMEM;
	case SLICE_SUBTREE:
		copy->path = path_of_id(slice, asked->id, &result);
		return result;
	case SLICE_THREAD:
	case SLICE_PROCESS:
	case SLICE_EVENT:
	case SLICE_KERNEL:
	case SLICE_FUNCTION:
		return 0;
	}
	return -EINVAL;
}

static void free_texts(struct criterion *criteria, size_t nr)
{
	for (size_t i = 0; i < nr; i++)
		free((char *)(uintptr_t)criteria[i].asked.text);
}

void slice_free_filter(struct slice *slice)
{
	free_texts(slice->criteria, slice->nr_criteria);
}

/* The innermost of the subtrees asked for: stacks that pass lie in all of them. */
static uint32_t root_of(const struct slice *slice)
{
	uint32_t root = 0;
	for (size_t i = 0; i < slice->nr_criteria; i++) {
		const struct criterion *criterion = &slice->criteria[i];
		if (criterion->asked.what == SLICE_SUBTREE && !criterion->asked.drop &&
		    slice->paths.items[criterion->path].depth > slice->paths.items[root].depth)
			root = criterion->path;
	}
	return root;
}

static bool is_same_criterion(const struct criterion *a, const struct criterion *b)
{
	const struct slice_criterion *left = &a->asked, *right = &b->asked;
	return left->what == right->what && left->drop == right->drop &&
	       left->number == right->number && left->id == right->id &&
	       left->function.index == right->function.index && a->path == b->path &&
	       !left->text == !right->text && (!left->text || strcmp(left->text, right->text) == 0);
}

/* What holds already needs no new look at every stack. */
static bool is_same_filter(const struct slice *slice, const struct criterion *criteria, size_t nr)
{
	bool same = slice->nr_criteria == nr;
	for (size_t i = 0; same && i < nr; i++)
		same = is_same_criterion(&slice->criteria[i], &criteria[i]);
	return same;
}

int slice_set_filter(struct slice *slice, const struct slice_criterion *criteria, size_t nr)
{
	struct criterion copies[SLICE_CRITERIA_MAX];
	if (nr > SLICE_CRITERIA_MAX)
		return -E2BIG;
	for (size_t i = 0; i < nr; i++) {
		int result = copy_criterion(slice, &criteria[i], &copies[i]);
		if (result) {
			free_texts(copies, i);
			return result;
		}
	}
	if (is_same_filter(slice, copies, nr)) {
		free_texts(copies, nr);
		return 0;
	}
	slice_free_filter(slice);
	if (nr)
		memcpy(slice->criteria, copies, nr * sizeof(*copies));
	slice->nr_criteria = nr;
	slice->new_filter = true;
	return 0;
}

/* ---- what paths contain ---- */

uint32_t slice_event(const struct slice *slice)
{
	for (size_t i = 0; i < slice->nr_criteria; i++) {
		const struct slice_criterion *asked = &slice->criteria[i].asked;
		if (asked->what == SLICE_EVENT && !asked->drop)
			return (uint32_t)asked->number;
	}
	return 0;
}

static bool key_meets(const struct slice *slice, const struct slice_criterion *asked, uint32_t key)
{
	if (key == KEY_ALL || key == KEY_PROCESS)
		return false;
	const char *name = slice_key_name(slice, key);
	if (asked->what == SLICE_TEXT)
		return (has_capitals(asked->text) ? strstr(name, asked->text)
						  : strcasestr(name, asked->text)) != NULL;
	return asked->what == SLICE_FUNCTION && key >= NR_LABELS &&
	       function_of_key(key).index == asked->function.index;
}

uint32_t slice_key_hits(const struct slice *slice, uint32_t key)
{
	uint32_t hits = 0;
	for (size_t i = 0; i < slice->nr_criteria; i++)
		if (key_meets(slice, &slice->criteria[i].asked, key))
			hits |= UINT32_C(1) << i;
	return hits;
}

void slice_find_hits(struct slice *slice)
{
	for (size_t i = 0; i < slice->keys.nr; i++)
		slice->keys.items[i].hits = slice_key_hits(slice, (uint32_t)i);
	for (size_t i = 0; i < slice->paths.nr; i++) {
		struct path *path = &slice->paths.items[i];
		path->hits = slice->keys.items[path->key].hits;
		for (size_t c = 0; c < slice->nr_criteria; c++)
			if (slice->criteria[c].asked.what == SLICE_SUBTREE &&
			    slice->criteria[c].path == i)
				path->hits |= UINT32_C(1) << c;
		if (i)
			path->hits |= slice->paths.items[path->parent].hits;
	}
	slice->root = root_of(slice);
}

/* ---- stacks ---- */

static bool stack_meets(const struct slice *slice, const struct slice_criterion *asked,
			const struct counted_stack *stack, bool path_meets)
{
	const struct history *history = slice->history;
	const struct history_task *task = &history->tasks.items[stack->task];
	const struct history_module *module =
		&history->modules.items[history->frames.items[stack->leaf].module];
	switch (asked->what) {
	case SLICE_MODULE:
		return history_is_module(module, asked->text);
	case SLICE_THREAD:
		return task->tid == asked->number;
	case SLICE_PROCESS:
		return task->pid == asked->number;
	case SLICE_EVENT:
		return stack->event == asked->number;
	case SLICE_KERNEL:
		return module->kind == MODULE_KERNEL;
	case SLICE_TEXT:
	case SLICE_FUNCTION:
	case SLICE_SUBTREE:
		return path_meets;
	}
	return false;
}

bool slice_keeps_event(const struct slice *slice, uint32_t event)
{
	for (size_t i = 0; i < slice->nr_criteria; i++) {
		const struct slice_criterion *asked = &slice->criteria[i].asked;
		if (asked->what == SLICE_EVENT && !asked->drop && event != (uint32_t)asked->number)
			return false;
	}
	return true;
}

bool slice_is_of_event(const struct slice *slice, const struct counted_stack *stack)
{
	return slice_keeps_event(slice, stack->event);
}

bool slice_passes(const struct slice *slice, const struct counted_stack *stack, uint32_t path)
{
	uint32_t hits = slice->paths.items[path].hits;
	for (size_t i = 0; i < slice->nr_criteria; i++) {
		const struct slice_criterion *asked = &slice->criteria[i].asked;
		if (stack_meets(slice, asked, stack, hits >> i & 1) == asked->drop)
			return false;
	}
	return true;
}
