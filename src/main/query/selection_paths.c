/* SPDX-License-Identifier: MIT */
/*
 * Paths: a tree of keys, each way from the root stored once. Rows of screens go by ids: hashes of such a way, the same in every
 * refresh and selection.
 */
#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>

#include "selection_internal.h"

static uint64_t hash_step(uint32_t parent, uint32_t key)
{
	return hash_u64((uint64_t)parent << 32 | key);
}

/* ---- ids ---- */

static uint64_t step_id(uint64_t parent, uint64_t step)
{
	uint64_t id = hash_two(parent, step);
	return id ? id : 1; /* 0 is no row */
}

uint64_t selection_child_id(uint64_t parent, uint32_t key)
{
	return step_id(parent, key);
}

/* A process goes by its pid, beyond all keys. */
uint64_t selection_path_id(const struct selection *selection, uint64_t parent, uint32_t path)
{
	uint32_t key = selection->paths.items[path].key;
	if (key != KEY_PROCESS)
		return selection_child_id(parent, key);
	const struct process *process =
		&selection->processes.items[selection_process_of_path(selection, path)];
	return step_id(parent, (UINT64_C(1) << 32) + (uint32_t)process->pid);
}

uint64_t selection_root_id(enum selection_shape shape, uint32_t key)
{
	return selection_child_id(hash_u64(shape + 1), key);
}

/* ---- steps ---- */

uint32_t selection_find_path(const struct selection *selection, uint32_t parent, uint32_t key)
{
	if (parent && !selection->paths.items[parent].first_child)
		return NO_PATH; /* as below all that is new */
	struct index_probe probe = index_find(&selection->path_index, hash_step(parent, key));
	uint32_t row;
	while (index_next(&selection->path_index, &probe, &row))
		if (selection->paths.items[row].parent == parent &&
		    selection->paths.items[row].key == key)
			return row;
	return NO_PATH;
}

static uint32_t nearest_same(const struct selection *selection, uint32_t path, uint32_t key)
{
	if (!selection->keys.items[key].first_path)
		return 0;
	while (path && selection->paths.items[path].key != key)
		path = selection->paths.items[path].parent;
	return path;
}

static uint64_t path_hash(const struct path *path)
{
	return hash_step(path->parent, path->key);
}

/* Rows between asking the memory for a place in the index and taking it. */
enum { INDEX_AHEAD = 16 };

void selection_index_paths(struct selection *selection)
{
	const struct path *items = selection->paths.items;
	index_clear(&selection->path_index);
	for (uint32_t i = 0; i < selection->paths.nr; i++) {
		if (i + INDEX_AHEAD < selection->paths.nr)
			index_prefetch(&selection->path_index, path_hash(&items[i + INDEX_AHEAD]));
		if (items[i].key != KEY_PROCESS) /* which are many of one parent */
			index_add(&selection->path_index, path_hash(&items[i]), i);
	}
}

static int reserve_path(struct selection *selection)
{
	size_t nr = selection->paths.nr;
	return nr >= NO_PATH - 1 || index_reserve(&selection->path_index) ||
			       vec_reserve(&selection->paths, nr + 1) ||
			       (selection->by_process &&
				vec_reserve(&selection->path_processes, nr + 1))
		       ? -ENOMEM
		       : 0;
}

uint32_t selection_add_path(struct selection *selection, uint32_t parent, uint32_t key)
{
	if (selection_reserve_key(selection, key) || reserve_path(selection))
		return NO_PATH;
	static const struct path nothing = {0};
	uint32_t row = (uint32_t)selection->paths.nr++;
	const struct path *above = row ? &selection->paths.items[parent] : &nothing;
	selection->paths.items[row] = (struct path){
		.parent = parent,
		.key = key,
		.same = nearest_same(selection, parent, key),
		.depth = (uint16_t)(row ? above->depth + 1 : 0),
		.unnamed = above->unnamed ||
			   (key >= NR_LABELS &&
			    !history_function_named(selection->history, function_of_key(key))),
		.next_sibling = above->first_child,
		.next_same = selection->keys.items[key].first_path,
		.hits = above->hits | selection->keys.items[key].hits,
	};
	selection->keys.items[key].first_path = row;
	if (row)
		selection->paths.items[parent].first_child = row;
	if (selection->by_process)
		selection->path_processes.items[selection->path_processes.nr++] =
			row ? selection->path_processes.items[parent] : NO_PROCESS;
	return row;
}

uint32_t selection_child_path(struct selection *selection, uint32_t parent, uint32_t key)
{
	uint32_t row = selection_find_path(selection, parent, key);
	if (row != NO_PATH)
		return row;
	row = selection_add_path(selection, parent, key);
	if (row != NO_PATH)
		index_add(&selection->path_index, hash_step(parent, key), row);
	return row;
}

/* ---- all of them ---- */

void selection_clear_paths(struct selection *selection)
{
	for (size_t i = 0; i < selection->keys.nr; i++) {
		selection->keys.items[i].cost = (struct selection_cost){0};
		selection->keys.items[i].first_path = 0;
	}
	for (size_t i = 0; i < selection->processes.nr; i++)
		selection->processes.items[i].path = 0;
	for (size_t i = 0; i < NR_LABELS; i++)
		selection->node_paths[i].nr = 0;
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		selection->stacks.items[i].path = 0;
		selection->stacks.items[i].key = KEY_ALL;
	}
	selection->root = 0;
	selection->paths.nr = 1;
	selection->paths.items[0].first_child = 0;
	selection->paths.items[0].total = selection->paths.items[0].weight = 0;
	selection->path_processes.nr = selection->by_process ? 1 : 0;
	selection->trend_masks.nr = 0;
	selection->shown.nr = 0;
	index_clear(&selection->path_index);
	index_clear(&selection->shown_index);
	index_add(&selection->path_index, hash_step(0, KEY_ALL), 0);
	/* Names are followed by placing every stack again. */
	selection->unplaced = true;
	selection->nr_renamed = selection->history->nr_renamed - 1;
}

struct stack_count selection_path_self(const struct selection *selection, uint32_t path)
{
	const struct path *items = selection->paths.items;
	struct stack_count self = {items[path].total, items[path].weight};
	for (uint32_t child = items[path].first_child; child; child = items[child].next_sibling) {
		self.samples -= items[child].total;
		self.weight -= items[child].weight;
	}
	return self;
}

/* One pass, parents first. */
bool *selection_find_containing(const struct selection *selection, uint32_t key)
{
	bool *containing = calloc(selection->paths.nr, sizeof(*containing));
	if (!containing)
		return NULL;
	for (uint32_t i = 0; i < selection->paths.nr; i++) {
		const struct path *path = &selection->paths.items[i];
		containing[i] =
			path->key == key || (i != selection->root && containing[path->parent]);
	}
	return containing;
}
