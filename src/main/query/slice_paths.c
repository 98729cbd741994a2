/* SPDX-License-Identifier: MIT */
/*
 * Stacks as paths of functions, and their costs. A node of the history leads to the same path as long as no
 * frame on its way gets a name, so that a new stack costs a step or two. Counts that changed are noted where
 * stacks end and carried up once for all: paths come after their parents, so that one pass from the last row to
 * the first, over those that have something to carry, meets each of them once.
 */
#include <errno.h>
#include <string.h>

#include <ctop/base/vec.h>

#include "slice_internal.h"

static uint64_t hash_step(uint32_t parent, uint32_t key)
{
	return hash_u64((uint64_t)parent << 32 | key);
}

/* ---- keys ---- */

const char *slice_key_label(uint32_t key)
{
	static const char *const labels[NR_LABELS] = {
		[KEY_ALL] = "[all]",
		[KEY_SWITCHED] = "[switched]",
		[KEY_TRUNCATED] = "[truncated]",
		[KEY_BROKEN] = "[broken]",
		[KEY_PROCESS] = "[process]",
	};
	return key < NR_LABELS ? labels[key] : NULL;
}

const char *slice_key_name(const struct slice *slice, uint32_t key)
{
	const char *label = slice_key_label(key);
	return label ? label : history_function_name(slice->history, function_of_key(key));
}

int slice_compare_keys(const struct slice *slice, uint32_t a, uint32_t b)
{
	int order = strcmp(slice_key_name(slice, a), slice_key_name(slice, b));
	if (!order)
		order = history_compare_functions(slice->history, function_of_key(a),
						  function_of_key(b));
	return order ? order : (a > b) - (a < b);
}

static uint32_t end_key(uint32_t end)
{
	switch (end) {
	case STACK_SWITCHED:
		return KEY_SWITCHED;
	case STACK_TRUNCATED:
		return KEY_TRUNCATED;
	case STACK_BROKEN:
		return KEY_BROKEN;
	default:
		return KEY_ALL;
	}
}

int slice_reserve_key(struct slice *slice, uint32_t key)
{
	if (key < slice->keys.nr)
		return 0;
	if (vec_reserve(&slice->keys, (size_t)key + 1))
		return -ENOMEM;
	for (; slice->keys.nr <= key; slice->keys.nr++)
		slice->keys.items[slice->keys.nr] = (struct key){
			.hits = slice_key_hits(slice, (uint32_t)slice->keys.nr),
		};
	return 0;
}

/* ---- steps ---- */

uint32_t slice_find_path(const struct slice *slice, uint32_t parent, uint32_t key)
{
	struct index_probe probe = index_find(&slice->path_index, hash_step(parent, key));
	uint32_t row;
	while (index_next(&slice->path_index, &probe, &row))
		if (slice->paths.items[row].parent == parent && slice->paths.items[row].key == key)
			return row;
	return NO_PATH;
}

static uint32_t nearest_same(const struct slice *slice, uint32_t path, uint32_t key)
{
	if (!slice->keys.items[key].first_path)
		return 0;
	while (path && slice->paths.items[path].key != key)
		path = slice->paths.items[path].parent;
	return path;
}

static uint64_t path_hash(const struct path *path)
{
	return hash_step(path->parent, path->key);
}

/* Rows between asking the memory for a place in the index and taking it. */
enum { INDEX_AHEAD = 16 };

void slice_index_paths(struct slice *slice)
{
	const struct path *items = slice->paths.items;
	index_clear(&slice->path_index);
	for (uint32_t i = 0; i < slice->paths.nr; i++) {
		if (i + INDEX_AHEAD < slice->paths.nr)
			index_prefetch(&slice->path_index, path_hash(&items[i + INDEX_AHEAD]));
		if (items[i].key != KEY_PROCESS) /* which are many of one parent */
			index_add(&slice->path_index, path_hash(&items[i]), i);
	}
}

static int reserve_path(struct slice *slice)
{
	size_t nr = slice->paths.nr, words = slice->dirty.nr;
	if (nr >= NO_PATH - 1 || index_reserve(&slice->path_index) ||
	    vec_reserve(&slice->paths, nr + 1) || vec_reserve(&slice->pending, nr + 1) ||
	    vec_reserve(&slice->dirty, nr / 64 + 1) ||
	    (slice->by_process && vec_reserve(&slice->path_processes, nr + 1)))
		return -ENOMEM;
	slice->pending.items[nr] = (struct stack_count){0};
	slice->pending.nr = nr + 1;
	for (; words < nr / 64 + 1; words++)
		slice->dirty.items[words] = 0;
	slice->dirty.nr = words;
	return 0;
}

uint32_t slice_add_path(struct slice *slice, uint32_t parent, uint32_t key)
{
	if (slice_reserve_key(slice, key) || reserve_path(slice))
		return NO_PATH;
	static const struct path nothing = {0};
	uint32_t row = (uint32_t)slice->paths.nr++;
	const struct path *above = row ? &slice->paths.items[parent] : &nothing;
	slice->paths.items[row] = (struct path){
		.parent = parent,
		.key = key,
		.same = nearest_same(slice, parent, key),
		.depth = (uint16_t)(row ? above->depth + 1 : 0),
		.unnamed = above->unnamed ||
			   (key >= NR_LABELS &&
			    !history_function_named(slice->history, function_of_key(key))),
		.next_sibling = above->first_child,
		.next_same = slice->keys.items[key].first_path,
		.hits = above->hits | slice->keys.items[key].hits,
	};
	slice->keys.items[key].first_path = row;
	if (row)
		slice->paths.items[parent].first_child = row;
	if (slice->by_process)
		slice->path_processes.items[slice->path_processes.nr++] =
			row ? slice->path_processes.items[parent] : NO_PROCESS;
	return row;
}

uint32_t slice_child_path(struct slice *slice, uint32_t parent, uint32_t key)
{
	uint32_t row = slice_find_path(slice, parent, key);
	if (row != NO_PATH)
		return row;
	row = slice_add_path(slice, parent, key);
	if (row != NO_PATH)
		index_add(&slice->path_index, hash_step(parent, key), row);
	return row;
}

/* ---- from the history's rows ---- */

static uint32_t frame_key(struct slice *slice, uint32_t frame)
{
	uint32_t function = history_function_of(slice->history, frame);
	return function == UINT32_MAX ? UINT32_MAX : key_of_function(function);
}

static uint32_t step_to_frame(struct slice *slice, uint32_t path, uint32_t frame)
{
	uint32_t key = frame_key(slice, frame);
	return key == UINT32_MAX || path == NO_PATH ? NO_PATH : slice_child_path(slice, path, key);
}

/* Room for a path of every node, below a label. */
static int reserve_nodes(struct slice *slice, uint32_t label)
{
	size_t nr = slice->node_paths[label].nr, wanted = slice->history->nodes.nr;
	if (nr >= wanted)
		return 0;
	if (vec_reserve(&slice->node_paths[label], wanted))
		return -ENOMEM;
	uint32_t *items = slice->node_paths[label].items;
	memset(items + nr, 0, (wanted - nr) * sizeof(*items));
	slice->node_paths[label].nr = wanted;
	return 0;
}

/* The path of a node in stacks of a process, if it is known. NO_PATH: it is not. */
static uint32_t known_path(const struct slice *slice, uint32_t label, uint32_t node,
			   uint32_t process)
{
	uint32_t known = slice->node_paths[label].items[node];
	return known && slice_process_of_path(slice, known - 1) == process ? known - 1 : NO_PATH;
}

/* Where stacks begin. NO_PATH: out of memory. */
static uint32_t first_path(struct slice *slice, uint32_t label, uint32_t process)
{
	uint32_t path = slice_process_path(slice, process);
	return label && path != NO_PATH ? slice_child_path(slice, path, label) : path;
}

/* Up to the first node whose path is known, and down again. The history's own scratch holds the way. */
static uint32_t node_path(struct slice *slice, uint32_t label, uint32_t node, uint32_t process)
{
	struct history *history = slice->history;
	uint32_t *way = history->path, *known = slice->node_paths[label].items;
	uint32_t path = NO_PATH;
	size_t nr = 0;
	for (; node && (path = known_path(slice, label, node, process)) == NO_PATH;
	     node = history->nodes.items[node].parent)
		way[nr++] = node;
	if (!node)
		path = first_path(slice, label, process);
	while (nr && path != NO_PATH) {
		node = way[--nr];
		path = step_to_frame(slice, path, history->nodes.items[node].frame);
		if (path != NO_PATH)
			known[node] = path + 1;
	}
	return path;
}

uint32_t slice_stack_path(struct slice *slice, const struct counted_stack *stack)
{
	uint32_t label = end_key(stack->end);
	if (reserve_nodes(slice, label))
		return NO_PATH;
	uint32_t path =
		node_path(slice, label, stack->node, slice_process_of_task(slice, stack->task));
	/* Where nothing at all is known, there is still [unknown]. */
	if (stack->leaf || !stack->node)
		path = step_to_frame(slice, path, stack->leaf);
	return path;
}

/*
 * Parents come before their children: what changed above is known by then. A node whose caller's path is that of
 * another process by now is forgotten.
 */
static int follow_label(struct slice *slice, uint32_t label)
{
	const struct history *history = slice->history;
	uint32_t *known = slice->node_paths[label].items;
	for (size_t i = 1; i < slice->node_paths[label].nr; i++) {
		if (!known[i])
			continue;
		const struct history_node *node = &history->nodes.items[i];
		uint32_t process = slice_process_of_path(slice, known[i] - 1);
		uint32_t above = node->parent ? known_path(slice, label, node->parent, process)
					      : first_path(slice, label, process);
		if (above == NO_PATH) {
			known[i] = 0;
			continue;
		}
		const struct path *path = &slice->paths.items[known[i] - 1];
		uint32_t function = history->frames.items[node->frame].function;
		if (path->parent == above && function && path->key == key_of_function(function))
			continue;
		uint32_t moved = step_to_frame(slice, above, node->frame);
		if (moved == NO_PATH)
			return -ENOMEM;
		known[i] = moved + 1;
	}
	return 0;
}

int slice_follow_names(struct slice *slice)
{
	int result = 0;
	for (uint32_t label = 0; !result && label < NR_LABELS; label++)
		result = follow_label(slice, label);
	return result;
}

/* ---- costs ---- */

static void add_pending(struct slice *slice, uint32_t path, uint64_t samples, uint64_t weight)
{
	slice->pending.items[path].samples += samples;
	slice->pending.items[path].weight += weight;
	slice->dirty.items[path / 64] |= UINT64_C(1) << path % 64;
}

void slice_note(struct slice *slice, const struct stack_state *stack, uint64_t samples,
		uint64_t weight)
{
	struct slice_cost *cost = &slice->keys.items[stack->key].cost;
	cost->self += samples;
	cost->self_weight += weight;
	add_pending(slice, stack->path, samples, weight);
}

static void carry_one(struct slice *slice, uint32_t row)
{
	struct path *path = &slice->paths.items[row];
	const struct stack_count change = slice->pending.items[row];
	slice->pending.items[row] = (struct stack_count){0};
	path->total += change.samples;
	path->weight += change.weight;
	if (slice_is_outermost(slice, path)) {
		struct slice_cost *cost = &slice->keys.items[path->key].cost;
		cost->total += change.samples;
		cost->total_weight += change.weight;
	}
	if (row != slice->root)
		add_pending(slice, path->parent, change.samples, change.weight);
}

/* Words of dirty bits that the memory is asked for before they are carried. */
enum { FAR_AHEAD = 4, AHEAD = 1 };

/* Most of the time would go into waiting for memory: paths are many, and those dirty are anywhere. */
static void prefetch(const struct slice *slice, size_t word)
{
	if (word >= FAR_AHEAD)
		for (uint64_t bits = slice->dirty.items[word - FAR_AHEAD]; bits; bits &= bits - 1) {
			size_t row = (word - FAR_AHEAD) * 64 + (size_t)__builtin_ctzll(bits);
			__builtin_prefetch(&slice->paths.items[row], 1);
			__builtin_prefetch(&slice->pending.items[row], 1);
		}
	if (word >= AHEAD)
		for (uint64_t bits = slice->dirty.items[word - AHEAD]; bits; bits &= bits - 1) {
			size_t row = (word - AHEAD) * 64 + (size_t)__builtin_ctzll(bits);
			uint32_t parent = slice->paths.items[row].parent;
			__builtin_prefetch(&slice->pending.items[parent], 1);
		}
}

void slice_carry(struct slice *slice)
{
	for (size_t i = slice->dirty.nr; i-- > 0;) {
		prefetch(slice, i);
		while (slice->dirty.items[i]) {
			uint32_t bit = 63 - (uint32_t)__builtin_clzll(slice->dirty.items[i]);
			slice->dirty.items[i] &= ~(UINT64_C(1) << bit);
			carry_one(slice, (uint32_t)i * 64 + bit);
		}
	}
}

void slice_clear_costs(struct slice *slice)
{
	for (size_t i = 0; i < slice->paths.nr; i++)
		slice->paths.items[i].total = slice->paths.items[i].weight = 0;
	for (size_t i = 0; i < slice->keys.nr; i++)
		slice->keys.items[i].cost = (struct slice_cost){0};
}

void slice_clear_paths(struct slice *slice)
{
	for (size_t i = 0; i < slice->keys.nr; i++) {
		slice->keys.items[i].cost = (struct slice_cost){0};
		slice->keys.items[i].first_path = 0;
	}
	for (size_t i = 0; i < slice->processes.nr; i++)
		slice->processes.items[i].path = 0;
	for (size_t i = 0; i < NR_LABELS; i++)
		slice->node_paths[i].nr = 0;
	for (size_t i = 0; i < slice->stacks.nr; i++) {
		slice->stacks.items[i].path = 0;
		slice->stacks.items[i].key = KEY_ALL;
	}
	slice->root = 0;
	slice->paths.nr = slice->pending.nr = slice->dirty.nr = 1;
	slice->paths.items[0].first_child = 0;
	slice->paths.items[0].total = slice->paths.items[0].weight = 0;
	slice->dirty.items[0] = 0;
	slice->path_processes.nr = slice->by_process ? 1 : 0;
	slice->trend_masks.nr = 0;
	slice->shown.nr = 0;
	index_clear(&slice->path_index);
	index_clear(&slice->shown_index);
	index_add(&slice->path_index, hash_step(0, KEY_ALL), 0);
	/* Names are followed by placing every stack anew. */
	slice->nr_renamed = slice->history->nr_renamed - 1;
}

struct stack_count slice_path_self(const struct slice *slice, uint32_t path)
{
	const struct path *items = slice->paths.items;
	struct stack_count self = {items[path].total, items[path].weight};
	for (uint32_t child = items[path].first_child; child; child = items[child].next_sibling) {
		self.samples -= items[child].total;
		self.weight -= items[child].weight;
	}
	return self;
}
