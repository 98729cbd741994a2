/* SPDX-License-Identifier: MIT */
#include "header_lines.h"

#include <ctop/report/label_line.h>
#include <ctop/report/numbers.h>

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
