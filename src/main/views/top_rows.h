/* SPDX-License-Identifier: MIT */
#ifndef CTOP_VIEWS_TOP_ROWS_H
#define CTOP_VIEWS_TOP_ROWS_H

/* Rows of the list of functions: functions, or what else the model groups samples by. */

#include <ctop/query/groups.h>
#include <ctop/screen/model.h>

/* In an order, by the model's grouping. 0 or -ENOMEM. */
int top_rows_take(struct model *model, enum selection_order order, struct selection_groups *rows);
/* The same at each refresh. */
uint64_t top_row_id(const struct model *model, const struct group *group);
/* Whether rows have a function each. */
static inline bool top_rows_have_functions(const struct model *model)
{
	return model->grouping < GROUPING_MODULE;
}
const char *top_rows_heading(const struct model *model);
/* Adds what a row is called, safe to show: in so many columns, 0: whole. */
void top_row_add_name(struct model *model, const struct group *group, int cols, struct text *out);

#endif
