/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/task_id.h>

#include "json.h"
#include "numbering.h"
#include "pieces.h"
#include "tracks.h"

/*
 * speedscope's own format (https://www.speedscope.app/file-format-schema.json): a profile for each thread and event, its samples in
 * the order of time, one behind the other as their weights have it; where waits are known, one more with a thread's computing and waiting. A frame is a function, at its hottest line; where it has none, its file
 * is its module's.
 */

struct scope {
	const struct export_request *request;
	struct tracks tracks;
	struct text out, scratch;
	struct numbering functions;
	struct selection_lines hottest; /* by function */
	/* Nodes as they are written, side by side: they lie anywhere in memory, and each sample asks for some twenty. */
	struct step *steps;
	char *stack; /* the stack in hand as text, the longest one's room; */
	char *stack_end;
};

enum { STEP_BYTES_MOST = 11 }; /* a comma and a number of 32 bits */

enum { FETCHED_AT_ONCE = 16 };

struct step {
	uint32_t parent;
	uint8_t bytes;		    /* of these the last: */
	char text[STEP_BYTES_MOST]; /* the comma, unless it is a root; its function's number */
};

static int offer(struct scope *scope)
{
	return pieces_offer(scope->request->sink, &scope->out);
}

static void add_function(struct scope *scope, struct function_id function)
{
	const struct history *history = scope->request->history;
	const char *module = history_function_module(history, function);
	const struct selection_line none = {0},
				    *line = function.index < scope->hottest.nr
						    ? &scope->hottest.items[function.index]
						    : &none;
	text_add(&scope->out, "{\"name\":");
	json_add_name(&scope->out, &scope->scratch,
		      history_function_marked_name(history, function));
	text_add(&scope->out, ",\"file\":");
	json_add_name(&scope->out, &scope->scratch, line->line ? line->file : module);
	if (line->line) {
		text_addf(&scope->out, ",\"line\":%" PRIu32 ",\"module\":", line->line);
		json_add_name(&scope->out, &scope->scratch, module);
	}
	text_add(&scope->out, "}");
}

/* Each function once. In front of all stands what a stack without frames shows. */
static int write_functions(struct scope *scope)
{
	const struct tracks *tracks = &scope->tracks;
	int result = 0;
	for (uint32_t i = 0; !result && i < tracks->frames.nr; i++)
		result =
			numbering_add(&scope->functions, tracks->frames.items[i].function.index, i);
	text_add(&scope->out, "\"shared\":{\"frames\":[\n{\"name\":\"[unknown]\",\"file\":\"\"}");
	for (size_t i = 0; !result && i < scope->functions.frames.nr; i++) {
		text_add(&scope->out, ",\n");
		add_function(scope,
			     tracks->frames.items[scope->functions.frames.items[i]].function);
		result = offer(scope);
	}
	text_add(&scope->out, "\n]},\n");
	return result;
}

static struct step step_of(uint32_t parent, uint32_t number)
{
	struct step step = {.parent = parent};
	char *const end = step.text + STEP_BYTES_MOST, *at = end;
	do {
		*--at = (char)('0' + number % 10);
		number /= 10;
	} while (number);
	if (parent)
		*--at = ',';
	step.bytes = (uint8_t)(end - at);
	return step;
}

/* Parents come first. Number 0 is the stack without frames. */
static int list_steps(struct scope *scope)
{
	const struct tracks *tracks = &scope->tracks;
	uint32_t *depths = calloc(tracks->nodes.nr, sizeof(*depths)), most = 1;
	scope->steps = calloc(tracks->nodes.nr, sizeof(*scope->steps));
	if (!depths || !scope->steps) {
		free(depths);
		return -ENOMEM;
	}
	scope->steps[0] = step_of(0, 0);
	for (size_t i = 1; i < tracks->nodes.nr; i++) {
		const struct track_node *node = &tracks->nodes.items[i];
		const struct track_frame *frame = &tracks->frames.items[node->frame];
		scope->steps[i] = step_of(
			node->parent, 1 + numbering_of(&scope->functions, frame->function.index));
		depths[i] = depths[node->parent] + 1;
		most = depths[i] > most ? depths[i] : most;
	}
	free(depths);
	scope->stack = malloc((size_t)most * STEP_BYTES_MOST);
	scope->stack_end = scope->stack + (size_t)most * STEP_BYTES_MOST;
	return scope->stack ? 0 : -ENOMEM;
}

/* From its end on, where the leaf is; what stands before a step's text is overwritten by the next one's. */
static void add_stack(struct scope *scope, uint32_t node)
{
	char *at = scope->stack_end;
	do {
		const struct step *step = &scope->steps[node];
		memcpy(at - STEP_BYTES_MOST, step->text, STEP_BYTES_MOST);
		at -= step->bytes;
		node = step->parent;
	} while (node);
	text_add(&scope->out, "[");
	text_add_bytes(&scope->out, at, (size_t)(scope->stack_end - at));
	text_add(&scope->out, "]");
}

static uint32_t node_of(const struct tracks *tracks, const struct track *track, uint32_t i)
{
	return tracks->samples.items[tracks->order[track->first + i]].node;
}

/* One stack's steps come one by one, each when the one before it has come; those of several stacks come at once. */
static void fetch_stacks(const struct scope *scope, const struct track *track, uint32_t first)
{
	uint32_t nodes[FETCHED_AT_ONCE], any = 0;
	for (uint32_t i = 0; i < FETCHED_AT_ONCE; i++) {
		nodes[i] = first + i < track->nr ? node_of(&scope->tracks, track, first + i) : 0;
		any |= nodes[i];
	}
	while (any) {
		any = 0;
		for (uint32_t i = 0; i < FETCHED_AT_ONCE; i++) {
			nodes[i] = scope->steps[nodes[i]].parent;
			any |= nodes[i];
		}
	}
}

static void add_head(struct scope *scope, const struct track *track)
{
	const struct history *history = scope->request->history;
	const bool is_wall = track->event == TRACK_OF_WALL;
	const char *event = is_wall ? "wall" : history_event_name(history, track->event);
	struct text name = {0};
	if (track->pid == track->tid) {
		text_addf(&name, "%s [%" PRId32 "], %s", track->comm, track->pid, event);
	} else {
		text_addf(&name, "%s [", track->comm);
		task_id_add(&name, track->tid);
		text_addf(&name, "] of %s [%" PRId32 "], %s", track->process, track->pid, event);
	}
	scope->out.failed |= name.failed;
	text_add(&scope->out, "{\"type\":\"sampled\",\"name\":");
	json_add_name(&scope->out, &scope->scratch, text_string(&name));
	text_release(&name);
	const bool is_time = is_wall || history_event_unit(history, track->event) == WEIGHT_NS;
	text_addf(&scope->out, ",\"unit\":\"%s\",\"startValue\":0,\"endValue\":%" PRIu64,
		  is_time ? "nanoseconds" : "none", track->weight);
}

static int write_track(struct scope *scope, const struct track *track)
{
	const struct tracks *tracks = &scope->tracks;
	int result = 0;
	add_head(scope, track);
	text_add(&scope->out, ",\"samples\":[");
	for (uint32_t i = 0; !result && i < track->nr; i++) {
		if (i % FETCHED_AT_ONCE == 0)
			fetch_stacks(scope, track, i);
		text_add(&scope->out, i ? "," : "");
		add_stack(scope, node_of(tracks, track, i));
		result = offer(scope);
	}
	text_add(&scope->out, "],\n\"weights\":[");
	for (uint32_t i = 0; !result && i < track->nr; i++) {
		json_add_item(&scope->out, i,
			      tracks->samples.items[tracks->order[track->first + i]].weight);
		result = offer(scope);
	}
	text_add(&scope->out, "]}");
	return result;
}

static int write_all(struct scope *scope)
{
	const char *command = history_info(scope->request->history, "command_line");
	text_add(&scope->out, "{\"$schema\":\"https://www.speedscope.app/file-format-schema.json\","
			      "\"exporter\":\"ctop " CTOP_VERSION "\",\"name\":");
	json_add_name(&scope->out, &scope->scratch, command ? command : "ctop");
	text_add(&scope->out, ",\"activeProfileIndex\":0,\n");
	int result = write_functions(scope);
	if (!result)
		result = list_steps(scope);
	text_add(&scope->out, "\"profiles\":[");
	for (size_t i = 0; !result && i < scope->tracks.tracks.nr; i++) {
		text_add(&scope->out, i ? ",\n" : "\n");
		result = write_track(scope, &scope->tracks.tracks.items[i]);
	}
	text_add(&scope->out, "\n]}\n");
	return result ? result : pieces_flush(scope->request->sink, &scope->out);
}

int speedscope_write(const struct export_request *request)
{
	struct scope scope = {.request = request};
	int result = tracks_take(&scope.tracks, request, TRACKS_OF_SAMPLES_AND_WALL);
	if (!result)
		result = selection_hottest_lines(request->selection, &scope.hottest);
	if (!result)
		result = write_all(&scope);
	tracks_release(&scope.tracks);
	text_release(&scope.out);
	text_release(&scope.scratch);
	numbering_release(&scope.functions);
	free(scope.hottest.items);
	free(scope.steps);
	free(scope.stack);
	return result;
}
