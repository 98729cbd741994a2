/* SPDX-License-Identifier: MIT */
#include <ctop/report/weight_text.h>

#include <math.h>

#include <ctop/base/clock.h>
#include <ctop/report/numbers.h>

/* What differs by less is the last period of each thread, and what the kernel rounds. */
enum { COUNTED_DIFFERS_PERCENT = 2 };
/* So many times as many samples as would do if each stood for as much as the others, and that is said. */
enum { UNEVEN_FROM = 2 };
/* A period that would have given so many times the samples is said. */
enum { BETTER_BY = 2 };

/* So much of a clock must be there to tell, and so many times what is sampled. */
#define COUNTED_LEAST_NS (100 * NS_PER_MS)
enum { SHORT_TASKS_FROM = 2 };

const char *weight_text_short_tasks(const struct clock_counts *counts)
{
	const uint64_t seen_ns = counts->sampled_ns + counts->lost_ns;
	/* The clock of a thread goes on while a machine's host has its CPU, and does not tick. */
	const uint64_t taken_ns = counts->cpus.busy_ns + counts->cpus.stolen_ns;
	if (counts->counted_ns < COUNTED_LEAST_NS ||
	    counts->counted_ns / SHORT_TASKS_FROM < seen_ns ||
	    (double)counts->cpus.stolen_ns * 4 > (double)taken_ns)
		return NULL;
	if (counts->fewer_ns && counts->has_budget)
		return "tasks that are shorter than a period are hardly ever sampled, and --budget "
		       "made it longer";
	if (counts->fewer_ns)
		return "tasks that are shorter than a period are hardly ever sampled, and it was "
		       "longer "
		       "while the rings filled";
	return "tasks that are shorter than a period are hardly ever sampled: -a sees them, or -F "
	       "more often";
}

/* Of whole CPUs the kernel counts the events of those who are left out, too, and clocks tick while nobody runs. */
static bool counts_others(const struct run_facts *facts, enum weight_unit unit)
{
	const struct session_stats *stats = &facts->stats;
	return (unit == WEIGHT_NS && facts->sampled_cpus) || stats->dropped_own ||
	       stats->dropped_foreign || stats->dropped_comm || stats->dropped_uid;
}

/* What the kernel counted, where the samples do not stand for all of it. */
static void add_counted(const struct history *history, const struct run_facts *facts, size_t event,
			uint64_t shown, struct text *text)
{
	const enum weight_unit unit = history_event_unit(history, event);
	uint64_t counted = run_facts_event(facts, event)->counted;
	uint64_t sampled = history_event_weight(history, event);
	uint64_t differ = counted > sampled ? counted - sampled : sampled - counted;
	if (!counted || counts_others(facts, unit) ||
	    (double)differ * 100 < (double)counted * COUNTED_DIFFERS_PERCENT)
		return;
	text_add(text, "; the kernel counted ");
	add_weight(text, counted, unit);
	if (shown != sampled) {
		text_add(text, ", all samples stand for ");
		add_weight(text, sampled, unit);
	}
	const struct clock_counts counts = {
		.counted_ns = unit == WEIGHT_NS ? counted : 0,
		.sampled_ns = sampled,
		.lost_ns =
			run_facts_event(facts, event)->lost * history_event_period(history, event),
		.fewer_ns = facts->stats.fewer_ns,
		.has_budget = facts->stats.budget_ppm != 0,
		.cpus = facts->stats.cpus,
	};
	const char *short_tasks = weight_text_short_tasks(&counts);
	if (short_tasks)
		text_addf(text, "; %s", short_tasks);
}

/* Squares are those of all samples that count: of several events they say nothing of one. */
static bool is_alone(const struct history *history, size_t event)
{
	for (size_t i = 0; i < history_nr_events(history); i++)
		if (i != event && history_event_weight_shown(history, i))
			return false;
	return true;
}

void weight_text_add_sum(uint64_t weight, uint64_t samples, enum weight_unit unit,
			 struct text *text)
{
	if (!samples)
		return;
	add_weight(text, weight, unit);
	text_add(text, " in ");
	add_grouped(text, samples);
	text_addf(text, " sample%s", samples == 1 ? "" : "s");
}

void weight_text_add(const struct history *history, const struct run_facts *facts, size_t event,
		     const struct history_totals *totals, struct text *text)
{
	if (!totals->samples)
		return;
	weight_text_add_sum(totals->weight, totals->samples, history_event_unit(history, event),
			    text);
	add_counted(history, facts, event, totals->weight, text);
	double effective = history_effective(totals->weight, history_squares(history));
	if (totals->weight && is_alone(history, event) &&
	    effective * UNEVEN_FROM < (double)totals->samples)
		text_addf(text,
			  "; few of them carry most of it: as precise as %.0f of equal weight",
			  effective);
}

/*
 * Where the kernel aims at a rate while events come, what comes in bursts has a period in between that is much too long, and a software
 * event sits it out (perf_swevent_event() of Linux 6.18; a shorter one found meanwhile begins behind it). A fixed period does not; and
 * it is exact where ctop, which has a few of them to switch between (perf/sets.c), is too low.
 */
void weight_text_add_period(const struct history *history, const struct run_facts *facts,
			    size_t event, double seconds, struct text *text)
{
	uint64_t frequency_hz = history_event_frequency_hz(history, event);
	double counted = (double)run_facts_event(facts, event)->counted;
	double events_hz = counted / seconds;
	double reached_hz = (double)history_event_samples(history, event) / seconds;
	double period = frequency_hz ? ceil(events_hz / (double)frequency_hz) : 0;
	const enum weight_unit unit = history_event_unit(history, event);
	if (unit == WEIGHT_NS || counts_others(facts, unit) || period < 1 ||
	    events_hz / period < BETTER_BY * reached_hz)
		return;
	text_add(text, "; -c ");
	add_grouped(text, (uint64_t)period);
	text_add(text, " would have given ");
	add_grouped(text, (uint64_t)(events_hz / period + 0.5));
}
