/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_HEADER_LINES_H
#define CTOP_REPORT_HEADER_LINES_H

/* The lines of the report's header: what they are made from, and the files that make them. */

#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/metadata/run_facts.h>
#include <ctop/options/options.h>

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
	bool has_columns; /* for others, too */
};

/* Which events there are, and at which rate the one of the table was sampled. */
void header_add_event(struct header *header);
/* What came of it: samples, losses, problems, stacks, and what ctop cost. */
void header_add_quality(struct header *header);
/* What the target's threads did meanwhile. */
void header_add_time(struct header *header);

/* Writes the line in hand, if there is anything on it, and starts the next. */
void header_end_line(struct header *header, const char *label);
/* "complete 98.0%", behind a comma where the text has something. */
void header_add_share(struct text *text, const char *name, uint64_t part, uint64_t whole);
uint64_t header_duration_ns(const struct header *header);
/* Of a profile without a sample no event may be known. */
bool header_has_events(const struct header *header);
/* Of the event: samples before the filter. */
uint64_t header_nr_samples(const struct header *header);

#endif
