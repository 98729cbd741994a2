/* SPDX-License-Identifier: MIT */
#include <ctop/report/report_header.h>

#include <inttypes.h>
#include <string.h>

#include <ctop/report/runtime_notes.h>
#include <ctop/report/unnamed_text.h>

#include "header_lines.h"

static void add_target(struct header *header)
{
	const char *target = header->facts->target;
	if (target)
		text_add_safe(&header->line, target);
	header_end_line(header, "target");
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
	header_end_line(header, "recorded");
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
	header_end_line(header, "host");
}

/* Of a recording that was written from inside the interface: what of the profile it is. */
static void add_excerpt(struct header *header)
{
	const char *excerpt = header->facts->excerpt;
	if (excerpt)
		text_add_safe(&header->line, excerpt);
	header_end_line(header, "excerpt");
}

static int add_label(void *context, uint32_t run, const char *key, const char *value)
{
	enum { LABELS_BYTES_MOST = 4096 };
	struct text *line = context;
	if (line->size > LABELS_BYTES_MOST)
		return 0;
	text_add(line, line->size ? ", " : "");
	if (run)
		text_addf(line, "%" PRIu32 ": ", run);
	text_add_safe(line, key);
	text_add(line, "=");
	text_add_safe(line, value);
	return 0;
}

static void add_labels(struct header *header)
{
	history_each_label(header->history, add_label, &header->line);
	header_end_line(header, "labels");
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
	struct options of_event = *options;
	if (time_is_apart(options->time))
		of_event.event = time_shown_event(options->time);
	run_facts_read(history, FACT_RECORDED, &facts);
	struct header header = {.history = history,
				.facts = &facts,
				.totals = totals,
				.options = &of_event,
				.choose = choose,
				.has_columns = history_is_beside(history),
				.out = out,
				.event = find_event(history, of_event.event)};
	add_target(&header);
	add_recorder(&header);
	add_host(&header);
	add_excerpt(&header);
	add_labels(&header);
	header_add_event(&header);
	header_add_quality(&header);
	text_release(&header.line);
}

void report_describe(struct history *history, const struct options *options, size_t event,
		     const struct history_totals *shown, struct text *out)
{
	struct history_totals totals = history_totals(history);
	struct options of_event = *options;
	of_event.event = history_event_name(history, event);
	of_event.columns = 0;
	of_event.time = TIME_SHOWN_CPU; /* the one event alone, whichever it is */
	totals.samples = shown->samples;
	totals.weight = shown->weight;
	memcpy(totals.ends, shown->ends, sizeof(totals.ends));
	if (history_nr_events(history) > 1) {
		/* Nobody counts these by event. */
		memset(totals.reasons, 0, sizeof(totals.reasons));
		totals.frames = 0;
	}
	report_header(history, &totals, &of_event, "chosen above", out);
	runtime_notes_add(history, 0, 0, out);
	unnamed_add(history, out);
}
