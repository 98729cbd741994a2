/* SPDX-License-Identifier: MIT */
#include "inlined_tree.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/lines/source_lines.h>

#include "parts.h"

enum {
	DIES_MAX = 1 << 20,   /* looked at in one function */
	SCOPES_MAX = 1 << 18, /* blocks and calls of it */
	PARTS_MAX = 1 << 19,  /* ranges of these, with those without code */
	DEPTH_MAX = 64,
	CALLS_DEEP_MAX = SOURCE_FRAMES_MAX - 1, /* more are as if they were not there */
	/* At one address: entries that lie in each other, and some that should not be beside them. */
	OPEN_MAX = 4 * DEPTH_MAX,
};

/* A block, or a call that was put in: they are numbered from 1 on in the order of their entries, hence the outer ones first. */
struct scope {
	uint32_t outer; /* scope; 0: the function */
	uint32_t call;	/* its own, else the one that it is in: 1 + number; 0: none */
};

/* Where a part of a scope begins or ends. */
struct edge {
	uint64_t address;
	uint32_t scope;
	bool begins;
};

struct reading {
	struct inlined_tree *tree;
	const struct split_unit *split; /* that has the function; NULL: it is in no other file */
	struct {
		struct scope *items;
		size_t nr, capacity;
	} scopes;
	struct {
		struct edge *items;
		size_t nr, capacity;
	} edges;
	size_t nr_dies, nr_parts;
	/* Those that have the address which was come to, in their order. */
	uint32_t open[OPEN_MAX];
	size_t nr_open;
};

bool inlined_is_block(int tag)
{
	return tag == DW_TAG_lexical_block || tag == DW_TAG_try_block ||
	       tag == DW_TAG_catch_block || tag == DW_TAG_with_stmt;
}

/* ---- entries ---- */

/* Of the scope that comes next. 1: it has one at least, 0: none; -1: too many, or out of memory. *nr: of those without code, too. */
static int add_edges(struct reading *reading, Dwarf_Die *die, size_t *nr)
{
	const uint32_t scope = (uint32_t)reading->scopes.nr + 1;
	const size_t before = reading->edges.nr;
	uint64_t start, end;
	struct parts parts = parts_of(reading->split, die);
	for (*nr = 0; parts_next(&parts, &start, &end); ++*nr) {
		if (++reading->nr_parts > PARTS_MAX)
			return -1;
		if (end <= start)
			continue;
		if (vec_reserve(&reading->edges, reading->edges.nr + 2))
			return -1;
		reading->edges.items[reading->edges.nr++] = (struct edge){start, scope, true};
		reading->edges.items[reading->edges.nr++] = (struct edge){end, scope, false};
	}
	return reading->edges.nr > before;
}

static bool add_call(struct reading *reading, Dwarf_Die *die, uint32_t outer)
{
	struct inlined_tree *tree = reading->tree;
	if (vec_reserve(&tree->calls, tree->calls.nr + 1))
		return false;
	tree->calls.items[tree->calls.nr++] = (struct inlined_call){dwarf_dieoffset(die), outer};
	return true;
}

static bool add_scope(struct reading *reading, struct scope scope)
{
	if (reading->scopes.nr == SCOPES_MAX ||
	    vec_reserve(&reading->scopes, reading->scopes.nr + 1))
		return false;
	reading->scopes.items[reading->scopes.nr++] = scope;
	return true;
}

/* depth: of entries, and of calls in each other. */
struct depth {
	int entries, calls;
};

static bool read_below(struct reading *reading, Dwarf_Die *above, uint32_t outer, uint32_t call,
		       struct depth depth);

static bool read_entry(struct reading *reading, Dwarf_Die *die, uint32_t outer, uint32_t call,
		       struct depth depth)
{
	const int tag = dwarf_tag(die);
	if (tag != DW_TAG_inlined_subroutine && !inlined_is_block(tag))
		return true;
	size_t nr;
	const int parts = add_edges(reading, die, &nr);
	if (parts < 0)
		return false;
	/* A block may say nothing of where it is that can be read, and have others that do. */
	const bool is_open = inlined_is_block(tag) && !nr;
	depth.entries++;
	if (!parts)
		return !is_open || read_below(reading, die, outer, call, depth);
	if (tag == DW_TAG_inlined_subroutine && depth.calls < CALLS_DEEP_MAX) {
		if (!add_call(reading, die, call))
			return false;
		call = (uint32_t)reading->tree->calls.nr;
		depth.calls++;
	}
	return add_scope(reading, (struct scope){outer, call}) &&
	       read_below(reading, die, (uint32_t)reading->scopes.nr, call, depth);
}

static bool read_below(struct reading *reading, Dwarf_Die *above, uint32_t outer, uint32_t call,
		       struct depth depth)
{
	Dwarf_Die die;
	if (depth.entries >= DEPTH_MAX || dwarf_child(above, &die) != 0)
		return true;
	do {
		if (++reading->nr_dies > DIES_MAX || !read_entry(reading, &die, outer, call, depth))
			return false;
	} while (dwarf_siblingof(&die, &die) == 0);
	return true;
}

/* ---- addresses ---- */

static int compare_edges(const void *a, const void *b)
{
	const struct edge *left = a, *right = b;
	if (left->address != right->address)
		return left->address < right->address ? -1 : 1;
	return (left->scope > right->scope) - (left->scope < right->scope);
}

/* Two parts of a scope may overlap: then it is open twice. What would be too many at once is left out. */
static void pass(struct reading *reading, const struct edge *edge)
{
	uint32_t *open = reading->open;
	size_t at = reading->nr_open;
	while (at && open[at - 1] > edge->scope)
		at--;
	if (!edge->begins) {
		if (!at || open[at - 1] != edge->scope)
			return;
		memmove(&open[at - 1], &open[at], (reading->nr_open-- - at) * sizeof(*open));
	} else if (reading->nr_open < OPEN_MAX) {
		memmove(&open[at + 1], &open[at], (reading->nr_open++ - at) * sizeof(*open));
		open[at] = edge->scope;
	}
}

/* 1 + number; 0: none. From the function on the first that lies in the one before: what comes later and lies elsewhere is passed by. */
static uint32_t innermost_call(const struct reading *reading)
{
	uint32_t scope = 0;
	for (size_t i = 0; i < reading->nr_open; i++)
		if (reading->scopes.items[reading->open[i] - 1].outer == scope)
			scope = reading->open[i];
	return scope ? reading->scopes.items[scope - 1].call : 0;
}

static bool add_span(struct inlined_tree *tree, uint64_t start, uint64_t end, uint32_t call)
{
	struct inlined_span *last = tree->spans.nr ? &tree->spans.items[tree->spans.nr - 1] : NULL;
	if (last && last->end == start && last->call == call - 1) {
		last->end = end;
		return true;
	}
	if (vec_reserve(&tree->spans, tree->spans.nr + 1))
		return false;
	tree->spans.items[tree->spans.nr++] = (struct inlined_span){start, end, call - 1};
	return true;
}

static bool make_spans(struct reading *reading)
{
	const size_t nr = reading->edges.nr;
	struct edge *edges = reading->edges.items;
	if (nr)
		qsort(edges, nr, sizeof(*edges), compare_edges);
	for (size_t i = 0; i < nr;) {
		const uint64_t address = edges[i].address;
		for (; i < nr && edges[i].address == address; i++)
			pass(reading, &edges[i]);
		const uint32_t call = i < nr ? innermost_call(reading) : 0;
		if (call && !add_span(reading->tree, address, edges[i].address, call))
			return false;
	}
	return true;
}

bool inlined_tree_read(struct inlined_tree *tree, const struct split_unit *split,
		       Dwarf_Die *function)
{
	struct reading reading = {.tree = tree, .split = split};
	tree->calls.nr = tree->spans.nr = 0;
	const bool is_read =
		read_below(&reading, function, 0, 0, (struct depth){0, 0}) && make_spans(&reading);
	if (!is_read)
		tree->calls.nr = tree->spans.nr = 0;
	free(reading.scopes.items);
	free(reading.edges.items);
	return is_read;
}

void inlined_tree_release(struct inlined_tree *tree)
{
	free(tree->calls.items);
	free(tree->spans.items);
	*tree = (struct inlined_tree){0};
}

const struct inlined_call *inlined_tree_at(const struct inlined_tree *tree, uint64_t elf_address,
					   uint64_t *end)
{
	size_t low = 0, high = tree->spans.nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (tree->spans.items[middle].end <= elf_address)
			low = middle + 1;
		else
			high = middle;
	}
	const struct inlined_span *span = low < tree->spans.nr ? &tree->spans.items[low] : NULL;
	const bool is_in = span && span->start <= elf_address;
	*end = is_in ? span->end : span ? span->start : UINT64_MAX;
	return is_in ? &tree->calls.items[span->call] : NULL;
}

const struct inlined_call *inlined_tree_call(const struct inlined_tree *tree, Dwarf_Off die)
{
	size_t low = 0, high = tree->calls.nr;
	while (low < high) {
		const size_t middle = low + (high - low) / 2;
		if (tree->calls.items[middle].die < die)
			low = middle + 1;
		else
			high = middle;
	}
	return low < tree->calls.nr && tree->calls.items[low].die == die ? &tree->calls.items[low]
									 : NULL;
}
