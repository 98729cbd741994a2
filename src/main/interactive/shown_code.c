/* SPDX-License-Identifier: MIT */
#include "shown_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* Headers of the language's library are many, and seldom read. */
enum { SOURCES_SHOWN_MAX = 256 };

static void forget(struct shown_code *shown)
{
	if (shown->finder)
		code_finder_forget(shown->finder);
	annotation_release(&shown->annotation);
	code_release(&shown->code);
	free(shown->files);
	shown->files = NULL;
	shown->error = (struct error){.cause = ""};
	shown->has_place = false;
}

void shown_code_release(struct shown_code *shown)
{
	forget(shown);
	code_finder_free(shown->finder);
	sources_free(shown->sources);
	text_release(&shown->fetching);
	free(shown->addresses.items);
	*shown = (struct shown_code){0};
}

static int out_of_memory(struct shown_code *shown)
{
	return error_set(&shown->error, -ENOMEM, "out of memory");
}

static int begin(struct shown_code *shown, const struct options *options)
{
	const char *servers = options->debuginfod ? getenv("DEBUGINFOD_URLS") : NULL;
	int result = 0;
	if (!shown->finder) {
		shown->finder = code_finder_new();
		if (shown->finder && servers)
			result = code_finder_use_servers(shown->finder, servers);
	}
	if (!shown->sources) {
		shown->sources = sources_new(options->source_dirs, options->nr_source_dirs);
		if (shown->sources && servers && !result)
			result = sources_use_servers(shown->sources, servers);
	}
	return shown->finder && shown->sources && !result ? 0 : out_of_memory(shown);
}

/* ---- the listing ---- */

struct asked {
	struct shown_code *shown;
	struct code_request request;
};

static void find_sources(struct shown_code *shown)
{
	const struct listing *listing = shown->code.listing;
	const uint32_t nr = listing->answer.nr_files;
	shown->files = calloc(nr + 1, sizeof(*shown->files));
	for (uint32_t i = 0; shown->files && i < nr && i < SOURCES_SHOWN_MAX; i++)
		shown->files[i] = sources_get(
			shown->sources, listing->strings + listing->files[i].path,
			listing->strings + listing->files[i].directory, &shown->code.program);
	if (!shown->files)
		out_of_memory(shown);
}

static void take(void *context, int error, struct code *code)
{
	struct shown_code *shown = context;
	shown->code = *code;
	if (error)
		code_explain(code_finder_request(shown->finder), error, &shown->error);
}

/* Only of who is in the profile: whose code it is, is what a child says. */
static void look_at_process(struct code_request *request, const struct session *session)
{
	const struct history_module_facts *module = &request->module;
	const struct module_row row = {
		.kind = (uint32_t)module->kind,
		.pid = module->pid,
		.started_ns = module->started_ns,
		.identity = module->identity,
	};
	if (!session || (module->kind != MODULE_ANON && module->kind != MODULE_KERNEL))
		return;
	request->dump_fd = session_dump(session, &row, module->path);
	request->is_live = true;
	request->may_look = session_has_process(session, module->pid);
}

static void ask(struct shown_code *shown, const struct history *history, struct session *session,
		const struct options *options)
{
	const struct selection_address *place = &shown->place;
	struct code_request request =
		code_request_of(history, shown->holder, place->module, place->start);
	request.pid = session ? place->pid : 0;
	look_at_process(&request, session);
	request.wants_calls = !options->no_inline;
	code_finder_ask(shown->finder, &request, take, shown);
}

/* ---- its samples ---- */

static void no_samples(struct shown_code *shown, const struct history *history)
{
	error_set(&shown->error, -ENODATA, "no sample shown was taken in the code of '%s' itself",
		  history_function_name(history, shown->holder));
	error_remedy(&shown->error, "what it calls took the time, or its start is not known");
}

static bool has_samples_at(const struct selection_code *code, const struct selection_address *place)
{
	for (size_t i = 0; i < code->nr; i++)
		if (code->items[i].module == place->module && code->items[i].start == place->start)
			return true;
	return false;
}

/* Another function: its code is looked for, from when it has samples on. */
static void choose(struct shown_code *shown, const struct history *history, struct session *session,
		   const struct options *options)
{
	const struct selection_address *hottest = selection_code_hottest(&shown->addresses);
	shown->error = (struct error){.cause = ""};
	if (!hottest) {
		no_samples(shown, history);
		return;
	}
	shown->place = *hottest;
	shown->has_place = true;
	ask(shown, history, session, options);
}

static void count(struct shown_code *shown, const struct history *history,
		  struct selection *selection)
{
	const struct selection_address *place = &shown->place;
	annotation_release(&shown->annotation);
	if (annotation_make(&shown->annotation, shown->code.listing, history, &shown->addresses,
			    place->module, place->start) ||
	    annotation_add_events(&shown->annotation, selection, history, shown->holder,
				  place->module, place->start))
		out_of_memory(shown);
}

/* A listing that has come. */
static void complete(struct shown_code *shown, struct history *history)
{
	if (shown->code.written_ns == INT64_MAX)
		shown->code.written_ns = profile_began_ns(history);
	if (listing_take_from_profile(shown->code.listing, history, shown->place.module,
				      shown->place.start, shown->holder))
		out_of_memory(shown);
	else
		find_sources(shown);
}

const struct ui_code *shown_code_get(struct shown_code *shown, struct history *history,
				     struct selection *selection, const struct options *options,
				     struct session *session, struct function_id function)
{
	if (shown->function.index != function.index) {
		forget(shown);
		shown->function = function;
	}
	if (!begin(shown, options)) {
		shown->holder = selection_code_holder(selection, function);
		if (selection_code(selection, shown->holder, SELECTION_OWN_EVENT,
				   &shown->addresses))
			out_of_memory(shown);
		else if (!shown->has_place || (shown->error.cause[0] &&
					       !has_samples_at(&shown->addresses, &shown->place)))
			choose(shown, history, session, options);
	}
	if (shown->code.listing && !shown->files && !shown->error.cause[0])
		complete(shown, history);
	if (shown->code.listing && shown->files)
		count(shown, history, selection);
	shown->told = (struct ui_code){
		.cause = shown->error.cause,
		.remedy = shown->error.remedy,
		.holder = shown->holder,
		.annotation = shown->annotation.rows ? &shown->annotation : NULL,
		.files = shown->files,
		.written_ns = shown->code.written_ns,
		.kept = shown->code.kept,
		.fetching = text_string(&shown->fetching),
	};
	return &shown->told;
}

bool shown_code_is_awaited(const struct shown_code *shown)
{
	return (shown->finder && code_finder_is_busy(shown->finder)) ||
	       (shown->sources && sources_are_awaited(shown->sources));
}

/* Openers are our own, and none of what a session of a whole machine samples. */
static void leave_out(struct shown_code *shown, struct session *session)
{
	const int32_t pids[] = {code_finder_pid(shown->finder), sources_pid(shown->sources)};
	for (size_t i = 0; session && i < 2; i++) {
		if (pids[i] && pids[i] != shown->left_out[i])
			session_leave_out(session, pids[i]);
		shown->left_out[i] = pids[i];
	}
}

/* True: it is something else than before. */
static bool tell_fetching(struct shown_code *shown)
{
	struct text now = {0};
	code_finder_tell_fetching(shown->finder, &now);
	if (!now.size)
		sources_tell_fetching(shown->sources, &now);
	const bool is_new = strcmp(text_string(&now), text_string(&shown->fetching)) != 0;
	text_release(&shown->fetching);
	shown->fetching = now;
	return is_new;
}

bool shown_code_serve(struct shown_code *shown, struct session *session)
{
	const bool was_awaited = shown_code_is_awaited(shown);
	if (!was_awaited)
		return false;
	leave_out(shown, session);
	const bool was_listed = shown->code.listing != NULL;
	code_finder_serve(shown->finder, 0);
	sources_serve(shown->sources, 0);
	const bool is_new = tell_fetching(shown);
	return is_new || was_listed != (shown->code.listing != NULL) ||
	       !shown_code_is_awaited(shown);
}
