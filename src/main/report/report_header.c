/* SPDX-License-Identifier: MIT */
#include <ctop/report/report_header.h>

#include <inttypes.h>
#include <string.h>

#include <ctop/report/label_line.h>
#include <ctop/report/numbers.h>

#include "header_lines.h"

void header_end_line(struct header *header, const char *label)
{
	if (header->line.size)
		label_line_add(header->out, label, text_string(&header->line),
			       header->options->columns);
	header->out->failed |= header->line.failed;
	text_clear(&header->line);
}

void header_add_share(struct text *text, const char *name, uint64_t part, uint64_t whole)
{
	text_addf(text, "%s%s ", text->size ? ", " : "", name);
	add_percent(text, part, whole);
	text_add(text, "%");
}

uint64_t header_duration_ns(const struct header *header)
{
	uint64_t duration_ns = header->facts->duration_ns;
	return duration_ns ? duration_ns : header->totals->last_ns - header->totals->first_ns;
}

bool header_has_events(const struct header *header)
{
	return header->event < history_nr_events(header->history);
}

uint64_t header_nr_samples(const struct header *header)
{
	return header_has_events(header) ? history_event_samples(header->history, header->event)
					 : header->totals->samples_before;
}

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
	header_add_event(&header);
	header_add_quality(&header);
	text_release(&header.line);
}
