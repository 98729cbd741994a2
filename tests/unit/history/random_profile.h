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

struct profile {
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
static inline uint64_t below(struct profile *profile, uint64_t limit)
{
	profile->random ^= profile->random << 13;
	profile->random ^= profile->random >> 7;
	profile->random ^= profile->random << 17;
	return profile->random % limit;
}

static inline struct string_id string(struct profile *profile, const char *bytes)
{
	struct string_id id;
	CHECK_EQ(tables_add_string(profile->writer, bytes, strlen(bytes), &id), 0);
	return id;
}

static inline bool is_kernel(int function)
{
	return function == 5 || function == 6;
}

static inline void name_function(struct profile *profile, int function)
{
	for (int i = 0; i < 2; i++)
		CHECK_EQ(symbols_set(profile->namer, profile->frames[function][i], SYMBOL_NAMED,
				     names[function], NULL, 4),
			 0);
	profile->named[function] = true;
}

static inline void open_profile(struct profile *profile, uint64_t seed)
{
	*profile = (struct profile){.random = seed * 2654435761 + 1, .newest = FIRST_SECOND};
	CHECK_EQ(tables_map(&profile->tables, -1, &tables_capacity_default, true), 0);
	CHECK_EQ(symbols_map(&profile->symbols, -1, &symbols_capacity_default, true), 0);
	profile->writer = tables_writer_new(&profile->tables);
	profile->namer = symbols_writer_new(&profile->symbols);
	profile->history = history_new();
	profile->selection = selection_new(profile->history);
	profile->raws = calloc(SAMPLES_MOST, sizeof(*profile->raws));
	CHECK(profile->writer && profile->namer && profile->history && profile->selection &&
	      profile->raws);
	struct module_row module = {.path = string(profile, "/bin/program"), .kind = MODULE_FILE};
	CHECK_EQ(tables_add_module(profile->writer, &module, &profile->program), 0);
	module = (struct module_row){.path = string(profile, "[kernel]"), .kind = MODULE_KERNEL};
	CHECK_EQ(tables_add_module(profile->writer, &module, &profile->kernel), 0);
	for (int i = 0; i < NR_TASKS; i++)
		CHECK_EQ(tables_add_task(profile->writer, pids[i], tids[i], 0,
					 string(profile, comms[i]), &profile->tasks[i]),
			 0);
	uint32_t event;
	static const char *const events[NR_EVENTS] = {"cycles", "faults"};
	for (int i = 0; i < NR_EVENTS; i++) {
		struct event_row row = {.name = string(profile, events[i])};
		CHECK_EQ(tables_add_event(profile->writer, &row, &event), 0);
	}
	for (int i = 0; i < NR_FUNCTIONS; i++)
		for (int site = 0; site < 2; site++)
			CHECK_EQ(tables_add_frame(profile->writer,
						  is_kernel(i) ? profile->kernel : profile->program,
						  (uint64_t)(i * 256 + site * 16 + 1),
						  &profile->frames[i][site]),
				 0);
	for (int i = 0; i < NR_FUNCTIONS; i++)
		if (is_kernel(i) || below(profile, 2))
			name_function(profile, i);
	tables_publish(profile->writer);
	CHECK_EQ(history_begin_epoch(profile->history, &profile->tables, &profile->symbols), 0);
	history_keep_seconds(profile->history);
}

static inline void close_profile(struct profile *profile)
{
	selection_free(profile->selection);
	history_free(profile->history);
	tables_writer_free(profile->writer);
	symbols_writer_free(profile->namer);
	tables_unmap(&profile->tables);
	symbols_unmap(&profile->symbols);
	free(profile->raws);
}

static inline void import(struct profile *profile, const struct raw *raw)
{
	CHECK(profile->nr_raws < SAMPLES_MOST);
	profile->raws[profile->nr_raws++] = *raw;
	if (raw->second > profile->newest)
		profile->newest = raw->second;
	struct node_id node = {0};
	for (int i = 0; i + 1 < raw->nr; i++)
		CHECK_EQ(tables_add_node(profile->writer, node,
					 profile->frames[raw->functions[i]][below(profile, 2)],
					 FRAME_CFI, &node),
			 0);
	const struct sample sample = {
		.time_ns = raw->second * SECOND_NS + below(profile, SECOND_NS),
		.weight = raw->weight,
		.task = profile->tasks[raw->task],
		.node = node,
		.leaf = profile->frames[raw->functions[raw->nr - 1]][below(profile, 2)],
		.event = (uint8_t)(1 + raw->event),
		.end = (uint8_t)raw->end,
	};
	tables_publish(profile->writer);
	CHECK_EQ(history_import(profile->history, &sample, 1), 0);
}

/* Mostly this second, sometimes a late one. Stacks share beginnings, and recurse. */
static inline void import_random(struct profile *profile, uint64_t second)
{
	static const enum stack_end ends[] = {STACK_COMPLETE, STACK_COMPLETE,	STACK_COMPLETE,
					      STACK_COMPLETE, STACK_TRUNCATED,	STACK_BROKEN,
					      STACK_SWITCHED, STACK_KERNEL_ONLY};
	struct raw raw = {
		.second = below(profile, 20) ? second : second - below(profile, 3),
		.weight = 1 + below(profile, 5),
		.task = (int)below(profile, NR_TASKS),
		.event = below(profile, 4) == 0,
		.end = ends[below(profile, 8)],
		.nr = 1 + (int)below(profile, DEPTH_MOST),
	};
	if (raw.second < FIRST_SECOND)
		raw.second = FIRST_SECOND;
	for (int i = 0; i < raw.nr; i++)
		raw.functions[i] = below(profile, 3) ? (int)below(profile, 3)
						     : (int)below(profile, NR_FUNCTIONS);
	import(profile, &raw);
}

#endif
