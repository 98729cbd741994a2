/* SPDX-License-Identifier: MIT */
/* What the screens ask for. */

#include <errno.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/compare/compare.h>
#include <ctop/metadata/metadata.h>
#include <ctop/metadata/thread_facts.h>
#include <ctop/report/label_line.h>
#include <ctop/report/module_remedy.h>
#include <ctop/report/report_header.h>
#include <ctop/report/runtime_notes.h>
#include <ctop/report/unnamed_text.h>

#include "interact_export.h"
#include "interact_internal.h"

static void tell_facts(void *context, uint32_t event, struct ui_facts *facts)
{
	struct interact *interact = context;
	commands_serve(&interact->commands, interact->source.session);
	facts_read(&interact->facts, &interact->source, event, facts);
}

static int list_processes(void *context, struct ui_process **out, size_t *nr)
{
	struct interact *interact = context;
	return processes_list(&interact->processes, out, nr);
}

/* What a session knows by now. 0 or -ENOMEM. */
static int add_run_metadata(const struct interact *interact)
{
	if (!interact->source.session)
		return 0;
	const struct metadata_sink metadata = metadata_to_history(interact->source.history);
	struct session_stats stats = session_stats(interact->source.session);
	stats.undrained = 0; /* not yet: it is still waited for */
	return metadata_end(&stats, &metadata);
}

/* Samples of several events do not add up. 0 or -ENOMEM. */
static int count_shown(struct history *history, uint32_t event, enum time_shown time,
		       struct history_totals *totals)
{
	const struct selection_criterion of_event = {.what = SELECTION_EVENT,
						     .waits = time == TIME_SHOWN_WALL,
						     .number = (int32_t)event};
	struct selection *selection = selection_of_all(history);
	int result = selection ? selection_set_filter(selection, &of_event, 1) : -ENOMEM;
	if (!result)
		result = selection_refresh(selection, totals->last_ns);
	if (!result) {
		const struct selection_totals shown = selection_totals(selection);
		/* Nobody counts these by event. Frames with names are counted over all events. */
		if (shown.samples != totals->samples)
			memset(totals->reasons, 0, sizeof(totals->reasons));
		totals->samples = shown.samples;
		totals->weight = shown.weight;
		totals->folded = shown.folded;
		memcpy(totals->ends, shown.ends, sizeof(totals->ends));
	}
	selection_free(selection);
	return result;
}

/* What the report says above its table. */
static void tell_info(void *context, uint32_t event, enum time_shown time, struct text *lines)
{
	struct interact *interact = context;
	struct history *history = interact->source.history;
	struct options options = *interact->options;
	if (add_run_metadata(interact))
		text_add(lines, "out of memory!\n");
	int rows, cols;
	terminal_size(interact->terminal, &rows, &cols);
	options.columns = (uint32_t)cols;
	struct history_totals totals = history_totals(history);
	options.time = time;
	if (history_nr_events(history) > 1) {
		if (time == TIME_SHOWN_CPU || time == TIME_SHOWN_WALL)
			options.event = history_event_name(history, event);
		if (count_shown(history, event, time, &totals))
			text_add(lines, "out of memory!\n");
	}
	struct text notices = {0};
	facts_add_notices(&interact->source, &notices);
	char *at = notices.bytes;
	for (char *end_of; at && (end_of = strchr(at, '\n')); at = end_of + 1) {
		*end_of = '\0';
		label_line_add(lines, "notice", at, options.columns);
	}
	text_release(&notices);
	report_header(history, &totals, &options, "e shows them", lines);
	runtime_notes_add(history, interact->source.pid, options.columns, lines);
	unnamed_add(history, lines);
}

static int list_threads(void *context, int32_t only_pid, const struct ui_thread **out, size_t *nr)
{
	struct interact *interact = context;
	*out = NULL;
	*nr = 0;
	return interact->source.session ? threads_list(&interact->threads, interact->source.session,
						       interact->options, only_pid, out, nr)
					: 0;
}

static void tell_object(const struct wait_object *object, char out[UI_WAITS_ON_BYTES])
{
	struct text text = {0};
	wait_object_add(object, &text);
	/* Characters that take no column may be any number. */
	size_t size = text_fit(text_string(&text), UI_WAITS_ON_BYTES / 4);
	size = size < UI_WAITS_ON_BYTES ? size : 0;
	memcpy(out, text_string(&text), size);
	out[size] = '\0';
	text_release(&text);
}

/* By how often: those that end most waiting, and which share of its wakings each is. */
static void tell_wakers(const struct session *session, int32_t tid, char out[UI_WOKEN_BY_BYTES])
{
	enum { WAKERS = 64, SHOWN = 3 };
	struct waking_sum sums[WAKERS];
	const size_t nr = session_wakers_of(session, tid, sums, WAKERS);
	uint64_t all = 0;
	struct text text = {0};
	for (size_t i = 0; i < nr; i++)
		all += sums[i].nr;
	for (size_t i = 0; i < nr && i < SHOWN; i++) {
		text_add(&text, i ? ", " : "");
		const char *kind = waker_kind(sums[i].waker_tid);
		if (!kind)
			text_addf(&text, "%d ", sums[i].waker_tid);
		text_add_safe(&text, kind ? kind : sums[i].waker_name);
		text_addf(&text, " %.0f%%", 100.0 * (double)sums[i].nr / (double)all);
	}
	const size_t size = strlen(text_string(&text));
	if (size < UI_WOKEN_BY_BYTES)
		memcpy(out, text_string(&text), size + 1);
	text_release(&text);
}

static bool tell_thread(void *context, int32_t pid, int32_t tid, struct ui_thread_now *out)
{
	struct interact *interact = context;
	struct thread_now now;
	*out = (struct ui_thread_now){.still_s = -1};
	if (!interact->source.session)
		return false;
	if (!thread_now_read(&interact->threads.clock, session_looker(interact->source.session),
			     pid, tid, &now))
		return true; /* it has ended */
	out->state = now.state;
	out->still_s = now.still_s;
	const uint64_t since_ns =
		now.state == 'R' ? 0 : session_waits_since(interact->source.session, tid);
	if (since_ns) {
		out->still_s = (double)(clock_now_ns() - since_ns) / (double)NS_PER_SECOND;
		out->is_exact = true;
	}
	memcpy(out->name, now.name, sizeof(out->name));
	memcpy(out->place, now.place, sizeof(out->place));
	memcpy(out->call, now.call, sizeof(out->call));
	tell_object(&now.waits_on, out->waits_on);
	tell_wakers(interact->source.session, tid, out->woken_by);
	return true;
}

/* Of a recording all at once, when all of it is there. Without memory nothing is known. */
static void read_times(struct interact *interact)
{
	struct thread_facts facts = {0};
	if (interact->shares.nr || interact->source.loading ||
	    !history_info(interact->source.history, THREAD_FACTS_KEY "0"))
		return;
	if (thread_facts_read(interact->source.history, &facts) == 0 && facts.nr) {
		thread_facts_sort(&facts);
		thread_shares_add(&interact->shares, facts.items, facts.nr, 0, 0);
	}
	thread_facts_release(&facts);
}

static void mark_times(void *context, uint32_t seconds)
{
	struct interact *interact = context;
	if (interact->source.session)
		thread_shares_mark(&interact->shares, interact->source.session, seconds);
	else
		read_times(interact);
}

static bool tell_times(void *context, int32_t pid, int32_t tid, uint32_t seconds,
		       struct ui_times *times)
{
	const struct interact *interact = context;
	/* A recording has no moments between. */
	if (!interact->source.session && seconds)
		return false;
	return thread_shares_tell(&interact->shares, pid, tid, seconds, times);
}

static void add_command(void *context, int32_t pid, uint64_t started_ns, struct text *out)
{
	struct interact *interact = context;
	if (interact->source.session)
		commands_add(&interact->commands, pid, started_ns, out);
}

static void add_module_remedy(void *context, uint32_t module, struct text *out)
{
	const struct interact *interact = context;
	module_remedy_add(interact->source.history, module, out);
}

static void name_thread(void *context, int32_t pid, int32_t tid, char name[16])
{
	(void)context;
	thread_now_name(pid, tid, name);
}

static void sample_less(void *context, struct text *message)
{
	const struct interact *interact = context;
	char what[160];
	if (!interact->source.session) {
		text_add(message, "a file has been sampled already");
	} else if (session_lower(interact->source.session, what, sizeof(what))) {
		text_add(message, "from now on ");
		text_add_safe(message, what);
	} else {
		text_add(message, "this is the least: restart ctop with a lower rate (-F) or "
				  "--call-graph fp");
	}
}

static const struct ui_code *get_code(void *context, struct selection *selection,
				      struct function_id function)
{
	struct interact *interact = context;
	return shown_code_get(&interact->code, interact->source.history, selection,
			      interact->options, interact->source.session, function);
}

static void suggest_name(void *context, char *name, size_t size)
{
	(void)context;
	interact_suggest_name(name, size);
}

static void export_selection(void *context, struct selection *selection, const char *excerpt,
			     const char *path, struct text *message)
{
	const struct interact *interact = context;
	if (add_run_metadata(interact))
		text_add(message, "not written: out of memory");
	else
		interact_export(interact->source.history, selection, interact->options, excerpt,
				path, message);
}

static struct ui_change change_of(const struct compare_function *function)
{
	const struct noise_value *self = &function->self, *total = &function->total;
	return (struct ui_change){
		.self = 100 * (self->b - self->a),
		.total = 100 * (total->b - total->a),
		.total_before = 100 * total->a,
		.self_beyond = self->beyond,
		.total_beyond = total->beyond,
	};
}

static bool tell_change(void *context, struct function_id function, struct ui_change *change)
{
	const struct interact *interact = context;
	const struct history *history = interact->source.history;
	struct compare_function found;
	if (!compare_find(interact->source.compare, history, function, &found))
		return false;
	*change = change_of(&found);
	return true;
}

static bool tell_path_change(void *context, uint32_t path, struct ui_change *change)
{
	const struct interact *interact = context;
	if (path == COMPARE_NO_PATH)
		return false;
	const struct compare_function found = compare_path(interact->source.compare, path);
	*change = change_of(&found);
	return true;
}

static uint32_t step_path(void *context, uint32_t path, const struct selection_node *node)
{
	const struct interact *interact = context;
	return compare_step(interact->source.compare, path, interact->source.history,
			    node->function, node->label);
}

struct ui_host interact_host(struct interact *interact)
{
	return (struct ui_host){
		.context = interact,
		.facts = tell_facts,
		.info = tell_info,
		.threads = list_threads,
		.thread = tell_thread,
		.mark_times = mark_times,
		.times = tell_times,
		.thread_name = name_thread,
		.change = interact->source.compare ? tell_change : NULL,
		.path_change = tell_path_change,
		.path_step = step_path,
		.command = add_command,
		.module_remedy = add_module_remedy,
		.lower = sample_less,
		.suggest_name = suggest_name,
		.export = export_selection,
		.processes = list_processes,
		.code = get_code,
	};
}
