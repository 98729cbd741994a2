/* SPDX-License-Identifier: MIT */
#include <ctop/report/report.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/metadata/run_facts.h>
#include <ctop/query/selection.h>
#include <ctop/report/numbers.h>
#include <ctop/report/report_header.h>
#include <ctop/report/weight_text.h>

/* Widths of the list on an 80-column line; a longer name pushes its module to the right, uncut. */
enum {
	NUMBERS_COLS = 27, /* "SELF% TOTAL% SAMPLES" and the gaps around them */
	LINE_COLS = 80,
	NAME_COLS_LEAST = 12,
	MODULE_COLS_MOST = 24,
	TREE_NUMBERS_COLS = 17,
	INDENT_COLS = 2,
};

struct report {
	struct history *history;
	struct selection *selection; /* of all of it */
	const struct options *options;
	struct history_totals totals;
	struct text *out;
	struct text name; /* scratch */
};

static bool shown(const struct report *report, uint64_t weight)
{
	return 100.0 * (double)weight >=
	       report->options->min_percent * (double)report->totals.weight;
}

/* The last part of a module's path, as people know it. */
static const char *module_name(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash && slash[1] ? slash + 1 : path;
}

/* The function's name as it is shown: escaped, and marked when it is the kernel's. Valid until the next call. */
static const char *shown_name(struct report *report, struct function_id function)
{
	text_clear(&report->name);
	if (history_function_kernel(report->history, function))
		text_add(&report->name, "[k] ");
	text_add_safe(&report->name, history_function_name(report->history, function));
	return text_string(&report->name);
}

static const char *shown_module(struct report *report, struct function_id function)
{
	text_clear(&report->name);
	text_add_safe(&report->name,
		      module_name(history_function_module(report->history, function)));
	return text_string(&report->name);
}

/* Adds a name, cut to cols with a mark where it was cut; 0: never cut. Returns the columns taken. */
static size_t add_cut(struct text *out, const char *name, size_t cols)
{
	size_t wanted = text_cols(name);
	if (!cols || wanted <= cols) {
		text_add(out, name);
		return wanted;
	}
	size_t bytes = text_fit(name, cols - 1);
	text_add_bytes(out, name, bytes);
	text_add(out, "~");
	return cols;
}

static void add_share_column(struct text *out, uint64_t part, uint64_t whole)
{
	text_addf(out, "%6.2f", whole ? 100.0 * (double)part / (double)whole : 0.0);
}

static void add_blanks(struct text *out, size_t nr)
{
	text_addf(out, "%*s", (int)nr, "");
}

/* ---- the list of functions ---- */

struct widths {
	size_t name, module;
	bool cut;
};

static size_t between(size_t value, size_t least, size_t most)
{
	return value < least ? least : value > most ? most : value;
}

static struct widths list_widths(struct report *report, const struct selection_function *functions,
				 size_t nr)
{
	struct widths widths = {0, strlen("MODULE"), report->options->columns > 0};
	for (size_t i = 0; i < nr; i++) {
		if (!shown(report, functions[i].cost.total_weight))
			continue;
		size_t module = text_cols(shown_module(report, functions[i].id));
		size_t name = text_cols(shown_name(report, functions[i].id));
		if (module > widths.module)
			widths.module = module;
		if (name > widths.name)
			widths.name = name;
	}
	size_t line = widths.cut ? report->options->columns : LINE_COLS;
	widths.module = between(widths.module, 1, MODULE_COLS_MOST);
	size_t fixed = NUMBERS_COLS + 2 + widths.module;
	size_t room = line > fixed ? line - fixed : 0;
	size_t most = room > NAME_COLS_LEAST ? room : NAME_COLS_LEAST;
	widths.name = between(widths.name, NAME_COLS_LEAST, most);
	return widths;
}

static void add_count_column(struct text *out, uint64_t number, size_t cols)
{
	struct text digits = {0};
	add_grouped(&digits, number);
	if (digits.size < cols)
		add_blanks(out, cols - digits.size);
	text_add(out, text_string(&digits));
	out->failed |= digits.failed;
	text_release(&digits);
}

static void add_function(struct report *report, const struct selection_function *function,
			 const struct widths *widths)
{
	struct text *out = report->out;
	const struct selection_cost *cost = &function->cost;
	add_share_column(out, cost->self_weight, report->totals.weight);
	text_add(out, "  ");
	add_share_column(out, cost->total_weight, report->totals.weight);
	add_count_column(out, cost->self, 11);
	text_add(out, "  ");
	size_t taken =
		add_cut(out, shown_name(report, function->id), widths->cut ? widths->name : 0);
	add_blanks(out, taken < widths->name ? widths->name - taken : 0);
	text_add(out, "  ");
	add_cut(out, shown_module(report, function->id), widths->cut ? widths->module : 0);
	text_add(out, "\n");
}

static int add_list(struct report *report)
{
	struct selection_functions functions = {0};
	size_t nr_shown = 0, nr_below = 0;
	uint64_t self_shown = 0;
	int result = selection_top(report->selection, SELECTION_BY_SELF, 0, &functions, NULL);
	if (result)
		return result;
	const size_t nr = functions.nr;
	uint32_t limit = report->options->limit;
	/* Widths are those of the rows that will be there, not of all that were sampled. */
	size_t nr_candidates = limit && limit < nr ? limit : nr;
	struct widths widths = list_widths(report, functions.items, nr_candidates);
	text_addf(report->out, " SELF%%  TOTAL%%    SAMPLES  %-*s  MODULE\n", (int)widths.name,
		  "FUNCTION");
	for (size_t i = 0; i < nr; i++) {
		const struct selection_function *function = &functions.items[i];
		if (!shown(report, function->cost.total_weight)) {
			nr_below++;
			continue;
		}
		if (limit && nr_shown == limit)
			continue;
		add_function(report, function, &widths);
		nr_shown++;
		self_shown += function->cost.self_weight;
	}
	free(functions.items);
	if (nr_shown == nr)
		return 0;
	text_add(report->out, "... ");
	add_grouped(report->out, nr - nr_shown);
	text_addf(report->out, " more function%s with ", nr - nr_shown == 1 ? "" : "s");
	add_percent(report->out, report->totals.weight - self_shown, report->totals.weight);
	text_add(report->out, "% self:");
	if (nr_below) {
		text_add(report->out, " ");
		add_grouped(report->out, nr_below);
		text_addf(report->out, " below %g%%", report->options->min_percent);
	}
	if (nr - nr_shown > nr_below) {
		text_add(report->out, nr_below ? ", " : " ");
		add_grouped(report->out, nr - nr_shown - nr_below);
		text_addf(report->out, " past the first %" PRIu32, limit);
	}
	text_add(report->out, "\n");
	return 0;
}

/* ---- the call tree ---- */

static void add_branch(struct report *report, const struct selection_node *node)
{
	struct text *out = report->out;
	size_t columns = report->options->columns;
	size_t depth = node->depth > 0 ? node->depth - 1 : 0;
	size_t indent = depth * INDENT_COLS;
	add_share_column(out, node->cost.total_weight, report->totals.weight);
	text_add(out, "  ");
	add_share_column(out, node->cost.self_weight, report->totals.weight);
	text_add(out, "   ");
	size_t room = 0;
	if (columns) {
		size_t least = TREE_NUMBERS_COLS + NAME_COLS_LEAST;
		size_t deepest = columns > least ? (columns - least) / 2 : 0;
		/* Deeper than half a terminal's line: the depth stands there as a number. */
		if (indent > deepest) {
			char number[24];
			indent = (size_t)snprintf(number, sizeof(number), "%zu: ", depth);
			indent = deepest > indent ? deepest - indent : 0;
			add_blanks(out, indent);
			text_add(out, number);
			indent += strlen(number);
		} else {
			add_blanks(out, indent);
		}
		size_t taken = TREE_NUMBERS_COLS + indent;
		room = columns > taken + NAME_COLS_LEAST ? columns - taken : NAME_COLS_LEAST;
	} else {
		add_blanks(out, indent);
	}
	add_cut(out, node->label ? node->label : shown_name(report, node->function), room);
	text_add(out, "\n");
}

/* Puts the children of a row that are shown on top of a pile, the heaviest uppermost. */
static int pile_up(const struct report *report, uint64_t id, struct selection_nodes *pile)
{
	size_t low = pile->nr;
	int result = selection_children(report->selection, id, SELECTION_BY_TOTAL, pile);
	while (pile->nr > low && !shown(report, pile->items[pile->nr - 1].cost.total_weight))
		pile->nr--;
	for (size_t high = pile->nr; low + 1 < high; low++) {
		const struct selection_node swapped = pile->items[low];
		pile->items[low] = pile->items[--high];
		pile->items[high] = swapped;
	}
	return result;
}

static int add_tree(struct report *report)
{
	struct selection_nodes pile = {0};
	struct selection_node node;
	size_t nr_shown = 0;
	int result =
		selection_root(report->selection, SELECTION_TREE, (struct function_id){0}, &node);
	if (!result)
		result = pile_up(report, node.id, &pile);
	text_add(report->out, "TOTAL%   SELF%   CALL TREE\n");
	/* Depth first without recursion: stacks are a thousand frames deep. */
	while (!result && pile.nr) {
		node = pile.items[--pile.nr];
		add_branch(report, &node);
		nr_shown++;
		if (node.has_children)
			result = pile_up(report, node.id, &pile);
	}
	free(pile.items);
	size_t nr_hidden = selection_nr_paths(report->selection) - 1 - nr_shown;
	if (nr_hidden) {
		text_add(report->out, "... ");
		add_grouped(report->out, nr_hidden);
		text_addf(report->out, " more row%s below %g%%\n", nr_hidden == 1 ? "" : "s",
			  report->options->min_percent);
	}
	return result;
}

/* Of perf's file, or a recorder's that did not live to its end: nobody says why. */
static void tell_what_is_known(const struct report *report, const struct run_facts *facts,
			       const char *event)
{
	struct text *out = report->out;
	text_add(out, "No samples: the file has none");
	if (event) {
		text_add(out, " of ");
		text_add_safe(out, event);
	}
	text_add(out,
		 run_facts_know(facts, &facts->stats.lost)
			 ? ".\nIt says that none were lost, and not why there are none.\n"
			 : ".\nIt does not say whether any were lost, nor why there are none.\n");
}

/* Of the event that was sampled: faults, for one, need no more CPU time than they have. */
static void explain_silence(const struct report *report, const struct run_facts *facts)
{
	const struct history *history = report->history;
	const char *event = facts->event.opened;
	const uint64_t unit = facts->event.unit;
	if (!event && history_nr_events(history))
		event = history_event_name(history, 0);
	if (!run_facts_know(facts, &facts->event.unit) ||
	    !run_facts_know(facts, &facts->stats.lost)) {
		tell_what_is_known(report, facts, event);
		return;
	}
	if (!event || unit == WEIGHT_NS || unit == WEIGHT_CYCLES) {
		text_add(report->out,
			 "No samples: the target used no CPU time while it was watched (it slept "
			 "or waited),\n"
			 "or ended before the first sample. Watch it for longer, or while it "
			 "works; -e\n"
			 "context-switches shows where it goes to sleep.\n");
		return;
	}
	text_add(report->out, "No samples: ");
	text_add_safe(report->out, event);
	text_add(report->out,
		 " did not occur while the target was watched,\n"
		 "or not often enough for one. Watch it for longer, or take each with -c 1.\n");
}

/* There is no sample that would say what the event's numbers are. */
static bool add_short_tasks(const struct run_facts *facts, struct text *out)
{
	const bool is_clock =
		run_facts_know(facts, &facts->event.unit) && facts->event.unit == WEIGHT_NS;
	const struct clock_counts counts = {
		.counted_ns = is_clock ? facts->stats.events_counted : 0,
		.fewer_ns = facts->stats.fewer_ns,
		.cpus = facts->stats.cpus,
	};
	const char *why = facts->sampled_cpus ? NULL : weight_text_short_tasks(&counts);
	if (why)
		text_addf(out, "No samples, though the target used %.2f s of CPU time:\n%s.\n",
			  (double)counts.counted_ns / (double)NS_PER_SECOND, why);
	return why != NULL;
}

static void explain_nothing(const struct report *report)
{
	const struct history_totals *totals = &report->totals;
	struct text *out = report->out;
	struct run_facts facts = {0};
	run_facts_read(report->history, FACT_RECORDED, &facts);
	if (totals->samples_before) {
		text_add(out, "No sample passes the filter, though ");
		add_grouped(out, totals->samples_before);
		text_add(out, " were recorded: loosen it.\n");
	} else if (facts.stats.lost) {
		text_add(out, "No sample arrived, and ");
		add_grouped(out, facts.stats.lost);
		text_add(out, " were lost: try a lower rate (-F) or larger rings (-m).\n");
	} else if (totals->bad_samples) {
		text_add(out, "None of the samples made sense: the recording is damaged.\n");
	} else if (!add_short_tasks(&facts, out)) {
		explain_silence(report, &facts);
	}
}

int report_text(struct history *history, const struct options *options, struct text *out)
{
	struct report report = {.history = history,
				.selection = selection_of_all(history),
				.options = options,
				.totals = history_totals(history),
				.out = out};
	int result = 0;
	if (!report.selection)
		return -ENOMEM;
	report_header(history, &report.totals, options,
		      options->command == COMMAND_LIVE
			      ? "record, and choose with ctop report --event"
			      : "choose with --event",
		      out);
	text_add(out, "\n");
	if (!report.totals.samples)
		explain_nothing(&report);
	else if (options->tree)
		result = add_tree(&report);
	else
		result = add_list(&report);
	bool failed = out->failed || report.name.failed;
	text_release(&report.name);
	selection_free(report.selection);
	return result ? result : failed ? -ENOMEM : 0;
}
