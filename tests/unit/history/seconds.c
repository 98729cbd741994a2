/* SPDX-License-Identifier: MIT */
/* Samples by the second: what is merged, what is forgotten, and that both are reported. */
#include <ctop/query/selection.h>

#include <errno.h>

#include "test.h"

enum { NR_FRAMES = 4000, SECONDS_MOST = 20000 };
static const uint64_t SECOND_NS = 1000000000;

struct profile {
	struct tables tables;
	struct tables_writer *writer;
	struct task_id tasks[3];
	struct frame_id frames[NR_FRAMES];
	struct history *history;
	struct selection *selection;
	uint64_t by_second[SECONDS_MOST];
	uint64_t nr, random;
};

static void open_profile(struct profile *profile)
{
	*profile = (struct profile){.random = 1};
	CHECK_EQ(tables_map(&profile->tables, -1, &tables_capacity_default, true), 0);
	profile->writer = tables_writer_new(&profile->tables);
	profile->history = history_new();
	profile->selection = selection_new(profile->history);
	CHECK(profile->writer && profile->history && profile->selection);
	struct module_row module = {.kind = MODULE_FILE};
	struct event_row event = {0};
	struct module_id program;
	struct string_id comm;
	uint32_t id;
	CHECK_EQ(tables_add_string(profile->writer, "/bin/program", 12, &module.path), 0);
	CHECK_EQ(tables_add_module(profile->writer, &module, &program), 0);
	CHECK_EQ(tables_add_event(profile->writer, &event, &id), 0);
	for (int i = 0; i < 3; i++) {
		const char *name = i == 2 ? "after" : "before";
		CHECK_EQ(tables_add_string(profile->writer, name, strlen(name), &comm), 0);
		CHECK_EQ(tables_add_task(profile->writer, 5, i == 0 ? 5 : 6, 0, comm,
					 &profile->tasks[i]),
			 0);
	}
	for (uint64_t i = 0; i < NR_FRAMES; i++)
		CHECK_EQ(tables_add_frame(profile->writer, program, 16 + i, &profile->frames[i]),
			 0);
	tables_publish(profile->writer);
	CHECK_EQ(history_begin_epoch(profile->history, &profile->tables, NULL), 0);
}

static void close_profile(struct profile *profile)
{
	selection_free(profile->selection);
	history_free(profile->history);
	tables_writer_free(profile->writer);
	tables_unmap(&profile->tables);
}

static uint64_t below(struct profile *profile, uint64_t limit)
{
	profile->random ^= profile->random << 13;
	profile->random ^= profile->random >> 7;
	profile->random ^= profile->random << 17;
	return profile->random % limit;
}

/* One sample in a second, on one of some stacks. */
static void import(struct profile *profile, uint64_t second, uint64_t nr_stacks)
{
	const struct sample sample = {
		.time_ns = second * SECOND_NS + below(profile, SECOND_NS),
		.weight = 2,
		.task = profile->tasks[0],
		.leaf = profile->frames[below(profile, nr_stacks)],
		.event = 1,
	};
	CHECK_EQ(history_import(profile->history, &sample, 1), 0);
	profile->by_second[second]++;
	profile->nr++;
}

/* The selection's window holds exactly what came in the seconds that it says. */
static uint64_t check_window(struct profile *profile, uint64_t end, uint32_t seconds)
{
	CHECK_EQ(selection_set_seconds(profile->selection, seconds), 0);
	CHECK_EQ(selection_refresh(profile->selection, (end + 1) * SECOND_NS - 1), 0);
	struct selection_totals totals = selection_totals(profile->selection);
	uint64_t from = totals.from_ns / SECOND_NS;
	uint64_t to = (totals.to_ns + 1) / SECOND_NS;
	uint64_t wanted = 0;
	CHECK(to > end);
	if (totals.from_ns == totals.to_ns) /* all forgotten */
		to = from;
	for (uint64_t i = from; i < to && i < SECONDS_MOST; i++)
		wanted += profile->by_second[i];
	CHECK_EQ(totals.all_samples, wanted);
	CHECK_EQ(totals.all_weight, 2 * wanted);
	return from;
}

static void nothing_unless_asked_for(void)
{
	struct profile profile;
	open_profile(&profile);
	import(&profile, 10, 5);
	import(&profile, 1000, 5);
	struct history_seconds seconds = history_seconds(profile.history);
	CHECK_EQ(seconds.nr, 0);
	CHECK_EQ(seconds.bytes, 0);
	CHECK_EQ(seconds.first_ns, 0);
	CHECK_EQ(selection_set_seconds(profile.selection, 10), 0);
	CHECK_EQ(selection_refresh(profile.selection, 1000 * SECOND_NS), 0);
	CHECK_EQ(selection_totals(profile.selection).samples, 2);
	CHECK_EQ(selection_set_seconds(profile.selection, SELECTION_SECONDS_MAX + 1), -EINVAL);
	close_profile(&profile);
}

static void five_minutes_are_exact(void)
{
	struct profile profile;
	open_profile(&profile);
	history_keep_seconds(profile.history);
	for (uint64_t second = 1; second < 2000; second++)
		for (uint64_t i = below(&profile, 4); i > 0; i--)
			import(&profile, second, 50);
	import(&profile, 2000, 50);
	for (uint32_t seconds = 1; seconds <= 280; seconds += 9)
		CHECK_EQ(check_window(&profile, 2000, seconds), 2000 - seconds + 1);
	for (uint64_t end = 1800; end < 2000; end += 7)
		CHECK_EQ(check_window(&profile, end, 10), end - 9);
	/* Further back, tens of seconds: from where the ten begins. */
	CHECK_EQ(check_window(&profile, 2000, 997), 1000);
	CHECK(check_window(&profile, 1003, 5) == 990);
	CHECK_EQ(history_seconds(profile.history).forgotten, 0);
	CHECK(history_seconds(profile.history).nr < 600);
	CHECK(history_seconds(profile.history).fine_ns > 1600 * SECOND_NS);
	close_profile(&profile);
}

static void what_is_forgotten_is_told(void)
{
	struct profile profile;
	open_profile(&profile);
	history_keep_seconds(profile.history);
	for (uint64_t second = 0; second < SECONDS_MOST - 200; second++)
		import(&profile, second, 50);
	struct history_seconds seconds = history_seconds(profile.history);
	CHECK(seconds.forgotten > 0);
	CHECK_EQ(seconds.forgotten, seconds.first_ns / SECOND_NS);
	CHECK_EQ(seconds.end_ns, (SECONDS_MOST - 200) * SECOND_NS);
	uint64_t held = 0;
	for (uint64_t end = 3599; end < SECONDS_MOST + 3600; end += 3600) {
		check_window(&profile, end, 3600);
		held += selection_totals(profile.selection).samples;
	}
	CHECK_EQ(held + seconds.forgotten, profile.nr);
	CHECK_EQ(selection_set_seconds(profile.selection, SELECTION_SINCE_START), 0);
	CHECK_EQ(selection_refresh(profile.selection, SECONDS_MOST * SECOND_NS), 0);
	CHECK_EQ(selection_totals(profile.selection).samples, profile.nr);
	close_profile(&profile);
}

/* Samples of any time in any order are counted all the same. */
static void any_order(void)
{
	struct profile profile;
	for (uint64_t spread = 2; spread < 400; spread *= 3) {
		open_profile(&profile);
		history_keep_seconds(profile.history);
		for (int i = 0; i < 5000; i++)
			import(&profile, 600 + below(&profile, spread), 20);
		for (uint64_t end = 600; end < 600 + spread; end += 5)
			check_window(&profile, end, 7);
		check_window(&profile, 600 + spread, 3600);
		CHECK_EQ(selection_totals(profile.selection).samples, 5000);
		close_profile(&profile);
	}
	open_profile(&profile);
	history_keep_seconds(profile.history);
	for (uint64_t second = 1500; second > 0; second--)
		import(&profile, second, 20);
	check_window(&profile, 1500, 3600);
	CHECK_EQ(selection_totals(profile.selection).samples, 1500);
	close_profile(&profile);
}

/* What comes again and again in a second that is over takes no more room than once. */
static void late_samples_take_no_room(void)
{
	struct profile profile;
	open_profile(&profile);
	history_keep_seconds(profile.history);
	import(&profile, 100, 1);
	import(&profile, 200, 1);
	for (int i = 0; i < 100000; i++)
		import(&profile, 100, 3);
	CHECK(history_seconds(profile.history).bytes < 64 << 10);
	check_window(&profile, 100, 1);
	close_profile(&profile);
}

static void seconds_stay_within_their_bound(void)
{
	enum { LIMIT = 4 << 20 };
	struct profile profile;
	open_profile(&profile);
	history_keep_seconds(profile.history);
	history_set_limit(profile.history, LIMIT);
	for (uint64_t second = 0; second < 400; second++) {
		for (int i = 0; i < 4000; i++)
			import(&profile, second, NR_FRAMES);
		CHECK(history_seconds(profile.history).bytes < LIMIT / 4 + (1 << 19));
		CHECK(history_bytes(profile.history) < LIMIT);
	}
	struct history_seconds seconds = history_seconds(profile.history);
	for (uint64_t end = 385; end < 400; end++)
		CHECK_EQ(check_window(&profile, end, 1), end);
	check_window(&profile, 399, 10);
	CHECK_EQ(selection_totals(profile.selection).samples, 40000);
	check_window(&profile, 399, 3600);
	CHECK_EQ(selection_totals(profile.selection).samples + seconds.forgotten, profile.nr);
	CHECK(seconds.fine_ns > 300 * SECOND_NS);
	close_profile(&profile);
}

/* A selection counts for its history's bound: beyond it stacks are cut, and every sample is still there. */
static void slices_stay_within_the_bound(void)
{
	enum { LIMIT = 6 << 20, SAMPLES = 30000, DEPTH = 12 };
	struct profile profile;
	open_profile(&profile);
	history_set_limit(profile.history, LIMIT);
	for (int i = 0; i < SAMPLES; i++) {
		struct sample sample = {.task = profile.tasks[0],
					.leaf = profile.frames[below(&profile, NR_FRAMES)],
					.event = 1};
		for (int depth = 0; depth < DEPTH; depth++)
			CHECK_EQ(tables_add_node(profile.writer, sample.node,
						 profile.frames[below(&profile, 20)], FRAME_CFI,
						 &sample.node),
				 0);
		tables_publish(profile.writer);
		CHECK_EQ(history_import(profile.history, &sample, 1), 0);
		if (i % 1000 == 999) {
			CHECK_EQ(selection_refresh(profile.selection, (uint64_t)i * SECOND_NS), 0);
			CHECK(history_bytes(profile.history) < LIMIT);
		}
	}
	struct selection_totals totals = selection_totals(profile.selection);
	CHECK_EQ(totals.samples, SAMPLES);
	CHECK(totals.folded > 0);
	CHECK_EQ(totals.folded, history_totals(profile.history).folded);
	CHECK(selection_bytes(profile.selection) > 0);
	uint64_t with = history_bytes(profile.history);
	selection_free(profile.selection);
	profile.selection = NULL;
	CHECK(history_bytes(profile.history) < with);
	close_profile(&profile);
}

/* One function 4,000 times in each stack: it counts once, and each level is there. */
static void deep_recursion(void)
{
	enum { DEEP = 4000 };
	struct profile profile;
	struct sample sample = {.event = 1, .weight = 1};
	open_profile(&profile);
	sample.leaf = profile.frames[0];
	sample.task = profile.tasks[0];
	for (int i = 0; i < DEEP - 1; i++)
		CHECK_EQ(tables_add_node(profile.writer, sample.node, profile.frames[i % 7],
					 FRAME_CFI, &sample.node),
			 0);
	tables_publish(profile.writer);
	for (int i = 0; i < 3; i++)
		CHECK_EQ(history_import(profile.history, &sample, 1), 0);
	CHECK_EQ(selection_refresh(profile.selection, SECOND_NS), 0);
	struct selection_functions top = {0};
	struct selection_boxes boxes = {0};
	struct selection_node root;
	CHECK_EQ(selection_top(profile.selection, SELECTION_BY_SELF, 0, &top, NULL), 0);
	CHECK_EQ(top.nr, 1);
	CHECK_EQ(top.items[0].cost.total, 3);
	CHECK_EQ(selection_root(profile.selection, SELECTION_TREE, (struct function_id){0}, &root),
		 0);
	CHECK_EQ(selection_flame(profile.selection, root.id, SELECTION_BY_TOTAL, 1, UINT32_MAX,
				 &boxes),
		 0);
	CHECK_EQ(boxes.nr, DEEP + 1);
	CHECK_EQ(selection_flame(profile.selection, root.id, SELECTION_BY_TOTAL, 4, UINT32_MAX,
				 &boxes),
		 0);
	CHECK_EQ(boxes.nr, 1);
	CHECK_EQ(boxes.items[0].hidden, 3);
	CHECK_EQ(selection_root(profile.selection, SELECTION_CALLERS, top.items[0].id, &root), 0);
	CHECK_EQ(root.cost.self, 3); /* its outermost call has no caller */
	free(top.items);
	free(boxes.items);
	close_profile(&profile);
}

static void threads_by_any_name(void)
{
	struct profile profile;
	struct selection_tasks tasks = {0};
	uint64_t counts[4];
	open_profile(&profile);
	history_keep_seconds(profile.history);
	for (uint32_t i = 0; i < 10; i++) {
		const struct sample sample = {
			.time_ns = (uint64_t)(i / 5) * SECOND_NS,
			.task = profile.tasks[i < 2   ? 0
					      : i < 5 ? 1
						      : 2],
			.leaf = profile.frames[i == 9],
			.event = 1,
			.weight = 2,
		};
		CHECK_EQ(history_import(profile.history, &sample, 1), 0);
	}
	CHECK_EQ(selection_set_seconds(profile.selection, 2), 0);
	CHECK_EQ(selection_refresh(profile.selection, SECOND_NS), 0);
	CHECK_EQ(selection_tasks(profile.selection, SELECTION_THREADS, -1, &tasks), 0);
	CHECK_EQ(tasks.nr, 2);
	CHECK_EQ(tasks.items[0].tid, 6);
	CHECK_EQ(tasks.items[0].samples, 8);
	CHECK_STR(tasks.items[0].comm, "after");
	CHECK_STR(tasks.items[1].comm, "before");
	CHECK_EQ(selection_trend_tasks(profile.selection, tasks.items, 2, 2, counts), 0);
	CHECK_EQ(counts[0], 6);
	CHECK_EQ(counts[1], 10);
	CHECK_EQ(counts[2], 4);
	CHECK_EQ(counts[3], 0);
	CHECK_EQ(selection_tasks(profile.selection, SELECTION_PROCESSES, 5, &tasks), 0);
	CHECK_EQ(tasks.nr, 1);
	CHECK_EQ(tasks.items[0].nr_threads, 2);
	CHECK_STR(tasks.items[0].comm, "before"); /* the main thread's, not the last one's */
	CHECK_EQ(tasks.items[0].top_weight, 20);  /* all frames are one function: none has a name */
	CHECK_EQ(selection_trend_tasks(profile.selection, tasks.items, 1, 2, counts), 0);
	CHECK_EQ(counts[0], 10);
	CHECK_EQ(selection_tasks(profile.selection, SELECTION_THREADS, 7, &tasks), 0);
	CHECK_EQ(tasks.nr, 0);
	CHECK_EQ(selection_trend(profile.selection, SELECTION_TREND_SECONDS_MAX + 1, counts),
		 -EINVAL);
	free(tasks.items);
	close_profile(&profile);
}

/* What can't be is refused, and changes nothing. */
static void weigh(struct profile *profile, uint64_t second, uint64_t weight)
{
	const struct sample sample = {.time_ns = second * SECOND_NS,
				      .weight = weight,
				      .task = profile->tasks[0],
				      .leaf = profile->frames[0],
				      .event = 1};
	CHECK_EQ(history_import(profile->history, &sample, 1), 0);
}

/* How many samples of one weight those of a window are worth. */
static double effective(struct profile *profile, uint64_t end, uint32_t seconds)
{
	CHECK_EQ(selection_set_seconds(profile->selection, seconds), 0);
	CHECK_EQ(selection_refresh(profile->selection, end * SECOND_NS), 0);
	const struct selection_totals totals = selection_totals(profile->selection);
	return history_effective(totals.weight, totals.squares);
}

static bool is_about(double got, double wanted)
{
	return got > wanted * 0.99 && got < wanted * 1.01;
}

static void few_samples_that_carry_most_are_few(void)
{
	struct profile profile;
	open_profile(&profile);
	history_keep_seconds(profile.history);
	tables_publish(profile.writer);
	/* More than a count of a second has room for, all alike. */
	for (int i = 0; i < 100000; i++)
		weigh(&profile, 1, 1001001);
	CHECK(is_about(effective(&profile, 1, 1), 100000));
	CHECK(is_about(effective(&profile, 1, SELECTION_SINCE_START), 100000));
	/* Of 1000 that weigh one two weigh a thousand times as much. */
	for (int i = 0; i < 1000; i++)
		weigh(&profile, 3, i % 500 ? 1 : 1000);
	double wanted = 2998.0 * 2998.0 / (2 * 1e6 + 998);
	CHECK(is_about(effective(&profile, 3, 1), wanted));
	CHECK(is_about(effective(&profile, 3, 2), wanted));
	CHECK(is_about(effective(&profile, 1, 1), 100000));
	/* Since a reset only what came then. */
	CHECK_EQ(selection_reset(profile.selection), 0);
	weigh(&profile, 5, 7);
	weigh(&profile, 5, 7);
	CHECK(is_about(effective(&profile, 5, SELECTION_SINCE_START), 2));
	weigh(&profile, 6, INT64_MAX);
	CHECK(is_about(effective(&profile, 6, SELECTION_SINCE_START), 1));
	CHECK(is_about(effective(&profile, 6, 1), 1));
	close_profile(&profile);
}

static void bad_questions(void)
{
	struct profile profile;
	struct selection_node node;
	struct selection_nodes nodes = {0};
	struct selection_boxes boxes = {0};
	open_profile(&profile);
	CHECK_EQ(selection_refresh(profile.selection, 0), 0); /* nothing was sampled yet */
	CHECK_EQ(selection_root(profile.selection, SELECTION_INVERTED, (struct function_id){0},
				&node),
		 0);
	CHECK_EQ(node.cost.total, 0);
	CHECK_EQ(selection_children(profile.selection, node.id, SELECTION_BY_SELF, &nodes), 0);
	CHECK_EQ(nodes.nr, 0);
	CHECK_EQ(selection_children(profile.selection, 12345, SELECTION_BY_SELF, &nodes), -ENOENT);
	CHECK_EQ(selection_node(profile.selection, 12345, &node), -ENOENT);
	CHECK_EQ(selection_flame(profile.selection, 12345, SELECTION_BY_SELF, 1, 1, &boxes),
		 -ENOENT);
	CHECK_EQ(selection_root(profile.selection, SELECTION_CALLERS,
				(struct function_id){UINT32_MAX}, &node),
		 -ENOENT);
	CHECK_EQ(selection_function_cost(profile.selection, (struct function_id){UINT32_MAX}).total,
		 0);
	const struct selection_criterion no_text = {.what = SELECTION_TEXT};
	const struct selection_criterion no_path = {.what = SELECTION_SUBTREE, .id = 12345};
	const struct selection_criterion no_kind = {.what = (enum selection_what)99};
	const struct selection_criterion nobody = {.what = SELECTION_THREAD, .number = 99};
	CHECK_EQ(selection_set_filter(profile.selection, &nobody, 1), 0);
	CHECK_EQ(selection_set_filter(profile.selection, &no_text, 1), -EINVAL);
	CHECK_EQ(selection_set_filter(profile.selection, &no_kind, 1), -EINVAL);
	CHECK_EQ(selection_set_filter(profile.selection, &no_path, 1), -ENOENT);
	CHECK_EQ(selection_set_filter(profile.selection, NULL, SELECTION_CRITERIA_MAX + 1), -E2BIG);
	import(&profile, 1, 1);
	CHECK_EQ(selection_refresh(profile.selection, 0), 0); /* the end stands still */
	CHECK_EQ(selection_totals(profile.selection).all_samples, 0);
	CHECK_EQ(selection_refresh(profile.selection, SECOND_NS), 0);
	CHECK_EQ(selection_totals(profile.selection).all_samples, 1);
	CHECK_EQ(selection_totals(profile.selection).samples, 0); /* nobody's */
	CHECK(selection_error(0) <= 0);
	CHECK_EQ((int)(selection_error(100) * 1000), 100);
	selection_free(NULL);
	close_profile(&profile);
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
