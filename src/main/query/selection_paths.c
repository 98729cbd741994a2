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

#include "selection_internal.h"

static uint64_t hash_step(uint32_t parent, uint32_t key)
{
	return hash_u64((uint64_t)parent << 32 | key);
}

/* ---- keys ---- */

const char *selection_key_label(uint32_t key)
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

const char *selection_key_name(const struct selection *selection, uint32_t key)
{
	const char *label = selection_key_label(key);
	return label ? label : history_function_name(selection->history, function_of_key(key));
}

int selection_compare_keys(const struct selection *selection, uint32_t a, uint32_t b)
{
	int order = strcmp(selection_key_name(selection, a), selection_key_name(selection, b));
	if (!order)
		order = history_compare_functions(selection->history, function_of_key(a),
						  function_of_key(b));
	return order ? order : (a > b) - (a < b);
}

uint32_t selection_end_key(uint32_t end)
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

int selection_reserve_key(struct selection *selection, uint32_t key)
{
	if (key < selection->keys.nr)
		return 0;
	if (vec_reserve(&selection->keys, (size_t)key + 1))
		return -ENOMEM;
	for (; selection->keys.nr <= key; selection->keys.nr++)
		selection->keys.items[selection->keys.nr] = (struct key){
			.hits = selection_key_hits(selection, (uint32_t)selection->keys.nr),
		};
	return 0;
}

/* ---- steps ---- */

uint32_t selection_find_path(const struct selection *selection, uint32_t parent, uint32_t key)
{
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
	size_t nr = selection->paths.nr, words = selection->dirty.nr;
	if (nr >= NO_PATH - 1 || index_reserve(&selection->path_index) ||
	    vec_reserve(&selection->paths, nr + 1) || vec_reserve(&selection->pending, nr + 1) ||
	    vec_reserve(&selection->dirty, nr / 64 + 1) ||
	    (selection->by_process && vec_reserve(&selection->path_processes, nr + 1)))
		return -ENOMEM;
	selection->pending.items[nr] = (struct stack_count){0};
	selection->pending.nr = nr + 1;
	for (; words < nr / 64 + 1; words++)
		selection->dirty.items[words] = 0;
	selection->dirty.nr = words;
	return 0;
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

/* ---- from the history's rows ---- */

static uint32_t frame_key(struct selection *selection, uint32_t frame)
{
	uint32_t function = history_function_of(selection->history, frame);
	return function == UINT32_MAX ? UINT32_MAX : key_of_function(function);
}

static uint32_t step_to_frame(struct selection *selection, uint32_t path, uint32_t frame)
{
	uint32_t key = frame_key(selection, frame);
	return key == UINT32_MAX || path == NO_PATH ? NO_PATH
						    : selection_child_path(selection, path, key);
}

/* Room for a path of every node, below a label. */
static int reserve_nodes(struct selection *selection, uint32_t label)
{
	size_t nr = selection->node_paths[label].nr, wanted = selection->history->nodes.nr;
	if (nr >= wanted)
		return 0;
	if (vec_reserve(&selection->node_paths[label], wanted))
		return -ENOMEM;
	uint32_t *items = selection->node_paths[label].items;
	memset(items + nr, 0, (wanted - nr) * sizeof(*items));
	selection->node_paths[label].nr = wanted;
	return 0;
}

/* The path of a node in stacks of a process, if it is known. NO_PATH: it is not. */
static uint32_t known_path(const struct selection *selection, uint32_t label, uint32_t node,
			   uint32_t process)
{
	uint32_t known = selection->node_paths[label].items[node];
	return known && selection_process_of_path(selection, known - 1) == process ? known - 1
										   : NO_PATH;
}

/* Where stacks begin. NO_PATH: out of memory. */
static uint32_t first_path(struct selection *selection, uint32_t label, uint32_t process)
{
	uint32_t path = selection_process_path(selection, process);
	return label && path != NO_PATH ? selection_child_path(selection, path, label) : path;
}

/* Up to the first node whose path is known, and down again. The history's own scratch holds the way. */
static uint32_t node_path(struct selection *selection, uint32_t label, uint32_t node,
			  uint32_t process)
{
	struct history *history = selection->history;
	uint32_t *way = history->path, *known = selection->node_paths[label].items;
	uint32_t path = NO_PATH;
	size_t nr = 0;
	for (; node && (path = known_path(selection, label, node, process)) == NO_PATH;
	     node = history->nodes.items[node].parent)
		way[nr++] = node;
	if (!node)
		path = first_path(selection, label, process);
	while (nr && path != NO_PATH) {
		node = way[--nr];
		path = step_to_frame(selection, path, history->nodes.items[node].frame);
		if (path != NO_PATH)
			known[node] = path + 1;
	}
	return path;
}

uint32_t selection_stack_path(struct selection *selection, const struct counted_stack *stack)
{
	uint32_t label = selection_end_key(stack->end);
	if (reserve_nodes(selection, label))
		return NO_PATH;
	uint32_t path = node_path(selection, label, stack->node,
				  selection_process_of_task(selection, stack->task));
	/* Where nothing at all is known, there is still [unknown]. */
	if (stack->leaf || !stack->node)
		path = step_to_frame(selection, path, stack->leaf);
	return path;
}

/*
 * Parents come before their children: what changed above is known by then. A node whose caller's path is that of
 * another process by now is forgotten.
 */
static int follow_label(struct selection *selection, uint32_t label)
{
	const struct history *history = selection->history;
	uint32_t *known = selection->node_paths[label].items;
	for (size_t i = 1; i < selection->node_paths[label].nr; i++) {
		if (!known[i])
			continue;
		const struct history_node *node = &history->nodes.items[i];
		uint32_t process = selection_process_of_path(selection, known[i] - 1);
		uint32_t above = node->parent ? known_path(selection, label, node->parent, process)
					      : first_path(selection, label, process);
		if (above == NO_PATH) {
			known[i] = 0;
			continue;
		}
		const struct path *path = &selection->paths.items[known[i] - 1];
		uint32_t function = history->frames.items[node->frame].function;
		if (path->parent == above && function && path->key == key_of_function(function))
			continue;
		uint32_t moved = step_to_frame(selection, above, node->frame);
		if (moved == NO_PATH)
			return -ENOMEM;
		known[i] = moved + 1;
	}
	return 0;
}

int selection_follow_names(struct selection *selection)
{
	int result = 0;
	for (uint32_t label = 0; !result && label < NR_LABELS; label++)
		result = follow_label(selection, label);
	return result;
}

/* ---- costs ---- */

static void add_pending(struct selection *selection, uint32_t path, uint64_t samples,
			uint64_t weight)
{
	selection->pending.items[path].samples += samples;
	selection->pending.items[path].weight += weight;
	selection->dirty.items[path / 64] |= UINT64_C(1) << path % 64;
}

void selection_note(struct selection *selection, const struct stack_state *stack, uint64_t samples,
		    uint64_t weight)
{
	struct selection_cost *cost = &selection->keys.items[stack->key].cost;
	cost->self += samples;
	cost->self_weight += weight;
	add_pending(selection, stack->path, samples, weight);
}

static void carry_one(struct selection *selection, uint32_t row)
{
	struct path *path = &selection->paths.items[row];
	const struct stack_count change = selection->pending.items[row];
	selection->pending.items[row] = (struct stack_count){0};
	path->total += change.samples;
	path->weight += change.weight;
	if (selection_is_outermost(selection, path)) {
		struct selection_cost *cost = &selection->keys.items[path->key].cost;
		cost->total += change.samples;
		cost->total_weight += change.weight;
	}
	if (row != selection->root)
		add_pending(selection, path->parent, change.samples, change.weight);
}

/* Words of dirty bits that the memory is asked for before they are carried. */
enum { FAR_AHEAD = 4, AHEAD = 1 };

/* Most of the time would go into waiting for memory: paths are many, and those dirty are anywhere. */
static void prefetch(const struct selection *selection, size_t word)
{
	if (word >= FAR_AHEAD)
		for (uint64_t bits = selection->dirty.items[word - FAR_AHEAD]; bits;
		     bits &= bits - 1) {
			size_t row = (word - FAR_AHEAD) * 64 + (size_t)__builtin_ctzll(bits);
			__builtin_prefetch(&selection->paths.items[row], 1);
			__builtin_prefetch(&selection->pending.items[row], 1);
		}
	if (word >= AHEAD)
		for (uint64_t bits = selection->dirty.items[word - AHEAD]; bits; bits &= bits - 1) {
			size_t row = (word - AHEAD) * 64 + (size_t)__builtin_ctzll(bits);
			uint32_t parent = selection->paths.items[row].parent;
			__builtin_prefetch(&selection->pending.items[parent], 1);
		}
}

void selection_carry(struct selection *selection)
{
	for (size_t i = selection->dirty.nr; i-- > 0;) {
		prefetch(selection, i);
		while (selection->dirty.items[i]) {
			uint32_t bit = 63 - (uint32_t)__builtin_clzll(selection->dirty.items[i]);
			selection->dirty.items[i] &= ~(UINT64_C(1) << bit);
			carry_one(selection, (uint32_t)i * 64 + bit);
		}
	}
}

void selection_clear_costs(struct selection *selection)
{
	for (size_t i = 0; i < selection->paths.nr; i++)
		selection->paths.items[i].total = selection->paths.items[i].weight = 0;
	for (size_t i = 0; i < selection->keys.nr; i++)
		selection->keys.items[i].cost = (struct selection_cost){0};
}

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
	selection->paths.nr = selection->pending.nr = selection->dirty.nr = 1;
	selection->paths.items[0].first_child = 0;
	selection->paths.items[0].total = selection->paths.items[0].weight = 0;
	selection->dirty.items[0] = 0;
	selection->path_processes.nr = selection->by_process ? 1 : 0;
	selection->trend_masks.nr = 0;
	selection->shown.nr = 0;
	index_clear(&selection->path_index);
	index_clear(&selection->shown_index);
	index_add(&selection->path_index, hash_step(0, KEY_ALL), 0);
	/* Names are followed by placing every stack again. */
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
