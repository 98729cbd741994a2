/* SPDX-License-Identifier: MIT */
/*
 * Where in the source functions are hot. Stacks share nodes: what each weighs is carried to its callers once, so that this takes as long as
 * there are stacks and nodes, however deep these are.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>
#include <ctop/base/vec.h>

#include "selection_internal.h"

static bool counts(const struct selection *selection, size_t stack, const bool *containing)
{
	const struct stack_state *state = &selection->stacks.items[stack];
	return state->passes && (!containing || containing[state->path]);
}

/* The samples that are in a node's frame, or were called by it, of all stacks or those on some paths. By node; NULL: out of memory. */
static struct stack_count *count_nodes(const struct selection *selection, const bool *containing)
{
	const struct history *history = selection->history;
	struct stack_count *by_node = calloc(history->nodes.nr + 1, sizeof(*by_node));
	if (!by_node)
		return NULL;
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		if (!counts(selection, i, containing))
			continue;
		struct stack_count *count = &by_node[history->stacks.items[i].node];
		count->samples += selection->counts.items[i].samples;
		count->weight += selection->counts.items[i].weight;
	}
	/* Callers come first. */
	for (size_t i = history->nodes.nr; i-- > 1;) {
		struct stack_count *caller = &by_node[history->nodes.items[i].parent];
		caller->samples += by_node[i].samples;
		caller->weight += by_node[i].weight;
	}
	return by_node;
}

/* ---- lines, each once ---- */

struct tally {
	struct selection_lines *lines;
	struct index index;
};

static int add(struct tally *tally, struct selection_line line)
{
	const uint64_t hash =
		hash_two((uint64_t)line.function.index << 32 | line.line, (uintptr_t)line.file);
	struct index_probe probe = index_find(&tally->index, hash);
	uint32_t row;
	while (index_next(&tally->index, &probe, &row)) {
		struct selection_line *known = &tally->lines->items[row];
		/* Files are interned. */
		if (known->function.index != line.function.index || known->line != line.line ||
		    known->file != line.file)
			continue;
		known->samples += line.samples;
		known->weight += line.weight;
		return 0;
	}
	if (vec_reserve(tally->lines, tally->lines->nr + 1) || index_reserve(&tally->index))
		return -ENOMEM;
	index_add(&tally->index, hash, (uint32_t)tally->lines->nr);
	tally->lines->items[tally->lines->nr++] = line;
	return 0;
}

/* What is on no line is left out. */
static int add_step(struct tally *tally, const struct history *history,
		    const struct history_step *step, const struct stack_count *count)
{
	const struct history_site *site = &history->sites.items[step->site];
	const struct selection_line line = {.function = {step->function},
					    .file = site->file,
					    .line = site->line,
					    .samples = count->samples,
					    .weight = count->weight};
	return step->site && site->line && count->samples ? add(tally, line) : 0;
}

static int compare_files(const struct selection_line *a, const struct selection_line *b)
{
	const int files = strcmp(a->file, b->file);
	return files ? files : (a->line > b->line) - (a->line < b->line);
}

static int compare(const void *a, const void *b)
{
	const struct selection_line *left = a, *right = b;
	if (left->weight != right->weight)
		return left->weight < right->weight ? 1 : -1;
	return compare_files(left, right);
}

static void sort(struct selection_lines *lines)
{
	if (lines->nr)
		qsort(lines->items, lines->nr, sizeof(*lines->items), compare);
}

/* ---- of one function ---- */

struct search {
	struct history *history;
	const bool *containing; /* by path of a stack: the function is there */
	uint32_t function;
	struct tally lines, callers;
};

/* Where in a frame the function is first; the step that calls it, if that is in the frame as well. nr: there is none. */
static size_t find_step(const struct search *search, uint32_t frame,
			struct history_step steps[HISTORY_STEPS_MAX], size_t *nr)
{
	size_t at = 0;
	*nr = history_steps_of(search->history, frame, 0, steps);
	while (at < *nr && steps[at].function != search->function)
		at++;
	return at;
}

/* A frame below a node, in which the function is called for the first time if it is there. 1: it is; 0; -ENOMEM. */
static int add_call(struct search *search, uint32_t frame, uint32_t caller,
		    const struct stack_count *count)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	size_t nr;
	const size_t at = find_step(search, frame, steps, &nr);
	if (at == nr)
		return nr ? 0 : -ENOMEM;
	int result = add_step(&search->lines, search->history, &steps[at], count);
	if (result || (!at && !caller))
		return result ? result : 1;
	struct history_step step = steps[at ? at - 1 : 0];
	if (!at) {
		nr = history_steps_of(search->history, search->history->nodes.items[caller].frame,
				      0, steps);
		if (!nr)
			return -ENOMEM;
		step = steps[nr - 1];
	}
	result = add_step(&search->callers, search->history, &step, count);
	return result ? result : 1;
}

static int add_nodes(struct search *search, const struct stack_count *by_node, bool *inside)
{
	const struct history *history = search->history;
	for (size_t i = 1; i < history->nodes.nr; i++) {
		const struct history_node *node = &history->nodes.items[i];
		/* Nor has anything below it. */
		if (!by_node[i].samples)
			continue;
		int found = inside[node->parent]
				    ? 1
				    : add_call(search, node->frame, node->parent, &by_node[i]);
		if (found < 0)
			return found;
		inside[i] = found;
	}
	return 0;
}

static int add_leaves(struct search *search, const struct selection *selection, const bool *inside)
{
	int found = 0;
	for (size_t i = 0; found >= 0 && i < selection->stacks.nr; i++) {
		const struct counted_stack *stack = &search->history->stacks.items[i];
		if (counts(selection, i, search->containing) && stack->leaf && !inside[stack->node])
			found = add_call(search, stack->leaf, stack->node,
					 &selection->counts.items[i]);
	}
	return found < 0 ? found : 0;
}

int selection_lines(struct selection *selection, struct function_id function,
		    struct selection_lines *lines, struct selection_lines *callers)
{
	struct search search = {.history = selection->history,
				.function = function.index,
				.lines.lines = lines,
				.callers.lines = callers};
	lines->nr = callers->nr = 0;
	if (selection->history->sites.nr < 2) /* no line is known of any */
		return 0;
	int result = selection_need_paths(selection);
	if (result)
		return result;
	/* Most functions are on few stacks. */
	bool *containing = selection_find_containing(selection, key_of_function(function.index));
	struct stack_count *by_node = containing ? count_nodes(selection, containing) : NULL;
	bool *inside = calloc(selection->history->nodes.nr + 1, sizeof(*inside));
	search.containing = containing;
	result = by_node && inside ? 0 : -ENOMEM;
	if (!result)
		result = add_nodes(&search, by_node, inside);
	if (!result)
		result = add_leaves(&search, selection, inside);
	sort(lines);
	sort(callers);
	index_release(&search.lines.index);
	index_release(&search.callers.index);
	free(by_node);
	free(inside);
	free(containing);
	return result;
}

/* ---- of each function ---- */

static int add_frame(struct tally *tally, struct history *history, uint32_t frame,
		     const struct stack_count *count)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	const size_t nr = count->samples ? history_steps_of(history, frame, 0, steps) : 0;
	int result = count->samples && !nr ? -ENOMEM : 0;
	for (size_t i = 0; !result && i < nr; i++)
		result = add_step(tally, history, &steps[i], count);
	return result;
}

static int add_frames(struct tally *tally, struct selection *selection,
		      const struct stack_count *by_node)
{
	struct history *history = selection->history;
	struct stack_count *frames = calloc(history->frames.nr + 1, sizeof(*frames));
	int result = frames ? 0 : -ENOMEM;
	for (size_t i = 1; !result && i < history->nodes.nr; i++)
		frames[history->nodes.items[i].frame].samples += by_node[i].samples;
	for (size_t i = 0; !result && i < selection->stacks.nr; i++)
		if (selection->stacks.items[i].passes)
			frames[history->stacks.items[i].leaf].samples +=
				selection->counts.items[i].samples;
	for (uint32_t i = 1; !result && i < history->frames.nr; i++)
		result = add_frame(tally, history, i, &frames[i]);
	free(frames);
	return result;
}

static bool is_hotter(const struct selection_line *a, const struct selection_line *b)
{
	if (!b->line || a->samples != b->samples)
		return !b->line || a->samples > b->samples;
	return compare_files(a, b) < 0;
}

int selection_hottest_lines(struct selection *selection, struct selection_lines *hottest)
{
	struct selection_lines lines = {0};
	struct tally tally = {.lines = &lines};
	struct stack_count *by_node = count_nodes(selection, NULL);
	int result = by_node ? add_frames(&tally, selection, by_node) : -ENOMEM;
	/* Functions that were inlined may be new. */
	const size_t nr = selection->history->functions.nr;
	hottest->nr = 0;
	if (!result)
		result = vec_reserve(hottest, nr);
	while (!result && hottest->nr < nr)
		hottest->items[hottest->nr++] = (struct selection_line){0};
	for (size_t i = 0; !result && i < lines.nr; i++) {
		struct selection_line *known = &hottest->items[lines.items[i].function.index];
		if (is_hotter(&lines.items[i], known))
			*known = lines.items[i];
	}
	free(lines.items);
	free(by_node);
	index_release(&tally.index);
	return result;
}
