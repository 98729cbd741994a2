/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SCREEN_HEADER_H
#define CTOP_SCREEN_HEADER_H

/* What stands above every view: who is profiled and how, what is measured and how well, the views. */

#include <ctop/screen/model.h>

bool header_is_wide(const struct model *model);
/* Lines that header_draw() takes. */
int header_rows(struct model *model);
void header_draw(struct model *model, struct cells *cells, int row);
/* The views; at the right, from which share on rows are shown. */
void header_draw_tabs(const struct model *model, enum view_kind current, struct cells *cells,
		      int row);
/* What has happened to the target lately, one line. False: nothing, and nothing is drawn. */
bool header_has_banner(const struct model *model);
void header_draw_banner(const struct model *model, struct cells *cells, int row);
/* What has gone wrong and was not read yet, one line. False: nothing. */
bool header_has_notices(const struct model *model);
void header_draw_notices(const struct model *model, struct cells *cells, int row);
/* The filters in force, and how much of the samples passes them. */
void header_draw_filters(const struct model *model, struct cells *cells, int row);
/* Why there is nothing to see, into the middle of the area. */
void header_draw_empty(struct model *model, struct cells *cells, struct area area);
/* "950", "18.6k", "2.3M" */
void header_add_count(struct text *text, uint64_t number);
/* " 12s", " 3m" */
void header_add_age(struct text *text, uint64_t ns);

#endif
