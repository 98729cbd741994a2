/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_PROFILE_HAND_MADE_H
#define CTOP_TEST_PROFILE_HAND_MADE_H

#include <ctop/history/history.h>
#include <ctop/query/selection.h>

#include "test.h"

/*
 * A hand-made profile:
 *
 *     thread 1: main > work > leaf        6 samples
 *     thread 1: main > work > work > leaf 2 samples (recursion)
 *     thread 2: start > [k] syscall       3 samples
 *     thread 2: orphan                    1 sample, truncated
 *     thread 1: main > ?                  1 sample, a frame without a name
 */
struct profile {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct module_id program, kernel;
	struct task_id one, two;
	uint32_t event;
};

static inline struct frame_id frame(struct profile *profile, struct module_id module,
				    uint64_t address, const char *name)
{
	struct frame_id id;
	CHECK_EQ(tables_add_frame(profile->writer, module, address, &id), 0);
	if (name)
		CHECK_EQ(symbols_set(profile->namer, id, SYMBOL_NAMED, name, NULL, 4), 0);
	return id;
}

static inline struct node_id node(struct profile *profile, struct node_id parent,
				  struct frame_id at)
{
	struct node_id id;
	CHECK_EQ(tables_add_node(profile->writer, parent, at, FRAME_CFI, &id), 0);
	return id;
}

static inline struct module_id module(struct profile *profile, enum module_kind kind,
				      const char *path)
{
	struct module_row row = {.kind = kind};
	struct module_id id;
	CHECK_EQ(tables_add_string(profile->writer, path, strlen(path), &row.path), 0);
	CHECK_EQ(tables_add_module(profile->writer, &row, &id), 0);
	return id;
}

static inline struct task_id task(struct profile *profile, int32_t tid, const char *comm)
{
	struct string_id string;
	struct task_id id;
	CHECK_EQ(tables_add_string(profile->writer, comm, strlen(comm), &string), 0);
	CHECK_EQ(tables_add_task(profile->writer, 10, tid, 0, string, &id), 0);
	return id;
}

static inline void open_profile(struct profile *profile)
{
	CHECK_EQ(tables_map(&profile->tables, -1, &tables_capacity_default, true), 0);
	CHECK_EQ(symbols_map(&profile->symbols, -1, &symbols_capacity_default, true), 0);
	profile->writer = tables_writer_new(&profile->tables);
	profile->namer = symbols_writer_new(&profile->symbols);
	CHECK(profile->writer && profile->namer);
	profile->program = module(profile, MODULE_FILE, "/bin/program");
	profile->kernel = module(profile, MODULE_KERNEL, "[kernel]");
	profile->one = task(profile, 10, "one");
	profile->two = task(profile, 11, "two");
	struct event_row row = {0};
	CHECK_EQ(tables_add_string(profile->writer, "cpu-clock", 9, &row.name), 0);
	CHECK_EQ(tables_add_event(profile->writer, &row, &profile->event), 0);
}

static inline void close_profile(struct profile *profile)
{
	tables_writer_free(profile->writer);
	symbols_writer_free(profile->namer);
	tables_unmap(&profile->tables);
	symbols_unmap(&profile->symbols);
}

static inline void add(struct history *history, const struct profile *profile, struct task_id task,
		       struct node_id callers, struct frame_id leaf, enum stack_end end,
		       int samples)
{
	tables_publish(profile->writer);
	for (int i = 0; i < samples; i++) {
		const struct sample sample = {
			.time_ns = 1000 + (uint64_t)i,
			.weight = 10,
			.task = task,
			.node = callers,
			.leaf = leaf,
			.cpu = (uint16_t)i,
			.event = (uint8_t)profile->event,
			.end = (uint8_t)end,
		};
		CHECK_EQ(history_import(history, &sample, 1), 0);
	}
}

static inline void fill(struct profile *profile, struct history *history)
{
	struct frame_id in_main = frame(profile, profile->program, 0x100, "main");
	struct frame_id in_work = frame(profile, profile->program, 0x200, "work");
	struct frame_id again = frame(profile, profile->program, 0x208, "work");
	struct frame_id leaf = frame(profile, profile->program, 0x300, "leaf");
	struct frame_id start = frame(profile, profile->program, 0x400, "start");
	struct frame_id nameless = frame(profile, profile->program, 0x500, NULL);
	struct frame_id syscall = frame(profile, profile->kernel, 0xffffffff81000000, "syscall");
	struct node_id root = {0};
	struct node_id below_main = node(profile, root, in_main);
	struct node_id below_work = node(profile, below_main, in_work);
	struct node_id twice = node(profile, below_work, again);
	CHECK_EQ(history_begin_epoch(history, &profile->tables, &profile->symbols), 0);
	add(history, profile, profile->one, below_work, leaf, STACK_COMPLETE, 6);
	add(history, profile, profile->one, twice, leaf, STACK_COMPLETE, 2);
	add(history, profile, profile->two, node(profile, root, start), syscall, STACK_COMPLETE, 3);
	add(history, profile, profile->two, root, start, STACK_TRUNCATED, 1);
	add(history, profile, profile->one, below_main, nameless, STACK_COMPLETE, 1);
}

/* The functions of all that a history holds, by what they cost themselves. The items are the caller's to free. */
static inline struct selection_functions top_of(struct history *history)
{
	struct selection_functions top = {0};
	struct selection *selection = selection_of_all(history);
	CHECK(selection);
	CHECK_EQ(selection_top(selection, SELECTION_BY_SELF, 0, &top, NULL), 0);
	selection_free(selection);
	return top;
}

static inline const struct selection_function *
function_of(const struct history *history, const struct selection_functions *top, const char *name)
{
	for (size_t i = 0; i < top->nr; i++)
		if (strcmp(history_function_name(history, top->items[i].id), name) == 0)
			return &top->items[i];
	return NULL;
}

#define CHECK_COST(name, self_, total_)                                                            \
	do {                                                                                       \
		const struct selection_function *function = function_of(history, &top, name);      \
		CHECK(function != NULL);                                                           \
		CHECK_EQ(function->cost.self, self_);                                              \
		CHECK_EQ(function->cost.total, total_);                                            \
	} while (0)

/* A row of the call tree by its name, below another. Of a row that is not there all is zero. */
static inline struct selection_node child(const struct history *history,
					  struct selection *selection,
					  const struct selection_node *parent, const char *name)
{
	struct selection_nodes children = {0};
	struct selection_node found = {0};
	CHECK_EQ(selection_children(selection, parent->id, SELECTION_BY_TOTAL, &children), 0);
	for (size_t i = 0; i < children.nr; i++) {
		const struct selection_node *node = &children.items[i];
		if (!strcmp(node->label ? node->label
					: history_function_name(history, node->function),
			    name))
			found = *node;
	}
	free(children.items);
	return found;
}

static inline struct selection_node root_of(struct selection *selection)
{
	struct selection_node root;
	CHECK_EQ(selection_root(selection, SELECTION_TREE, (struct function_id){0}, &root), 0);
	return root;
}

#endif
