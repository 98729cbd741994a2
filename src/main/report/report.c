/* SPDX-License-Identifier: MIT */
#include <ctop/report/report.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/clock.h>
#include <ctop/base/vec.h>
#include <ctop/metadata/run_facts.h>
#include <ctop/query/selection.h>
#include <ctop/report/numbers.h>
#include <ctop/report/report_header.h>
#include <ctop/report/runtime_notes.h>
#include <ctop/report/weight_text.h>

#include "report_internal.h"
#include "report_modules.h"

enum {
	TREE_NUMBERS_COLS = 17,
	INDENT_COLS = 2,
};

/* ---- the call tree ---- */

static const char *node_name(struct report *report, const struct selection_node *node, size_t cols)
{
	return node->label ? node->label : report_function_name(report, node->function, cols);
}

/* "first … last · 41": what the first does not need is the last one's, where it goes on. */
static void add_chain_name(struct report *report, const struct selection_node *first,
			   const struct selection_node *last, size_t nr, size_t cols)
{
	static const char between[] = " … ";
	const size_t between_cols = text_cols(between);
	char count[32];
	snprintf(count, sizeof(count), " · %zu", nr);
	const size_t taken = text_cols(count) + between_cols;
	const size_t room = cols > taken + NAME_COLS_LEAST ? cols - taken : NAME_COLS_LEAST;
	const char *name = node_name(report, first, room / 2);
	const size_t first_cols = text_cols(name);
	text_add(report->out, name);
	text_add(report->out, between);
	text_add(report->out, node_name(report, last, room - first_cols));
	text_add(report->out, count);
}

/* A row; of so many nodes without branches. */
static void add_branch(struct report *report, const struct selection_node *node,
		       const struct selection_node *last, size_t nr)
{
	struct text *out = report->out;
	const size_t columns = report_line_cols(report);
	size_t depth = node->depth > 0 ? node->depth - 1 : 0;
	size_t indent = depth * INDENT_COLS;
	const uint64_t self =
		node->cost.total_weight - last->cost.total_weight + last->cost.self_weight;
	report_add_share(out, node->cost.total_weight, report->totals.weight);
	text_add(out, "  ");
	report_add_share(out, self, report->totals.weight);
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
			report_add_blanks(out, indent);
			text_add(out, number);
			indent += strlen(number);
		} else {
			report_add_blanks(out, indent);
		}
		size_t taken = TREE_NUMBERS_COLS + indent;
		room = columns > taken + NAME_COLS_LEAST ? columns - taken : NAME_COLS_LEAST;
	} else {
		report_add_blanks(out, indent);
	}
	if (nr > 1)
		add_chain_name(report, node, last, nr, room);
	else
		text_add(out, node_name(report, node, room));
	text_add(out, "\n");
}

/* Puts the children of a row that are shown on top of a pile, the heaviest uppermost. */
static int pile_up(const struct report *report, uint64_t id, struct selection_nodes *pile)
{
	size_t low = pile->nr;
	int result = selection_children(report->selection, id, SELECTION_BY_TOTAL, pile);
	while (pile->nr > low && !report_shows(report, pile->items[pile->nr - 1].cost.total_weight))
		pile->nr--;
	for (size_t high = pile->nr; low + 1 < high; low++) {
		const struct selection_node swapped = pile->items[low];
		pile->items[low] = pile->items[--high];
		pile->items[high] = swapped;
	}
	return result;
}

/* A node, and those below it as long as there is one way to go; what is shown below the last is on top of the pile. */
static int follow_chain(const struct report *report, struct selection_node node,
			struct selection_nodes *pile, struct selection_nodes *chain)
{
	const size_t low = pile->nr;
	for (chain->nr = 0;;) {
		if (vec_reserve(chain, chain->nr + 1))
			return -ENOMEM;
		chain->items[chain->nr++] = node;
		int result = node.has_children ? pile_up(report, node.id, pile) : 0;
		if (result || pile->nr != low + 1 || report->options->names_full ||
		    !selection_chain_goes_on(report->selection, &chain->items[0],
					     &pile->items[low]))
			return result;
		node = pile->items[--pile->nr];
	}
}

/* A row for a node and the chain that may begin with it. *nr_shown: nodes, and more now. */
static int add_rows(struct report *report, struct selection_node node, struct selection_nodes *pile,
		    struct selection_nodes *chain, size_t *nr_shown)
{
	const size_t low = pile->nr;
	int result = follow_chain(report, node, pile, chain);
	const size_t nr = result ? 0 : chain->nr;
	const bool as_one = nr >= SELECTION_CHAIN_LEAST;
	uint32_t depth = node.depth; /* as shown */
	for (size_t i = 0; i < nr; i += as_one ? nr : 1) {
		chain->items[i].depth = depth++;
		add_branch(report, &chain->items[i], &chain->items[as_one ? nr - 1 : i],
			   as_one ? nr : 1);
	}
	for (size_t i = low; i < pile->nr; i++)
		pile->items[i].depth = depth;
	*nr_shown += nr;
	return result;
}

static int add_tree(struct report *report)
{
	struct selection_nodes pile = {0}, chain = {0};
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
		result = add_rows(report, node, &pile, &chain, &nr_shown);
	}
	free(pile.items);
	free(chain.items);
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

int report_text(struct history *history, const struct options *options, int32_t pid,
		struct text *out)
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
	runtime_notes_add(history, pid, options->columns, out);
	text_add(out, "\n");
	if (!report.totals.samples)
		explain_nothing(&report);
	else if (options->modules)
		result = report_modules_add(history, report.selection, options,
					    report.totals.weight, out);
	else if (options->tree)
		result = add_tree(&report);
	else
		result = report_list_add(&report);
	bool failed = out->failed || report.name.failed;
	text_release(&report.name);
	selection_free(report.selection);
	return result ? result : failed ? -ENOMEM : 0;
}
