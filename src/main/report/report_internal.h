/* SPDX-License-Identifier: MIT */
#ifndef CTOP_REPORT_REPORT_INTERNAL_H
#define CTOP_REPORT_REPORT_INTERNAL_H

/*
 * What the parts of the text report share: report_list.c has the list, report_tree.c the tree, report_rows.c what both use,
 * report.c the rest.
 */

#include <ctop/query/selection.h>
#include <ctop/report/report.h>

enum {
	NAME_COLS_LEAST = 12,
	ROOM_COLS_LEAST =
		34, /* of a line, for names and what goes with them, beside columns of events */
};

struct report {
	struct history *history;
	struct selection *selection; /* of all of it */
	const struct options *options;
	struct history_totals totals;
	struct text *out;
	struct text name; /* scratch */
};

/* Whether so much is not less than what is left out. */
bool report_shows(const struct report *report, uint64_t weight);
/*
 * The function's name as it is shown: escaped, marked when it is the kernel's, in at most so many columns; 0: whole. Valid until
 * the next call.
 */
const char *report_function_name(struct report *report, struct function_id function, size_t cols);
/* Columns of a line; 0: as many as it takes. */
size_t report_line_cols(const struct report *report);
void report_add_share(struct text *out, uint64_t part, uint64_t whole);
void report_add_blanks(struct text *out, size_t nr);

/* The rows of options->grouping. 0 or -ENOMEM. */
int report_list_add(struct report *report);
/* The call tree. 0 or -ENOMEM. */
int report_tree_add(struct report *report);

#endif
