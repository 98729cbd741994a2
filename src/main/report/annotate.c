/* SPDX-License-Identifier: MIT */
/* Which function is meant, where its code is, and what is said of it. */
#include <ctop/report/annotate.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/annotate/code_finder.h>
#include <ctop/base/base_name.h>
#include <ctop/base/end_pending.h>
#include <ctop/base/function_name.h>
#include <ctop/options/suggest.h>
#include <ctop/query/selection.h>
#include <ctop/report/label_line.h>
#include <ctop/report/report_header.h>
#include <ctop/report/runtime_notes.h>

#include "report_annotate.h"

enum { NAME_BYTES_MAX = 8192, SLICE_MS = 100, PLACES_MAX = 16, OTHERS_MAX = 3, OTHER_COLS = 60 };

struct work {
	struct history *history;
	struct selection *selection;
	const struct options *options;
	struct text *out;
	struct error *error;
	struct history_totals totals;
	struct function_id function;
	struct function_id others[OTHERS_MAX]; /* the hottest of those that may be meant, too */
	size_t nr_others;		       /* all of them */
	struct sources *sources;
	struct code_finder *finder;
	struct code code;
	int code_error;
};

/* ---- which function ---- */

enum match { MATCH_NONE, MATCH_PART, MATCH_BARE, MATCH_WHOLE };

/* "work.constprop.0", "work [clone .isra.0]": what compilers make of a function. */
static bool is_clone_of(const char *name, const char *wanted)
{
	const size_t size = strlen(wanted);
	return !strncmp(name, wanted, size) &&
	       (name[size] == '.' || !strncmp(name + size, " [clone ", strlen(" [clone ")));
}

static enum match match_of(const struct history *history, struct function_id function,
			   const char *wanted)
{
	static const char kernel[] = "[k] "; /* as rows of the report have it */
	static char bare[NAME_BYTES_MAX];
	const char *name = history_function_name(history, function);
	if (history_function_kernel(history, function) && !strncmp(wanted, kernel, strlen(kernel)))
		wanted += strlen(kernel);
	if (!strcmp(name, wanted) ||
	    !strcmp(history_function_marked_name(history, function), wanted))
		return MATCH_WHOLE;
	name_shorten(name, NAME_NO_ARGUMENTS, bare, sizeof(bare));
	if (!strcmp(bare, wanted) || is_clone_of(bare, wanted))
		return MATCH_BARE;
	return strstr(name, wanted) ? MATCH_PART : MATCH_NONE;
}

static int no_such_function(const struct work *work, const struct selection_functions *functions)
{
	struct suggestion suggestion = {.word = work->options->annotate};
	if (!functions->nr) {
		error_set(work->error, -ENOENT, "there are no samples, so none in a function '%s'",
			  work->options->annotate);
		return error_remedy(work->error, "ctop report says why");
	}
	error_set(work->error, -ENOENT, "no sample was taken in a function '%s'",
		  work->options->annotate);
	for (size_t i = 0; i < functions->nr; i++)
		suggestion_consider(&suggestion,
				    history_function_name(work->history, functions->items[i].id));
	if (suggestion.best)
		return error_remedy(work->error, "did you mean '%s'?", suggestion.best);
	return error_remedy(work->error,
			    "ctop report --stdio --limit 0 --min-percent 0 lists all there are");
}

/* Hottest first: what matches no better than one before is of the others. */
static void consider(struct work *work, struct function_id function, enum match *best)
{
	const enum match match = match_of(work->history, function, work->options->annotate);
	if (match > *best) {
		*best = match;
		work->function = function;
		work->nr_others = 0;
	} else if (match && match == *best) {
		if (work->nr_others < OTHERS_MAX)
			work->others[work->nr_others] = function;
		work->nr_others++;
	}
}

/* Of several that are called so the one that took most. */
static int find_function(struct work *work)
{
	struct selection_functions functions = {0};
	enum match best = MATCH_NONE;
	int result = selection_top(work->selection, SELECTION_BY_SELF, 0, &functions, NULL);
	if (result)
		return error_set(work->error, result, "out of memory");
	for (size_t i = 0; i < functions.nr; i++)
		consider(work, functions.items[i].id, &best);
	if (best == MATCH_NONE)
		result = no_such_function(work, &functions);
	free(functions.items);
	return result;
}

static void add_function(struct work *work, struct function_id asked)
{
	struct text line = {0};
	name_add_fit(&line, history_function_name(work->history, work->function), NAME_FULL, 0);
	text_add(&line, " of ");
	text_add_safe(&line, history_function_module(work->history, work->function));
	if (asked.index != work->function.index) {
		text_add(&line, ", which has most of ");
		name_add_fit(&line, history_function_marked_name(work->history, asked), NAME_FULL,
			     0);
	}
	label_line_add(work->out, "function", text_string(&line), 0);
	text_release(&line);
}

/* One of another module is told apart by that: --module takes what stands there. */
static void add_other(const struct work *work, struct function_id other, struct text *line)
{
	const char *module = history_function_module(work->history, other);
	name_add_fit(line, history_function_marked_name(work->history, other), NAME_FULL,
		     OTHER_COLS);
	if (!strcmp(module, history_function_module(work->history, work->function)))
		return;
	text_add(line, " of ");
	text_add_safe(line, base_name(module));
}

static void add_others(struct work *work)
{
	struct text line = {0};
	if (!work->nr_others)
		return;
	text_addf(&line, "%zu more %s '", work->nr_others,
		  work->nr_others == 1 ? "matches" : "match");
	text_add_safe(&line, work->options->annotate);
	text_add(&line, "': ");
	for (size_t i = 0; i < work->nr_others && i < OTHERS_MAX; i++) {
		text_add(&line, i ? ", " : "");
		add_other(work, work->others[i], &line);
	}
	text_add(&line, work->nr_others > OTHERS_MAX ? ", ..." : "");
	label_line_add(work->out, "others", text_string(&line), 0);
	text_release(&line);
}

/* ---- its code ---- */

static void take_code(void *context, int error, struct code *code)
{
	struct work *work = context;
	work->code_error = error;
	work->code = *code;
}

static int interrupted(struct work *work)
{
	return error_set(work->error, -EINTR, "interrupted before the code was listed");
}

static int find_code(struct work *work, const struct selection_address *at)
{
	struct code_request request =
		code_request_of(work->history, work->function, at->module, at->start);
	request.wants_calls = !work->options->no_inline;
	code_finder_ask(work->finder, &request, take_code, work);
	while (code_finder_is_busy(work->finder)) {
		if (end_pending())
			return interrupted(work);
		code_finder_serve(work->finder, SLICE_MS);
	}
	if (work->code_error)
		return code_explain(&request, work->code_error, work->error);
	if (work->code.written_ns == INT64_MAX)
		work->code.written_ns = profile_began_ns(work->history);
	int result = listing_take_from_profile(work->code.listing, work->history, at->module,
					       at->start, work->function);
	return result ? error_set(work->error, result, "out of memory") : 0;
}

static struct source_file **find_sources(struct work *work)
{
	const struct listing *listing = work->code.listing;
	const uint32_t nr = listing->answer.nr_files;
	struct source_file **files = calloc(nr + 1, sizeof(*files));
	for (uint32_t i = 0; files && i < nr; i++)
		files[i] = sources_get(work->sources, listing->strings + listing->files[i].path,
				       listing->strings + listing->files[i].directory,
				       &work->code.program);
	while (files && sources_are_awaited(work->sources) && !end_pending())
		sources_serve(work->sources, SLICE_MS);
	return files;
}

static int add_code(struct work *work, const struct selection_code *code,
		    const struct selection_address *at)
{
	struct annotation annotation = {0};
	int result = find_code(work, at);
	if (result)
		return result;
	struct source_file **files = find_sources(work);
	result = annotation_make(&annotation, work->code.listing, work->history, code, at->module,
				 at->start);
	if (!result)
		result = annotation_add_events(&annotation, work->selection, work->history,
					       work->function, at->module, at->start);
	if (!files || result)
		result = error_set(work->error, -ENOMEM, "out of memory");
	else
		report_annotate_add(work->history, at->module, &annotation, &work->code, files,
				    work->totals.weight, work->options, work->out);
	annotation_release(&annotation);
	free(files);
	code_release(&work->code);
	return result;
}

static int no_code(struct work *work)
{
	const char *name = history_function_name(work->history, work->function);
	const struct selection_cost cost = selection_function_cost(work->selection, work->function);
	if (!cost.self) {
		error_set(work->error, -ENODATA,
			  "no sample was taken in the code of '%s' itself, only in what it calls",
			  name);
		return error_remedy(work->error, "choose one of those: ctop report --tree");
	}
	error_set(work->error, -ENODATA, "it is not known where the code of '%s' begins", name);
	return error_remedy(work->error, "ctop report --modules says what would bring symbols");
}

/* The hottest first: there may be several of one name, as static functions are. */
static int add_places(struct work *work)
{
	struct selection_code code = {0};
	int result = selection_code(work->selection, work->function, SELECTION_OWN_EVENT, &code);
	if (result)
		result = error_set(work->error, result, "out of memory");
	else if (!code.nr)
		result = no_code(work);
	const struct selection_address *at;
	for (int place = 0; !result && (at = selection_code_hottest(&code)); place++) {
		if (place == PLACES_MAX || work->out->size > REPORT_ANNOTATE_BYTES_MAX) {
			text_add(work->out, "\nothers of that name are not shown\n");
			break;
		}
		if (place)
			text_add(work->out, "\nanother function of that name\n");
		const struct selection_address first = *at;
		result = add_code(work, &code, &first);
		for (size_t i = 0; i < code.nr; i++)
			if (code.items[i].module == first.module &&
			    code.items[i].start == first.start)
				code.items[i].weight = code.items[i].samples = 0;
	}
	free(code.items);
	return result;
}

static int add_all(struct work *work)
{
	int result = find_function(work);
	if (result)
		return result;
	const struct function_id asked = work->function;
	work->function = selection_code_holder(work->selection, asked);
	report_header(work->history, &work->totals, work->options, "choose with --event",
		      work->out);
	text_add(work->out, "\n");
	add_function(work, asked);
	add_others(work);
	return add_places(work);
}

int report_annotate(struct history *history, const struct options *options, struct text *out,
		    struct error *error)
{
	struct work work = {
		.history = history,
		.selection = selection_of_all(history),
		.options = options,
		.out = out,
		.error = error,
		.totals = history_totals(history),
		.sources = sources_new(options->source_dirs, options->nr_source_dirs),
		.finder = code_finder_new(),
	};
	const char *servers = options->debuginfod ? getenv("DEBUGINFOD_URLS") : NULL;
	int result = work.selection && work.finder && work.sources ? 0 : -ENOMEM;
	if (!result && servers)
		result = code_finder_use_servers(work.finder, servers);
	if (!result && servers)
		result = sources_use_servers(work.sources, servers);
	if (!result)
		result = add_all(&work);
	if (!result && out->failed)
		result = -ENOMEM;
	if (result == -ENOMEM)
		error_set(error, result, "out of memory");
	code_finder_free(work.finder);
	sources_free(work.sources);
	selection_free(work.selection);
	return result;
}
