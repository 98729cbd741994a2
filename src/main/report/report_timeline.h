/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_TIMELINE_H
#define CTOP_REPORT_REPORT_TIMELINE_H

#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/options/options.h>

/* What each thread did when. Of a history that keeps a timeline. 0 or -ENOMEM. */
int report_timeline_add(struct history *history, const struct options *options, struct text *out);

#endif
