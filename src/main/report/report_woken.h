/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_WOKEN_H
#define CTOP_REPORT_REPORT_WOKEN_H

/* Who woke the run's threads, below what they waited for. */

#include "report_internal.h"

/* Nothing where nobody knows, or where filters leave something out that these sums have. 0 or -ENOMEM. */
int report_woken_add(struct report *report);

#endif
