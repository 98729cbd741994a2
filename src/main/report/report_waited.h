/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_WAITED_H
#define CTOP_REPORT_REPORT_WAITED_H

/* What the run's threads waited for, one by one, below the places where they waited. */

#include "report_internal.h"

/* Nothing where nobody knows, or where filters leave something out that these sums have. 0 or -ENOMEM. */
int report_waited_add(struct report *report);

/* Sums of a whole run say nothing of what is shown. */
bool report_filters_waits(const struct report *report);
/* By --pid. */
bool report_wants_waits_of(const struct report *report, int32_t pid);

#endif
