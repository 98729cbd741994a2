/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_QUERY_PROCESSES_H
#define CTOP_TEST_QUERY_PROCESSES_H

/* A profile of several processes, some with threads and later names, and its trees as text. */

#include <ctop/query/selection.h>

#include <ctop/base/text.h>

#include "test.h"

enum { NR_FUNCTIONS = 6, NR_TASKS = 6 };
static const uint64_t SECOND_NS = 1000000000;

struct profile {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct history *history;
	struct selection *selection;
	struct frame_id frames[NR_FUNCTIONS];
	uint64_t random, newest; /* newest: second */
};
static struct profile profile;

enum { MAIN, WORK, LEAF, READ, POLL, LATE };
static const char *const names[NR_FUNCTIONS] = {"main", "work", "leaf", "read", "poll", "late"};

/* The second is a thread of the first, the third is the first by a later name. */
enum { FIRST, FIRST_THREAD, FIRST_RENAMED, SECOND, ONLY_THREAD, ODD };
static const struct {
	int32_t pid, tid;
	const char *comm;
} tasks[NR_TASKS] = {
	{10, 10, "sh"},	   {10, 11, "helper"},	      {10, 10, "python3"},
	{20, 20, "nginx"}, {30, 31, "only a thread"}, {-7, -7, "\x1b[2Jodd"},
};
static inline struct string_id string(const char *bytes)
{
	struct string_id id;
	CHECK_EQ(tables_add_string(profile.writer, bytes, strlen(bytes), &id), 0);
	return id;
}

static inline void name(int function)
{
	CHECK_EQ(symbols_set(profile.namer, profile.frames[function], SYMBOL_NAMED, names[function],
			     NULL, 0),
		 0);
}

static inline void open_profile(uint64_t seed)
{
	struct module_id module;
	uint32_t event;
	profile = (struct profile){.random = seed * 2654435761 + 1, .newest = 100};
	CHECK_EQ(tables_map(&profile.tables, -1, &tables_capacity_default, true), 0);
	CHECK_EQ(symbols_map(&profile.symbols, -1, &symbols_capacity_default, true), 0);
	profile.writer = tables_writer_new(&profile.tables);
	profile.namer = symbols_writer_new(&profile.symbols);
	profile.history = history_new();
	profile.selection = selection_new(profile.history);
	CHECK(profile.writer && profile.namer && profile.history && profile.selection);
	struct module_row row = {.path = string("/bin/program"), .kind = MODULE_FILE};
	CHECK_EQ(tables_add_module(profile.writer, &row, &module), 0);
	struct event_row cycles = {.name = string("cycles")};
	CHECK_EQ(tables_add_event(profile.writer, &cycles, &event), 0);
	for (int i = 0; i < NR_FUNCTIONS; i++)
		CHECK_EQ(tables_add_frame(profile.writer, module, (uint64_t)i * 16 + 1,
					  &profile.frames[i]),
			 0);
	for (int i = 0; i < LATE; i++)
		name(i);
	tables_publish(profile.writer);
	CHECK_EQ(history_begin_epoch(profile.history, &profile.tables, &profile.symbols), 0);
	history_keep_seconds(profile.history);
}

static inline void close_profile(void)
{
	selection_free(profile.selection);
	history_free(profile.history);
	tables_writer_free(profile.writer);
	symbols_writer_free(profile.namer);
	tables_unmap(&profile.tables);
	symbols_unmap(&profile.symbols);
}

static inline void import_task(struct task_id id, enum stack_end end, const int *functions, int nr,
			       uint64_t times)
{
	struct node_id node = {0};
	for (int i = 0; i + 1 < nr; i++)
		CHECK_EQ(tables_add_node(profile.writer, node, profile.frames[functions[i]],
					 FRAME_CFI, &node),
			 0);
	tables_publish(profile.writer);
	const struct sample sample = {
		.time_ns = profile.newest * SECOND_NS,
		.weight = 3,
		.task = id,
		.node = node,
		.leaf = profile.frames[functions[nr - 1]],
		.event = 1,
		.end = (uint8_t)end,
	};
	for (uint64_t i = 0; i < times; i++)
		CHECK_EQ(history_import(profile.history, &sample, 1), 0);
}

static inline void import(int task, enum stack_end end, const int *functions, int nr,
			  uint64_t times)
{
	struct task_id id;
	CHECK_EQ(tables_add_task(profile.writer, tasks[task].pid, tasks[task].tid, 0,
				 string(tasks[task].comm), &id),
		 0);
	import_task(id, end, functions, nr, times);
}

#define IMPORT(task, end, times, ...)                                                              \
	do {                                                                                       \
		const int functions[] = {__VA_ARGS__};                                             \
		import(task, end, functions, sizeof(functions) / sizeof(*functions), times);       \
	} while (0)

static inline void refresh(struct selection *selection)
{
	CHECK_EQ(selection_refresh(selection, profile.newest * SECOND_NS + 1), 0);
}

static inline struct selection_node root_of(struct selection *selection)
{
	struct selection_node root;
	CHECK_EQ(selection_root(selection, SELECTION_TREE, (struct function_id){0}, &root), 0);
	return root;
}

static inline const char *name_of(const struct selection_node *node)
{
	return node->comm    ? node->comm
	       : node->label ? node->label
			     : history_function_name(profile.history, node->function);
}

static inline void add_rows(struct selection *selection, const struct selection_node *parent,
			    enum selection_order order, struct text *out)
{
	struct selection_nodes nodes = {0};
	CHECK_EQ(selection_children(selection, parent->id, order, &nodes), 0);
	CHECK_EQ(nodes.nr != 0, parent->has_children);
	uint64_t sum = parent->cost.self;
	for (size_t i = 0; i < nodes.nr; i++) {
		const struct selection_node *node = &nodes.items[i];
		struct selection_node again;
		CHECK_EQ(selection_node(selection, node->id, &again), 0);
		CHECK(memcmp(&again.cost, &node->cost, sizeof(again.cost)) == 0);
		CHECK_EQ(again.pid, node->pid);
		CHECK_EQ(node->parent, parent->id);
		CHECK_EQ(node->cost.total_weight, 3 * node->cost.total);
		text_addf(out, "%*s%s", (int)node->depth - 1, "", name_of(node));
		if (node->comm)
			text_addf(out, "=%d", node->pid);
		text_addf(out, " %d/%d\n", (int)node->cost.self, (int)node->cost.total);
		add_rows(selection, node, order, out);
		sum += node->cost.total;
	}
	CHECK_EQ(sum, parent->cost.total);
	free(nodes.items);
}

/* All rows below one, a line each: "name self/total", of a process "comm=pid self/total". */
static inline struct text rows_below(struct selection *selection, const struct selection_node *node,
				     enum selection_order order)
{
	struct text out = {0};
	add_rows(selection, node, order, &out);
	CHECK(!out.failed);
	return out;
}

static inline void check_tree(enum selection_order order, const char *wanted)
{
	struct selection_node root = root_of(profile.selection);
	struct text rows = rows_below(profile.selection, &root, order);
	CHECK_STR(text_string(&rows), wanted);
	text_release(&rows);
}

/* The child of a name, which must be there. */
static inline struct selection_node child(const struct selection_node *parent, const char *wanted)
{
	struct selection_nodes nodes = {0};
	struct selection_node found = {0};
	CHECK_EQ(selection_children(profile.selection, parent->id, SELECTION_BY_TOTAL, &nodes), 0);
	for (size_t i = 0; i < nodes.nr; i++)
		if (!strcmp(name_of(&nodes.items[i]), wanted))
			found = nodes.items[i];
	CHECK(found.id != 0);
	free(nodes.items);
	return found;
}

#endif
