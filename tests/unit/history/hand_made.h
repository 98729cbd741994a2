/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_PROFILE_HAND_MADE_H
#define CTOP_TEST_PROFILE_HAND_MADE_H

#include <ctop/history/history.h>

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

static inline const struct function_cost *
cost_of(struct history *history, const struct function_cost *costs, size_t nr, const char *name)
{
	for (size_t i = 0; i < nr; i++)
		if (strcmp(history_function_name(history, costs[i].function), name) == 0)
			return &costs[i];
	return NULL;
}

#define CHECK_COST(name, self_, total_)                                                            \
	do {                                                                                       \
		const struct function_cost *cost = cost_of(history, costs, nr, name);              \
		CHECK(cost != NULL);                                                               \
		CHECK_EQ(cost->self, self_);                                                       \
		CHECK_EQ(cost->total, total_);                                                     \
	} while (0)

#endif
