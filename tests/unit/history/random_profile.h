/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TEST_PROFILE_RANDOM_PROFILE_H
#define CTOP_TEST_PROFILE_RANDOM_PROFILE_H

/* A profile of random samples, each of them remembered. */

#include <ctop/query/selection.h>

#include "test.h"

enum { NR_FUNCTIONS = 7, DEPTH_MOST = 9, NR_TASKS = 5, NR_EVENTS = 2, SAMPLES_MOST = 20000 };
enum { TRUNCATED = -1, BROKEN = -2, SWITCHED = -3, UNNAMED = NR_FUNCTIONS };
static const uint64_t SECOND_NS = 1000000000;
static const uint64_t FIRST_SECOND = 1000;

/* What a sample was, as the test knows it. */
struct raw {
	uint64_t second;
	uint64_t weight;
	int task, event;
	enum stack_end end;
	int nr; /* frames; the last is the leaf */
	int functions[DEPTH_MOST];
};

struct world {
	struct tables tables;
	struct symbols symbols;
	struct tables_writer *writer;
	struct symbols_writer *namer;
	struct history *history;
	struct selection *selection;
	struct module_id program, kernel;
	struct task_id tasks[NR_TASKS];
	struct frame_id frames[NR_FUNCTIONS][2]; /* two call sites of each */
	bool named[NR_FUNCTIONS];
	uint64_t random;

	struct raw *raws;
	size_t nr_raws;
	size_t first, nr_seen; /* raws that the selection may count */
	size_t reset_at;
	uint64_t newest, end; /* seconds */
	uint32_t seconds;
	struct selection_criterion criteria[SELECTION_CRITERIA_MAX];
	size_t nr_criteria;
};

static const int32_t pids[NR_TASKS] = {10, 10, 10, 20, 20};
static const int32_t tids[NR_TASKS] = {10, 11, 11, 20, 21};
static const char *const comms[NR_TASKS] = {"one", "two", "renamed", "three", "four"};
/* The last two are the kernel's. */
static const char *const names[NR_FUNCTIONS + 1] = {
	"main", "parse(int)", "Parse::all()", "work<int>", "leaf", "sys_read", "copy", "[program]"};

/* The same numbers in every run (xorshift64, Marsaglia 2003). */
static inline uint64_t below(struct world *world, uint64_t limit)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return world->random % limit;
}

static inline struct string_id string(struct world *world, const char *bytes)
{
	struct string_id id;
	CHECK_EQ(tables_add_string(world->writer, bytes, strlen(bytes), &id), 0);
	return id;
}

static inline bool is_kernel(int function)
{
	return function == 5 || function == 6;
}

static inline void name_function(struct world *world, int function)
{
	for (int i = 0; i < 2; i++)
		CHECK_EQ(symbols_set(world->namer, world->frames[function][i], SYMBOL_NAMED,
				     names[function], NULL, 4),
			 0);
	world->named[function] = true;
}

static inline void open_world(struct world *world, uint64_t seed)
{
	*world = (struct world){.random = seed * 2654435761 + 1, .newest = FIRST_SECOND};
	CHECK_EQ(tables_map(&world->tables, -1, &tables_capacity_default, true), 0);
	CHECK_EQ(symbols_map(&world->symbols, -1, &symbols_capacity_default, true), 0);
	world->writer = tables_writer_new(&world->tables);
	world->namer = symbols_writer_new(&world->symbols);
	world->history = history_new();
	world->selection = selection_new(world->history);
	world->raws = calloc(SAMPLES_MOST, sizeof(*world->raws));
	CHECK(world->writer && world->namer && world->history && world->selection && world->raws);
	struct module_row module = {.path = string(world, "/bin/program"), .kind = MODULE_FILE};
	CHECK_EQ(tables_add_module(world->writer, &module, &world->program), 0);
	module = (struct module_row){.path = string(world, "[kernel]"), .kind = MODULE_KERNEL};
	CHECK_EQ(tables_add_module(world->writer, &module, &world->kernel), 0);
	for (int i = 0; i < NR_TASKS; i++)
		CHECK_EQ(tables_add_task(world->writer, pids[i], tids[i], 0,
					 string(world, comms[i]), &world->tasks[i]),
			 0);
	uint32_t event;
	static const char *const events[NR_EVENTS] = {"cycles", "faults"};
	for (int i = 0; i < NR_EVENTS; i++) {
		struct event_row row = {.name = string(world, events[i])};
		CHECK_EQ(tables_add_event(world->writer, &row, &event), 0);
	}
	for (int i = 0; i < NR_FUNCTIONS; i++)
		for (int site = 0; site < 2; site++)
			CHECK_EQ(tables_add_frame(world->writer,
						  is_kernel(i) ? world->kernel : world->program,
						  (uint64_t)(i * 256 + site * 16 + 1),
						  &world->frames[i][site]),
				 0);
	for (int i = 0; i < NR_FUNCTIONS; i++)
		if (is_kernel(i) || below(world, 2))
			name_function(world, i);
	tables_publish(world->writer);
	CHECK_EQ(history_begin_epoch(world->history, &world->tables, &world->symbols), 0);
	history_keep_seconds(world->history);
}

static inline void close_world(struct world *world)
{
	selection_free(world->selection);
	history_free(world->history);
	tables_writer_free(world->writer);
	symbols_writer_free(world->namer);
	tables_unmap(&world->tables);
	symbols_unmap(&world->symbols);
	free(world->raws);
}

static inline void import(struct world *world, const struct raw *raw)
{
	CHECK(world->nr_raws < SAMPLES_MOST);
	world->raws[world->nr_raws++] = *raw;
	if (raw->second > world->newest)
		world->newest = raw->second;
	struct node_id node = {0};
	for (int i = 0; i + 1 < raw->nr; i++)
		CHECK_EQ(tables_add_node(world->writer, node,
					 world->frames[raw->functions[i]][below(world, 2)],
					 FRAME_CFI, &node),
			 0);
	const struct sample sample = {
		.time_ns = raw->second * SECOND_NS + below(world, SECOND_NS),
		.weight = raw->weight,
		.task = world->tasks[raw->task],
		.node = node,
		.leaf = world->frames[raw->functions[raw->nr - 1]][below(world, 2)],
		.event = (uint8_t)(1 + raw->event),
		.end = (uint8_t)raw->end,
	};
	tables_publish(world->writer);
	CHECK_EQ(history_import(world->history, &sample, 1), 0);
}

/* Mostly this second, sometimes a late one. Stacks share beginnings, and recurse. */
static inline void import_random(struct world *world, uint64_t second)
{
	static const enum stack_end ends[] = {STACK_COMPLETE, STACK_COMPLETE,	STACK_COMPLETE,
					      STACK_COMPLETE, STACK_TRUNCATED,	STACK_BROKEN,
					      STACK_SWITCHED, STACK_KERNEL_ONLY};
	struct raw raw = {
		.second = below(world, 20) ? second : second - below(world, 3),
		.weight = 1 + below(world, 5),
		.task = (int)below(world, NR_TASKS),
		.event = below(world, 4) == 0,
		.end = ends[below(world, 8)],
		.nr = 1 + (int)below(world, DEPTH_MOST),
	};
	if (raw.second < FIRST_SECOND)
		raw.second = FIRST_SECOND;
	for (int i = 0; i < raw.nr; i++)
		raw.functions[i] =
			below(world, 3) ? (int)below(world, 3) : (int)below(world, NR_FUNCTIONS);
	import(world, &raw);
}

#endif
