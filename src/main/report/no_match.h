/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_NO_MATCH_H
#define CTOP_REPORT_NO_MATCH_H

/* Why nothing passes a filter, and what it could have named instead. */

#include <ctop/base/error.h>
#include <ctop/history/history.h>
#include <ctop/options/options.h>

/*
 * 0 when a sample passed, or when there was none to pass. Else an error with cause and remedy; an event that the
 * recording does not know is a mistake of usage, as it is for ctop record.
 */
int no_match_check(struct history *history, const struct options *options, struct error *error);

#endif
