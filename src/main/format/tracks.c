/* SPDX-License-Identifier: MIT */
#include "tracks.h"

#include <errno.h>
#include <stdlib.h>

#include <ctop/base/vec.h>
#include <ctop/module_identity.h>

static bool is_frame(const struct tracks *tracks, const struct track_frame *known,
		     const struct history_frame *frame, uint32_t depth)
{
	/* A function is in one module, which may have two rows; what is none has the module alone. */
	if (tracks->of_functions && frame->function.index)
		return known->function.index == frame->function.index;
	return known->address == frame->address && known->module == frame->module &&
	       known->function.index == frame->function.index && known->depth == depth;
}

/* depth: of how many frames of the address it is inside. */
static int find_frame(struct tracks *tracks, const struct history_frame *frame, uint32_t depth,
		      uint32_t *number)
{
	const uint64_t hash =
		tracks->of_functions
			? hash_u64(frame->function.index)
			: hash_two((uint64_t)frame->module << 32 | frame->function.index,
				   frame->address);
	struct index_probe probe = index_find(&tracks->frames_index, hash);
	while (index_next(&tracks->frames_index, &probe, number))
		if (is_frame(tracks, &tracks->frames.items[*number], frame, depth))
			return 0;
	if (vec_reserve(&tracks->frames, tracks->frames.nr + 1) ||
	    index_reserve(&tracks->frames_index))
		return -ENOMEM;
	*number = (uint32_t)tracks->frames.nr;
	tracks->frames.items[tracks->frames.nr++] =
		(struct track_frame){frame->function, frame->module, frame->address, frame->offset,
				     depth,	      frame->line,   frame->file};
	index_add(&tracks->frames_index, hash, *number);
	return 0;
}

static int find_child(struct tracks *tracks, uint32_t parent, uint32_t frame, uint32_t *number)
{
	const uint64_t hash = hash_two(parent, frame);
	struct index_probe probe = index_find(&tracks->nodes_index, hash);
	while (index_next(&tracks->nodes_index, &probe, number))
		if (tracks->nodes.items[*number].parent == parent &&
		    tracks->nodes.items[*number].frame == frame)
			return 0;
	if (vec_reserve(&tracks->nodes, tracks->nodes.nr + 1) ||
	    index_reserve(&tracks->nodes_index))
		return -ENOMEM;
	*number = (uint32_t)tracks->nodes.nr;
	tracks->nodes.items[tracks->nodes.nr++] = (struct track_node){parent, frame};
	index_add(&tracks->nodes_index, hash, *number);
	return 0;
}

int tracks_find_node(struct tracks *tracks, const struct history_frame *frames, size_t nr_frames,
		     uint32_t *node)
{
	int result = 0;
	uint32_t depth = 0;
	for (size_t i = 0; !result && i < nr_frames; i++) {
		uint32_t frame;
		depth = frames[i].inlined ? depth + 1 : 0;
		result = find_frame(tracks, &frames[i], depth, &frame);
		if (!result)
			result = find_child(tracks, *node, frame, node);
	}
	return result;
}

int tracks_find_track(struct tracks *tracks, const struct history_stack *stack, uint32_t *number)
{
	const uint64_t hash =
		hash_two((uint64_t)(uint32_t)stack->pid << 32 | (uint32_t)stack->tid, stack->event);
	struct index_probe probe = index_find(&tracks->tracks_index, hash);
	while (index_next(&tracks->tracks_index, &probe, number)) {
		const struct track *known = &tracks->tracks.items[*number];
		if (known->event == stack->event && known->pid == stack->pid &&
		    known->tid == stack->tid &&
		    (known->started_ns == stack->started_ns ||
		     process_start_same(known->started_ns, stack->started_ns)))
			return 0;
	}
	if (vec_reserve(&tracks->tracks, tracks->tracks.nr + 1) ||
	    index_reserve(&tracks->tracks_index))
		return -ENOMEM;
	*number = (uint32_t)tracks->tracks.nr;
	tracks->tracks.items[tracks->tracks.nr++] = (struct track){
		.event = stack->event,
		.pid = stack->pid,
		.tid = stack->tid,
		.started_ns = stack->started_ns,
		.comm = stack->comm,
		.process = process_names_of(&tracks->processes, stack),
	};
	index_add(&tracks->tracks_index, hash, *number);
	return 0;
}

/* Its node and track. */
static int find_row(struct tracks *tracks, const struct history_stack *stack, struct row_node *row)
{
	uint32_t node = 0;
	int result = tracks_find_node(tracks, stack->frames, stack->nr_frames, &node);
	row->node_plus_1 = node + 1;
	row->end = stack->end;
	return result ? result : tracks_find_track(tracks, stack, &row->track);
}

static int add(struct tracks *tracks, const struct row_node *row, const struct history_stack *stack,
	       uint64_t time_ns)
{
	if (vec_reserve(&tracks->samples, tracks->samples.nr + 1))
		return -ENOMEM;
	struct track *track = &tracks->tracks.items[row->track];
	track->weight += stack->weight;
	track->nr++;
	tracks->samples.items[tracks->samples.nr++] = (struct track_sample){
		time_ns, stack->weight, stack->samples, row->node_plus_1 - 1, row->track, row->end};
	return 0;
}

static int add_stack(void *context, const struct history_stack *stack)
{
	struct tracks *tracks = context;
	struct row_node row;
	int result = find_row(tracks, stack, &row);
	return result ? result : add(tracks, &row, stack, 0);
}

/* Only the first one of a row may have its stack. */
static int add_sample(void *context, const struct history_sample *sample)
{
	struct tracks *tracks = context;
	const size_t nr = (size_t)sample->row + 1;
	if (vec_reserve(&tracks->rows, nr))
		return -ENOMEM;
	for (; tracks->rows.nr < nr; tracks->rows.nr++)
		tracks->rows.items[tracks->rows.nr] = (struct row_node){0};
	struct row_node *row = &tracks->rows.items[sample->row];
	int result = row->node_plus_1 ? 0 : find_row(tracks, &sample->stack, row);
	return result ? result : add(tracks, row, &sample->stack, sample->time_ns);
}

static int compare(const void *left, const void *right)
{
	const struct track *a = left, *b = right;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	if (a->weight != b->weight)
		return a->weight > b->weight ? -1 : 1;
	if (a->pid != b->pid)
		return a->pid < b->pid ? -1 : 1;
	return (a->tid > b->tid) - (a->tid < b->tid);
}

/* The event that waits are added to: of several clocks the first, since they count the same time. UINT32_MAX: none, or there are no waits. */
static uint32_t computing_event(const struct tracks *tracks, const struct history *history)
{
	uint32_t computing = UINT32_MAX;
	bool waits = false;
	for (size_t i = 0; i < tracks->tracks.nr; i++) {
		const uint32_t event = tracks->tracks.items[i].event;
		if (history_is_wait(history, event))
			waits = true;
		else if (history_event_unit(history, event) == WEIGHT_NS && event < computing)
			computing = event;
	}
	return waits ? computing : UINT32_MAX;
}

static int add_walls(struct tracks *tracks, const struct history *history)
{
	const uint32_t computing = computing_event(tracks, history);
	const size_t nr = tracks->tracks.nr;
	int result = 0;
	for (size_t i = 0; !result && i < nr && computing != UINT32_MAX; i++) {
		const struct track track = tracks->tracks.items[i];
		const struct history_stack of_wall = {.event = TRACK_OF_WALL,
						      .pid = track.pid,
						      .tid = track.tid,
						      .started_ns = track.started_ns,
						      .comm = track.comm};
		uint32_t number;
		if (track.event != computing && !history_is_wait(history, track.event))
			continue;
		result = tracks_find_track(tracks, &of_wall, &number);
		if (result)
			break;
		struct track *wall = &tracks->tracks.items[number];
		wall->process = track.process;
		wall->weight += track.weight;
		wall->nr += track.nr;
		tracks->tracks.items[i].wall_plus_1 = number + 1;
	}
	return result;
}

/* Samples by their track, which each still has; then the tracks in their own order, which take theirs along. */
static int put_in_order(struct tracks *tracks)
{
	uint32_t first = 0;
	for (size_t i = 0; i < tracks->tracks.nr; i++) {
		struct track *track = &tracks->tracks.items[i];
		track->first = first;
		first += track->nr;
		track->nr = 0;
	}
	tracks->order = calloc((size_t)first + 1, sizeof(*tracks->order));
	if (!tracks->order)
		return -ENOMEM;
	for (size_t i = 0; i < tracks->samples.nr; i++) {
		struct track *track = &tracks->tracks.items[tracks->samples.items[i].track];
		tracks->order[track->first + track->nr++] = (uint32_t)i;
		if (!track->wall_plus_1)
			continue;
		struct track *wall = &tracks->tracks.items[track->wall_plus_1 - 1];
		tracks->order[wall->first + wall->nr++] = (uint32_t)i;
	}
	if (tracks->tracks.nr)
		qsort(tracks->tracks.items, tracks->tracks.nr, sizeof(struct track), compare);
	return 0;
}

int tracks_begin(struct tracks *tracks, const struct export_request *request)
{
	*tracks = (struct tracks){0};
	if (vec_reserve(&tracks->nodes, 1))
		return -ENOMEM;
	tracks->nodes.items[tracks->nodes.nr++] = (struct track_node){0};
	return process_names_take(&tracks->processes, request->selection);
}

int tracks_take(struct tracks *tracks, const struct export_request *request, enum tracks_of what)
{
	const struct selection_totals totals = selection_totals(request->selection);
	int result = tracks_begin(tracks, request);
	tracks->has_times = what != TRACKS_OF_STACKS && totals.samples <= TRACKS_SAMPLES_MOST &&
			    !history_totals(request->history).not_kept;
	history_give_stacks_once(request->history);
	if (!result)
		result = tracks->has_times
				 ? selection_each_sample(request->selection, add_sample, tracks)
				 : selection_each_stack(request->selection, add_stack, tracks);
	if (!result && what == TRACKS_OF_SAMPLES_AND_WALL)
		result = add_walls(tracks, request->history);
	return result ? result : put_in_order(tracks);
}

void tracks_release(struct tracks *tracks)
{
	process_names_release(&tracks->processes);
	free(tracks->frames.items);
	free(tracks->nodes.items);
	free(tracks->tracks.items);
	free(tracks->samples.items);
	free(tracks->rows.items);
	free(tracks->order);
	index_release(&tracks->frames_index);
	index_release(&tracks->nodes_index);
	index_release(&tracks->tracks_index);
	*tracks = (struct tracks){0};
}
