/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <inttypes.h>
#include <string.h>

#include "json.h"
#include "numbering.h"
#include "pieces.h"
#include "tracks.h"

/*
 * All that ctop knows of stacks, for programs: docs/export.schema.json has each field. Tables refer to each other by number, as in a
 * recording: a stack is a node, a node has a frame and its caller's node, a frame a function and an address.
 */

struct document {
	const struct export_request *request;
	struct tracks tracks;
	struct text out, scratch;
	struct numbering functions, modules;
	bool first; /* of the list in hand */
};

static void add_name(struct document *document, const char *key, const char *untrusted)
{
	text_addf(&document->out, "\"%s\":", key);
	json_add_name(&document->out, &document->scratch, untrusted);
}

static int next(struct document *document)
{
	text_add(&document->out, document->first ? "\n" : ",\n");
	document->first = false;
	return pieces_offer(document->request->sink, &document->out);
}

static int begin(struct document *document, const char *list)
{
	text_addf(&document->out, ",\n\"%s\":[", list);
	document->first = true;
	return 0;
}

static int add_fact(void *context, const char *key, const char *value)
{
	struct document *document = context;
	/* Tiles of time are for ctop itself, and would be most of the file. */
	if (!strncmp(key, "timeline.", strlen("timeline.")))
		return 0;
	int result = next(document);
	json_add_name(&document->out, &document->scratch, key);
	text_add(&document->out, ":");
	json_add_name(&document->out, &document->scratch, value);
	return result;
}

static int write_facts(struct document *document)
{
	text_add(&document->out, ",\n\"facts\":{");
	document->first = true;
	int result = history_each_info(document->request->history, add_fact, document);
	text_add(&document->out, "}");
	return result;
}

static void add_event(struct document *document, size_t event)
{
	const struct history *history = document->request->history;
	const enum weight_unit unit = history_event_unit(history, event);
	uint64_t samples = 0, weight = 0;
	const struct tracks *tracks = &document->tracks;
	for (size_t i = 0; i < tracks->tracks.nr; i++) {
		const struct track *track = &tracks->tracks.items[i];
		for (uint32_t j = 0; track->event == event && j < track->nr; j++)
			samples += tracks->samples.items[tracks->order[track->first + j]].samples;
		weight += track->event == event ? track->weight : 0;
	}
	text_add(&document->out, "{");
	add_name(document, "name", history_event_name(history, event));
	text_add(&document->out, ",");
	add_name(document, "asked", history_event_asked(history, event));
	text_addf(&document->out,
		  ",\"unit\":\"%s\",\"period\":%" PRIu64 ",\"frequency_hz\":%" PRIu64
		  ",\"samples\":%" PRIu64 ",\"weight\":%" PRIu64 "}",
		  unit == WEIGHT_NS ? "nanoseconds" : weight_unit_name(unit, 2),
		  history_event_period(history, event), history_event_frequency_hz(history, event),
		  samples, weight);
}

static int write_events(struct document *document)
{
	int result = begin(document, "events");
	for (size_t i = 0; !result && i < history_nr_events(document->request->history); i++) {
		result = next(document);
		add_event(document, i);
	}
	text_add(&document->out, "]");
	return result;
}

static const char *kind_name(enum module_kind kind)
{
	static const char *const names[NR_MODULE_KINDS] = {
		[MODULE_NONE] = "unknown", [MODULE_FILE] = "file",	[MODULE_KERNEL] = "kernel",
		[MODULE_VDSO] = "vdso",	   [MODULE_ANON] = "generated",
	};
	return (unsigned)kind < NR_MODULE_KINDS ? names[kind] : names[MODULE_NONE];
}

static void add_module(struct document *document, uint32_t module)
{
	const struct history_module_facts facts =
		history_module(document->request->history, module);
	text_addf(&document->out, "{\"kind\":\"%s\",", kind_name(facts.kind));
	add_name(document, "path", facts.path);
	text_add(&document->out, ",\"build_id\":\"");
	for (uint32_t i = 0; i < facts.identity.build_id_size; i++)
		text_addf(&document->out, "%02x", facts.identity.build_id[i]);
	text_add(&document->out, "\"}");
}

static int write_modules(struct document *document)
{
	const struct tracks *tracks = &document->tracks;
	int result = begin(document, "modules");
	for (uint32_t i = 0; !result && i < tracks->frames.nr; i++)
		result = numbering_add(&document->modules, tracks->frames.items[i].module, i);
	for (size_t i = 0; !result && i < document->modules.frames.nr; i++) {
		result = next(document);
		add_module(document,
			   tracks->frames.items[document->modules.frames.items[i]].module);
	}
	text_add(&document->out, "]");
	return result;
}

static void add_function(struct document *document, const struct track_frame *frame)
{
	const struct history *history = document->request->history;
	const bool named = history_function_named(history, frame->function) &&
			   !history_function_bounded(history, frame->function);
	text_add(&document->out, "{");
	add_name(document, "name", history_function_name(history, frame->function));
	text_addf(&document->out, ",\"module\":%" PRIu32 ",\"named\":%s,\"inlined\":%s}",
		  numbering_of(&document->modules, frame->module), named ? "true" : "false",
		  history_function_inlined(history, frame->function) ? "true" : "false");
}

static int write_functions(struct document *document)
{
	const struct tracks *tracks = &document->tracks;
	int result = begin(document, "functions");
	for (uint32_t i = 0; !result && i < tracks->frames.nr; i++)
		result = numbering_add(&document->functions, tracks->frames.items[i].function.index,
				       i);
	for (size_t i = 0; !result && i < document->functions.frames.nr; i++) {
		result = next(document);
		add_function(document, &tracks->frames.items[document->functions.frames.items[i]]);
	}
	text_add(&document->out, "]");
	return result;
}

/* Addresses as text: numbers of JSON are exact to 2^53 only. */
static int write_frames(struct document *document)
{
	const struct tracks *tracks = &document->tracks;
	int result = begin(document, "frames");
	for (size_t i = 0; !result && i < tracks->frames.nr; i++) {
		const struct track_frame *frame = &tracks->frames.items[i];
		result = next(document);
		text_addf(&document->out,
			  "{\"function\":%" PRIu32 ",\"module\":%" PRIu32
			  ",\"address\":\"0x%" PRIx64 "\"",
			  numbering_of(&document->functions, frame->function.index),
			  numbering_of(&document->modules, frame->module), frame->address);
		if (frame->line) {
			text_add(&document->out, ",");
			add_name(document, "file", frame->file);
			text_addf(&document->out, ",\"line\":%" PRIu32, frame->line);
		}
		text_add(&document->out, "}");
	}
	text_add(&document->out, "]");
	return result;
}

static int write_nodes(struct document *document)
{
	const struct tracks *tracks = &document->tracks;
	int result = begin(document, "nodes");
	/* Number 0 is no call. */
	text_add(&document->out, "null");
	for (size_t i = 1; !result && i < tracks->nodes.nr; i++) {
		document->first = false;
		result = next(document);
		text_addf(&document->out, "{\"caller\":%" PRIu32 ",\"frame\":%" PRIu32 "}",
			  tracks->nodes.items[i].parent, tracks->nodes.items[i].frame);
	}
	text_add(&document->out, "]");
	return result;
}

static int write_stacks(struct document *document, const struct track *track)
{
	const struct tracks *tracks = &document->tracks;
	int result = 0;
	document->first = true;
	for (uint32_t i = 0; !result && i < track->nr; i++) {
		const struct track_sample *stack =
			&tracks->samples.items[tracks->order[track->first + i]];
		result = next(document);
		text_addf(&document->out,
			  "{\"node\":%" PRIu32 ",\"samples\":%" PRIu64 ",\"weight\":%" PRIu64
			  ",\"end\":\"%s\"}",
			  stack->node, stack->samples, stack->weight, stack_end_name(stack->end));
	}
	return result;
}

static int write_threads(struct document *document)
{
	const struct tracks *tracks = &document->tracks;
	int result = begin(document, "threads");
	for (size_t i = 0; !result && i < tracks->tracks.nr; i++) {
		const struct track *track = &tracks->tracks.items[i];
		text_addf(&document->out,
			  "%s{\"event\":%" PRIu32 ",\"pid\":%" PRId32 ",\"tid\":%" PRId32 ",",
			  i ? ",\n" : "\n", track->event, track->pid, track->tid);
		add_name(document, "process", track->process);
		text_add(&document->out, ",");
		add_name(document, "thread", track->comm);
		text_add(&document->out, ",\"stacks\":[");
		result = write_stacks(document, track);
		text_add(&document->out, "]}");
	}
	text_add(&document->out, "]");
	return result;
}

static int write_all(struct document *document)
{
	text_add(&document->out,
		 "{\"format\":\"ctop-export\",\"version\":1,\"ctop\":\"" CTOP_VERSION "\"");
	int result = write_facts(document);
	if (!result)
		result = write_events(document);
	if (!result)
		result = write_modules(document);
	if (!result)
		result = write_functions(document);
	if (!result)
		result = write_frames(document);
	if (!result)
		result = write_nodes(document);
	if (!result)
		result = write_threads(document);
	text_add(&document->out, "}\n");
	return result ? result : pieces_flush(document->request->sink, &document->out);
}

int json_write(const struct export_request *request)
{
	struct document document = {.request = request};
	int result = tracks_take(&document.tracks, request, TRACKS_OF_STACKS);
	if (!result)
		result = write_all(&document);
	tracks_release(&document.tracks);
	text_release(&document.out);
	text_release(&document.scratch);
	numbering_release(&document.functions);
	numbering_release(&document.modules);
	return result;
}
