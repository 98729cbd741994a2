/* SPDX-License-Identifier: MIT */
/* A child that was taken over writes what it likes into its region: main reads on, and stays whole. */
#include <ctop/query/groups.h>

#include <stdint.h>

#include "test.h"

static const struct tables_capacity capacity = {
	.nr =
		{
			[TABLE_STRINGS] = 256,
			[TABLE_METADATA] = 16,
			[TABLE_EVENTS] = 8,
			[TABLE_MODULES] = 8,
			[TABLE_TASKS] = 8,
			[TABLE_FRAMES] = 64,
			[TABLE_NODES] = 64,
		},
	.nr_samples = 128,
};
static const struct symbols_capacity names = {.nr_frames = 64, .string_units = 256};

enum { ROUNDS = 400, MAGIC_BYTES = 8 };

/* Mostly small numbers, which go further than large ones do. */
static void scribble(void *memory, size_t bytes)
{
	uint8_t *at = memory;
	for (size_t i = 0; i < bytes; i++) {
		int kind = rand() % 16;
		at[i] = (uint8_t)(kind == 0 ? rand() : kind < 5 ? rand() % 64 : 0);
	}
}

/* What the stacks say of functions, counted by hand. */
struct by_hand {
	struct {
		struct selection_cost cost;
		size_t last_stack; /* that it was in: recursion counts once */
	} * functions;		   /* by id */
	size_t nr, nr_stacks;
	uint64_t samples, nameless; /* of stacks of which nothing is known */
};

static struct selection_cost *cost_of(struct by_hand *sum, struct function_id function)
{
	if (function.index >= sum->nr) {
		size_t nr = (size_t)function.index + 1;
		sum->functions = realloc(sum->functions, nr * sizeof(*sum->functions));
		CHECK(sum->functions != NULL);
		memset(sum->functions + sum->nr, 0, (nr - sum->nr) * sizeof(*sum->functions));
		sum->nr = nr;
	}
	return &sum->functions[function.index].cost;
}

static int visit(void *context, const struct history_stack *stack)
{
	struct by_hand *sum = context;
	CHECK(stack->end < NR_STACK_ENDS && stack->reason < NR_STACK_REASONS);
	CHECK(stack->comm != NULL && strlen(stack->comm) <= TABLES_STRING_MAX);
	sum->nr_stacks++;
	for (size_t i = 0; i < stack->nr_frames; i++) {
		const struct function_id function = stack->frames[i].function;
		struct selection_cost *cost = cost_of(sum, function);
		CHECK(stack->frames[i].method < NR_FRAME_METHODS);
		if (sum->functions[function.index].last_stack != sum->nr_stacks)
			cost->total += stack->samples;
		sum->functions[function.index].last_stack = sum->nr_stacks;
	}
	if (stack->nr_frames)
		cost_of(sum, stack->frames[stack->nr_frames - 1].function)->self += stack->samples;
	else
		sum->nameless += stack->samples;
	sum->samples += stack->samples;
	return 0;
}

/* What ends in a row and what goes on below it is all that is in it. */
static void check_below(struct selection *selection, const struct selection_node *node)
{
	struct selection_nodes children = {0};
	uint64_t sum = node->cost.self;
	CHECK_EQ(selection_children(selection, node->id, SELECTION_BY_TOTAL, &children), 0);
	for (size_t i = 0; i < children.nr; i++) {
		sum += children.items[i].cost.total;
		check_below(selection, &children.items[i]);
	}
	CHECK_EQ(sum, node->cost.total);
	free(children.items);
}

static void check_functions(struct history *history, struct selection *selection)
{
	struct by_hand sum = {0};
	struct selection_functions top = {0};
	uint64_t self = 0, total_less = 0, self_less = 0;
	CHECK_EQ(selection_each_stack(selection, visit, &sum), 0);
	CHECK_EQ(sum.samples, history_totals(history).samples);
	CHECK_EQ(selection_top(selection, SELECTION_BY_SELF, 0, &top, NULL), 0);
	for (size_t i = 0; i < top.nr; i++) {
		const struct selection_cost *cost = &top.items[i].cost;
		struct selection_cost *wanted = cost_of(&sum, top.items[i].id);
		CHECK(history_function_name(history, top.items[i].id) != NULL);
		CHECK(cost->self <= cost->total);
		CHECK(wanted->self <= cost->self && wanted->total <= cost->total);
		self += cost->self;
		self_less += cost->self - wanted->self;
		total_less += cost->total - wanted->total;
		*wanted = (struct selection_cost){0};
	}
	CHECK_EQ(self, sum.samples);
	CHECK_EQ(self_less, sum.nameless); /* which are [unknown]'s */
	CHECK_EQ(total_less, sum.nameless);
	for (size_t i = 0; i < sum.nr; i++)
		CHECK_EQ(sum.functions[i].cost.total, 0);
	free(sum.functions);
	free(top.items);
}

static void check_groups(struct selection *selection, uint64_t samples)
{
	struct selection_groups rows = {0};
	for (int by = 0; by < NR_GROUPINGS; by++) {
		uint64_t self = 0;
		CHECK_EQ(selection_groups(selection, (enum grouping)by, SELECTION_OWN_EVENT, &rows), 0);
		for (size_t i = 0; i < rows.nr; i++) {
			CHECK(rows.items[i].cost.self <= rows.items[i].cost.total);
			self += rows.items[i].cost.self;
		}
		CHECK_EQ(self, samples);
	}
	free(rows.items);
}

/* Every query answers, and all answers agree on how many samples there are. */
static void ask_everything(struct history *history, struct selection *selection)
{
	const struct history_totals totals = history_totals(history);
	struct selection_node root;
	uint64_t ends = 0;
	CHECK_EQ(selection_set_seconds(selection, SELECTION_SINCE_START), 0);
	CHECK_EQ(selection_refresh(selection, UINT64_MAX), 0);
	CHECK_EQ(selection_totals(selection).samples, totals.samples);
	CHECK_EQ(selection_totals(selection).weight, totals.weight);
	check_functions(history, selection);
	check_groups(selection, totals.samples);
	CHECK_EQ(selection_root(selection, SELECTION_TREE, (struct function_id){0}, &root), 0);
	CHECK_EQ(root.cost.total, totals.samples);
	check_below(selection, &root);
	for (size_t i = 0; i < NR_STACK_ENDS; i++)
		ends += totals.ends[i];
	CHECK_EQ(ends, totals.samples);
}

/* Windows anywhere, in a history whose samples have any time: all is answered, and nothing is counted twice. */
static void ask_windows(struct history *history, struct selection *selection)
{
	struct selection_tasks tasks = {0};
	struct selection_functions top = {0};
	struct selection_detail detail = {0};
	struct selection_node root;
	struct selection_nodes rows = {0};
	uint64_t counts[64];
	struct history_seconds seconds = history_seconds(history);
	const uint64_t ends[] = {
		0, 1, seconds.first_ns, seconds.end_ns, UINT64_MAX, (uint64_t)rand()};
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		CHECK_EQ(selection_set_seconds(selection, i % 2 ? SELECTION_SECONDS_MAX : 10), 0);
		CHECK_EQ(selection_refresh(selection, ends[i]), 0);
		CHECK(selection_totals(selection).samples <= history_totals(history).samples);
		CHECK_EQ(selection_trend(selection, SELECTION_TREND_SECONDS_MAX, counts), 0);
		CHECK_EQ(selection_tasks(selection, SELECTION_PROCESSES, -1, &tasks), 0);
		CHECK_EQ(selection_top(selection, SELECTION_BY_NAME, 4, &top, NULL), 0);
		CHECK_EQ(selection_trend_tasks(selection, tasks.items, tasks.nr, 2, counts), 0);
		if (top.nr)
			CHECK_EQ(selection_detail(selection, top.items[0].id, &detail), 0);
		rows.nr = 0;
		CHECK_EQ(selection_root(selection, SELECTION_INVERTED, (struct function_id){0},
					&root),
			 0);
		CHECK_EQ(selection_children(selection, root.id, SELECTION_BY_SELF, &rows), 0);
	}
	free(tasks.items);
	free(top.items);
	free(rows.items);
	selection_detail_release(&detail);
}

static void a_region_of_rubbish(void)
{
	struct tables tables;
	struct symbols symbols;
	uint64_t samples = 0, bad = 0;
	srand(7);
	for (int round = 0; round < ROUNDS; round++) {
		CHECK_EQ(tables_map(&tables, -1, &capacity, true), 0);
		CHECK_EQ(symbols_map(&symbols, -1, &names, true), 0);
		scribble((uint8_t *)tables.header + MAGIC_BYTES, tables.bytes - MAGIC_BYTES);
		scribble(symbols.header, symbols.bytes);
		struct history *history = history_new();
		struct selection *selection = selection_new(history);
		CHECK(selection != NULL);
		history_keep_seconds(history);
		CHECK_EQ(history_begin_epoch(history, &tables, &symbols), 0);
		/* As a reader meets them, and as if the ring had been believed. */
		struct sample read[64];
		uint64_t missed = 0;
		for (int i = 0; i < 8; i++) {
			size_t nr = tables_read_samples(&tables, read, 64, &missed);
			CHECK(nr <= 64);
			CHECK_EQ(history_import(history, read, nr), 0);
			CHECK_EQ(history_import(history, tables.samples, capacity.nr_samples), 0);
			/* The rows move under the reader's eyes. */
			scribble(tables.rows[TABLE_NODES], 256);
			scribble(tables.rows[TABLE_STRINGS], 256);
			CHECK_EQ(selection_refresh(selection, (uint64_t)rand() << (i * 5)), 0);
		}
		ask_everything(history, selection);
		ask_windows(history, selection);
		ask_everything(history, selection);
		struct history_totals totals = history_totals(history);
		samples += totals.samples;
		bad += totals.bad_samples;
		struct tables_reader reader;
		tables_reader_init(&reader, &tables);
		tables_reader_refresh(&reader);
		CHECK(tables_used_bytes(&reader) <= tables.bytes);
		selection_free(selection);
		history_free(history);
		tables_unmap(&tables);
		symbols_unmap(&symbols);
	}
	/* Both kinds were met, or this tests little. */
	CHECK(samples > 0);
	CHECK(bad > 0);
}

/* A successor takes such a region over. */
static void a_writer_on_rubbish(void)
{
	struct tables tables;
	srand(8);
	for (int round = 0; round < ROUNDS; round++) {
		CHECK_EQ(tables_map(&tables, -1, &capacity, true), 0);
		scribble((uint8_t *)tables.header + MAGIC_BYTES, tables.bytes - MAGIC_BYTES);
		struct tables_writer *writer = tables_writer_new(&tables);
		CHECK(writer != NULL);
		struct string_id string = {0};
		struct task_id task;
		struct frame_id frame = {0};
		struct node_id node = {0};
		(void)tables_add_string(writer, "new", 3, &string);
		(void)tables_add_info(writer, "key", "value");
		(void)tables_add_task(writer, 1, 2, 0, string, &task);
		(void)tables_add_frame(writer, (struct module_id){1}, 99, &frame);
		(void)tables_add_node(writer, node, frame, FRAME_CFI, &node);
		for (uint64_t i = 0; i < 300; i++)
			tables_add_sample(writer, &(struct sample){.time_ns = i});
		CHECK(tables_samples_room(writer) <= capacity.nr_samples);
		tables_close_epoch(writer);
		tables_writer_free(writer);
		tables_unmap(&tables);
	}
}

/* Positions that lie: nothing is read outside the ring, and it ends. */
static void a_ring_that_lies(void)
{
	static const uint64_t positions[] = {0, 1, 127, 128, 1u << 20, UINT64_MAX - 1, UINT64_MAX};
	enum { NR = sizeof(positions) / sizeof(positions[0]) };
	struct tables tables;
	struct sample out[16];
	uint64_t missed = 0;
	CHECK_EQ(tables_map(&tables, -1, &capacity, true), 0);
	/* The header's last two words that are used: head and tail. */
	uint64_t *words = (uint64_t *)(void *)tables.header;
	enum { HEAD = (16 + 4 * (NR_TABLES + 1)) / 8 };
	for (size_t i = 0; i < NR; i++) {
		for (size_t j = 0; j < NR; j++) {
			words[HEAD] = positions[i];
			words[HEAD + 1] = positions[j];
			size_t nr = tables_read_samples(&tables, out, 16, &missed);
			CHECK(nr <= 16);
			CHECK(positions[i] >= positions[j] || nr == 0);
			CHECK(positions[i] <= positions[j] || nr > 0);
		}
	}
	tables_unmap(&tables);
}

/* A chain deeper than any stack, and one that runs in a circle. */
static void chains_without_end(void)
{
	static const struct tables_capacity deep = {
		.nr = {[TABLE_STRINGS] = 16,
		       [TABLE_METADATA] = 1,
		       [TABLE_EVENTS] = 2,
		       [TABLE_MODULES] = 2,
		       [TABLE_TASKS] = 2,
		       [TABLE_FRAMES] = 4,
		       [TABLE_NODES] = 20000},
		.nr_samples = 16,
	};
	struct tables tables;
	CHECK_EQ(tables_map(&tables, -1, &deep, true), 0);
	struct tables_writer *writer = tables_writer_new(&tables);
	struct frame_id frame;
	struct node_id node = {0};
	CHECK_EQ(tables_add_frame(writer, (struct module_id){0}, 1, &frame), 0);
	for (int i = 0; i < 18000; i++)
		CHECK_EQ(tables_add_node(writer, node, frame, FRAME_CFI, &node), 0);
	tables_publish(writer);
	struct history *history = history_new();
	CHECK_EQ(history_begin_epoch(history, &tables, NULL), 0);
	struct sample sample = {.leaf = frame, .node = {1000}};
	CHECK_EQ(history_import(history, &sample, 1), 0);
	CHECK_EQ(history_totals(history).samples, 1);
	sample.node.index = 18000;
	CHECK_EQ(history_import(history, &sample, 1), 0);
	CHECK_EQ(history_totals(history).bad_samples, 1);
	/* One by one the limit holds as well. */
	for (sample.node.index = 1001; sample.node.index <= 9000; sample.node.index++)
		CHECK_EQ(history_import(history, &sample, 1), 0);
	CHECK_EQ(history_totals(history).samples, 1 + 8192 - 1000);
	CHECK_EQ(history_totals(history).bad_samples, 1 + 9000 - 8192);
	struct node_row *rows = tables.rows[TABLE_NODES];
	rows[10000].parent.index = 10000;
	rows[9001].parent.index = 11000;
	sample.node.index = 10000;
	CHECK_EQ(history_import(history, &sample, 1), 0);
	sample.node.index = 9001;
	CHECK_EQ(history_import(history, &sample, 1), 0);
	CHECK_EQ(history_totals(history).bad_samples, 3 + 9000 - 8192);
	struct selection *selection = selection_new(history);
	CHECK(selection != NULL);
	ask_everything(history, selection);
	selection_free(selection);
	history_free(history);
	tables_writer_free(writer);
	tables_unmap(&tables);
}

int main(void)
{
	RUN(a_region_of_rubbish);
	RUN(a_writer_on_rubbish);
	RUN(a_ring_that_lies);
	RUN(chains_without_end);
	return test_done();
}
