/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_NUMBERS_H
#define CTOP_REPORT_NUMBERS_H

/* Numbers as people read them. */

#include <stdint.h>

#include <ctop/base/text.h>
#include <ctop/weight_unit.h>

/* "12,345,678" */
void add_grouped(struct text *text, uint64_t number);
/*
 * The share of part in whole with two decimals, without "%": "99.98". 100.00 and 0.00 are
 * kept for exactly all and exactly nothing, so that a single broken stack in a million shows.
 */
void add_percent(struct text *text, uint64_t part, uint64_t whole);
/* What samples stand for, with its unit: "9,312 faults", "130 k faults", "1 hit", "2.31 s". */
void add_weight(struct text *text, uint64_t weight, enum weight_unit unit);
/* "23 MiB", "512 KiB" */
void add_bytes(struct text *text, uint64_t bytes);

#endif
