/* SPDX-License-Identifier: MIT */
#include <ctop/report/load.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctop/base/clock.h>
#include <ctop/base/text.h>
#include <ctop/metadata/metadata.h>
#include <ctop/metadata/stats.h>
#include <ctop/metadata/timeline_facts.h>
#include <ctop/output/say.h>
#include <ctop/report/history_consumer.h>
#include <ctop/report/numbers.h>

#include "no_match.h"

static uint64_t ns(double seconds)
{
	return (uint64_t)(seconds * (double)NS_PER_SECOND);
}

static bool is_of_one_event(enum load_mode mode)
{
	return mode == LOAD_COUNTS || mode == LOAD_COLUMNS;
}

static struct history_filter filter_of(const struct options *options, enum load_mode mode)
{
	return (struct history_filter){
		.pids = options->filter_pids.items,
		.nr_pids = options->filter_pids.nr,
		.tids = options->filter_tids.items,
		.nr_tids = options->filter_tids.nr,
		.cpus = options->filter_cpus.items,
		.nr_cpus = options->filter_cpus.nr,
		.comm = options->comm,
		.event = options->event,
		.first_event = !options->event && is_of_one_event(mode),
		.time = options->time,
		.beside = mode == LOAD_COLUMNS,
		.module = options->module,
		.labels = options->labels,
		.nr_labels = options->nr_labels,
		.from_ns = ns(options->from_seconds),
		.to_ns = ns(options->to_seconds),
		.kernel_only = options->kernel_only,
		.user_only = options->user_only,
	};
}

/* What it is asked to write would replace what it reads. */
static int refuse_own_input(const struct options *options, struct error *error)
{
	const char *const outputs[] = {options->output, options->stats_path, options->html_path};
	struct stat input, output;
	if (stat(options->input, &input) < 0)
		return 0; /* which will be told */
	for (size_t i = 0; i < sizeof(outputs) / sizeof(outputs[0]); i++) {
		if (!outputs[i] || stat(outputs[i], &output) < 0 || !S_ISREG(output.st_mode) ||
		    output.st_dev != input.st_dev || output.st_ino != input.st_ino)
			continue;
		error_usage(error, "'%s' is the recording being read", outputs[i]);
		return error_remedy(error, "write to another file");
	}
	return 0;
}

/* Damage that leaves something is reported beside it; this is when nothing is left. */
static int refuse_empty(const struct load *load, const struct options *options, struct error *error)
{
	const struct recording_read read = session_read(load->session);
	if (read.chunks || session_is_perfdata(load->session))
		return 0;
	error_set(error, -ENODATA, "'%s' %s", options->input,
		  read.damaged_places ? "is damaged: nothing in it can be read"
				      : "ends before anything was written to it");
	return error_remedy(error, "use a copy of it, or record again with ctop record -o FILE");
}

static void add_count(struct text *text, uint64_t nr, const char *what)
{
	if (!nr)
		return;
	text_add(text, ", ");
	add_grouped(text, nr);
	text_addf(text, " %s%s", what, nr == 1 ? "" : "s");
}

/* What a perf.data file lacks, and what this machine lacks to read it. */
static void add_perfdata_notes(const struct load *load, struct text *lines)
{
	const char *note = session_source_note(load->session);
	const char *notice = session_notice(load->session);
	if (note[0]) {
		text_add_safe(lines, load->options->input);
		text_add(lines, " ");
		text_add_safe(lines, note);
		text_add(lines, "\n");
	}
	if (notice[0])
		text_addf(lines, "%s\n", notice);
}

static void add_damage(const struct load *load, struct text *lines)
{
	const struct recording_read read = session_read(load->session);
	if (!read.whole) {
		text_add_safe(lines, load->options->input);
		text_add(lines, " is incomplete: it is still being recorded, or ctop was killed, "
				"or the file was cut\n");
	}
	if (!read.damaged_places && !read.lost_chunks)
		return;
	text_add_safe(lines, load->options->input);
	text_add(lines, " is damaged");
	const char *before = ": ";
	if (read.skipped_bytes) {
		text_add(lines, before);
		add_bytes(lines, read.skipped_bytes);
		text_add(lines, " skipped");
		before = ", ";
	}
	if (read.lost_chunks) {
		text_add(lines, before);
		add_grouped(lines, read.lost_chunks);
		text_addf(lines, " part%s missing", read.lost_chunks == 1 ? "" : "s");
	}
	add_count(lines, read.lost_samples, "sample");
	text_add(lines, read.lost_samples ? " lost" : "");
	add_count(lines, read.incomplete_samples, "sample");
	text_add(lines, read.incomplete_samples ? " with [lost] parts" : "");
	text_add(lines, "\n");
}

void load_add_damage(const struct load *load, struct text *lines)
{
	if (session_is_perfdata(load->session))
		add_perfdata_notes(load, lines);
	else
		add_damage(load, lines);
}

void load_tell_damage(const struct load *load)
{
	struct text lines = {0};
	load_add_damage(load, &lines);
	const char *at = text_string(&lines);
	for (size_t size; *at; at += size) {
		size = strcspn(at, "\n") + 1;
		say("%.*s", (int)size - 1, at);
	}
	text_release(&lines);
}

/* A recording has these facts inside; of a perf.data file they are known once it was read. */
static int add_perfdata_facts(const struct load *load)
{
	if (!session_is_perfdata(load->session))
		return 0;
	const struct session_stats stats = session_stats(load->session);
	const struct metadata_sink sink = metadata_to_history(load->history);
	return metadata_of_file(&stats, &sink);
}

/*
 * A stack takes up to some hundred times its bytes in a recording: a history bound by the file's size keeps all of an honest file, and not
 * what a small one claims to hold. Never more than half of the machine's memory, unless that is asked for.
 */
static uint64_t memory_bound(const struct options *options)
{
	enum { A_BYTE = 128 };
	const uint64_t least = options->memory_mib << 20;
	const uint64_t most =
		(uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE) / 2;
	struct stat file;
	if (options->memory_is_asked || stat(options->input, &file) < 0 || !S_ISREG(file.st_mode))
		return least;
	const uint64_t wanted = (uint64_t)file.st_size < most / A_BYTE
					? least + (uint64_t)file.st_size * A_BYTE
					: most;
	return wanted < most ? wanted : most > least ? most : least;
}

static int begin_history(struct load *load, enum load_mode mode)
{
	const struct history_filter filter = filter_of(load->options, mode);
	load->history = history_new();
	if (!load->history)
		return -ENOMEM;
	history_set_filter(load->history, &filter);
	history_set_limit(load->history, memory_bound(load->options));
	history_set_state_frames(load->history, load->options->state_frames);
	if (load->options->format) /* a report groups rows by itself */
		history_set_grouping(load->history, load->options->grouping);
	if (load->options->no_inline)
		history_leave_out_lines(load->history);
	if (mode == LOAD_SAMPLES)
		history_keep_samples(load->history, LOAD_SAMPLES_MOST);
	if (mode == LOAD_SLICES)
		history_keep_slices(load->history, LOAD_SAMPLES_MOST);
	if (mode == LOAD_SECONDS)
		history_keep_seconds(load->history);
	return mode == LOAD_SECONDS || load->options->timeline
		       ? history_keep_timeline(load->history)
		       : 0;
}

int load_begin(struct load *load, const struct options *options, enum load_mode mode,
	       struct error *error)
{
	*load = (struct load){.options = options};
	if (refuse_own_input(options, error))
		return -EINVAL;
	if (begin_history(load, mode))
		return error_set(error, -ENOMEM, "out of memory");
	const struct session_consumer consumer = history_consumer(load->history);
	load->session = session_open_file(options->input, options->nr_jobs, &consumer, error);
	if (!load->session)
		return -EINVAL;
	if (options->debuginfod && session_use_debuginfod(load->session, getenv("DEBUGINFOD_URLS")))
		return error_set(error, -ENOMEM, "out of memory");
	if (!options->no_cache && session_use_cache(load->session))
		return error_set(error, -ENOMEM, "out of memory");
	if (!options->no_inline)
		session_want_lines(load->session, SESSION_LINES_AWAITED);
	return session_start(load->session, error);
}

static int finish_history(struct load *load, struct error *error)
{
	if (history_update_names(load->history) || add_perfdata_facts(load) ||
	    timeline_facts_read(load->history))
		return error_set(error, -ENOMEM, "out of memory");
	return 0;
}

int load_step(struct load *load, int timeout_ms, bool *done, struct error *error)
{
	enum session_state state;
	int result = session_step(load->session, timeout_ms, &state, error);
	*done = !result && state == SESSION_DRAINED;
	if (!*done)
		return result;
	result = finish_history(load, error);
	if (!result)
		result = refuse_empty(load, load->options, error);
	return result ? result : no_match_check(load->history, load->options, error);
}

int load_again(struct load *load, struct error *error)
{
	const struct session_consumer consumer = history_consumer(load->history);
	enum session_state state = SESSION_RUNNING;
	load->again = session_open_again(load->session, &consumer, error);
	int result = load->again ? session_start(load->again, error) : -EINVAL;
	while (!result && state != SESSION_DRAINED)
		result = session_step(load->again, -1, &state, error);
	return result;
}

/* The first event that has samples, where the first one has none and no other was asked for; else NULL. */
static const char *first_sampled(const struct load *load)
{
	const struct history *history = load->history;
	size_t event = 0;
	while (event < history_nr_events(history) && !history_event_samples(history, event))
		event++;
	return !load->options->event && !time_is_apart(load->options->time) && event &&
			       event < history_nr_events(history)
		       ? history_event_name(history, event)
		       : NULL;
}

/* Which events have samples is known at the end: it is read once more, for this one. */
static int show_event(struct load *load, const char *event, enum load_mode mode,
		      struct error *error)
{
	const size_t size = strlen(event) + 1;
	struct text first = {0};
	load->with_event = malloc(sizeof(*load->with_event) + size);
	if (!load->with_event)
		return error_set(error, -ENOMEM, "out of memory");
	char *name = memcpy(load->with_event + 1, event, size);
	*load->with_event = *load->options;
	load->with_event->event = name;
	load->options = load->with_event;
	text_add_safe(&first, history_event_name(load->history, 0));
	history_free(load->history);
	load->history = NULL;
	if (begin_history(load, mode)) {
		text_release(&first);
		return error_set(error, -ENOMEM, "out of memory");
	}
	int result = load_again(load, error);
	if (result && !load->again) { /* a pipe is read once */
		error_set(error, result,
			  "'%s' has no samples of %s, and cannot be read again for another event",
			  load->options->input, text_string(&first));
		error_remedy(error, "name one that has some: --event %s", name);
	}
	text_release(&first);
	if (!result)
		result = finish_history(load, error);
	return result ? result : no_match_check(load->history, load->options, error);
}

int load_open(struct load *load, const struct options *options, enum load_mode mode,
	      struct error *error)
{
	bool done = false;
	int result = load_begin(load, options, mode, error);
	while (!result && !done)
		result = load_step(load, -1, &done, error);
	const char *event = done && is_of_one_event(mode) ? first_sampled(load) : NULL;
	return event ? show_event(load, event, mode, error) : result;
}

void load_tell_folded(const struct load *load)
{
	struct text line = {0};
	const struct history_totals totals = history_totals(load->history);
	if (!totals.folded)
		return;
	text_add(&line, "ctop: ");
	add_grouped(&line, totals.folded);
	text_add(&line, " samples are on stacks beyond the memory bound: [folded] below their "
			"known callers; more with --memory MIB\n");
	fputs(text_string(&line), stderr);
	text_release(&line);
}

void load_tell_event(const struct load *load)
{
	const struct history *history = load->history;
	const bool is_asked_for = load->options->event && !load->with_event;
	struct text line = {0};
	size_t nr_others = 0, shown = 0;
	if (is_asked_for || load->options->time || history_nr_events(history) < 2)
		return;
	text_add(&line, "ctop: ");
	if (load->with_event) {
		text_add_safe(&line, history_event_name(history, 0));
		text_add(&line, " has no samples: ");
		while (shown + 1 < history_nr_events(history) &&
		       !history_event_samples(history, shown))
			shown++;
	}
	text_add(&line, "shown is ");
	text_add_safe(&line, history_event_name(history, shown));
	for (size_t i = shown + 1; i < history_nr_events(history); i++) {
		if (history_is_beside(history) || !history_event_samples(history, i))
			continue; /* it has a column; or, as perf's dummy, nothing to show */
		if (!nr_others)
			text_add(&line, "; choose with --event: ");
		text_add(&line, nr_others++ ? ", " : "");
		text_add_safe(&line, history_event_name(history, i));
		if (history_is_wait(history, (uint32_t)i))
			text_add(&line, " (or --time wait, wall)");
		if (history_is_of_time(history, (uint32_t)i, TIME_SHOWN_GOROUTINES))
			text_add(&line, " (or --time goroutines)");
		if (history_is_of_time(history, (uint32_t)i, TIME_SHOWN_WAKEUPS))
			text_add(&line, " (or --time wakeups)");
	}
	text_add(&line, "\n");
	if (nr_others || load->with_event)
		say_text(&line);
	text_release(&line);
}

/* The history looks into tables that the session maps: it goes first. */
void load_release(struct load *load)
{
	history_free(load->history);
	session_free(load->again);
	session_free(load->session);
	free(load->with_event);
	*load = (struct load){0};
}

/* wanted: by its name as opened or asked; NULL: the first. */
static void add_events(struct run_facts *facts, const struct history *history, const char *wanted)
{
	for (size_t i = 0; i < history_nr_events(history) && i < SAMPLER_MAX_EVENTS; i++) {
		const char *asked = history_event_asked(history, i),
			   *opened = history_event_name(history, i);
		facts->events[i] = (struct run_event){
			.asked = asked,
			.opened = opened,
			.period = history_event_period(history, i),
			.frequency_hz = history_event_frequency_hz(history, i),
			.unit = history_event_unit(history, i),
			.is_counted = facts->events[i].is_counted,
		};
		facts->stats.events[i].samples = history_event_samples(history, i);
		facts->stats.events[i].sampled = history_event_weight(history, i);
		facts->stats.nr_events = i + 1;
		if (wanted && facts->shown == 0 &&
		    (!strcmp(wanted, opened) || (asked && !strcmp(wanted, asked))))
			facts->shown = i;
	}
}

int load_write_stats(struct load *load, const struct options *options, size_t output_bytes,
		     struct error *error)
{
	if (!options->stats_path)
		return 0;
	const struct history *history = load->history;
	const struct history_totals totals = history_totals(load->history);
	struct session_stats reading = session_stats(load->session);
	struct run_facts facts;
	run_facts_of_session(&reading, &facts);
	/* What recording cost is not in perf's files. */
	run_facts_read(history,
		       session_is_perfdata(load->session) ? FACT_AT_START | FACT_AT_END
							  : FACT_RECORDED,
		       &facts);
	add_events(&facts, history, options->event);
	struct session_stats *stats = &facts.stats;
	stats->samples = totals.samples;
	stats->frames = totals.frames;
	stats->events_sampled = history_event_weight_shown(history, facts.shown);
	for (size_t end = 0; end < NR_STACK_ENDS; end++)
		stats->ends[end] = totals.ends[end];
	facts.unsymbolized_frames = totals.unsymbolized_frames;
	facts.output_bytes = output_bytes;
	if (!facts.duration_ns)
		facts.duration_ns = totals.last_ns - totals.first_ns;
	if (facts.duration_ns)
		facts.rate_hz =
			(double)totals.samples * (double)NS_PER_SECOND / (double)facts.duration_ns;
	return stats_write(options->stats_path, &facts, -1, error);
}
