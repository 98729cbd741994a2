/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/task_id.h>
#include <ctop/base/vec.h>
#include <ctop/format/page.h>
#include <ctop/goroutine.h>
#include <ctop/history/slices.h>

#include "numbering.h"
#include "pieces.h"
#include "tracks.h"

/*
 * A page to look at a profile in. Its data (format/page.h), as ui/html/data.js reads it:
 *
 *     version; of ctop, command line, excerpt
 *     events      name, unit for one and for several, whether that is ns, whether it is of waits, what a sample weighs as a rule,
 *                 header
 *     modules     path, kind
 *     functions   name, module, kind, file and number of its hottest line ("", 0: not known)
 *     nodes       from 1 on: how far before it its caller is, function
 *     threads     event, pid, tid, process, thread
 *     stacks      node (signed, to the last one), thread, end
 *     slices      start in Unix time in us, log2 of the length in ns, how many; then the bytes of each, counted: slices.h
 */

enum { PAGE_DATA_VERSION = 3 };

/* What a function is, besides its name; ui/html/data.js has the same. */
enum function_kind { FUNCTION_USUAL, FUNCTION_NAMELESS, FUNCTION_LABEL };

/* Modules of frames that stand for no code: MODULE_LABEL - end stands in place of a stack's unknown callers. */
#define MODULE_LABEL	 (UINT32_MAX - 1)
#define MODULE_FRAMELESS UINT32_MAX

struct profile_stack {
	uint32_t node, track;
	enum stack_end end;
};

struct profile {
	const struct export_request *request;
	struct tracks tracks;
	struct slices slices; /* by rows, then by stacks */
	struct {
		uint32_t *items; /* that were sampled, in the order of their first samples */
		size_t nr, capacity;
	} rows;
	uint32_t *stack_of; /* by row; UINT32_MAX: it was not sampled */
	struct {
		struct profile_stack *items;
		size_t nr, capacity;
	} stacks;
	struct index stacks_index;
	struct history_walk walks
		[NR_STACK_ENDS]; /* of stacks whose callers are not known; the first: of others */
	struct numbering modules;
	struct selection_lines hottest; /* by function */
	struct history_totals *totals;	/* by event */
	struct text scratch;
	struct page *page;
};

/* ---- samples in ---- */

static bool lacks_callers(enum stack_end end)
{
	return end == STACK_TRUNCATED || end == STACK_BROKEN || end == STACK_SWITCHED;
}

static int find_step(void *context, const struct history_frame *frames, size_t nr, uint32_t *node)
{
	struct profile *profile = context;
	return tracks_find_node(&profile->tracks, frames, nr, node);
}

/* Below the label that stands for a stack's unknown callers, or below nothing. */
static int find_node(struct profile *profile, uint32_t row, enum stack_end end, uint32_t *node)
{
	struct history_walk *walk = &profile->walks[lacks_callers(end) ? end : STACK_COMPLETE];
	const struct history_frame label = {.module = MODULE_LABEL - (uint32_t)end};
	const struct history_frame frameless = {.module = MODULE_FRAMELESS};
	int result = 0;
	if (!walk->step) {
		walk->step = find_step;
		walk->context = profile;
		if (lacks_callers(end))
			result = tracks_find_node(&profile->tracks, &label, 1, &walk->root);
	}
	if (!result)
		result = history_walk(profile->request->history, walk, row, node);
	return result || *node != walk->root
		       ? result
		       : tracks_find_node(&profile->tracks, &frameless, 1, node);
}

/* Rows differ in addresses; here they are one if their functions are the same. */
static int find_stack(struct profile *profile, uint32_t row, uint32_t *number)
{
	const struct history_stack facts = history_stack_facts(profile->request->history, row);
	struct profile_stack stack = {.end = facts.end};
	int result = find_node(profile, row, facts.end, &stack.node);
	if (!result)
		result = tracks_find_track(&profile->tracks, &facts, &stack.track);
	if (result)
		return result;
	const uint64_t hash =
		hash_two((uint64_t)stack.track << 32 | stack.node, (uint64_t)stack.end);
	struct index_probe probe = index_find(&profile->stacks_index, hash);
	while (index_next(&profile->stacks_index, &probe, number)) {
		const struct profile_stack *known = &profile->stacks.items[*number];
		if (known->node == stack.node && known->track == stack.track &&
		    known->end == stack.end)
			return 0;
	}
	if (vec_reserve(&profile->stacks, profile->stacks.nr + 1) ||
	    index_reserve(&profile->stacks_index))
		return -ENOMEM;
	*number = (uint32_t)profile->stacks.nr;
	profile->stacks.items[profile->stacks.nr++] = stack;
	index_add(&profile->stacks_index, hash, *number);
	return 0;
}

static int add_sample(void *context, const struct history_sample *sample)
{
	struct slices *slices = context;
	const struct slice_sample of_row = {sample->time_ns, sample->stack.weight, sample->row,
					    (uint8_t)sample->stack.event};
	return slices_add(slices, &of_row);
}

/* Which rows were sampled when: as the history kept it, or as the selection has it. */
static int take_rows(struct profile *profile)
{
	const struct export_request *request = profile->request;
	if (history_keeps_slices(request->history))
		return history_take_slices(request->history, &profile->slices);
	int result = selection_each_sample(request->selection, add_sample, &profile->slices);
	return result ? result : slices_end(&profile->slices);
}

enum { SAMPLED = 0 }; /* a row whose stack is not known yet */

static int note_row(void *context, const struct slice_cell *cell)
{
	struct profile *profile = context;
	if (profile->stack_of[cell->stack] == SAMPLED)
		return 0;
	profile->stack_of[cell->stack] = SAMPLED;
	if (vec_reserve(&profile->rows, profile->rows.nr + 1))
		return -ENOMEM;
	profile->rows.items[profile->rows.nr++] = cell->stack;
	return 0;
}

/* Rows become stacks, numbered in the order of their first samples. */
static int take_stacks(struct profile *profile)
{
	const size_t bytes = (profile->slices.stacks.nr + 1) * sizeof(*profile->stack_of);
	profile->stack_of = malloc(bytes);
	if (!profile->stack_of)
		return -ENOMEM;
	memset(profile->stack_of, 0xff, bytes);
	int result = slices_each(&profile->slices, note_row, profile);
	if (!result)
		result = history_update_names(profile->request->history);
	for (size_t i = 0; !result && i < profile->rows.nr; i++)
		result = find_stack(profile, profile->rows.items[i],
				    &profile->stack_of[profile->rows.items[i]]);
	return result ? result
		      : slices_renumber(&profile->slices, profile->stack_of, profile->stacks.nr);
}

/* Of each event by itself. */
static int add_totals(void *context, const struct slice_cell *cell)
{
	struct profile *profile = context;
	const struct profile_stack *stack = &profile->stacks.items[cell->stack];
	struct history_totals *totals =
		&profile->totals[profile->tracks.tracks.items[stack->track].event];
	totals->samples += cell->samples;
	totals->weight += cell->weight;
	totals->ends[stack->end] += cell->samples;
	return 0;
}

static int take_totals(struct profile *profile)
{
	profile->totals =
		calloc(history_nr_events(profile->request->history) + 1, sizeof(*profile->totals));
	return profile->totals ? slices_each(&profile->slices, add_totals, profile) : -ENOMEM;
}

/* ---- data out ---- */

static void put_head(struct profile *profile)
{
	const char *command = history_info(profile->request->history, "command_line"),
		   *target = history_info(profile->request->history, "target");
	page_number(profile->page, PAGE_DATA_VERSION);
	page_text(profile->page, CTOP_VERSION);
	page_name(profile->page, command ? command : target);
	page_name(profile->page, profile->request->excerpt);
}

static void put_event(struct profile *profile, size_t event)
{
	const struct history *history = profile->request->history;
	const struct export_request *request = profile->request;
	const enum weight_unit unit = history_event_unit(history, event);
	struct text header = {0};
	page_name(profile->page, history_event_name(history, event));
	page_text(profile->page, weight_unit_name(unit, 1));
	page_text(profile->page, weight_unit_name(unit, 2));
	page_number(profile->page, unit == WEIGHT_NS);
	page_number(profile->page, history_is_wait(history, (uint32_t)event));
	page_number(profile->page,
		    event < profile->slices.usual.nr ? profile->slices.usual.items[event] : 0);
	if (request->describe)
		request->describe(request->describe_context, event, &profile->totals[event],
				  &header);
	page_text_of(profile->page, &header);
	text_release(&header);
}

static void put_events(struct profile *profile)
{
	const size_t nr = history_nr_events(profile->request->history);
	page_number(profile->page, nr);
	for (size_t event = 0; event < nr; event++)
		put_event(profile, event);
}

static bool is_code(const struct track_frame *frame)
{
	return frame->module < MODULE_LABEL - NR_STACK_ENDS;
}

static int put_modules(struct profile *profile)
{
	const struct tracks *tracks = &profile->tracks;
	const struct history *history = profile->request->history;
	int result = 0;
	for (uint32_t i = 0; !result && i < tracks->frames.nr; i++)
		if (is_code(&tracks->frames.items[i]))
			result =
				numbering_add(&profile->modules, tracks->frames.items[i].module, i);
	page_number(profile->page, profile->modules.frames.nr);
	for (size_t i = 0; !result && i < profile->modules.frames.nr; i++) {
		const struct track_frame *frame =
			&tracks->frames.items[profile->modules.frames.items[i]];
		page_name(profile->page, history_function_module(history, frame->function));
		page_number(profile->page, history_module(history, frame->module).kind);
		result = page_offer(profile->page);
	}
	return result;
}

static void put_line(struct profile *profile, struct function_id function)
{
	static const struct selection_line none;
	const bool is_known = function.index < profile->hottest.nr;
	const struct selection_line *line =
		is_known ? &profile->hottest.items[function.index] : &none;
	page_name(profile->page, line->file);
	page_number(profile->page, line->line);
}

static void put_function(struct profile *profile, const struct track_frame *frame)
{
	const struct history *history = profile->request->history;
	if (!is_code(frame)) {
		const bool is_label = frame->module != MODULE_FRAMELESS;
		text_clear(&profile->scratch);
		if (is_label)
			text_addf(&profile->scratch, "[%s]",
				  stack_end_name((enum stack_end)(MODULE_LABEL - frame->module)));
		else
			text_add(&profile->scratch, "[unknown]");
		page_text_of(profile->page, &profile->scratch);
		page_number(profile->page, 0);
		page_number(profile->page, is_label ? FUNCTION_LABEL : FUNCTION_NAMELESS);
		put_line(profile, (struct function_id){0});
		return;
	}
	const bool named = history_function_named(history, frame->function) &&
			   !history_function_bounded(history, frame->function);
	page_name(profile->page, history_function_marked_name(history, frame->function));
	page_number(profile->page, 1 + numbering_of(&profile->modules, frame->module));
	page_number(profile->page, named ? FUNCTION_USUAL : FUNCTION_NAMELESS);
	put_line(profile, frame->function);
}

static int put_functions(struct profile *profile)
{
	int result = 0;
	page_number(profile->page, profile->tracks.frames.nr);
	for (size_t i = 0; !result && i < profile->tracks.frames.nr; i++) {
		put_function(profile, &profile->tracks.frames.items[i]);
		result = page_offer(profile->page);
	}
	return result;
}

static int put_nodes(struct profile *profile)
{
	const struct track_node *nodes = profile->tracks.nodes.items;
	int result = 0;
	page_number(profile->page, profile->tracks.nodes.nr - 1);
	for (size_t i = 1; !result && i < profile->tracks.nodes.nr; i++) {
		page_number(profile->page, i - nodes[i].parent);
		page_number(profile->page, nodes[i].frame);
		result = page_offer(profile->page);
	}
	return result;
}

static void put_name(struct profile *profile, const struct track *track)
{
	if (!is_goroutine(track->tid)) {
		page_name(profile->page, track->comm);
		return;
	}
	text_clear(&profile->scratch);
	task_id_add(&profile->scratch, track->tid);
	page_text_of(profile->page, &profile->scratch);
}

static int put_threads(struct profile *profile)
{
	int result = 0;
	page_number(profile->page, profile->tracks.tracks.nr);
	for (size_t i = 0; !result && i < profile->tracks.tracks.nr; i++) {
		const struct track *track = &profile->tracks.tracks.items[i];
		page_number(profile->page, track->event);
		page_signed(profile->page, track->pid);
		page_signed(profile->page, track->tid);
		page_name(profile->page, track->process);
		put_name(profile, track);
		result = page_offer(profile->page);
	}
	return result;
}

static int put_stacks(struct profile *profile)
{
	int64_t last = 0;
	int result = 0;
	page_number(profile->page, profile->stacks.nr);
	for (size_t i = 0; !result && i < profile->stacks.nr; i++) {
		const struct profile_stack *stack = &profile->stacks.items[i];
		page_signed(profile->page, stack->node - last);
		page_number(profile->page, stack->track);
		page_number(profile->page, stack->end);
		last = stack->node;
		result = page_offer(profile->page);
	}
	return result;
}

static int put_slices(struct profile *profile)
{
	const struct slices *slices = &profile->slices;
	const uint8_t *at = slices->coded.bytes;
	int result = 0;
	page_number(profile->page, pieces_span(profile->request).wall_ns / 1000);
	page_number(profile->page, slices->shift);
	page_number(profile->page, slices->sizes.nr);
	for (size_t i = 0; !result && i < slices->sizes.nr; i++) {
		page_number(profile->page, slices->sizes.items[i]);
		result = page_bytes(profile->page, at, slices->sizes.items[i]);
		at += slices->sizes.items[i];
	}
	return result;
}

static int put_data(struct profile *profile)
{
	put_head(profile);
	put_events(profile);
	int result = put_modules(profile);
	if (!result)
		result = put_functions(profile);
	if (!result)
		result = put_nodes(profile);
	if (!result)
		result = put_threads(profile);
	if (!result)
		result = put_stacks(profile);
	if (!result)
		result = put_slices(profile);
	return result;
}

/* ---- the page ---- */

static int write_page(struct profile *profile)
{
	profile->page = page_new(PAGE_PROFILE, profile->request->sink);
	int result = profile->page ? page_begin(profile->page) : -ENOMEM;
	if (!result)
		result = put_data(profile);
	if (!result)
		result = page_end(profile->page);
	page_free(profile->page);
	return result;
}

int html_write(const struct export_request *request)
{
	struct profile profile = {.request = request};
	int result = tracks_begin(&profile.tracks, request);
	profile.tracks.of_functions = true;
	if (!result)
		result = take_rows(&profile);
	if (!result)
		result = take_stacks(&profile);
	if (!result)
		result = take_totals(&profile);
	if (!result)
		result = selection_hottest_lines(request->selection, &profile.hottest);
	if (!result)
		result = write_page(&profile);
	tracks_release(&profile.tracks);
	slices_release(&profile.slices);
	free(profile.stacks.items);
	free(profile.rows.items);
	free(profile.stack_of);
	for (size_t end = 0; end < NR_STACK_ENDS; end++)
		history_walk_release(&profile.walks[end]);
	numbering_release(&profile.modules);
	free(profile.hottest.items);
	free(profile.totals);
	index_release(&profile.stacks_index);
	text_release(&profile.scratch);
	return result;
}
