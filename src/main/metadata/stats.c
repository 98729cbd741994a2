/* SPDX-License-Identifier: MIT */
#include <ctop/metadata/stats.h>

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include <ctop/base/clock.h>
#include <ctop/base/text.h>
#include <ctop/metadata/stats_table.h>
#include <ctop/output/save.h>
#include <ctop/stack_end.h>

static void add_number(struct text *out, const char *key, uint64_t value)
{
	text_addf(out, "  \"%s\": %" PRIu64 ",\n", key, value);
}

/* JSON has no infinities: what no division gave is 0. */
static void add_decimal(struct text *out, const char *key, double value)
{
	text_addf(out, "  \"%s\": %.6f,\n", key, isfinite(value) ? value : 0.0);
}

static double seconds(uint64_t ns)
{
	return (double)ns / (double)NS_PER_SECOND;
}

static void add_dropped(struct text *out, const struct session_stats *session)
{
	const char *separator = "";
	text_add(out, "  \"dropped\": {");
	for (size_t i = 0; i < nr_stat_rows; i++) {
		const struct stat_row *row = &stat_rows[i];
		if (!row->dropped)
			continue;
		text_addf(out, "%s\"%s\": %" PRIu64, separator, row->dropped,
			  stat_value(row, session));
		separator = ", ";
	}
	text_add(out, "},\n");
}

static void add_stacks(struct text *out, const struct session_stats *session)
{
	text_add(out, "  \"stacks\": {");
	for (uint32_t end = 0; end < NR_STACK_ENDS; end++)
		text_addf(out, "%s\"%s\": %" PRIu64, end ? ", " : "", stack_end_name(end),
			  session->ends[end]);
	text_add(out, "},\n");
}

static void add_cpu(struct text *out, const struct session_stats *session)
{
	static const char *const processes[] = {"main", "collector", "symbolizer", "writer"};
	uint64_t all_ns = 0;
	for (size_t i = 0; i < sizeof(processes) / sizeof(*processes); i++)
		all_ns += session->cpu_ns[i];
	add_decimal(out, "cpu_seconds", seconds(all_ns));
	text_add(out, "  \"cpu_seconds_of\": {");
	for (size_t i = 0; i < sizeof(processes) / sizeof(*processes); i++)
		text_addf(out, "%s\"%s\": %.6f", i ? ", " : "", processes[i],
			  seconds(session->cpu_ns[i]));
	text_add(out, "},\n");
}

static void add_list(struct text *out, const char *key, const char *const *items, size_t nr)
{
	text_addf(out, "  \"%s\": [", key);
	for (size_t i = 0; i < nr; i++) {
		text_add(out, i ? ", " : "");
		text_add_json(out, items[i]);
	}
	text_add(out, "],\n");
}

static void add_description(struct text *out, const struct stats_event *event)
{
	text_add(out, "{\"asked\": ");
	text_add_json(out, event->asked ? event->asked : "");
	text_add(out, ", \"opened\": ");
	text_add_json(out, event->opened ? event->opened : "");
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
static void add_events(struct text *out, const struct stats_input *input)
{
	static const struct stats_event none;
	text_add(out, "  \"event\": ");
	add_description(out,
			input->event < input->nr_events ? &input->events[input->event] : &none);
	text_add(out, "},\n  \"events\": [");
	for (size_t i = 0; i < input->nr_events; i++) {
		const struct session_event *counts = &input->events[i].counts;
		text_add(out, i ? ",\n    " : "\n    ");
		add_description(out, &input->events[i]);
		text_addf(out,
			  ", \"samples\": %" PRIu64 ", \"lost\": %" PRIu64 ", \"counted\": %" PRIu64
			  ", \"sampled\": %" PRIu64 ", \"counted_share\": %.6f",
			  counts->samples, counts->lost, counts->counted, counts->sampled,
			  counts->counted_share);
		if (counts->nr_sets) {
			text_add(out, ", ");
			add_sets(out, counts->sets, counts->nr_sets, "period");
		}
		text_add(out, "}");
	}
	text_add(out, "]\n");
}

int stats_write(const char *path, const struct stats_input *input, int wake_fd, struct error *error)
{
	const struct session_stats *session = &input->session;
	struct text out = {0};
	text_add(&out, "{\n");
	add_number(&out, "samples", session->samples);
	add_number(&out, "lost", session->lost);
	add_dropped(&out, session);
	add_number(&out, "drained", session->drained);
	add_number(&out, "undrained", session->undrained);
	add_number(&out, "events_counted", session->events_counted);
	add_number(&out, "events_sampled", session->events_sampled);
	add_decimal(&out, "counted_share", session->counted_share);
	add_number(&out, "late", session->late);
	add_number(&out, "throttled", session->throttled);
	add_number(&out, "lost_sideband", session->lost_sideband);
	add_number(&out, "unfollowed", session->unfollowed);
	add_decimal(&out, "duration_seconds", seconds(session->end_ns - session->start_ns));
	add_decimal(&out, "rate_hz", input->rate_hz);
	text_addf(&out, "  \"cpus_seconds\": {\"busy\": %.6f, \"idle\": %.6f, \"stolen\": %.6f},\n",
		  seconds(session->cpus_busy_ns), seconds(session->cpus_idle_ns),
		  seconds(session->cpus_stolen_ns));
	add_stacks(&out, session);
	add_decimal(&out, "first_stack_seconds",
		    session->first_stack_ns > session->opened_ns
			    ? seconds(session->first_stack_ns - session->opened_ns)
			    : 0);
	add_number(&out, "frames", input->frames);
	add_number(&out, "unsymbolized_frames", input->unsymbolized_frames);
	add_cpu(&out, session);
	text_addf(&out, "  \"rule_cache\": {\"hits\": %" PRIu64 ", \"misses\": %" PRIu64 "},\n",
		  session->cache_hits, session->cache_misses);
	add_number(&out, "peak_rss_bytes", session->peak_rss_bytes);
	add_number(&out, "ring_bytes", session->ring_bytes);
	add_number(&out, "output_bytes", input->output_bytes);
	add_number(&out, "restarts", session->restarts);
	add_list(&out, "unreadable", session->unreadable, session->nr_unreadable);
	add_list(&out, "steps_down", input->steps_down, input->nr_steps_down);
	text_add(&out, "  ");
	add_sets(&out, session->sets, session->nr_sets, "fewer");
	text_add(&out, ",\n");
	add_events(&out, input);
	text_add(&out, "}\n");
	int result = save_text(path, "--stats", &out, wake_fd, error);
	text_release(&out);
	return result;
}
