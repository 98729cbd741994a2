/* SPDX-License-Identifier: MIT */
/* What the screens ask for. */

#include <string.h>

#include <ctop/metadata/metadata.h>
#include <ctop/report/label_line.h>
#include <ctop/report/report_header.h>
#include <ctop/report/unnamed_text.h>
#include <ctop/system/proc_text.h>

#include "interact_export.h"
#include "interact_internal.h"

static void tell_facts(void *context, uint32_t event, struct ui_facts *facts)
{
	struct interact *interact = context;
	facts_read(&interact->facts, &interact->source, event, facts);
}

static int list_processes(void *context, struct ui_process **out, size_t *nr)
{
	struct interact *interact = context;
	return processes_list(&interact->processes, out, nr);
}

static int add_info(void *context, const char *key, const char *value)
{
	return history_set_info(context, key, value);
}

/* What a session knows by now. 0 or -ENOMEM. */
static int add_run_metadata(const struct interact *interact)
{
	if (!interact->source.session)
		return 0;
	const struct metadata_sink metadata = {interact->source.history, add_info};
	struct session_stats stats = session_stats(interact->source.session);
	stats.undrained = 0; /* not yet: it is still waited for */
	return metadata_end(&stats, &metadata);
}

/* What the report says above its table. */
static void tell_info(void *context, struct text *lines)
{
	struct interact *interact = context;
	struct history *history = interact->source.history;
	struct options options = *interact->options;
	if (add_run_metadata(interact))
		text_add(lines, "out of memory!\n");
	int rows, cols;
	terminal_size(interact->terminal, &rows, &cols);
	options.columns = (uint32_t)cols;
	const struct history_totals totals = history_totals(history);
	struct text notices = {0};
	facts_add_notices(&interact->source, &notices);
	char *at = notices.bytes;
	for (char *end_of; at && (end_of = strchr(at, '\n')); at = end_of + 1) {
		*end_of = '\0';
		label_line_add(lines, "told", at, options.columns);
	}
	text_release(&notices);
	report_header(history, &totals, &options, "e shows them", lines);
	unnamed_add(history, lines);
}

static void tell_thread(void *context, int32_t pid, int32_t tid, struct text *state)
{
	const struct interact *interact = context;
	struct proc_thread thread;
	if (!interact->source.session)
		return;
	if (!proc_thread(pid, tid, &thread)) {
		text_add(state, "ended");
		return;
	}
	switch (thread.state) {
	case 'R':
		text_add(state, "runs");
		return;
	case 'T':
	case 't':
		text_add(state, "stopped");
		return;
	case 'Z':
	case 'X':
		text_add(state, "ended");
		return;
	default:
		break;
	}
	text_add(state, thread.place[0] ? "in " : thread.state == 'D' ? "waits" : "sleeps");
	text_add_safe(state, thread.place);
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
		interact_export(interact->source.history, selection, excerpt, path, message);
}

struct ui_host interact_host(struct interact *interact)
{
	return (struct ui_host){
		.context = interact,
		.facts = tell_facts,
		.info = tell_info,
		.thread = tell_thread,
		.suggest_name = suggest_name,
		.export = export_selection,
		.processes = list_processes,
	};
}
