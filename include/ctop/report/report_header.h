/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_HEADER_H
#define CTOP_REPORT_REPORT_HEADER_H

/* The first part of the text report: what was sampled, and how well. */

#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/options/options.h>

/* choose: how other events are got at, where there are several. */
void report_header(const struct history *history, const struct history_totals *totals,
		   const struct options *options, const char *choose, struct text *out);

/*
 * The same for who shows an event beside others, with all that the report says of names and callers that are missing. shown: of the
 * event, how many samples with which ends and weight.
 */
void report_describe(struct history *history, const struct options *options, size_t event,
		     const struct history_totals *shown, struct text *out);

#endif
