/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_H
#define CTOP_REPORT_REPORT_H

/* The text report: a header that says what was sampled and how well, then top-N or the call tree. */

#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/options/options.h>

/* Whether it has room for several events: in the list, the tree and a function's code each has a column. */
static inline bool report_has_columns(const struct options *options)
{
	return !options->modules;
}

/*
 * Appends the report to out. Facts of the run come from the history's metadata (keys: docs/recording-format.md,
 * "Infos"). Rows below options->min_percent are left out and counted in a last line.
 * pid: see runtime_notes(). 0 or -ENOMEM.
 */
int report_text(struct history *history, const struct options *options, int32_t pid,
		struct text *out);

#endif
