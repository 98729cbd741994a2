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

/* Since the start a selection counts what the history counts: self, for which each sample has one function. */
static inline void check_selection(struct history *history, uint64_t samples)
{
	uint64_t self = 0;
	struct selection_functions top = {0};
	struct selection *selection = selection_new(history);
	REQUIRE(selection != NULL);
	REQUIRE(selection_refresh(selection, UINT64_MAX) == 0);
	REQUIRE(selection_totals(selection).samples == samples);
	REQUIRE(selection_top(selection, SELECTION_BY_SELF, 0, &top, NULL) == 0);
	for (size_t i = 0; i < top.nr; i++) {
		REQUIRE(top.items[i].cost.self <= top.items[i].cost.total);
		REQUIRE(top.items[i].cost.total <= samples);
		self += top.items[i].cost.self;
	}
	REQUIRE(self == samples);
	free(top.items);
	selection_free(selection);
}

/* Every query's answer adds up. samples: how many the history was given. */
static inline void check_history(struct history *history, uint64_t samples)
{
	uint64_t ends = 0, reasons = 0, self = 0;
	REQUIRE(history_update_names(history) == 0);
	const struct history_totals totals = history_totals(history);
	REQUIRE(totals.samples + totals.bad_samples == samples);
	for (size_t i = 0; i < NR_STACK_ENDS; i++)
		ends += totals.ends[i];
	for (size_t i = 0; i < NR_STACK_REASONS; i++)
		reasons += totals.reasons[i];
	REQUIRE(ends == totals.samples && reasons == totals.samples);
	struct function_cost *top;
	struct tree_node *tree;
	size_t nr_top, nr_tree;
	REQUIRE(history_top(history, &top, &nr_top) == 0);
	for (size_t i = 0; i < nr_top; i++) {
		REQUIRE(top[i].self <= top[i].total && top[i].total <= totals.samples);
		self += top[i].self;
	}
	REQUIRE(self <= totals.samples);
	REQUIRE(history_tree(history, &tree, &nr_tree) == 0);
	for (size_t i = 0; i < nr_tree; i++)
		REQUIRE(tree[i].parent < nr_tree && tree[i].self <= tree[i].total &&
			tree[i].total <= tree[tree[i].parent].total);
	check_selection(history, totals.samples);
	free(top);
	free(tree);
}

#endif
