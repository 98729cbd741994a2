/* SPDX-License-Identifier: MIT */
#include <ctop/report/report_header.h>

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/metadata/run_facts.h>
#include <ctop/report/label_line.h>
#include <ctop/report/numbers.h>
#include <ctop/report/weight_text.h>

#include "rate_reason.h"

/* A share of less time says nothing. */
static const uint64_t LEAST_NS = NS_PER_SECOND / 10;

/* What every line is made from. */
struct header {
	const struct history *history;
	const struct run_facts *facts;
	const struct history_totals *totals;
	const struct options *options;
	const char *choose;
	struct text *out;
	struct text line; /* the value of the line in hand */
	size_t event;	  /* the one that the table is about */
};

/* Writes the line in hand, if there is anything on it, and starts the next. */
static void end_line(struct header *header, const char *label)
{
	if (header->line.size)
		label_line_add(header->out, label, text_string(&header->line),
			       header->options->columns);
	header->out->failed |= header->line.failed;
	text_clear(&header->line);
}

static void add_share(struct text *text, const char *name, uint64_t part, uint64_t whole)
{
	text_addf(text, "%s%s ", text->size ? ", " : "", name);
	add_percent(text, part, whole);
	text_add(text, "%");
}

static void add_target(struct header *header)
{
	const char *target = header->facts->target;
	if (target)
		text_add_safe(&header->line, target);
	end_line(header, "target");
}

/* Who recorded it, if that was not ctop, and how. */
static void add_recorder(struct header *header)
{
	const char *recorder = header->facts->recorder, *command = header->facts->command_line;
	if (recorder) {
		text_add(&header->line, "by ");
		text_add_safe(&header->line, recorder);
	}
	if (recorder && command) {
		text_add(&header->line, ": ");
		text_add_safe(&header->line, command);
	}
	end_line(header, "recorded");
}

static void add_host(struct header *header)
{
	struct text *line = &header->line;
	const char *host = header->facts->hostname, *kernel = header->facts->kernel;
	const char *arch = header->facts->arch;
	uint64_t nr_cpus = header->facts->nr_cpus;
	if (host)
		text_add_safe(line, host);
	if (kernel) {
		text_addf(line, "%sLinux ", line->size ? ", " : "");
		text_add_safe(line, kernel);
	}
	if (arch) {
		text_add(line, line->size ? " " : "");
		text_add_safe(line, arch);
	}
	if (nr_cpus)
		text_addf(line, "%s%" PRIu64 " CPU%s", line->size ? ", " : "", nr_cpus,
			  nr_cpus == 1 ? "" : "s");
	end_line(header, "host");
}

/* Of a recording that was written from inside the interface: what of the profile it is. */
static void add_excerpt(struct header *header)
{
	const char *excerpt = header->facts->excerpt;
	if (excerpt)
		text_add_safe(&header->line, excerpt);
	end_line(header, "excerpt");
}

/* Which event the table is about, and which others the recording has. */
static void add_event(struct header *header)
{
	struct text *line = &header->line;
	const struct history *history = header->history;
	const char *asked = header->facts->event.asked, *opened = header->facts->event.opened;
	const char *chosen = header->options->event;
	size_t nr_events = history_nr_events(history);
	if (!opened && nr_events)
		opened = history_event_name(history, 0);
	const char *shown = chosen ? chosen : opened;
	if (!shown)
		return;
	bool is_first = run_facts_describe(header->facts, chosen);
	if (is_first && asked && opened && strcmp(asked, opened) != 0) {
		text_add_safe(line, asked);
		text_add(line, ", opened as ");
		text_add_safe(line, opened);
	} else {
		text_add_safe(line, shown);
	}
	end_line(header, "event");

	for (size_t i = 0; i < nr_events; i++) {
		const char *name = history_event_name(history, i);
		if (!strcmp(name, shown) || (is_first && opened && !strcmp(name, opened)))
			continue;
		if (!history_event_samples(history, i))
			continue; /* perf's dummy, say */
		text_add(line, line->size ? ", " : "not shown here: ");
		text_add_safe(line, name);
	}
	if (line->size)
		text_addf(line, " (%s)", header->choose);
	end_line(header, "others");
}

/* As of sched:*, in one line: perf's dummy is none that somebody asked for. */
static void add_silent_events(struct header *header)
{
	enum { NAMED_MOST = 3 };
	static const char dummy[] = "dummy";
	struct text names = {0};
	size_t nr = 0;
	for (size_t i = 0; i < history_nr_events(header->history); i++) {
		const char *name = history_event_name(header->history, i);
		if (history_event_samples(header->history, i) ||
		    !strncmp(name, dummy, sizeof(dummy) - 1))
			continue;
		if (nr++ < NAMED_MOST) {
			text_add(&names, names.size ? ", " : "");
			text_add_safe(&names, name);
		}
	}
	if (nr && history_nr_events(header->history) > 1)
		text_addf(&header->line, "%zu event%s no samples: %s%s", nr,
			  nr == 1 ? " has" : "s have", text_string(&names),
			  nr > NAMED_MOST ? ", ..." : "");
	header->line.failed |= names.failed;
	text_release(&names);
	end_line(header, "silent");
}

static uint64_t duration_of(const struct header *header)
{
	uint64_t duration_ns = header->facts->duration_ns;
	return duration_ns ? duration_ns : header->totals->last_ns - header->totals->first_ns;
}

static bool has_events(const struct header *header)
{
	return header->event < history_nr_events(header->history);
}

/* Of a profile without a sample nothing but the event's name is known. */
static bool weighs_time(const struct header *header)
{
	const char *opened = header->facts->event.opened;
	if (has_events(header))
		return history_event_unit(header->history, header->event) == WEIGHT_NS;
	return opened && (!strncmp(opened, "cpu-clock", 9) || !strncmp(opened, "task-clock", 10));
}

/* "one sample every 1,001,001 ns (999 Hz)" */
static void add_period(struct header *header, uint64_t period)
{
	struct text *line = &header->line;
	bool clock = weighs_time(header);
	if (!clock && period == 1) {
		text_add(line, "every event is sampled");
		return;
	}
	text_add(line, "one sample every ");
	add_grouped(line, period);
	text_add(line, clock ? " ns" : " events");
	if (clock) {
		text_add(line, " (");
		add_grouped(line, (NS_PER_SECOND + period / 2) / period);
		text_add(line, " Hz)");
	}
}

/* Of the event: samples before the filter. */
static uint64_t nr_samples(const struct header *header)
{
	return has_events(header) ? history_event_samples(header->history, header->event)
				  : header->totals->samples_before;
}

/* Why it is less than asked for. */
static void add_reason(struct header *header, uint64_t period, uint64_t frequency_hz,
		       double seconds)
{
	const bool is_first = run_facts_describe(header->facts, header->options->event);
	const bool is_time = weighs_time(header);
	struct rate_facts facts = {
		.asked_hz = is_first ? (double)header->facts->event.asked_hz : 0,
		.opened_hz = frequency_hz	 ? (double)frequency_hz
			     : is_time && period ? (double)NS_PER_SECOND / (double)period
						 : 0,
		/* ctop's own were left out, but taken. */
		.reached_hz =
			(double)(nr_samples(header) + header->facts->stats.dropped_own) / seconds,
		.used_share = -1,
		.nr_cpus = header->facts->sampled_cpus,
		.cpus = header->facts->stats.cpus,
		.fewer_ns = header->facts->stats.fewer_ns,
		.throttled = header->facts->stats.throttled,
	};
	/* Of threads a clock counts what they used, which may be nothing. */
	if (is_time && header->event < SAMPLER_MAX_EVENTS &&
	    header->facts->events[header->event].is_counted)
		facts.used_share = (double)run_facts_event(header->facts, header->event)->counted /
				   (double)NS_PER_SECOND / seconds;
	rate_reason_add(&facts, &header->line);
}

static void add_rate(struct header *header)
{
	struct text *line = &header->line;
	bool is_first = run_facts_describe(header->facts, header->options->event);
	uint64_t count = is_first ? header->facts->event.asked_count : 0;
	uint64_t period = is_first ? header->facts->event.period
				   : history_event_period(header->history, header->event);
	uint64_t frequency_hz =
		is_first ? header->facts->event.frequency_hz
			 : history_event_frequency_hz(header->history, header->event);
	double seconds = (double)duration_of(header) / (double)NS_PER_SECOND;
	if (!is_first && !has_events(header))
		return;
	if (count) {
		text_add(line, "-c ");
		add_grouped(line, count);
		text_add(line, " asked; ");
	}
	if (frequency_hz) {
		add_grouped(line, frequency_hz);
		text_add(line, " Hz asked");
	} else if (period) {
		add_period(header, period);
	}
	if (seconds > 0) {
		text_add(line, line->size ? ", " : "");
		add_grouped(line, (uint64_t)((double)nr_samples(header) / seconds + 0.5));
		text_add(line, " samples/s reached");
		add_reason(header, period, frequency_hz, seconds);
		weight_text_add_period(header->history, header->facts, header->event, seconds,
				       line);
	}
	end_line(header, "rate");
}

/* More events than counters: they took turns, and what one would have had all the time is an estimate. */
static void add_counted(struct header *header)
{
	double share = run_facts_event(header->facts, header->event)->counted_share;
	if (share > 0 && share < SHARED_BELOW)
		text_addf(&header->line,
			  "%.0f %% of the time, as events took turns on the counters: an estimate",
			  100 * share);
	end_line(header, "counted");
}

/*
 * What of the losses was the event's. A kernel that does not count them by event (before 6.0) has said how many there were in
 * all: *of_all then, and where there is but one event.
 */
static uint64_t nr_lost(const struct header *header, bool *of_all)
{
	const size_t nr = history_nr_events(header->history);
	uint64_t all = header->facts->stats.lost, told = 0;
	for (size_t i = 0; i < nr; i++)
		told += run_facts_event(header->facts, i)->lost;
	*of_all = nr < 2 || told != all;
	return *of_all ? all : run_facts_event(header->facts, header->event)->lost;
}

static void add_samples(struct header *header)
{
	struct text *line = &header->line;
	const struct history_totals *totals = header->totals;
	bool of_all;
	uint64_t samples = nr_samples(header), lost = nr_lost(header, &of_all);
	text_addf(line, "%.2f s, ", (double)duration_of(header) / (double)NS_PER_SECOND);
	add_grouped(line, samples);
	text_addf(line, " sample%s, ", samples == 1 ? "" : "s");
	if (run_facts_know(header->facts, &header->facts->stats.lost)) {
		text_add(line, "lost ");
		add_grouped(line, lost);
		if (of_all && history_nr_events(header->history) > 1) {
			text_add(line, lost ? " of all events" : "");
		} else {
			text_add(line, " (");
			add_percent(line, lost, lost + samples);
			text_add(line, "%)");
		}
	} else { /* the recorder did not live to say */
		text_add(line, "losses not known");
	}
	end_line(header, "duration");
	if (totals->samples == samples)
		return;
	add_grouped(line, totals->samples);
	text_addf(line, " sample%s shown (", totals->samples == 1 ? "" : "s");
	add_percent(line, totals->samples, samples);
	text_add(line, "%); what follows is about these");
	end_line(header, "filter");
}

/* "130 k faults in 73 samples": of what is shown. */
static void add_weights(struct header *header)
{
	weight_text_add(header->history, header->facts, header->event, header->totals,
			&header->line);
	end_line(header, "weight");
}

/* What the host took is told of any target. */
static bool is_stolen(const struct cpu_times *times)
{
	const uint64_t told_from_percent = 1;
	return times->stolen_ns > cpu_times_sum(times) / 100 * told_from_percent;
}

/* As the kernel accounts it, ctop's own time included. */
static void add_cpus(struct header *header, const struct cpu_times *times)
{
	const uint64_t sum_ns = cpu_times_sum(times);
	const uint64_t nr_cpus = header->facts->sampled_cpus;
	add_share(&header->line, "busy", times->busy_ns, sum_ns);
	if (times->stolen_ns)
		add_share(&header->line, "stolen by the host", times->stolen_ns, sum_ns);
	add_share(&header->line, "idle", times->idle_ns, sum_ns);
	if (nr_cpus)
		text_addf(&header->line, " of %" PRIu64 " CPU%s", nr_cpus, nr_cpus == 1 ? "" : "s");
	end_line(header, "CPUs");
}

/*
 * Of whole CPUs: how much of their time was not idle. Older recordings know it of the samples alone; those of ctop itself are
 * left out.
 */
static void add_busy(struct header *header)
{
	struct text *line = &header->line;
	const struct history_totals *totals = header->totals;
	uint64_t nr_cpus = header->facts->sampled_cpus, duration_ns = duration_of(header);
	const struct cpu_times times = header->facts->stats.cpus;
	bool is_all = totals->samples == nr_samples(header);
	if (cpu_times_sum(&times) && (nr_cpus || is_stolen(&times))) {
		add_cpus(header, &times);
		return;
	}
	if (!nr_cpus || !duration_ns || !is_all ||
	    history_event_unit(header->history, header->event) != WEIGHT_NS ||
	    !run_facts_describe(header->facts, header->options->event))
		return;
	add_percent(line, totals->weight, duration_ns * nr_cpus);
	text_addf(line, "%% of %" PRIu64 " CPU%s, ctop itself left out", nr_cpus,
		  nr_cpus == 1 ? "" : "s");
	end_line(header, "busy");
}

/* What went wrong on the way, each by its name; nothing is said of what did not happen. */
static void add_problems(struct header *header)
{
	struct text *line = &header->line;
	const char *words;
	uint64_t nr;
	for (size_t i = 0; (words = run_facts_problem(header->facts, i, &nr)); i++) {
		if (!nr)
			continue;
		text_add(line, line->size ? "; " : "");
		add_grouped(line, nr);
		text_addf(line, " %s", words);
	}
	if (header->totals->cut_weights) {
		text_add(line, line->size ? "; " : "");
		add_grouped(line, header->totals->cut_weights);
		text_add(line, " cut: of samples that say they stand for more than can be");
	}
	if (header->totals->bad_samples) {
		text_add(line, line->size ? "; " : "");
		add_grouped(line, header->totals->bad_samples);
		text_add(line, " samples left out: they made no sense");
	}
	if (header->totals->folded) {
		text_add(line, line->size ? "; " : "");
		add_grouped(line, header->totals->folded);
		text_add(line,
			 " on stacks beyond the memory bound: [folded] below their known callers");
	}
	end_line(header, "problems");
}

static void add_stacks(struct header *header)
{
	struct text *line = &header->line;
	const struct history_totals *totals = header->totals;
	if (!totals->samples)
		return;
	add_share(line, "complete", totals->ends[STACK_COMPLETE], totals->samples);
	for (uint32_t end = STACK_COMPLETE + 1; end < NR_STACK_ENDS; end++)
		if (totals->ends[end])
			add_share(line, stack_end_name(end), totals->ends[end], totals->samples);
	const char *before = " (";
	for (uint32_t reason = STACK_REASON_NONE + 1; reason < NR_STACK_REASONS; reason++) {
		if (!totals->reasons[reason])
			continue;
		text_addf(line, "%s%s ", before, stack_reason_name(reason));
		add_grouped(line, totals->reasons[reason]);
		before = ", ";
	}
	text_add(line, *before == ',' ? ")" : "");
	end_line(header, "stacks");

	const char *mode = header->facts->call_graph;
	uint64_t dump_bytes = header->facts->dump_bytes;
	uint64_t least_bytes = header->facts->dump_bytes_least;
	if (mode) {
		text_add_safe(line, mode);
		if (dump_bytes) {
			text_add(line, ", copies of ");
			if (least_bytes && least_bytes < dump_bytes) {
				add_grouped(line, least_bytes);
				text_add(line, " to ");
			}
			add_grouped(line, dump_bytes);
			text_add(line, " bytes");
		}
	}
	end_line(header, "call graph");
	if (totals->frames) {
		add_percent(line, totals->unsymbolized_frames, totals->frames);
		text_add(line, "% of ");
		add_grouped(line, totals->frames);
		text_add(line, " frames");
	}
	end_line(header, "unnamed");
}

static void add_list(struct header *header, const struct fact_list *list, const char *label)
{
	for (size_t i = 0; i < list->nr; i++) {
		text_add_safe(&header->line, list->items[i]);
		end_line(header, label);
	}
}

static void add_own_cost(struct header *header)
{
	struct text *line = &header->line;
	uint64_t cpu_ns = header->facts->cpu_ns;
	uint64_t rss_bytes = header->facts->stats.peak_rss_bytes;
	uint64_t duration_ns = duration_of(header);
	if (cpu_ns) {
		text_addf(line, "%.2f s of CPU time", (double)cpu_ns / (double)NS_PER_SECOND);
		if (duration_ns >= LEAST_NS)
			text_addf(line, " (%.1f%% of one CPU)",
				  100.0 * (double)cpu_ns / (double)duration_ns);
	}
	if (rss_bytes) {
		text_add(line, line->size ? ", " : "");
		add_bytes(line, rss_bytes);
	}
	end_line(header, "ctop");
}

/* The event chosen, else the first. */
static size_t find_event(const struct history *history, const char *chosen)
{
	size_t nr = history_nr_events(history);
	for (size_t i = 0; chosen && i < nr; i++)
		if (!strcmp(history_event_name(history, i), chosen) ||
		    !strcmp(history_event_asked(history, i), chosen))
			return i;
	return 0;
}

void report_header(const struct history *history, const struct history_totals *totals,
		   const struct options *options, const char *choose, struct text *out)
{
	struct run_facts facts = {0};
	run_facts_read(history, FACT_RECORDED, &facts);
	struct header header = {.history = history,
				.facts = &facts,
				.totals = totals,
				.options = options,
				.choose = choose,
				.out = out,
				.event = find_event(history, options->event)};
	add_target(&header);
	add_recorder(&header);
	add_host(&header);
	add_excerpt(&header);
	add_event(&header);
	add_silent_events(&header);
	add_rate(&header);
	add_counted(&header);
	add_samples(&header);
	add_weights(&header);
	add_busy(&header);
	add_problems(&header);
	add_stacks(&header);
	/* Files that a process of ctop died on: what was read of them, names or stacks, is not there. */
	add_list(&header, &facts.unreadable, "unreadable");
	add_list(&header, &facts.steps_down, "fallback");
	add_own_cost(&header);
	text_release(&header.line);
}
