/* SPDX-License-Identifier: MIT */
/* What rows of the list and of the tree have in common. */
#include "report_internal.h"

#include <string.h>

#include <ctop/base/function_name.h>

enum { LINE_COLS = 200 }; /* where there is no terminal */

bool report_shows(const struct report *report, uint64_t weight)
{
	return 100.0 * (double)weight >=
	       report->options->min_percent * (double)report->totals.weight;
}

const char *report_function_name(struct report *report, struct function_id function, size_t cols)
{
	static const char mark[] = "[k] ", inlined[] = " (inlined)";
	text_clear(&report->name);
	if (history_function_kernel(report->history, function)) {
		text_add(&report->name, mark);
		cols -= cols ? sizeof(mark) - 1 : 0;
	}
	const char *name = history_function_name(report->history, function);
	const bool has_room = !cols || cols >= NAME_COLS_LEAST + sizeof(inlined) - 1 ||
			      strlen(name) + sizeof(inlined) - 1 <= cols;
	const bool is_inlined = has_room && history_function_inlined(report->history, function);
	if (is_inlined)
		cols -= cols ? sizeof(inlined) - 1 : 0;
	name_add_fit(&report->name, name, NAME_FULL, cols);
	if (is_inlined)
		text_add(&report->name, inlined);
	return text_string(&report->name);
}

size_t report_line_cols(const struct report *report)
{
	const struct options *options = report->options;
	return options->names_full ? 0 : options->columns ? options->columns : LINE_COLS;
}

void report_add_share(struct text *out, uint64_t part, uint64_t whole)
{
	text_addf(out, "%6.2f", whole ? 100.0 * (double)part / (double)whole : 0.0);
}

void report_add_blanks(struct text *out, size_t nr)
{
	text_addf(out, "%*s", (int)nr, "");
}
