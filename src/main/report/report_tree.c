/* SPDX-License-Identifier: MIT */
/* The call tree. */
#include "report_internal.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <ctop/base/vec.h>
#include <ctop/report/numbers.h>

#include "report_events.h"

enum {
	NUMBERS_COLS = 17, /* "TOTAL% SELF%" and the gaps around them */
	INDENT_COLS = 2,
};

struct tree {
	struct report *report;
	struct report_events events;
	struct selection_nodes pile;  /* still to be shown, the next one last */
	struct selection_nodes chain; /* of the row in hand */
	size_t nr_shown;
};

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
static int add_branch(struct tree *tree, const struct selection_node *node,
		      const struct selection_node *last, size_t nr)
{
	struct report *report = tree->report;
	struct text *out = report->out;
	const size_t numbers = NUMBERS_COLS + tree->events.cols;
	const size_t columns = report_line_cols(report);
	size_t depth = node->depth > 0 ? node->depth - 1 : 0;
	size_t indent = depth * INDENT_COLS;
	const uint64_t self =
		node->cost.total_weight - last->cost.total_weight + last->cost.self_weight;
	report_add_share(out, node->cost.total_weight, report->totals.weight);
	text_add(out, "  ");
	report_add_share(out, self, report->totals.weight);
	event_columns_clear_rows(&tree->events.of);
	const int result = event_columns_add_node(&tree->events.of, report->selection, node);
	if (result)
		return result;
	report_events_add_row(&tree->events, 0, out);
	text_add(out, "   ");
	size_t room = 0;
	if (columns) {
		size_t least = numbers + NAME_COLS_LEAST;
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
		size_t taken = numbers + indent;
		room = columns > taken + NAME_COLS_LEAST ? columns - taken : NAME_COLS_LEAST;
	} else {
		report_add_blanks(out, indent);
	}
	if (nr > 1)
		add_chain_name(report, node, last, nr, room);
	else
		text_add(out, node_name(report, node, room));
	text_add(out, "\n");
	return 0;
}

/* Puts the children of a row that are shown on top of a pile, the heaviest uppermost. */
static int pile_up(struct tree *tree, uint64_t id)
{
	const struct report *report = tree->report;
	struct selection_nodes *pile = &tree->pile;
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
static int follow_chain(struct tree *tree, struct selection_node node)
{
	const struct report *report = tree->report;
	struct selection_nodes *pile = &tree->pile, *chain = &tree->chain;
	const size_t low = pile->nr;
	for (chain->nr = 0;;) {
		if (vec_reserve(chain, chain->nr + 1))
			return -ENOMEM;
		chain->items[chain->nr++] = node;
		int result = node.has_children ? pile_up(tree, node.id) : 0;
		if (result || pile->nr != low + 1 || report->options->names_full ||
		    !selection_chain_goes_on(report->selection, &chain->items[0],
					     &pile->items[low]))
			return result;
		node = pile->items[--pile->nr];
	}
}

/* A row for a node and the chain that may begin with it. */
static int add_rows(struct tree *tree, struct selection_node node)
{
	struct selection_nodes *pile = &tree->pile, *chain = &tree->chain;
	const size_t low = pile->nr;
	int result = follow_chain(tree, node);
	const size_t nr = result ? 0 : chain->nr;
	const bool as_one = nr >= SELECTION_CHAIN_LEAST;
	uint32_t depth = node.depth; /* as shown */
	for (size_t i = 0; !result && i < nr; i += as_one ? nr : 1) {
		chain->items[i].depth = depth++;
		result = add_branch(tree, &chain->items[i], &chain->items[as_one ? nr - 1 : i],
				    as_one ? nr : 1);
	}
	for (size_t i = low; i < pile->nr; i++)
		pile->items[i].depth = depth;
	tree->nr_shown += nr;
	return result;
}

static void add_heading(struct tree *tree)
{
	const struct report *report = tree->report;
	event_columns_begin(&tree->events.of, report->selection, report->history);
	report_events_fit(&tree->events, report->history, report_line_cols(report),
			  NUMBERS_COLS + ROOM_COLS_LEAST);
	text_add(report->out, "TOTAL%   SELF%");
	report_events_add_heading(&tree->events, report->history, report->out);
	text_add(report->out, "   CALL TREE\n");
}

int report_tree_add(struct report *report)
{
	struct tree tree = {.report = report};
	struct selection_node node;
	int result =
		selection_root(report->selection, SELECTION_TREE, (struct function_id){0}, &node);
	if (!result)
		result = pile_up(&tree, node.id);
	add_heading(&tree);
	/* Depth first without recursion: stacks are a thousand frames deep. */
	while (!result && tree.pile.nr) {
		node = tree.pile.items[--tree.pile.nr];
		result = add_rows(&tree, node);
	}
	free(tree.pile.items);
	free(tree.chain.items);
	report->out->failed |= tree.events.text.failed;
	report_events_release(&tree.events);
	size_t nr_hidden = selection_nr_paths_shown(report->selection) - 1 - tree.nr_shown;
	if (nr_hidden) {
		text_add(report->out, "... ");
		add_grouped(report->out, nr_hidden);
		text_addf(report->out, " more row%s below %g%%\n", nr_hidden == 1 ? "" : "s",
			  report->options->min_percent);
	}
	return result;
}
