/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/stats.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/text.h>
#include <ctop/output/save.h>
#include <ctop/stack_end.h>

#include "fact_table.h"

/* JSON has no infinities: what no division gave is 0. */
static void add_decimal(struct text *out, double value)
{
	text_addf(out, "%.6f", isfinite(value) ? value : 0.0);
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NS_PER_SECOND;
}

static void add_string(struct text *out, const char *string)
{
	text_add_json(out, string ? string : "");
}

static void add_list(struct text *out, const struct fact_list *list)
{
	text_add(out, "[");
	for (size_t i = 0; i < list->nr; i++) {
		text_add(out, i ? ", " : "");
		add_string(out, list->items[i]);
	}
	text_add(out, "]");
}

static void add_ends(struct text *out, const uint64_t ends[NR_STACK_ENDS])
{
	text_add(out, "{");
	for (uint32_t end = 0; end < NR_STACK_ENDS; end++)
		text_addf(out, "%s\"%s\": %" PRIu64, end ? ", " : "", stack_end_name(end),
			  ends[end]);
	text_add(out, "}");
}

static void add_value(struct text *out, const struct fact_row *row, const void *base)
{
	const void *fact = fact_at(row, base);
	switch (row->kind) {
	case FACT_TEXT:
		add_string(out, *(const char *const *)fact);
		return;
	case FACT_NUMBER:
		text_addf(out, "%" PRIu64, fact_number(row, base));
		return;
	case FACT_NS:
		add_decimal(out, seconds(fact_number(row, base)));
		return;
	case FACT_SHARE:
	case FACT_DECIMAL:
		add_decimal(out, fact_decimal(row, base));
		return;
	case FACT_LIST:
		add_list(out, fact);
		return;
	case FACT_ENDS:
		add_ends(out, fact);
		return;
	}
}

/* How much of a row's name is the name of the group it is in; 0: it is in none. */
static size_t group_size(const struct fact_row *row)
{
	const char *dot = strchr(row->json, '.');
	return dot ? (size_t)(dot - row->json) : 0;
}

static bool same_group(const struct fact_row *row, const struct fact_row *other)
{
	const size_t size = group_size(row);
	return other && size && size == group_size(other) && !memcmp(row->json, other->json, size);
}

/* Those of one group stand together in the table. */
static void add_facts(struct text *out, const struct run_facts *facts)
{
	const struct fact_row *before = NULL;
	for (size_t i = 0; i < nr_fact_rows; i++) {
		const struct fact_row *row = &fact_rows[i];
		if (!row->json)
			continue;
		const int size = (int)group_size(row);
		if (same_group(row, before))
			text_add(out, ", ");
		else if (before)
			text_add(out, group_size(before) ? "},\n  " : ",\n  ");
		if (size && !same_group(row, before))
			text_addf(out, "\"%.*s\": {", size, row->json);
		text_addf(out, "\"%s\": ", row->json + (size ? size + 1 : 0));
		add_value(out, row, facts);
		before = row;
	}
}

static void add_description(struct text *out, const struct run_event *event)
{
	text_add(out, "{\"asked\": ");
	add_string(out, event->asked);
	text_add(out, ", \"opened\": ");
	add_string(out, event->opened);
	text_addf(out, ", \"period\": %" PRIu64 ", \"frequency_hz\": %" PRIu64 ", \"unit\": \"%s\"",
		  event->period, event->frequency_hz, weight_unit_name(event->unit, 2));
}

/* How long each set was sampled. */
static void add_sets(struct text *out, const struct session_set *sets, uint32_t nr,
		     const char *fewer)
{
	text_add(out, "\"sets\": [");
	for (uint32_t i = 0; i < nr; i++)
		text_addf(out,
			  "%s{\"dump_bytes\": %" PRIu32 ", \"%s\": %" PRIu32 ", \"seconds\": %.6f}",
			  i ? ", " : "", sets[i].dump_bytes, fewer, sets[i].fewer,
			  seconds(sets[i].ns));
	text_add(out, "]");
}

/* The event shown, and all there are with what each came to. */
static void add_events(struct text *out, const struct run_facts *facts)
{
	static const struct run_event none;
	const size_t nr = facts->stats.nr_events;
	text_add(out, "  \"event\": ");
	add_description(out, facts->shown < nr ? &facts->events[facts->shown] : &none);
	text_add(out, "},\n  \"events\": [");
	for (size_t i = 0; i < nr; i++) {
		const struct session_event *counts = &facts->stats.events[i];
		text_add(out, i ? ",\n    " : "\n    ");
		add_description(out, &facts->events[i]);
		for (size_t row = 0; row < nr_event_fact_rows; row++) {
			text_addf(out, ", \"%s\": ", event_fact_rows[row].json);
			add_value(out, &event_fact_rows[row], counts);
		}
		if (counts->nr_sets) {
			text_add(out, ", ");
			add_sets(out, counts->sets, counts->nr_sets, "period");
		}
		text_add(out, "}");
	}
	text_add(out, "]\n");
}

static void add_threads(struct text *out, const struct run_facts *facts)
{
	static const char *const kinds[] = {
		[TIME_RUNNING] = "running",
		[TIME_RUNNABLE] = "runnable",
		[TIME_WAITING] = "waiting",
		[TIME_UNKNOWN] = "unknown",
	};
	text_add(out, "  \"threads\": [");
	for (size_t i = 0; i < facts->nr_threads; i++) {
		const struct thread_times *thread = &facts->threads[i];
		text_addf(out, "%s{\"pid\": %" PRId32 ", \"tid\": %" PRId32 ", \"name\": ",
			  i ? ",\n    " : "\n    ", thread->pid, thread->tid);
		add_string(out, thread->name);
		text_addf(out, ", \"observed\": %.9f", seconds(thread->observed_ns));
		for (int kind = 0; kind < NR_TIME_KINDS; kind++)
			text_addf(out, ", \"%s\": %.9f", kinds[kind], seconds(thread->ns[kind]));
		text_add(out, ", \"waits\": {");
		const char *before = "";
		for (int kind = 0; kind < NR_WAIT_KINDS; kind++) {
			if (!thread->wait_ns[kind])
				continue;
			text_addf(out, "%s\"%s\": %.9f", before,
				  wait_kind_name((enum wait_kind)kind),
				  seconds(thread->wait_ns[kind]));
			before = ", ";
		}
		text_add(out, "}}");
	}
	text_add(out, "],\n");
}

static void add_wakings(struct text *out, const struct run_facts *facts)
{
	text_add(out, "  \"woken\": [");
	for (size_t i = 0; i < facts->nr_wakings; i++) {
		const struct waking_sum *sum = &facts->wakings[i];
		text_addf(out, "%s{\"pid\": %" PRId32 ", \"tid\": %" PRId32 ", \"name\": ",
			  i ? ",\n    " : "\n    ", sum->pid, sum->tid);
		add_string(out, sum->name);
		text_addf(out, ", \"by_pid\": %" PRId32 ", \"by_tid\": %" PRId32 ", \"by_name\": ",
			  sum->waker_pid, sum->waker_tid);
		add_string(out, sum->waker_name);
		text_addf(out, ", \"times\": %" PRIu64 ", \"ended\": %.9f}", sum->nr,
			  seconds(sum->ns));
	}
	text_add(out, "],\n");
}

int stats_write(const char *path, const struct run_facts *facts, int wake_fd, struct error *error)
{
	struct text out = {0};
	text_add(&out, "{\n  ");
	add_facts(&out, facts);
	text_add(&out, ",\n  ");
	add_sets(&out, facts->stats.sets, facts->stats.nr_sets, "fewer");
	text_add(&out, ",\n");
	add_threads(&out, facts);
	add_wakings(&out, facts);
	add_events(&out, facts);
	text_add(&out, "}\n");
	int result = save_text(path, "--stats", &out, wake_fd, error);
	text_release(&out);
	return result;
}
