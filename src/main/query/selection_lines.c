/* SPDX-License-Identifier: MIT */
/*
 * Where in the source functions are hot. Stacks share nodes: each node is looked at once, so that this takes as long as there are stacks
 * and nodes, however deep these are.
 */
#include <ctop/query/selection.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/hash.h>
#include <ctop/base/index.h>
#include <ctop/base/vec.h>

#include "selection_internal.h"

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

/* A node in whose frame the function is for the first time, seen from the outermost caller, and all samples there and below. */
struct place {
	uint32_t node;
	struct stack_count count;
};

enum { UNKNOWN, OUTSIDE, FIRST_PLACE };
enum { FRAME_UNKNOWN, FRAME_WITHOUT, FRAME_WITH };

struct search {
	struct history *history;
	uint32_t function;
	uint8_t *of_frame; /* whether it has the function */
	uint32_t *of_node; /* UNKNOWN, OUTSIDE, or FIRST_PLACE and a row of places */
	struct {
		struct place *items;
		size_t nr, capacity;
	} places;
	struct {
		uint32_t *items;
		size_t nr, capacity;
	} chain; /* of callers that are looked at */
	struct tally lines, callers;
};

/* Where in a frame the function is first. *nr: there is none; 0: out of memory. */
static size_t find_step(const struct search *search, uint32_t frame,
			struct history_step steps[HISTORY_STEPS_MAX], size_t *nr)
{
	size_t at = 0;
	*nr = history_steps_of(search->history, frame, 0, steps);
	while (at < *nr && steps[at].function != search->function)
		at++;
	return at;
}

static int has_function(struct search *search, uint32_t frame, bool *has)
{
	struct history_step steps[HISTORY_STEPS_MAX];
	uint8_t *of_frame = &search->of_frame[frame];
	size_t nr = 1;
	if (*of_frame == FRAME_UNKNOWN)
		*of_frame = find_step(search, frame, steps, &nr) < nr ? FRAME_WITH : FRAME_WITHOUT;
	*has = *of_frame == FRAME_WITH;
	return nr ? 0 : -ENOMEM;
}

/* A node whose caller is known. */
static int look_at_node(struct search *search, uint32_t node)
{
	const struct history_node *is = &search->history->nodes.items[node];
	uint32_t *of_node = &search->of_node[node];
	bool has;
	*of_node = search->of_node[is->parent];
	if (*of_node != OUTSIDE)
		return 0;
	if (has_function(search, is->frame, &has))
		return -ENOMEM;
	if (!has)
		return 0;
	if (vec_reserve(&search->places, search->places.nr + 1))
		return -ENOMEM;
	*of_node = FIRST_PLACE + (uint32_t)search->places.nr;
	search->places.items[search->places.nr++] = (struct place){.node = node};
	return 0;
}

/* From the node up to a caller that is known, and down again. */
static int look_at_chain(struct search *search, uint32_t node)
{
	int result = 0;
	search->chain.nr = 0;
	for (; search->of_node[node] == UNKNOWN; node = search->history->nodes.items[node].parent) {
		if (vec_reserve(&search->chain, search->chain.nr + 1))
			return -ENOMEM;
		search->chain.items[search->chain.nr++] = node;
	}
	while (!result && search->chain.nr)
		result = look_at_node(search, search->chain.items[--search->chain.nr]);
	return result;
}

/* A frame below a node, in which the function is called for the first time if it is there. */
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
		return result;
	struct history_step step = steps[at ? at - 1 : 0];
	if (!at) {
		nr = history_steps_of(search->history, search->history->nodes.items[caller].frame,
				      0, steps);
		if (!nr)
			return -ENOMEM;
		step = steps[nr - 1];
	}
	return add_step(&search->callers, search->history, &step, count);
}

static int add_stack(struct search *search, const struct counted_stack *stack,
		     const struct stack_count *count)
{
	const int result = look_at_chain(search, stack->node);
	if (result)
		return result;
	const uint32_t of_node = search->of_node[stack->node];
	bool has = false;
	if (of_node == OUTSIDE && stack->leaf && has_function(search, stack->leaf, &has))
		return -ENOMEM;
	if (of_node == OUTSIDE)
		return has ? add_call(search, stack->leaf, stack->node, count) : 0;
	struct place *place = &search->places.items[of_node - FIRST_PLACE];
	place->count.samples += count->samples;
	place->count.weight += count->weight;
	return 0;
}

static int search_stacks(struct search *search, const struct selection *selection,
			 const bool *containing)
{
	int result = 0;
	for (size_t i = 0; !result && i < selection->stacks.nr; i++) {
		const struct stack_state *state = &selection->stacks.items[i];
		const struct stack_count *count = &selection->counts.items[i];
		if (count->samples && state->passes && containing[state->path])
			result = add_stack(search, &search->history->stacks.items[i], count);
	}
	for (size_t i = 0; !result && i < search->places.nr; i++) {
		const struct place *place = &search->places.items[i];
		const struct history_node *node = &search->history->nodes.items[place->node];
		result = add_call(search, node->frame, node->parent, &place->count);
	}
	return result;
}

int selection_lines(const struct selection *selection, struct function_id function,
		    const bool *containing, struct selection_lines *lines,
		    struct selection_lines *callers)
{
	struct history *history = selection->history;
	struct search search = {.history = history,
				.function = function.index,
				.lines.lines = lines,
				.callers.lines = callers};
	int result = -ENOMEM;
	lines->nr = callers->nr = 0;
	if (history->sites.nr < 2) /* no line is known of any */
		return 0;
	search.of_frame = calloc(history->frames.nr + 1, sizeof(*search.of_frame));
	search.of_node = calloc(history->nodes.nr + 1, sizeof(*search.of_node));
	if (search.of_frame && search.of_node) {
		search.of_node[0] = OUTSIDE; /* nobody's caller */
		result = search_stacks(&search, selection, containing);
	}
	sort(lines);
	sort(callers);
	index_release(&search.lines.index);
	index_release(&search.callers.index);
	free(search.places.items);
	free(search.chain.items);
	free(search.of_frame);
	free(search.of_node);
	return result;
}

/* ---- of each function ---- */

/* The samples that are in a node's frame, or were called by it. By node; NULL: out of memory. */
static struct stack_count *count_nodes(const struct selection *selection)
{
	const struct history *history = selection->history;
	struct stack_count *by_node = calloc(history->nodes.nr + 1, sizeof(*by_node));
	if (!by_node)
		return NULL;
	for (size_t i = 0; i < selection->stacks.nr; i++) {
		if (!selection->stacks.items[i].passes)
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
	struct stack_count *by_node = count_nodes(selection);
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
