/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_REPORT_HEADER_H
#define CTOP_APP_REPORT_HEADER_H

/* The first part of the text report: what was sampled, and how well. */

#include <ctop/app/options.h>
#include <ctop/base/text.h>
#include <ctop/profile/history.h>

/* choose: how other events are got at, where there are several. */
void report_header(const struct history *history, const struct history_totals *totals,
		   const struct options *options, const char *choose, struct text *out);

#endif
