/* SPDX-License-Identifier: MIT */
#ifndef CTOP_OPTIONS_SUGGEST_H
#define CTOP_OPTIONS_SUGGEST_H

/* Which known word was meant by an unknown one: edit distance, a swap of neighbours being one edit. */

#include <stdbool.h>
#include <stddef.h>

struct suggestion {
	const char *word; /* what was typed */
	const char *best; /* NULL: nothing is near enough */
	size_t distance;
};

/* Takes a candidate into account; nearest first wins. */
void suggestion_consider(struct suggestion *suggestion, const char *candidate);

#endif
