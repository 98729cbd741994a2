/* SPDX-License-Identifier: MIT */
#ifndef CTOP_ANNOTATE_ANNOTATION_LINES_H
#define CTOP_ANNOTATE_ANNOTATION_LINES_H

/* The source lines of an annotation: which there are, and where the numbers of each stand. */

#include <ctop/annotate/annotation.h>

/* Of instructions that have their samples. 0 or -ENOMEM. */
int annotation_find_lines(struct annotation *annotation);
/* In front of the block that has most of a line: weight, or where it has none, samples of other events. */
void annotation_place_lines(struct annotation *annotation);

#endif
