/* SPDX-License-Identifier: MIT */
#include <ctop/compare/text.h>

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/function_name.h>
#include <ctop/report/label_line.h>
#include <ctop/report/numbers.h>

enum {
	LINE_COLS = 200, /* where there is no terminal */
	NUMBERS_COLS = 50,
	TREE_NUMBERS_COLS = 33,
	NAME_COLS_LEAST = 12,
	NAME_COLS_MOST = 70,
	MODULE_COLS_MOST = 20,
	INDENT_COLS = 2
};

struct compare_report {
	struct compare *compare;
	const struct options *options;
	struct text *out;
	struct text line; /* scratch */
	size_t nr_shown, nr_beyond;
};

static double percent(double share)
{
	return 100 * share;
}

static double larger(const struct noise_value *value)
{
	return value->a > value->b ? value->a : value->b;
}

static bool is_beyond(const struct compare_function *function)
{
	return function->self.beyond || function->total.beyond;
}

/* ---- the header ---- */

static void end_line(struct text *out, const struct options *options, const char *label,
		     struct text *line)
{
	label_line_add(out, label, text_string(line), options->columns);
	out->failed |= line->failed;
	text_clear(line);
}

static void add_count(struct text *text, size_t nr, const char *what)
{
	if (!nr)
		return;
	text_add(text, text->size ? ", " : "");
	add_grouped(text, nr);
	text_add(text, what);
}

static void add_matches(struct text *line, const struct compare_counts *counts)
{
	add_count(line, counts->matched, " in both");
	add_count(line, counts->renamed, " under another name");
	add_count(line, counts->moved, " in another module");
	add_count(line, counts->only_a, " only in A");
	add_count(line, counts->only_b, " only in B");
}

static void add_noise(struct text *line, const struct noise *noise, enum time_shown time)
{
	text_add(line, "~: within what chance does in 95 of 100 comparisons, ");
	if (noise->freedom > 0)
		text_addf(line,
			  "by the samples and by runs, which differ %.1f times as far as samples "
			  "explain",
			  sqrt(noise->spread));
	else
		text_add(line, "by the samples alone: how far runs differ is seen with several of "
			       "each, as in A1,A2,A3 B1,B2,B3");
	/* They are measured, not drawn by chance: so the noise is too large rather than too small. */
	if (time != TIME_SHOWN_CPU)
		text_add(line, "; each wait counts as a sample");
}

void compare_header(const struct compare *compare, const struct compare_words *words,
		    const struct options *options, struct text *out)
{
	const struct compare_counts counts = compare_counts(compare);
	struct text line = {0};
	text_add(out, words->runs);
	text_add(&line, words->whole);
	end_line(out, options, "100 %", &line);
	add_matches(&line, &counts);
	end_line(out, options, "functions", &line);
	add_noise(&line, compare_noise(compare), options->time);
	end_line(out, options, "noise", &line);
	text_release(&line);
}

/* ---- numbers ---- */

/* "+1.25   0.80 ", "+0.10~  0.80 " within noise; "few" samples. */
static void add_change(struct text *out, const struct noise_value *value)
{
	text_addf(out, "%+7.2f%s", percent(value->b - value->a), value->beyond ? " " : "~");
	if (value->tested)
		text_addf(out, "%7.2f", percent(value->noise));
	else
		text_add(out, "    few");
}

static const char *shown_name(struct compare_report *report,
			      const struct compare_function *function, size_t cols)
{
	static const char mark[] = "[k] ";
	struct text *line = &report->line;
	text_clear(line);
	if (function->kernel) {
		text_add(line, mark);
		cols -= cols ? sizeof(mark) - 1 : 0;
	}
	name_add_fit(line, function->name, NAME_FULL, cols);
	return text_string(line);
}

/* What is to be known of a function beside its numbers. */
static void add_notes(struct text *out, const struct compare_function *function)
{
	if (!function->in_a || !function->in_b)
		text_addf(out, "  (only in %s)", function->in_a ? "A" : "B");
	if (function->name_in_a || function->module_in_a)
		text_add(out, "  (A:");
	if (function->name_in_a) {
		text_add(out, " ");
		text_add_safe(out, function->name_in_a);
	}
	if (function->module_in_a) {
		text_add(out, " in ");
		text_add_safe(out, function->module_in_a);
	}
	if (function->name_in_a || function->module_in_a)
		text_add(out, ")");
}

static size_t line_cols(const struct compare_report *report)
{
	return report->options->columns ? report->options->columns : LINE_COLS;
}

static void add_padding(struct text *out, size_t taken, size_t cols)
{
	text_addf(out, "%*s", taken < cols ? (int)(cols - taken) : 0, "");
}

/* ---- the list of functions ---- */

static bool shown(const struct compare_report *report, const struct compare_function *function)
{
	return is_beyond(function) ||
	       percent(larger(&function->total)) >= report->options->min_percent;
}

static size_t name_cols(struct compare_report *report, const struct compare_functions *functions)
{
	const size_t line = line_cols(report), fixed = NUMBERS_COLS + 2 + MODULE_COLS_MOST;
	const size_t room = line > fixed + NAME_COLS_LEAST ? line - fixed : NAME_COLS_LEAST;
	const size_t most = room < NAME_COLS_MOST ? room : NAME_COLS_MOST;
	size_t cols = NAME_COLS_LEAST, nr = 0;
	for (size_t i = 0; i < functions->nr; i++) {
		if (report->options->limit && nr == report->options->limit)
			break;
		if (!shown(report, &functions->items[i]))
			continue;
		const size_t wanted = text_cols(shown_name(report, &functions->items[i], most));
		cols = wanted > cols ? wanted : cols;
		nr++;
	}
	return cols;
}

static void add_function(struct compare_report *report, const struct compare_function *function,
			 size_t cols)
{
	struct text *out = report->out;
	text_addf(out, "%7.2f %7.2f ", percent(function->self.a), percent(function->self.b));
	add_change(out, &function->self);
	text_add(out, "  ");
	add_change(out, &function->total);
	text_add(out, "  ");
	const char *name = shown_name(report, function, report->options->names_full ? 0 : cols);
	text_add(out, name);
	add_padding(out, text_cols(name), cols);
	text_clear(&report->line);
	text_add_safe(&report->line, function->module);
	text_add(out, "  ");
	name_add_elided(out, text_string(&report->line), MODULE_COLS_MOST);
	add_notes(out, function);
	text_add(out, "\n");
}

static void add_rest(struct compare_report *report, size_t nr, size_t nr_below)
{
	struct text *out = report->out;
	if (!nr)
		return;
	text_add(out, "... ");
	add_grouped(out, nr);
	text_addf(out, " more function%s within noise or past the first %u", nr == 1 ? "" : "s",
		  report->options->limit);
	if (nr_below) {
		text_add(out, ", ");
		add_grouped(out, nr_below);
		text_addf(out, " of them below %g%%", report->options->min_percent);
	}
	text_add(out, "\n");
}

static void add_verdict(struct compare_report *report, size_t nr, size_t nr_beyond)
{
	struct text *out = report->out;
	if (!nr_beyond)
		text_add(out, "Nothing differs by more than noise.\n");
	else
		text_addf(out, "%zu of %zu function%s differ%s by more than noise.\n", nr_beyond,
			  nr, nr == 1 ? "" : "s", nr_beyond == 1 ? "s" : "");
}

static int add_list(struct compare_report *report)
{
	struct compare_functions functions = {0};
	int result = compare_functions(report->compare, &functions);
	if (result)
		return result;
	size_t nr_beyond = 0, nr_shown = 0, nr_below = 0;
	for (size_t i = 0; i < functions.nr; i++)
		nr_beyond += is_beyond(&functions.items[i]);
	add_verdict(report, functions.nr, nr_beyond);
	const size_t cols = name_cols(report, &functions);
	text_addf(report->out, " SELF A  SELF B  CHANGE   NOISE    TOTAL   NOISE  %-*s  MODULE\n",
		  (int)cols, "FUNCTION");
	for (size_t i = 0; i < functions.nr; i++) {
		const bool is_below = !shown(report, &functions.items[i]);
		nr_below += is_below;
		if (is_below || (report->options->limit && nr_shown == report->options->limit))
			continue;
		add_function(report, &functions.items[i], cols);
		nr_shown++;
	}
	add_rest(report, functions.nr - nr_shown, nr_below);
	free(functions.items);
	return 0;
}

/* ---- the tree ---- */

static int add_node(void *context, const struct compare_node *node)
{
	struct compare_report *report = context;
	struct text *out = report->out;
	const size_t line = line_cols(report);
	const size_t deepest = (line - TREE_NUMBERS_COLS - NAME_COLS_LEAST) / 2;
	const size_t wanted = (size_t)node->depth * INDENT_COLS;
	const size_t indent = wanted < deepest ? wanted : deepest;
	text_addf(out, "%7.2f %7.2f ", percent(node->function.total.a),
		  percent(node->function.total.b));
	add_change(out, &node->function.total);
	text_addf(out, "  %*s", (int)indent, "");
	text_add(out, node->label ? node->label
				  : shown_name(report, &node->function,
					       report->options->names_full
						       ? 0
						       : line - TREE_NUMBERS_COLS - indent));
	if (!node->label)
		add_notes(out, &node->function);
	text_add(out, "\n");
	return out->failed ? -ENOMEM : 0;
}

static int add_tree(struct compare_report *report)
{
	text_add(report->out, "TOTAL A TOTAL B  CHANGE   NOISE  CALL TREE\n");
	return compare_each_node(report->compare, report->options->min_percent / 100, add_node,
				 report);
}

int compare_text(struct compare *compare, const struct compare_words *words,
		 const struct options *options, struct text *out)
{
	struct compare_report report = {.compare = compare, .options = options, .out = out};
	compare_header(compare, words, options, out);
	text_add(out, "\n");
	int result = options->tree ? add_tree(&report) : add_list(&report);
	const bool failed = out->failed || report.line.failed;
	text_release(&report.line);
	return result ? result : failed ? -ENOMEM : 0;
}
