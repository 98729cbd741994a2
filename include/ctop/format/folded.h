/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_FOLDED_H
#define CTOP_FORMAT_FOLDED_H

/*
 * Folded stacks, as stackcollapse-perf.pl (FlameGraph) writes them: one line a distinct stack,
 * "comm;root;...;leaf N", sorted bytewise. The comm's spaces become _; ';' in a name becomes ':';
 * a frame without a name is [module] or [unknown]; arguments are cut from '(' on, except
 * "(anonymous namespace)" and Go's ".(*T)."; control bytes are escaped. N is what the stack's samples stand
 * for: events, or nanoseconds of a clock.
 */

#include <stddef.h>

#include <ctop/base/text.h>
#include <ctop/history/history.h>
#include <ctop/query/selection.h>

enum folded_count { FOLDED_WEIGHT, FOLDED_SAMPLES };
/* Appends what a selection of the history shows to out. 0 or -ENOMEM. */
int folded_write(struct history *history, struct selection *selection, enum folded_count count,
		 struct text *out);

#endif
