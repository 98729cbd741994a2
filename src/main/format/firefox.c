/* SPDX-License-Identifier: MIT */
#include "writers.h"

#include <inttypes.h>
#include <string.h>

#include <ctop/base/base_name.h>
#include <ctop/base/clock.h>
#include <ctop/base/task_id.h>
#include <ctop/wait_kind.h>

#include "file_numbers.h"
#include "firefox_markers.h"
#include "json.h"
#include "numbering.h"
#include "pieces.h"
#include "tracks.h"

/*
 * The processed profile of the Firefox Profiler (https://github.com/firefox-devtools/profiler, src/types/profile.ts), in version 61: the
 * tables of stacks, frames, functions, resources and strings are shared by all threads, and a stack names its caller by number, which is
 * what Perfetto reads as well. Tables are columns. Each event of a thread is a thread. Categories are the kernel, user code, code made
 * at run time, and what threads wait for.
 *
 * A function's source is the file of its hottest line; in that alone frames have lines.
 *
 * Addresses are those in the ELF file, of what is called inside the call; others than files' are left out, as they do not fit.
 */

enum { PROCESSED_VERSION = 61, GECKO_VERSION = 32 };
#define RESOURCE_LIBRARY "1"
enum category {
	CATEGORY_OTHER,
	CATEGORY_USER,
	CATEGORY_KERNEL,
	CATEGORY_GENERATED,
	CATEGORY_WAITING
};

struct firefox {
	const struct export_request *request;
	struct tracks tracks;
	struct pieces_span span;
	struct text out, scratch;
	struct numbering functions, modules;
	struct selection_lines hottest; /* by function */
	struct file_numbers sources;
	const struct track *track; /* whose samples are written */
	int result;		   /* of the sink: nothing more is written once it failed */
};

/* ---- lists ---- */

static void begin(struct firefox *firefox, const char *key)
{
	text_addf(&firefox->out, "\"%s\":[", key);
}

/* Before each item of a list. False: what is written is not wanted any more. */
static bool next(struct firefox *firefox, size_t item)
{
	text_add(&firefox->out, item ? "," : "");
	if (!firefox->result)
		firefox->result = pieces_offer(firefox->request->sink, &firefox->out);
	return !firefox->result;
}

static void end(struct firefox *firefox, const char *more)
{
	text_addf(&firefox->out, "]%s", more);
}

static void add_column(struct firefox *firefox, const char *key, size_t nr,
		       void (*add_cell)(struct firefox *firefox, uint32_t row))
{
	begin(firefox, key);
	for (uint32_t row = 0; row < nr && next(firefox, row); row++)
		add_cell(firefox, row);
	end(firefox, ",\n");
}

/* A column that is the same in all rows. */
static void add_constant(struct firefox *firefox, const char *key, size_t nr, const char *value)
{
	begin(firefox, key);
	for (size_t i = 0; i < nr && next(firefox, i); i++)
		text_add(&firefox->out, value);
	end(firefox, ",\n");
}

static void add_length(struct firefox *firefox, size_t nr)
{
	text_addf(&firefox->out, "\"length\":%zu}", nr);
}

static void add_name(struct firefox *firefox, const char *untrusted)
{
	json_add_name(&firefox->out, &firefox->scratch, untrusted);
}

/* ms, to the ns */
static void add_ms(struct firefox *firefox, uint64_t ns)
{
	text_addf(&firefox->out, "%" PRIu64 ".%06" PRIu64, ns / 1000000, ns % 1000000);
}

/* ---- tables ---- */

static const struct track_frame *frame_at(const struct firefox *firefox, uint32_t number)
{
	return &firefox->tracks.frames.items[number];
}

static struct history_module_facts module_of(const struct firefox *firefox, uint32_t frame)
{
	return history_module(firefox->request->history, frame_at(firefox, frame)->module);
}

static enum category category_of(const struct firefox *firefox, uint32_t frame)
{
	const struct history_module_facts module = module_of(firefox, frame);
	switch ((unsigned)module.kind) {
	case MODULE_NONE:
		return wait_is_frame(module.path) ? CATEGORY_WAITING : CATEGORY_OTHER;
	case MODULE_FILE:
	case MODULE_VDSO:
		return CATEGORY_USER;
	case MODULE_KERNEL:
		return CATEGORY_KERNEL;
	case MODULE_ANON:
		return CATEGORY_GENERATED;
	default:
		return CATEGORY_OTHER;
	}
}

static void add_number(struct firefox *firefox, uint64_t value)
{
	json_add_number(&firefox->out, value);
}

/*
 * Behind the tree's own nodes stands one for stacks without a frame, and behind the frames and functions the frame and the function
 * that it has.
 */
static void add_stack_frame(struct firefox *firefox, uint32_t row)
{
	const uint32_t node = row + 1; /* 0 is none */
	add_number(firefox, node < firefox->tracks.nodes.nr
				    ? firefox->tracks.nodes.items[node].frame
				    : firefox->tracks.frames.nr);
}

static void add_stack_caller(struct firefox *firefox, uint32_t row)
{
	const uint32_t node = row + 1;
	const uint32_t caller =
		node < firefox->tracks.nodes.nr ? firefox->tracks.nodes.items[node].parent : 0;
	if (caller)
		add_number(firefox, caller - 1);
	else
		text_add(&firefox->out, "null");
}

static void write_stacks(struct firefox *firefox)
{
	const size_t nr = firefox->tracks.nodes.nr;
	text_add(&firefox->out, "\"stackTable\":{");
	add_column(firefox, "frame", nr, add_stack_frame);
	add_column(firefox, "prefix", nr, add_stack_caller);
	add_length(firefox, nr);
}

static void add_frame_address(struct firefox *firefox, uint32_t row)
{
	const bool is_of_file =
		row < firefox->tracks.frames.nr && module_of(firefox, row).kind == MODULE_FILE;
	if (is_of_file && frame_at(firefox, row)->address <= UINT32_MAX)
		add_number(firefox, frame_at(firefox, row)->address);
	else
		text_add(&firefox->out, "-1");
}

static void add_frame_category(struct firefox *firefox, uint32_t row)
{
	add_number(firefox,
		   row < firefox->tracks.frames.nr ? category_of(firefox, row) : CATEGORY_OTHER);
}

static void add_frame_function(struct firefox *firefox, uint32_t row)
{
	add_number(firefox, row < firefox->tracks.frames.nr
				    ? numbering_of(&firefox->functions,
						   frame_at(firefox, row)->function.index)
				    : firefox->functions.frames.nr);
}

/* NULL: it has none. */
static const char *source_of(const struct firefox *firefox, struct function_id function)
{
	const struct selection_lines *hottest = &firefox->hottest;
	return function.index < hottest->nr ? hottest->items[function.index].file : NULL;
}

static void add_frame_line(struct firefox *firefox, uint32_t row)
{
	const struct track_frame *frame =
		row < firefox->tracks.frames.nr ? frame_at(firefox, row) : NULL;
	if (frame && frame->line && frame->file == source_of(firefox, frame->function))
		add_number(firefox, frame->line);
	else
		text_add(&firefox->out, "null");
}

static void write_frames(struct firefox *firefox)
{
	const size_t nr = firefox->tracks.frames.nr + 1;
	text_add(&firefox->out, "\"frameTable\":{");
	add_column(firefox, "address", nr, add_frame_address);
	add_column(firefox, "category", nr, add_frame_category);
	add_column(firefox, "func", nr, add_frame_function);
	add_constant(firefox, "inlineDepth", nr, "0");
	add_constant(firefox, "subcategory", nr, "0");
	add_constant(firefox, "nativeSymbol", nr, "null");
	add_constant(firefox, "innerWindowID", nr, "0");
	add_column(firefox, "line", nr, add_frame_line);
	add_constant(firefox, "column", nr, "null");
	add_length(firefox, nr);
}

/* Strings are functions' names, then modules', then that of what is not known, then sources'. */
static void add_function_name(struct firefox *firefox, uint32_t row)
{
	const size_t nr = firefox->functions.frames.nr;
	add_number(firefox, row < nr ? row : nr + firefox->modules.frames.nr);
}

static void add_function_resource(struct firefox *firefox, uint32_t row)
{
	const struct numbering *functions = &firefox->functions;
	if (row < functions->frames.nr)
		add_number(firefox,
			   numbering_of(&firefox->modules,
					frame_at(firefox, functions->frames.items[row])->module));
	else
		text_add(&firefox->out, "-1");
}

static void add_function_source(struct firefox *firefox, uint32_t row)
{
	const struct numbering *functions = &firefox->functions;
	const char *file =
		row < functions->frames.nr
			? source_of(firefox,
				    frame_at(firefox, functions->frames.items[row])->function)
			: NULL;
	uint32_t number;
	if (file && file_numbers_find(&firefox->sources, file, &number))
		add_number(firefox, number);
	else
		text_add(&firefox->out, "null");
}

static void write_functions(struct firefox *firefox)
{
	const size_t nr = firefox->functions.frames.nr + 1;
	text_add(&firefox->out, "\"funcTable\":{");
	add_column(firefox, "name", nr, add_function_name);
	add_column(firefox, "resource", nr, add_function_resource);
	add_constant(firefox, "isJS", nr, "false");
	add_constant(firefox, "relevantForJS", nr, "false");
	add_column(firefox, "source", nr, add_function_source);
	add_constant(firefox, "lineNumber", nr, "null");
	add_constant(firefox, "columnNumber", nr, "null");
	add_length(firefox, nr);
}

static void add_resource_module(struct firefox *firefox, uint32_t row)
{
	add_number(firefox, row);
}

static void add_resource_name(struct firefox *firefox, uint32_t row)
{
	add_number(firefox, firefox->functions.frames.nr + row);
}

static void write_resources(struct firefox *firefox)
{
	const size_t nr = firefox->modules.frames.nr;
	text_add(&firefox->out, "\"resourceTable\":{");
	add_column(firefox, "lib", nr, add_resource_module);
	add_column(firefox, "name", nr, add_resource_name);
	add_constant(firefox, "host", nr, "null");
	add_constant(firefox, "type", nr, RESOURCE_LIBRARY);
	add_length(firefox, nr);
}

static void add_source_name(struct firefox *firefox, uint32_t row)
{
	add_number(firefox, firefox->functions.frames.nr + firefox->modules.frames.nr + 1 + row);
}

static void write_sources(struct firefox *firefox)
{
	const size_t nr = firefox->sources.nr;
	text_add(&firefox->out, "\"sources\":{");
	add_constant(firefox, "id", nr, "null");
	add_column(firefox, "filename", nr, add_source_name);
	add_constant(firefox, "startLine", nr, "1");
	add_constant(firefox, "startColumn", nr, "1");
	add_constant(firefox, "sourceMapURL", nr, "null");
	add_length(firefox, nr);
}

static void write_strings(struct firefox *firefox)
{
	const size_t nr = firefox->functions.frames.nr, nr_modules = firefox->modules.frames.nr;
	begin(firefox, "stringArray");
	for (size_t i = 0; i < nr && next(firefox, i); i++)
		add_name(firefox,
			 history_function_marked_name(
				 firefox->request->history,
				 frame_at(firefox, firefox->functions.frames.items[i])->function));
	for (size_t i = 0; i < nr_modules && next(firefox, nr + i); i++)
		add_name(firefox,
			 base_name(module_of(firefox, firefox->modules.frames.items[i]).path));
	text_add(&firefox->out, nr + nr_modules ? ",\"[unknown]\"" : "\"[unknown]\"");
	for (size_t i = 0; i < firefox->sources.nr && next(firefox, 1); i++)
		add_name(firefox, firefox->sources.items[i]);
	end(firefox, "");
}

static void write_shared(struct firefox *firefox)
{
	text_add(&firefox->out, ",\n\"shared\":{");
	write_stacks(firefox);
	text_add(&firefox->out, ",\n");
	write_frames(firefox);
	text_add(&firefox->out, ",\n");
	write_functions(firefox);
	text_add(&firefox->out, ",\n");
	write_resources(firefox);
	text_add(&firefox->out, ",\n\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],"
				"\"functionSize\":[],\"length\":0},\n");
	write_sources(firefox);
	text_add(&firefox->out, ",\n");
	write_strings(firefox);
	text_add(&firefox->out, "}");
}

/* ---- modules ---- */

/* A build-id as Breakpad has it: 16 bytes, the first three parts of which are little-endian numbers, and an age of 0. */
static void add_breakpad_id(struct firefox *firefox, const struct module_identity *identity)
{
	static const uint8_t order[16] = {3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15};
	for (size_t i = 0; i < sizeof(order) && identity->build_id_size; i++)
		text_addf(&firefox->out, "%02X",
			  order[i] < identity->build_id_size ? identity->build_id[order[i]] : 0);
	text_add(&firefox->out, identity->build_id_size ? "0" : "");
}

static void add_module(struct firefox *firefox, const struct history_module_facts *module)
{
	text_add(&firefox->out, "{\"arch\":\"\",\"name\":");
	add_name(firefox, base_name(module->path));
	text_add(&firefox->out, ",\"path\":");
	add_name(firefox, module->path);
	text_add(&firefox->out, ",\"debugName\":");
	add_name(firefox, base_name(module->path));
	text_add(&firefox->out, ",\"debugPath\":");
	add_name(firefox, module->path);
	text_add(&firefox->out, ",\"breakpadId\":\"");
	add_breakpad_id(firefox, &module->identity);
	text_add(&firefox->out, "\",\"codeId\":");
	text_add(&firefox->out, module->identity.build_id_size ? "\"" : "null");
	for (uint32_t i = 0; i < module->identity.build_id_size; i++)
		text_addf(&firefox->out, "%02x", module->identity.build_id[i]);
	text_add(&firefox->out, module->identity.build_id_size ? "\"}" : "}");
}

static void write_modules(struct firefox *firefox)
{
	text_add(&firefox->out, ",\n");
	begin(firefox, "libs");
	for (size_t i = 0; i < firefox->modules.frames.nr && next(firefox, i); i++) {
		const struct history_module_facts facts =
			module_of(firefox, firefox->modules.frames.items[i]);
		add_module(firefox, &facts);
	}
	end(firefox, "");
}

/* ---- threads ---- */

static const struct track_sample *sample_of(const struct firefox *firefox, uint32_t row)
{
	const struct tracks *tracks = &firefox->tracks;
	return &tracks->samples.items[tracks->order[firefox->track->first + row]];
}

static void add_sample_stack(struct firefox *firefox, uint32_t row)
{
	const uint32_t node = sample_of(firefox, row)->node;
	add_number(firefox, node ? node - 1 : firefox->tracks.nodes.nr - 1);
}

/* Without times, samples lie evenly in the profile. */
static void add_sample_time(struct firefox *firefox, uint32_t row)
{
	const uint64_t time_ns = sample_of(firefox, row)->time_ns;
	const uint64_t from_ns = firefox->span.from_ns;
	if (!firefox->tracks.has_times)
		add_ms(firefox, (firefox->span.to_ns - from_ns) / firefox->track->nr * row);
	else
		add_ms(firefox, time_ns > from_ns ? time_ns - from_ns : 0);
}

static bool weighs_time(const struct firefox *firefox)
{
	return history_event_unit(firefox->request->history, firefox->track->event) == WEIGHT_NS;
}

static void add_sample_weight(struct firefox *firefox, uint32_t row)
{
	const uint64_t weight = sample_of(firefox, row)->weight;
	if (weighs_time(firefox))
		add_ms(firefox, weight);
	else
		add_number(firefox, weight);
}

static void write_samples(struct firefox *firefox, const struct track *track)
{
	firefox->track = track;
	text_addf(&firefox->out, "\"samples\":{\"weightType\":\"%s\",",
		  weighs_time(firefox) ? "tracing-ms" : "samples");
	add_column(firefox, "stack", track->nr, add_sample_stack);
	add_column(firefox, "time", track->nr, add_sample_time);
	add_column(firefox, "weight", track->nr, add_sample_weight);
	add_length(firefox, track->nr);
}

static void write_markers(struct firefox *firefox, const struct track *track)
{
	const struct firefox_markers markers = {.sink = firefox->request->sink,
						.tracks = &firefox->tracks,
						.functions = &firefox->functions,
						.from_ns = firefox->span.from_ns,
						.category = CATEGORY_WAITING};
	const bool is_wait = history_is_wait(firefox->request->history, track->event);
	if (!firefox->result)
		firefox->result = firefox_write_markers(&markers, track, is_wait, &firefox->out);
}

static void write_thread(struct firefox *firefox, const struct track *track)
{
	const struct history *history = firefox->request->history;
	const bool is_main =
		track->pid == track->tid && track->event == firefox->tracks.tracks.items->event;
	struct text name = {0};
	task_name_add(&name, track->comm, track->tid);
	if (history_nr_events(history) > 1)
		text_addf(&name, ", %s", history_event_name(history, track->event));
	firefox->out.failed |= name.failed;
	text_add(&firefox->out, "{\"name\":");
	add_name(firefox, text_string(&name));
	text_release(&name);
	text_add(&firefox->out, ",\"processName\":");
	add_name(firefox, track->process);
	text_addf(&firefox->out,
		  ",\"pid\":\"%" PRId32 "\",\"tid\":%" PRId32 ",\"isMainThread\":%s,"
		  "\"processType\":\"default\",\"processStartupTime\":0,"
		  "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,"
		  "\"pausedRanges\":[],\n",
		  track->pid, track->tid, is_main ? "true" : "false");
	write_markers(firefox, track);
	text_add(&firefox->out, ",\n");
	write_samples(firefox, track);
	text_add(&firefox->out, "}");
}

/* ---- all of it ---- */

static void add_fact(struct firefox *firefox, const char *field, const char *key)
{
	const char *value = history_info(firefox->request->history, key);
	if (!value)
		return;
	text_addf(&firefox->out, ",\"%s\":", field);
	add_name(firefox, value);
}

static void write_meta(struct firefox *firefox)
{
	const uint64_t hz = history_nr_events(firefox->request->history)
				    ? history_event_frequency_hz(firefox->request->history, 0)
				    : 0;
	const uint64_t interval_ns = NS_PER_SECOND / (hz ? hz : 1000);
	text_add(&firefox->out, "{\"meta\":{\"interval\":");
	add_ms(firefox, interval_ns);
	text_add(&firefox->out, ",\"startTime\":");
	add_ms(firefox, firefox->span.wall_ns);
	text_add(&firefox->out, ",\"profilingStartTime\":0,\"profilingEndTime\":");
	/* The end itself is not shown any more, but the last sample is to be. */
	add_ms(firefox, firefox->span.to_ns - firefox->span.from_ns + interval_ns);
	text_addf(
		&firefox->out,
		",\"processType\":0,\"product\":\"ctop\",\"importedFrom\":\"ctop " CTOP_VERSION
		"\","
		"\"stackwalk\":1,\"debug\":false,\"version\":%d,\"preprocessedProfileVersion\":%d,"
		"\"symbolicated\":true,\"symbolicationNotSupported\":true,\"usesOnlyOneStackType\":"
		"true,"
		"\"sourceCodeIsNotOnSearchfox\":true,\"markerSchema\":[%s],\n\"categories\":["
		"{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Generated\",\"color\":\"blue\",\"subcategories\":[\"Other\"]},"
		"{\"name\":\"Waiting\",\"color\":\"purple\",\"subcategories\":[\"Other\"]}]",
		GECKO_VERSION, PROCESSED_VERSION, firefox_wait_schema);
	add_fact(firefox, "arguments", "command_line");
	add_fact(firefox, "oscpu", "kernel");
	add_fact(firefox, "device", "hostname");
	text_add(&firefox->out, "}");
}

static int number_source(struct firefox *firefox, struct function_id function)
{
	const char *file = source_of(firefox, function);
	uint32_t number;
	return !file || file_numbers_find(&firefox->sources, file, &number)
		       ? 0
		       : file_numbers_add(&firefox->sources, file, &number);
}

static int number_all(struct firefox *firefox)
{
	int result = selection_hottest_lines(firefox->request->selection, &firefox->hottest);
	for (uint32_t i = 0; !result && i < firefox->tracks.frames.nr; i++) {
		result =
			numbering_add(&firefox->functions, frame_at(firefox, i)->function.index, i);
		if (!result)
			result = numbering_add(&firefox->modules, frame_at(firefox, i)->module, i);
		if (!result)
			result = number_source(firefox, frame_at(firefox, i)->function);
	}
	return result;
}

static int write_all(struct firefox *firefox)
{
	int result = number_all(firefox);
	if (result)
		return result;
	firefox->span = pieces_span(firefox->request);
	write_meta(firefox);
	write_modules(firefox);
	write_shared(firefox);
	text_add(&firefox->out, ",\n\"threads\":[");
	for (size_t i = 0; i < firefox->tracks.tracks.nr && next(firefox, i); i++) {
		text_add(&firefox->out, "\n");
		write_thread(firefox, &firefox->tracks.tracks.items[i]);
	}
	text_add(&firefox->out, "]}\n");
	return firefox->result ? firefox->result
			       : pieces_flush(firefox->request->sink, &firefox->out);
}

int firefox_write(const struct export_request *request)
{
	struct firefox firefox = {.request = request};
	int result = tracks_take(&firefox.tracks, request, TRACKS_OF_SAMPLES);
	if (!result)
		result = write_all(&firefox);
	tracks_release(&firefox.tracks);
	numbering_release(&firefox.functions);
	numbering_release(&firefox.modules);
	free(firefox.hottest.items);
	file_numbers_release(&firefox.sources);
	text_release(&firefox.out);
	text_release(&firefox.scratch);
	return result;
}
