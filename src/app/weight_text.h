/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_WEIGHT_TEXT_H
#define CTOP_APP_WEIGHT_TEXT_H

/* What the samples of an event stand for, in words. */

#include <ctop/base/text.h>
#include <ctop/profile/history.h>

/*
 * "130 k faults in 73 samples"; behind it what the kernel counted where that is something else, and that few samples carry most of it where
 * they do. Nothing of no sample.
 */
void weight_text_add(const struct history *history, size_t event,
		     const struct history_totals *totals, struct text *text);
/* "; -c 9 would have given 992", where a rate was asked for and so many fewer came in these seconds. */
void weight_text_add_period(const struct history *history, size_t event, double seconds,
			    struct text *text);

#endif
