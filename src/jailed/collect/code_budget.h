/* SPDX-License-Identifier: MIT */
#ifndef CTOP_COLLECT_CODE_BUDGET_H
#define CTOP_COLLECT_CODE_BUDGET_H

/*
 * How much of modules' code may be read where no table covers it. A round reads a little, and looks around; of rings
 * the collector reads no more than a small share of the time, however much code the target has made up.
 */

#include <stdint.h>

struct collector;

struct code_budget {
	uint64_t left;	    /* instructions, of rings */
	uint64_t allowed;   /* in this round */
	uint64_t filled_ns; /* when left was filled up; 0: not yet */
};

/* Around each round. */
void code_budget_begin(struct collector *collector);
void code_budget_end(struct collector *collector);

#endif
