/* SPDX-License-Identifier: MIT */
#ifndef CTOP_FUZZ_PROFILE_CHECK_H
#define CTOP_FUZZ_PROFILE_CHECK_H

/* How the tables that a child of ours wrote hang together, and what main's history makes of any. */

#include <ctop/history/history.h>
#include <ctop/query/selection.h>
#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>

#include "fuzz.h"

/* Every id in the rows refers to a row. */
static inline void check_tables(const struct tables *tables)
{
	struct tables_reader reader;
	tables_reader_init(&reader, tables);
	tables_reader_refresh(&reader);
	for (uint32_t i = 1; i < reader.nr[TABLE_NODES]; i++) {
		struct node_row row;
		REQUIRE(tables_node(&reader, (struct node_id){i}, &row));
		REQUIRE(row.frame.index < reader.nr[TABLE_FRAMES]);
		REQUIRE(row.method < NR_FRAME_METHODS);
	}
	for (uint32_t i = 1; i < reader.nr[TABLE_FRAMES]; i++) {
		struct frame_row row;
		REQUIRE(tables_frame(&reader, (struct frame_id){i}, &row));
		REQUIRE(row.module.index < reader.nr[TABLE_MODULES]);
	}
	for (uint32_t i = 1; i < reader.nr[TABLE_TASKS]; i++) {
		struct task_row row;
		REQUIRE(tables_task(&reader, (struct task_id){i}, &row));
		REQUIRE(row.comm.index < reader.nr[TABLE_STRINGS]);
	}
	for (uint32_t i = 1; i < reader.nr[TABLE_MODULES]; i++) {
		struct module_row row;
		REQUIRE(tables_module(&reader, (struct module_id){i}, &row));
		REQUIRE(row.path.index < reader.nr[TABLE_STRINGS]);
		REQUIRE(row.identity.build_id_size <= BUILD_ID_MAX);
	}
}

static inline void check_samples(const struct tables *tables, const struct sample *samples,
				 size_t nr)
{
	struct tables_reader reader;
	tables_reader_init(&reader, tables);
	tables_reader_refresh(&reader);
	for (size_t i = 0; i < nr; i++) {
		REQUIRE(samples[i].task.index < reader.nr[TABLE_TASKS]);
		REQUIRE(samples[i].leaf.index < reader.nr[TABLE_FRAMES]);
		REQUIRE(samples[i].node.index < reader.nr[TABLE_NODES]);
	}
}

/* What ends in a row and what goes on below it is all that is in it. */
static inline void check_rows(struct selection *selection, const struct selection_node *node)
{
	struct selection_nodes children = {0};
	uint64_t sum = node->cost.self;
	REQUIRE(selection_children(selection, node->id, SELECTION_BY_TOTAL, &children) == 0);
	for (size_t i = 0; i < children.nr; i++) {
		sum += children.items[i].cost.total;
		check_rows(selection, &children.items[i]);
	}
	REQUIRE(sum == node->cost.total);
	free(children.items);
}

/* Of all a selection counts what the history counts: self, for which each sample has one function. */
static inline void check_selection(struct history *history, uint64_t samples)
{
	uint64_t self = 0;
	struct selection_functions top = {0};
	struct selection_node root;
	struct selection *selection = selection_of_all(history);
	REQUIRE(selection != NULL);
	REQUIRE(selection_totals(selection).samples == samples);
	REQUIRE(selection_top(selection, SELECTION_BY_SELF, 0, &top, NULL) == 0);
	for (size_t i = 0; i < top.nr; i++) {
		REQUIRE(top.items[i].cost.self <= top.items[i].cost.total);
		REQUIRE(top.items[i].cost.total <= samples);
		self += top.items[i].cost.self;
	}
	REQUIRE(self == samples);
	REQUIRE(selection_root(selection, SELECTION_TREE, (struct function_id){0}, &root) == 0);
	REQUIRE(root.cost.total == samples);
	check_rows(selection, &root);
	free(top.items);
	selection_free(selection);
}

/* Every query's answer adds up. samples: how many the history was given. */
static inline void check_history(struct history *history, uint64_t samples)
{
	uint64_t ends = 0, reasons = 0;
	REQUIRE(history_update_names(history) == 0);
	const struct history_totals totals = history_totals(history);
	REQUIRE(totals.samples + totals.bad_samples == samples);
	for (size_t i = 0; i < NR_STACK_ENDS; i++)
		ends += totals.ends[i];
	for (size_t i = 0; i < NR_STACK_REASONS; i++)
		reasons += totals.reasons[i];
	REQUIRE(ends == totals.samples && reasons == totals.samples);
	check_selection(history, totals.samples);
}

#endif
