/* SPDX-License-Identifier: MIT */
/* Samples count by what they stand for; of samples that all weigh the same nobody can tell. */
#include "hand_made.h"

enum { EVENT_COUNT = 1, EVENT_TIME = 2 };

struct scene {
	struct profile profile;
	struct history *history;
	struct frame_id main_function, hot, cold;
	struct node_id below_main;
};

static void open_scene(struct scene *scene)
{
	struct profile *profile = &scene->profile;
	struct event_row row = {.weight_unit = WEIGHT_NS};
	uint32_t event;
	CHECK_EQ(tables_map(&profile->tables, -1, &tables_capacity_default, true), 0);
	CHECK_EQ(symbols_map(&profile->symbols, -1, &symbols_capacity_default, true), 0);
	profile->writer = tables_writer_new(&profile->tables);
	profile->namer = symbols_writer_new(&profile->symbols);
	profile->program = module(profile, MODULE_FILE, "/bin/program");
	profile->one = task(profile, 10, "one");
	CHECK_EQ(tables_add_string(profile->writer, "page-faults", 11, &row.name), 0);
	row.weight_unit = WEIGHT_FAULTS;
	CHECK_EQ(tables_add_event(profile->writer, &row, &event), 0);
	CHECK_EQ(event, EVENT_COUNT);
	CHECK_EQ(tables_add_string(profile->writer, "cpu-clock", 9, &row.name), 0);
	row.weight_unit = WEIGHT_NS;
	CHECK_EQ(tables_add_event(profile->writer, &row, &event), 0);
	CHECK_EQ(event, EVENT_TIME);
	scene->main_function = frame(profile, profile->program, 0x1000, "main");
	scene->hot = frame(profile, profile->program, 0x2000, "hot");
	scene->cold = frame(profile, profile->program, 0x3000, "cold");
	scene->below_main = node(profile, (struct node_id){0}, scene->main_function);
	scene->history = history_new();
	CHECK_EQ(history_begin_epoch(scene->history, &profile->tables, &profile->symbols), 0);
	tables_publish(profile->writer);
}

static void close_scene(struct scene *scene)
{
	history_free(scene->history);
	close_profile(&scene->profile);
}

static void sample_of(struct scene *scene, struct frame_id leaf, uint64_t weight, uint8_t event)
{
	const struct sample sample = {.time_ns = 1000,
				      .weight = weight,
				      .task = scene->profile.one,
				      .node = scene->below_main,
				      .leaf = leaf,
				      .event = event};
	CHECK_EQ(history_import(scene->history, &sample, 1), 0);
}

/* Many samples of little, few of much. */
static void fill_unevenly(struct scene *scene)
{
	for (int i = 0; i < 90; i++)
		sample_of(scene, scene->cold, 1, EVENT_COUNT);
	for (int i = 0; i < 10; i++)
		sample_of(scene, scene->hot, 991, EVENT_COUNT);
}

static void lists_are_by_weight(void)
{
	struct scene scene;
	open_scene(&scene);
	fill_unevenly(&scene);
	struct selection_functions top = top_of(scene.history);
	CHECK_EQ(top.nr, 3);
	CHECK_STR(history_function_name(scene.history, top.items[0].id), "hot");
	CHECK_EQ(top.items[0].cost.self, 10);
	CHECK_EQ(top.items[0].cost.self_weight, 9910);
	CHECK_EQ(top.items[1].cost.self, 90);
	CHECK_EQ(top.items[1].cost.total_weight, 90);
	CHECK_EQ(top.items[2].cost.self_weight, 0);
	CHECK_EQ(top.items[2].cost.total_weight, 10000);
	free(top.items);
	struct selection *selection = selection_of_all(scene.history);
	struct selection_nodes children = {0};
	CHECK(selection);
	struct selection_node at = root_of(selection);
	CHECK_EQ(at.cost.total_weight, 10000);
	at = child(scene.history, selection, &at, "main");
	CHECK_EQ(selection_children(selection, at.id, SELECTION_BY_TOTAL, &children), 0);
	CHECK_EQ(children.nr, 2);
	CHECK_STR(history_function_name(scene.history, children.items[0].function), "hot");
	CHECK_EQ(children.items[0].cost.self_weight, 9910);
	CHECK_EQ(children.items[0].cost.total, 10);
	CHECK_EQ(children.items[1].cost.total_weight, 90);
	free(children.items);
	selection_free(selection);
	close_scene(&scene);
}

static void near(double got, double wanted)
{
	CHECK(got > wanted * 0.999999 && got < wanted * 1.000001);
}

static void few_samples_that_carry_most_are_few(void)
{
	struct scene scene;
	open_scene(&scene);
	CHECK(history_effective(0, 0) <= 0);
	fill_unevenly(&scene);
	struct history_totals totals = history_totals(scene.history);
	CHECK_EQ(totals.weight, 10000);
	near(history_squares(scene.history), 90 + 10 * 991.0 * 991.0);
	near(history_effective(totals.weight, history_squares(scene.history)),
	     1e8 / (90 + 10 * 991.0 * 991.0));
	/* Where all are alike, they are as many as they are. */
	close_scene(&scene);
	open_scene(&scene);
	for (int i = 0; i < 73; i++)
		sample_of(&scene, scene.hot, 1001001, EVENT_TIME);
	totals = history_totals(scene.history);
	near(history_effective(totals.weight, history_squares(scene.history)), 73);
	close_scene(&scene);
}

static void each_event_has_its_own_unit(void)
{
	struct scene scene;
	open_scene(&scene);
	fill_unevenly(&scene);
	sample_of(&scene, scene.hot, 1001001, EVENT_TIME);
	CHECK_EQ(history_event_unit(scene.history, 0), WEIGHT_FAULTS);
	CHECK_EQ(history_event_unit(scene.history, 1), WEIGHT_NS);
	CHECK_EQ(history_event_unit(scene.history, 2), WEIGHT_EVENTS);
	CHECK_EQ(history_event_weight(scene.history, 0), 10000);
	CHECK_EQ(history_event_weight(scene.history, 1), 1001001);
	close_scene(&scene);
}

/* What an untrusted file says of periods may be anything. */
static void no_sum_of_weights_overflows(void)
{
	struct scene scene;
	open_scene(&scene);
	fill_unevenly(&scene);
	for (int i = 0; i < 5; i++)
		sample_of(&scene, scene.cold, UINT64_MAX - (uint64_t)i, (uint8_t)(1 + i % 2));
	struct history_totals totals = history_totals(scene.history);
	CHECK_EQ(totals.samples, 105);
	CHECK_EQ(totals.cut_weights, 5);
	CHECK_EQ(totals.weight, INT64_MAX);
	CHECK(history_squares(scene.history) > 0 && history_squares(scene.history) < 1e39);
	struct selection_functions top = top_of(scene.history);
	CHECK_EQ(top.items[0].cost.self_weight, INT64_MAX - 9910);
	CHECK_EQ(top.items[2].cost.total_weight, INT64_MAX);
	free(top.items);
	close_scene(&scene);
}

static void no_weight_at_all(void)
{
	struct scene scene;
	open_scene(&scene);
	sample_of(&scene, scene.hot, 0, EVENT_COUNT);
	struct history_totals totals = history_totals(scene.history);
	CHECK_EQ(totals.samples, 1);
	CHECK(history_effective(totals.weight, history_squares(scene.history)) <= 0);
	struct selection_functions top = top_of(scene.history);
	CHECK_EQ(top.nr, 2);
	free(top.items);
	close_scene(&scene);
}

int main(void)
{
	RUN(lists_are_by_weight);
	RUN(few_samples_that_carry_most_are_few);
	RUN(each_event_has_its_own_unit);
	RUN(no_sum_of_weights_overflows);
	RUN(no_weight_at_all);
	return test_done();
}
