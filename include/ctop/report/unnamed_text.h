/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_UNNAMED_TEXT_H
#define CTOP_REPORT_UNNAMED_TEXT_H

#include <ctop/base/text.h>
#include <ctop/history/history.h>

/* Adds a line per module that has frames without a name, and why they have none; nothing when all have one. */
void unnamed_add(struct history *history, struct text *out);

#endif
