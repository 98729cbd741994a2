/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_ANNOTATE_H
#define CTOP_REPORT_ANNOTATE_H

/* ctop report --annotate: a function's code, with the samples of each instruction. */

#include <ctop/base/error.h>
#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/options/options.h>

/* Appends it to out, the report's header first. Waits for the files' sake. 0, or -errno with cause and remedy. */
int report_annotate(struct history *history, const struct options *options, struct text *out,
		    struct error *error);

#endif
