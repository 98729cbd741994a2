/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SCREEN_CHANGES_H
#define CTOP_SCREEN_CHANGES_H

/*
 * How rows differ from another profile that this one is compared with, and the colours of that: what has grown by more than noise is
 * red, what has shrunk blue. Changes are of the profiles as a whole, whatever is filtered.
 */

#include <ctop/base/index.h>
#include <ctop/screen/host.h>
#include <ctop/terminal/cells.h>

struct model;

/* Paths that were asked for, by the ids that a selection gives them: these are the same in every refresh. */
struct changes {
	struct changed_path {
		uint64_t id;
		uint32_t path; /* as the host counts them */
	} * items;
	size_t nr, capacity;
	struct index index;
};

void changes_release(struct changes *changes);

/* Whether there is another profile. */
bool changes_known(const struct model *model);
/* Of a row of SELECTION_TREE: its total is that of the path. False: it was not compared. */
bool changes_of_path(struct model *model, const struct selection_node *node,
		     struct ui_change *change);

enum { CHANGE_COLS = 9 };
/* "+12.3", or "+0.1~" within noise. */
void changes_put(struct cells *cells, int row, int col, double percent, bool beyond);
/* ROLE_DIM within noise. */
enum role changes_role(double percent, bool beyond);
/* Of a box: by half or more of what it had it is much. */
enum box_tone changes_tone(const struct ui_change *change);
/* What the colours of boxes mean, on a line. */
void changes_put_legend(struct cells *cells, struct area line);

#endif
