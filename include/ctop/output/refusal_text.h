/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OUTPUT_REFUSAL_TEXT_H
#define CTOP_OUTPUT_REFUSAL_TEXT_H

/*
 * Why the kernel lets nobody sample, and what would change that: one cause, then fixes by number, the one
 * that changes least first. The interface's screen and the text without one are made from the same.
 */

#include <stddef.h>
#include <stdint.h>

#include <ctop/base/text.h>

enum { REFUSAL_FIXES_MAX = 6 };

struct refusal_fix {
	char command[512]; /* to be typed as it is; "": it is none */
	char reach[160];   /* what it changes, for how long */
};

/* All of it may hold untrusted bytes. */
struct refusal {
	char title[320]; /* "ctop cannot sample process 1234 (myapp, of alice)" */
	char tried[192]; /* "" when it is not known */
	char cause[512];
	struct refusal_fix fixes[REFUSAL_FIXES_MAX];
	size_t nr_fixes;
	char others[256]; /* what is not the cause; "" */
};

/* What y copies: the fix's command, or what it says. */
const char *refusal_fix_text(const struct refusal_fix *fix);

/*
 * Adds the screen's lines, safe to show, each with its '\n'; broken at cols, 0: nowhere. Of the first nr_lines lines,
 * fix_of[line] becomes the fix that it belongs to, from 1; 0: to none.
 */
void refusal_add(const struct refusal *refusal, size_t cols, struct text *out, uint8_t *fix_of,
		 size_t nr_lines);

#endif
