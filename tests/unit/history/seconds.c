/* SPDX-License-Identifier: MIT */
/* Samples by the second: what is merged, what is forgotten, and that both are told. */
#include <ctop/query/selection.h>

#include <errno.h>

#include "test.h"

enum { NR_FRAMES = 4000, SECONDS_MOST = 20000 };
static const uint64_t SECOND_NS = 1000000000;

struct world {
	struct tables tables;
	struct tables_writer *writer;
	struct task_id tasks[3];
	struct frame_id frames[NR_FRAMES];
	struct history *history;
	struct selection *selection;
	uint64_t by_second[SECONDS_MOST];
	uint64_t nr, random;
};

static void open_world(struct world *world)
{
	*world = (struct world){.random = 1};
	CHECK_EQ(tables_map(&world->tables, -1, &tables_capacity_default, true), 0);
	world->writer = tables_writer_new(&world->tables);
	world->history = history_new();
	world->selection = selection_new(world->history);
	CHECK(world->writer && world->history && world->selection);
	struct module_row module = {.kind = MODULE_FILE};
	struct event_row event = {0};
	struct module_id program;
	struct string_id comm;
	uint32_t id;
	CHECK_EQ(tables_add_string(world->writer, "/bin/program", 12, &module.path), 0);
	CHECK_EQ(tables_add_module(world->writer, &module, &program), 0);
	CHECK_EQ(tables_add_event(world->writer, &event, &id), 0);
	for (int i = 0; i < 3; i++) {
		const char *name = i == 2 ? "after" : "before";
		CHECK_EQ(tables_add_string(world->writer, name, strlen(name), &comm), 0);
		CHECK_EQ(tables_add_task(world->writer, 5, i == 0 ? 5 : 6, 0, comm,
					 &world->tasks[i]),
			 0);
	}
	for (uint64_t i = 0; i < NR_FRAMES; i++)
		CHECK_EQ(tables_add_frame(world->writer, program, 16 + i, &world->frames[i]), 0);
	tables_publish(world->writer);
	CHECK_EQ(history_begin_epoch(world->history, &world->tables, NULL), 0);
}

static void close_world(struct world *world)
{
	selection_free(world->selection);
	history_free(world->history);
	tables_writer_free(world->writer);
	tables_unmap(&world->tables);
}

static uint64_t below(struct world *world, uint64_t limit)
{
	world->random ^= world->random << 13;
	world->random ^= world->random >> 7;
	world->random ^= world->random << 17;
	return world->random % limit;
}

/* One sample in a second, on one of some stacks. */
static void import(struct world *world, uint64_t second, uint64_t nr_stacks)
{
	const struct sample sample = {
		.time_ns = second * SECOND_NS + below(world, SECOND_NS),
		.weight = 2,
		.task = world->tasks[0],
		.leaf = world->frames[below(world, nr_stacks)],
		.event = 1,
	};
	CHECK_EQ(history_import(world->history, &sample, 1), 0);
	world->by_second[second]++;
	world->nr++;
}

/* The selection's window holds exactly what came in the seconds that it says. */
static uint64_t check_window(struct world *world, uint64_t end, uint32_t seconds)
{
	CHECK_EQ(selection_set_seconds(world->selection, seconds), 0);
	CHECK_EQ(selection_refresh(world->selection, (end + 1) * SECOND_NS - 1), 0);
	struct selection_totals totals = selection_totals(world->selection);
	uint64_t from = totals.from_ns / SECOND_NS;
	uint64_t to = (totals.to_ns + 1) / SECOND_NS;
	uint64_t wanted = 0;
	CHECK(to > end);
	if (totals.from_ns == totals.to_ns) /* all forgotten */
		to = from;
	for (uint64_t i = from; i < to && i < SECONDS_MOST; i++)
		wanted += world->by_second[i];
	CHECK_EQ(totals.all_samples, wanted);
	CHECK_EQ(totals.all_weight, 2 * wanted);
	return from;
}

static void nothing_unless_asked_for(void)
{
	struct world world;
	open_world(&world);
	import(&world, 10, 5);
	import(&world, 1000, 5);
	struct history_seconds seconds = history_seconds(world.history);
	CHECK_EQ(seconds.nr, 0);
	CHECK_EQ(seconds.bytes, 0);
	CHECK_EQ(seconds.first_ns, 0);
	CHECK_EQ(selection_set_seconds(world.selection, 10), 0);
	CHECK_EQ(selection_refresh(world.selection, 1000 * SECOND_NS), 0);
	CHECK_EQ(selection_totals(world.selection).samples, 2);
	CHECK_EQ(selection_set_seconds(world.selection, SELECTION_SECONDS_MAX + 1), -EINVAL);
	close_world(&world);
}

static void five_minutes_are_exact(void)
{
	struct world world;
	open_world(&world);
	history_keep_seconds(world.history);
	for (uint64_t second = 1; second < 2000; second++)
		for (uint64_t i = below(&world, 4); i > 0; i--)
			import(&world, second, 50);
	import(&world, 2000, 50);
	for (uint32_t seconds = 1; seconds <= 280; seconds += 9)
		CHECK_EQ(check_window(&world, 2000, seconds), 2000 - seconds + 1);
	for (uint64_t end = 1800; end < 2000; end += 7)
		CHECK_EQ(check_window(&world, end, 10), end - 9);
	/* Further back, tens of seconds: from where the ten begins. */
	CHECK_EQ(check_window(&world, 2000, 997), 1000);
	CHECK(check_window(&world, 1003, 5) == 990);
	CHECK_EQ(history_seconds(world.history).forgotten, 0);
	CHECK(history_seconds(world.history).nr < 600);
	CHECK(history_seconds(world.history).fine_ns > 1600 * SECOND_NS);
	close_world(&world);
}

static void what_is_forgotten_is_told(void)
{
	struct world world;
	open_world(&world);
	history_keep_seconds(world.history);
	for (uint64_t second = 0; second < SECONDS_MOST - 200; second++)
		import(&world, second, 50);
	struct history_seconds seconds = history_seconds(world.history);
	CHECK(seconds.forgotten > 0);
	CHECK_EQ(seconds.forgotten, seconds.first_ns / SECOND_NS);
	CHECK_EQ(seconds.end_ns, (SECONDS_MOST - 200) * SECOND_NS);
	uint64_t held = 0;
	for (uint64_t end = 3599; end < SECONDS_MOST + 3600; end += 3600) {
		check_window(&world, end, 3600);
		held += selection_totals(world.selection).samples;
	}
	CHECK_EQ(held + seconds.forgotten, world.nr);
	CHECK_EQ(selection_set_seconds(world.selection, SELECTION_SINCE_START), 0);
	CHECK_EQ(selection_refresh(world.selection, SECONDS_MOST * SECOND_NS), 0);
	CHECK_EQ(selection_totals(world.selection).samples, world.nr);
	close_world(&world);
}

/* Samples of any time in any order are counted all the same. */
static void any_order(void)
{
	struct world world;
	for (uint64_t spread = 2; spread < 400; spread *= 3) {
		open_world(&world);
		history_keep_seconds(world.history);
		for (int i = 0; i < 5000; i++)
			import(&world, 600 + below(&world, spread), 20);
		for (uint64_t end = 600; end < 600 + spread; end += 5)
			check_window(&world, end, 7);
		check_window(&world, 600 + spread, 3600);
		CHECK_EQ(selection_totals(world.selection).samples, 5000);
		close_world(&world);
	}
	open_world(&world);
	history_keep_seconds(world.history);
	for (uint64_t second = 1500; second > 0; second--)
		import(&world, second, 20);
	check_window(&world, 1500, 3600);
	CHECK_EQ(selection_totals(world.selection).samples, 1500);
	close_world(&world);
}

/* What comes again and again in a second that is over takes no more room than once. */
static void late_samples_take_no_room(void)
{
	struct world world;
	open_world(&world);
	history_keep_seconds(world.history);
	import(&world, 100, 1);
	import(&world, 200, 1);
	for (int i = 0; i < 100000; i++)
		import(&world, 100, 3);
	CHECK(history_seconds(world.history).bytes < 64 << 10);
	check_window(&world, 100, 1);
	close_world(&world);
}

static void seconds_stay_within_their_bound(void)
{
	enum { LIMIT = 4 << 20 };
	struct world world;
	open_world(&world);
	history_keep_seconds(world.history);
	history_set_limit(world.history, LIMIT);
	for (uint64_t second = 0; second < 400; second++) {
		for (int i = 0; i < 4000; i++)
			import(&world, second, NR_FRAMES);
		CHECK(history_seconds(world.history).bytes < LIMIT / 4 + (1 << 19));
		CHECK(history_bytes(world.history) < LIMIT);
	}
	struct history_seconds seconds = history_seconds(world.history);
	for (uint64_t end = 385; end < 400; end++)
		CHECK_EQ(check_window(&world, end, 1), end);
	check_window(&world, 399, 10);
	CHECK_EQ(selection_totals(world.selection).samples, 40000);
	check_window(&world, 399, 3600);
	CHECK_EQ(selection_totals(world.selection).samples + seconds.forgotten, world.nr);
	CHECK(seconds.fine_ns > 300 * SECOND_NS);
	close_world(&world);
}

/* A selection counts for its history's bound: beyond it stacks are cut, and every sample is still there. */
static void slices_stay_within_the_bound(void)
{
	enum { LIMIT = 6 << 20, SAMPLES = 30000, DEPTH = 12 };
	struct world world;
	open_world(&world);
	history_set_limit(world.history, LIMIT);
	for (int i = 0; i < SAMPLES; i++) {
		struct sample sample = {.task = world.tasks[0],
					.leaf = world.frames[below(&world, NR_FRAMES)],
					.event = 1};
		for (int depth = 0; depth < DEPTH; depth++)
			CHECK_EQ(tables_add_node(world.writer, sample.node,
						 world.frames[below(&world, 20)], FRAME_CFI,
						 &sample.node),
				 0);
		tables_publish(world.writer);
		CHECK_EQ(history_import(world.history, &sample, 1), 0);
		if (i % 1000 == 999) {
			CHECK_EQ(selection_refresh(world.selection, (uint64_t)i * SECOND_NS), 0);
			CHECK(history_bytes(world.history) < LIMIT);
		}
	}
	struct selection_totals totals = selection_totals(world.selection);
	CHECK_EQ(totals.samples, SAMPLES);
	CHECK(totals.folded > 0);
	CHECK_EQ(totals.folded, history_totals(world.history).folded);
	CHECK(selection_bytes(world.selection) > 0);
	uint64_t with = history_bytes(world.history);
	selection_free(world.selection);
	world.selection = NULL;
	CHECK(history_bytes(world.history) < with);
	close_world(&world);
}

/* One function 4,000 times in each stack: it counts once, and each level is there. */
static void deep_recursion(void)
{
	enum { DEEP = 4000 };
	struct world world;
	struct sample sample = {.event = 1, .weight = 1};
	open_world(&world);
	sample.leaf = world.frames[0];
	sample.task = world.tasks[0];
	for (int i = 0; i < DEEP - 1; i++)
		CHECK_EQ(tables_add_node(world.writer, sample.node, world.frames[i % 7], FRAME_CFI,
					 &sample.node),
			 0);
	tables_publish(world.writer);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(history_import(world.history, &sample, 1), 0);
	CHECK_EQ(selection_refresh(world.selection, SECOND_NS), 0);
	struct selection_functions top = {0};
	struct selection_boxes boxes = {0};
	struct selection_node root;
	CHECK_EQ(selection_top(world.selection, SELECTION_BY_SELF, 0, &top, NULL), 0);
	CHECK_EQ(top.nr, 1);
	CHECK_EQ(top.items[0].cost.total, 3);
	CHECK_EQ(selection_root(world.selection, SELECTION_TREE, (struct function_id){0}, &root),
		 0);
	CHECK_EQ(selection_flame(world.selection, root.id, SELECTION_BY_TOTAL, 1, UINT32_MAX,
				 &boxes),
		 0);
	CHECK_EQ(boxes.nr, DEEP + 1);
	CHECK_EQ(selection_flame(world.selection, root.id, SELECTION_BY_TOTAL, 4, UINT32_MAX,
				 &boxes),
		 0);
	CHECK_EQ(boxes.nr, 1);
	CHECK_EQ(boxes.items[0].hidden, 3);
	CHECK_EQ(selection_root(world.selection, SELECTION_CALLERS, top.items[0].id, &root), 0);
	CHECK_EQ(root.cost.self, 3); /* its outermost call has no caller */
	free(top.items);
	free(boxes.items);
	close_world(&world);
}

static void threads_by_any_name(void)
{
	struct world world;
	struct selection_tasks tasks = {0};
	uint64_t counts[4];
	open_world(&world);
	history_keep_seconds(world.history);
	for (uint32_t i = 0; i < 10; i++) {
		const struct sample sample = {
			.time_ns = (uint64_t)(i / 5) * SECOND_NS,
			.task = world.tasks[i < 2   ? 0
					    : i < 5 ? 1
						    : 2],
			.leaf = world.frames[i == 9],
			.event = 1,
			.weight = 2,
		};
		CHECK_EQ(history_import(world.history, &sample, 1), 0);
	}
	CHECK_EQ(selection_set_seconds(world.selection, 2), 0);
	CHECK_EQ(selection_refresh(world.selection, SECOND_NS), 0);
	CHECK_EQ(selection_tasks(world.selection, SELECTION_THREADS, -1, &tasks), 0);
	CHECK_EQ(tasks.nr, 2);
	CHECK_EQ(tasks.items[0].tid, 6);
	CHECK_EQ(tasks.items[0].samples, 8);
	CHECK_STR(tasks.items[0].comm, "after");
	CHECK_STR(tasks.items[1].comm, "before");
	CHECK_EQ(selection_trend_tasks(world.selection, tasks.items, 2, 2, counts), 0);
	CHECK_EQ(counts[0], 6);
	CHECK_EQ(counts[1], 10);
	CHECK_EQ(counts[2], 4);
	CHECK_EQ(counts[3], 0);
	CHECK_EQ(selection_tasks(world.selection, SELECTION_PROCESSES, 5, &tasks), 0);
	CHECK_EQ(tasks.nr, 1);
	CHECK_EQ(tasks.items[0].nr_threads, 2);
	CHECK_STR(tasks.items[0].comm, "before"); /* the main thread's, not the last one's */
	CHECK_EQ(tasks.items[0].top_weight, 20);  /* all frames are one function: none has a name */
	CHECK_EQ(selection_trend_tasks(world.selection, tasks.items, 1, 2, counts), 0);
	CHECK_EQ(counts[0], 10);
	CHECK_EQ(selection_tasks(world.selection, SELECTION_THREADS, 7, &tasks), 0);
	CHECK_EQ(tasks.nr, 0);
	CHECK_EQ(selection_trend(world.selection, SELECTION_TREND_SECONDS_MAX + 1, counts),
		 -EINVAL);
	free(tasks.items);
	close_world(&world);
}

/* What can't be is refused, and changes nothing. */
static void weigh(struct world *world, uint64_t second, uint64_t weight)
{
	const struct sample sample = {.time_ns = second * SECOND_NS,
				      .weight = weight,
				      .task = world->tasks[0],
				      .leaf = world->frames[0],
				      .event = 1};
	CHECK_EQ(history_import(world->history, &sample, 1), 0);
}

/* How many samples of one weight those of a window are worth. */
static double effective(struct world *world, uint64_t end, uint32_t seconds)
{
	CHECK_EQ(selection_set_seconds(world->selection, seconds), 0);
	CHECK_EQ(selection_refresh(world->selection, end * SECOND_NS), 0);
	const struct selection_totals totals = selection_totals(world->selection);
	return history_effective(totals.weight, totals.squares);
}

static bool is_about(double got, double wanted)
{
	return got > wanted * 0.99 && got < wanted * 1.01;
}

static void few_samples_that_carry_most_are_few(void)
{
	struct world world;
	open_world(&world);
	history_keep_seconds(world.history);
	tables_publish(world.writer);
	/* More than a count of a second has room for, all alike. */
	for (int i = 0; i < 100000; i++)
		weigh(&world, 1, 1001001);
	CHECK(is_about(effective(&world, 1, 1), 100000));
	CHECK(is_about(effective(&world, 1, SELECTION_SINCE_START), 100000));
	/* Of 1000 that weigh one two weigh a thousand times as much. */
	for (int i = 0; i < 1000; i++)
		weigh(&world, 3, i % 500 ? 1 : 1000);
	double wanted = 2998.0 * 2998.0 / (2 * 1e6 + 998);
	CHECK(is_about(effective(&world, 3, 1), wanted));
	CHECK(is_about(effective(&world, 3, 2), wanted));
	CHECK(is_about(effective(&world, 1, 1), 100000));
	/* Since a reset only what came then. */
	CHECK_EQ(selection_reset(world.selection), 0);
	weigh(&world, 5, 7);
	weigh(&world, 5, 7);
	CHECK(is_about(effective(&world, 5, SELECTION_SINCE_START), 2));
	weigh(&world, 6, INT64_MAX);
	CHECK(is_about(effective(&world, 6, SELECTION_SINCE_START), 1));
	CHECK(is_about(effective(&world, 6, 1), 1));
	close_world(&world);
}

static void bad_questions(void)
{
	struct world world;
	struct selection_node node;
	struct selection_nodes nodes = {0};
	struct selection_boxes boxes = {0};
	open_world(&world);
	CHECK_EQ(selection_refresh(world.selection, 0), 0); /* nothing was sampled yet */
	CHECK_EQ(
		selection_root(world.selection, SELECTION_INVERTED, (struct function_id){0}, &node),
		0);
	CHECK_EQ(node.cost.total, 0);
	CHECK_EQ(selection_children(world.selection, node.id, SELECTION_BY_SELF, &nodes), 0);
	CHECK_EQ(nodes.nr, 0);
	CHECK_EQ(selection_children(world.selection, 12345, SELECTION_BY_SELF, &nodes), -ENOENT);
	CHECK_EQ(selection_node(world.selection, 12345, &node), -ENOENT);
	CHECK_EQ(selection_flame(world.selection, 12345, SELECTION_BY_SELF, 1, 1, &boxes), -ENOENT);
	CHECK_EQ(selection_root(world.selection, SELECTION_CALLERS,
				(struct function_id){UINT32_MAX}, &node),
		 -ENOENT);
	CHECK_EQ(selection_function_cost(world.selection, (struct function_id){UINT32_MAX}).total,
		 0);
	const struct selection_criterion no_text = {.what = SELECTION_TEXT};
	const struct selection_criterion no_path = {.what = SELECTION_SUBTREE, .id = 12345};
	const struct selection_criterion no_kind = {.what = (enum selection_what)99};
	const struct selection_criterion nobody = {.what = SELECTION_THREAD, .number = 99};
	CHECK_EQ(selection_set_filter(world.selection, &nobody, 1), 0);
	CHECK_EQ(selection_set_filter(world.selection, &no_text, 1), -EINVAL);
	CHECK_EQ(selection_set_filter(world.selection, &no_kind, 1), -EINVAL);
	CHECK_EQ(selection_set_filter(world.selection, &no_path, 1), -ENOENT);
	CHECK_EQ(selection_set_filter(world.selection, NULL, SELECTION_CRITERIA_MAX + 1), -E2BIG);
	import(&world, 1, 1);
	CHECK_EQ(selection_refresh(world.selection, 0), 0); /* the end stands still */
	CHECK_EQ(selection_totals(world.selection).all_samples, 0);
	CHECK_EQ(selection_refresh(world.selection, SECOND_NS), 0);
	CHECK_EQ(selection_totals(world.selection).all_samples, 1);
	CHECK_EQ(selection_totals(world.selection).samples, 0); /* nobody's */
	CHECK(selection_error(0) <= 0);
	CHECK_EQ((int)(selection_error(100) * 1000), 100);
	selection_free(NULL);
	close_world(&world);
}

int main(void)
{
	RUN(nothing_unless_asked_for);
	RUN(five_minutes_are_exact);
	RUN(what_is_forgotten_is_told);
	RUN(any_order);
	RUN(late_samples_take_no_room);
	RUN(seconds_stay_within_their_bound);
	RUN(slices_stay_within_the_bound);
	RUN(deep_recursion);
	RUN(threads_by_any_name);
	RUN(few_samples_that_carry_most_are_few);
	RUN(bad_questions);
	return test_done();
}
