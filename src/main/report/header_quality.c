/* SPDX-License-Identifier: MIT */
#include "header_lines.h"

#include <inttypes.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/report/numbers.h>
#include <ctop/report/weight_text.h>

/* A share of less time says nothing. */
static const uint64_t LEAST_NS = NS_PER_SECOND / 10;

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

/* Of all that --time asks for. */
static uint64_t nr_before_filter(const struct header *header)
{
	const struct history *history = header->history;
	const enum time_shown time = header->options->time;
	const bool is_apart = time_is_apart(time);
	/* Of a target that only waited the table's event is a wait's. */
	const bool is_of_waits = time && history_is_wait(history, (uint32_t)header->event);
	uint64_t nr =
		time == TIME_SHOWN_WAIT || is_apart || is_of_waits ? 0 : header_nr_samples(header);
	for (uint32_t i = 0; time && i < history_nr_events(history); i++)
		if (is_apart ? history_is_of_time(history, i, time) : history_is_wait(history, i))
			nr += history_event_samples(history, i);
	return nr;
}

static void add_samples(struct header *header)
{
	struct text *line = &header->line;
	const struct history_totals *totals = header->totals;
	bool of_all;
	uint64_t samples = header_nr_samples(header), lost = nr_lost(header, &of_all);
	text_addf(line, "%.2f s, ", (double)header_duration_ns(header) / (double)NS_PER_SECOND);
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
	header_end_line(header, "duration");
	const uint64_t all = nr_before_filter(header);
	if (totals->samples == all)
		return;
	add_grouped(line, totals->samples);
	text_addf(line, " sample%s shown (", totals->samples == 1 ? "" : "s");
	add_percent(line, totals->samples, all);
	text_add(line, "%); what follows is about these");
	header_end_line(header, "filter");
}

/*
 * Computing is sampled, and an ordinary user's samples have none of what the kernel did for his threads; what nobody saw stands nowhere. Then the
 * whole is not the time that the threads lived.
 */
static void add_what_is_missing(struct header *header)
{
	enum { TOLD_FROM_PERCENT = 1 };
	const uint64_t lived_ns = header->facts->stats.times.observed_ns;
	const uint64_t shown_ns = header->totals->weight;
	if (header->options->time != TIME_SHOWN_WALL || !lived_ns ||
	    header->totals->samples != nr_before_filter(header))
		return;
	const double percent = 100 * ((double)shown_ns / (double)lived_ns - 1);
	if (percent > -TOLD_FROM_PERCENT && percent < TOLD_FROM_PERCENT)
		return;
	text_addf(&header->line,
		  "; the threads lived %.2f s: ", (double)lived_ns / (double)NS_PER_SECOND);
	if (percent < 0)
		text_addf(&header->line,
			  "%.1f%% of it has no stack: it was computed between samples, or in the "
			  "kernel where that is not sampled, or waited and is not told yet",
			  -percent);
	else
		text_addf(&header->line, "samples stand for %.1f%% more, by chance", percent);
}

/* "130 k faults in 73 samples": of what is shown. */
static void add_weights(struct header *header)
{
	const struct history_totals *totals = header->totals;
	/* Waits are measured: no count of the kernel's, no chance. */
	if (header->options->time)
		weight_text_add_sum(totals->weight, totals->samples, WEIGHT_NS, &header->line);
	else
		weight_text_add(header->history, header->facts, header->event, totals,
				&header->line);
	add_what_is_missing(header);
	header_end_line(header, "weight");
}

/* What the host took is reported of any target. */
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
	header_add_share(&header->line, "busy", times->busy_ns, sum_ns);
	if (times->stolen_ns)
		header_add_share(&header->line, "stolen by the host", times->stolen_ns, sum_ns);
	header_add_share(&header->line, "idle", times->idle_ns, sum_ns);
	if (nr_cpus)
		text_addf(&header->line, " of %" PRIu64 " CPU%s", nr_cpus, nr_cpus == 1 ? "" : "s");
	header_end_line(header, "CPUs");
}

/*
 * Of whole CPUs: how much of their time was not idle. Older recordings know it of the samples alone; those of ctop itself are
 * left out.
 */
static void add_busy(struct header *header)
{
	struct text *line = &header->line;
	const struct history_totals *totals = header->totals;
	uint64_t nr_cpus = header->facts->sampled_cpus, duration_ns = header_duration_ns(header);
	const struct cpu_times times = header->facts->stats.cpus;
	bool is_all = totals->samples == header_nr_samples(header);
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
	header_end_line(header, "busy");
}

/* "wait(s)" of one is "wait". */
static void add_counted(struct text *line, const char *words, uint64_t nr)
{
	const char *open = strchr(words, '('), *end = open ? strchr(open, ')') : NULL;
	add_grouped(line, nr);
	if (!end) {
		text_addf(line, " %s", words);
		return;
	}
	text_addf(line, " %.*s%.*s%s", (int)(open - words), words,
		  nr == 1 ? 0 : (int)(end - open - 1), open + 1, end + 1);
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
		if (!strncmp(words, "ns ", strlen("ns "))) {
			text_addf(line, "%.3f s%s", (double)nr / (double)NS_PER_SECOND,
				  words + strlen("ns"));
			continue;
		}
		add_counted(line, words, nr);
	}
	if (header->totals->cut_weights) {
		text_add(line, line->size ? "; " : "");
		add_grouped(line, header->totals->cut_weights);
		text_add(line, " cut: samples with impossible weights");
	}
	if (header->totals->bad_samples) {
		text_add(line, line->size ? "; " : "");
		add_counted(line, "sample(s) left out: they made no sense",
			    header->totals->bad_samples);
	}
	if (header->totals->folded) {
		text_add(line, line->size ? "; " : "");
		add_grouped(line, header->totals->folded);
		text_add(line,
			 " on stacks beyond the memory bound: [folded] below their known callers");
	}
	header_end_line(header, "problems");
}

static void add_stacks(struct header *header)
{
	struct text *line = &header->line;
	const struct history_totals *totals = header->totals;
	/* What has no stack by its nature is none that is not complete. */
	const uint64_t nr_stacks = totals->samples - totals->unplaced;
	if (!nr_stacks)
		return;
	header_add_share(line, "complete", totals->ends[STACK_COMPLETE], nr_stacks);
	for (uint32_t end = STACK_COMPLETE + 1; end < NR_STACK_ENDS; end++) {
		const uint64_t nr =
			totals->ends[end] - (end == STACK_KERNEL_ONLY ? totals->unplaced : 0);
		if (nr)
			header_add_share(line, stack_end_name(end), nr, nr_stacks);
	}
	const char *before = " (";
	for (uint32_t reason = STACK_REASON_NONE + 1; reason < NR_STACK_REASONS; reason++) {
		if (!totals->reasons[reason])
			continue;
		text_addf(line, "%s%s ", before, stack_reason_name(reason));
		add_grouped(line, totals->reasons[reason]);
		before = ", ";
	}
	text_add(line, *before == ',' ? ")" : "");
	header_end_line(header, "stacks");
	if (totals->reasons[STACK_REASON_ABI32]) {
		text_add(line, "of 32-bit programs: only where they were sampled; --call-graph fp "
			       "has their callers, if they keep frame pointers");
		header_end_line(header, "");
	}

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
	header_end_line(header, "call graph");
	if (totals->frames) {
		add_percent(line, totals->unsymbolized_frames, totals->frames);
		text_add(line, "% of ");
		add_grouped(line, totals->frames);
		text_add(line, " frames");
	}
	header_end_line(header, "unnamed");
}

static void add_list(struct header *header, const struct fact_list *list, const char *label)
{
	for (size_t i = 0; i < list->nr; i++) {
		text_add_safe(&header->line, list->items[i]);
		header_end_line(header, label);
	}
}

/* "; 0.62% of all CPUs, sampling in the kernel about 0.21%, of --budget 1%" */
static void add_budget(const struct session_stats *stats, struct text *line)
{
	const double percent = 100 / (double)stats->budget_machine_ns;
	text_addf(line,
		  "; %.2g%% of all CPUs, sampling in the kernel about %.2g%%, of --budget %.6g%%",
		  percent * (double)stats->budget_own_ns, percent * (double)stats->budget_kernel_ns,
		  (double)stats->budget_ppm / 1e4);
}

static void add_own_cost(struct header *header)
{
	struct text *line = &header->line;
	uint64_t cpu_ns = header->facts->cpu_ns;
	uint64_t rss_bytes = header->facts->stats.peak_rss_bytes;
	uint64_t duration_ns = header_duration_ns(header);
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
	if (header->facts->stats.budget_ppm && header->facts->stats.budget_machine_ns)
		add_budget(&header->facts->stats, line);
	header_end_line(header, "ctop");
}

void header_add_quality(struct header *header)
{
	add_samples(header);
	add_weights(header);
	add_busy(header);
	header_add_time(header);
	add_problems(header);
	add_stacks(header);
	/* Files that a process of ctop died on: what was read of them, names or stacks, is not there. */
	add_list(header, &header->facts->unreadable, "unreadable");
	add_list(header, &header->facts->fallbacks, "fallback");
	add_own_cost(header);
}
