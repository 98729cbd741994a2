/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_LABEL_LINE_H
#define CTOP_REPORT_LABEL_LINE_H

#include <stdint.h>

#include <ctop/base/text.h>

/*
 * Adds "label      value\n". Where it is longer than so many columns it is broken at blanks, to hang below itself; a word
 * longer than the line stays whole. columns 0: never.
 */
void label_line_add(struct text *out, const char *label, const char *value, uint32_t columns);

#endif
