/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BENCH_MADE_H
#define CTOP_BENCH_MADE_H

/* Tables of one program whose stacks are made up from numbers, the same in every run. */

#include <ctop/store/symbols.h>
#include <ctop/store/tables.h>
#include <ctop/weight_unit.h>

#include <stdio.h>
#include <stdlib.h>

enum { MADE_TASKS_MAX = 64 };
#define SECOND_NS UINT64_C(1000000000)

struct made {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct module_id module;
	struct task_id tasks[MADE_TASKS_MAX];
};

static inline void must(int result, const char *what)
{
	if (!result)
		return;
	fprintf(stderr, "%s: %d\n", what, result);
	exit(1);
}

/* Xorshift64, Marsaglia 2003. */
static inline uint64_t random_next(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

static inline void made_open(struct made *made, const struct tables_capacity *capacity,
			     int32_t nr_tasks)
{
	struct module_row module = {.kind = MODULE_FILE};
	struct event_row event = {.period = 1000000, .weight_unit = WEIGHT_NS};
	struct string_id comm;
	uint32_t id;
	must(tables_map(&made->tables, -1, capacity, true), "tables");
	must(symbols_map(&made->symbols, -1, &symbols_capacity_default, true), "symbols");
	made->writer = tables_writer_new(&made->tables);
	made->namer = symbols_writer_new(&made->symbols);
	must(!made->writer || !made->namer, "memory");
	must(tables_add_string(made->writer, "/bin/bench", 10, &module.path), "string");
	must(tables_add_module(made->writer, &module, &made->module), "module");
	must(tables_add_string(made->writer, "bench", 5, &comm), "string");
	for (int32_t i = 0; i < nr_tasks; i++)
		must(tables_add_task(made->writer, 1, 1 + i, 0, comm, &made->tasks[i]), "task");
	must(tables_add_string(made->writer, "cpu-clock", 9, &event.name), "string");
	event.asked = event.name;
	must(tables_add_event(made->writer, &event, &id), "event");
}

static inline struct frame_id made_frame(struct made *made, uint64_t number)
{
	struct frame_id id;
	must(tables_add_frame(made->writer, made->module, 0x1000 + number * 16, &id), "frame");
	return id;
}

static inline void made_close(struct made *made)
{
	tables_writer_free(made->writer);
	symbols_writer_free(made->namer);
	tables_unmap(&made->tables);
	symbols_unmap(&made->symbols);
}

#endif
