/* SPDX-License-Identifier: MIT */
#include "header_lines.h"

#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/report/numbers.h>
#include <ctop/report/weight_text.h>

#include "rate_reason.h"

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
	const enum time_shown time = header->options->time;
	if (time == TIME_SHOWN_WALL)
		text_add(line, ", and wait: both are shown");
	else if (time && strcmp(shown, time_shown_event(time)) != 0)
		text_addf(line, "; what is shown is %s", time_shown_event(time));
	header_end_line(header, "event");

	for (size_t i = 0; i < nr_events; i++) {
		const char *name = history_event_name(history, i);
		if (time == TIME_SHOWN_WALL
			    ? history_is_wait(history, (uint32_t)i)
			    : time && history_is_of_time(history, (uint32_t)i, time))
			continue;
		if (!strcmp(name, shown) || (is_first && opened && !strcmp(name, opened)))
			continue;
		if (!history_event_samples(history, i))
			continue; /* perf's dummy, say */
		if (header->has_columns &&
		    (history_is_apart(header->history, (uint32_t)header->event) ||
		     history_is_apart(header->history, (uint32_t)i)))
			continue; /* it stands beside nothing */
		text_add(line, line->size	     ? ", "
			       : header->has_columns ? "beside it: "
						     : "not shown here: ");
		text_add_safe(line, name);
	}
	if (line->size)
		text_addf(line, " (%s)", header->choose);
	header_end_line(header, "others");
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
	header_end_line(header, "silent");
}

/* Of a profile without a sample nothing but the event's name is known. */
static bool weighs_time(const struct header *header)
{
	const char *opened = header->facts->event.opened;
	if (header_has_events(header))
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
			(double)(header_nr_samples(header) + header->facts->stats.dropped_own) /
			seconds,
		.used_share = -1,
		.nr_cpus = header->facts->sampled_cpus,
		.cpus = header->facts->stats.cpus,
		.fewer_ns = header->facts->stats.fewer_ns,
		.has_budget = header->facts->stats.budget_ppm != 0,
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
	double seconds = (double)header_duration_ns(header) / (double)NS_PER_SECOND;
	if (!is_first && !header_has_events(header))
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
		add_grouped(line, (uint64_t)((double)header_nr_samples(header) / seconds + 0.5));
		text_add(line, " samples/s reached");
		add_reason(header, period, frequency_hz, seconds);
		weight_text_add_period(header->history, header->facts, header->event, seconds,
				       line);
	}
	header_end_line(header, "rate");
}

/* More events than counters: they took turns, and what one would have had all the time is an estimate. */
static void add_counted(struct header *header)
{
	double share = run_facts_event(header->facts, header->event)->counted_share;
	if (share > 0 && share < SHARED_BELOW)
		text_addf(&header->line,
			  "%.0f %% of the time, as events took turns on the counters: an estimate",
			  100 * share);
	header_end_line(header, "counted");
}

void header_add_event(struct header *header)
{
	add_event(header);
	add_silent_events(header);
	add_rate(header);
	add_counted(header);
}
