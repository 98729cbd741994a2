/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FORMAT_SELECTION_RECORDING_H
#define CTOP_FORMAT_SELECTION_RECORDING_H

/*
 * A recording of what a selection shows: its stacks and their names, as if nothing else had been sampled. Samples lie evenly in
 * the second that they were counted in; which CPU took them is not known any more, and said to be 0.
 */

#include <ctop/history/history.h>
#include <ctop/query/selection.h>

/*
 * Takes fd over, which must block, and closes it. excerpt: what of the profile this is, for people; kept as an info. Of the
 * history's own metadata those are kept that are true of a part: how it was made, and what was lost of the whole.
 * 0 or -errno.
 */
int selection_record(struct history *history, struct selection *selection, const char *excerpt,
		     int fd);

#endif
