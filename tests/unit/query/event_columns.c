/* SPDX-License-Identifier: MIT */
/* Several events side by side: what each costs in a row, the ratios of their numbers, and how sure these are. */
#include <ctop/query/event_columns.h>

#include "history/hand_made.h"

struct world {
	struct profile profile;
	struct history *history;
	struct selection *selection;
	struct frame_id main, leaf;
	struct node_id in_main;
};

static void add_event(struct world *world, const char *name, enum weight_unit unit)
{
	struct event_row row = {.weight_unit = unit};
	uint32_t id;
	CHECK_EQ(tables_add_string(world->profile.writer, name, strlen(name), &row.name), 0);
	row.asked = row.name;
	CHECK_EQ(tables_add_event(world->profile.writer, &row, &id), 0);
}

/* Of event number `event`, which hand_made.h's clock is the first of. */
static void add_samples(struct world *world, uint8_t event, struct node_id callers,
			struct frame_id leaf, unsigned nr, uint64_t weight)
{
	while (nr--) {
		const struct sample sample = {.time_ns = 1000,
					      .weight = weight,
					      .task = world->profile.one,
					      .node = callers,
					      .leaf = leaf,
					      .event = event};
		CHECK_EQ(history_import(world->history, &sample, 1), 0);
	}
}

enum { CLOCK = 1, CYCLES, INSTRUCTIONS, MISSES, MORE_MISSES };

static void begin(struct world *world, const struct history_filter *filter)
{
	*world = (struct world){.history = history_new()};
	struct profile *profile = &world->profile;
	open_profile(profile);
	history_set_filter(world->history, filter);
	world->main = frame(profile, profile->program, 0x100, "main");
	world->leaf = frame(profile, profile->program, 0x200, "leaf");
	world->in_main = node(profile, (struct node_id){0}, world->main);
	add_event(world, "cycles", WEIGHT_CYCLES);
	add_event(world, "instructions", WEIGHT_INSTRUCTIONS);
	add_event(world, "cache-misses", WEIGHT_MISSES);
	tables_publish(profile->writer);
	CHECK_EQ(history_begin_epoch(world->history, &profile->tables, &profile->symbols), 0);
}

static void end(struct world *world)
{
	selection_free(world->selection);
	history_free(world->history);
	close_profile(&world->profile);
}

/* "function share share ... | ratio ratio ...; ...", and their names in front. */
static const char *table(struct world *world)
{
	static char text[1024];
	struct selection_groups rows = {0};
	struct event_columns columns = {0};
	struct text out = {0};
	CHECK_EQ(selection_groups(world->selection, GROUPING_INLINE, SELECTION_OWN_EVENT, &rows),
		 0);
	CHECK_EQ(event_columns_take(&columns, world->selection, world->history, GROUPING_INLINE,
				    &rows),
		 0);
	for (size_t i = 0; i < columns.nr; i++) {
		text_add(&out, i ? " " : "");
		event_column_add_name(world->history, &columns.columns[i], 14, &out);
	}
	text_add(&out, " |");
	for (size_t i = 0; i < columns.nr_ratios; i++) {
		text_add(&out, " ");
		event_ratio_add_name(world->history, &columns, &columns.ratios[i], 16, &out);
	}
	for (size_t i = 0; i < rows.nr; i++) {
		text_addf(&out, "; %s",
			  history_function_name(world->history, rows.items[i].group.function));
		for (size_t j = 0; j < columns.nr; j++)
			text_addf(&out, " %d/%d", (int)columns.columns[j].costs.items[i].weight,
				  (int)columns.columns[j].whole);
		text_add(&out, " |");
		for (size_t j = 0; j < columns.nr_ratios; j++) {
			text_add(&out, " ");
			event_ratio_add(&columns, &columns.ratios[j], i, &out);
		}
	}
	snprintf(text, sizeof(text), "%s", text_string(&out));
	text_release(&out);
	event_columns_release(&columns);
	free(rows.items);
	return text;
}

static void ratios_are_of_what_was_counted(void)
{
	struct world world;
	begin(&world, &(struct history_filter){.event = "cycles", .beside = true});
	add_samples(&world, CYCLES, world.in_main, world.leaf, 100, 1000);
	add_samples(&world, CYCLES, (struct node_id){0}, world.main, 4, 1000);
	add_samples(&world, INSTRUCTIONS, world.in_main, world.leaf, 75, 2000);
	add_samples(&world, INSTRUCTIONS, (struct node_id){0}, world.main, 4, 2000);
	add_samples(&world, MISSES, world.in_main, world.leaf, 40, 3);
	world.selection = selection_of_all(world.history);
	CHECK_STR(table(&world), "cycles instructions cache-misses | IPC misses/1k; "
				 "leaf 100000/104000 150000/158000 120/120 | 1.50 0.8; "
				 "main 4000/104000 8000/158000 0/120 | ~2.00 ~0.0");
	/* What is beside is in no total. */
	CHECK_EQ(history_totals(world.history).samples, 104);
	CHECK_EQ(history_totals(world.history).weight, 104000);
	CHECK_EQ(history_totals(world.history).frames, 204);
	CHECK_EQ(selection_totals(world.selection).all_weight, 104000);
	CHECK_EQ(selection_event(world.selection), CYCLES - 1);
	end(&world);
}

/* One sample carries nearly all of the weight: a hundred others do not make it surer. */
static void few_that_carry_most_are_few(void)
{
	struct world world;
	begin(&world, &(struct history_filter){.event = "cycles", .beside = true});
	add_samples(&world, CYCLES, (struct node_id){0}, world.main, 100, 1000);
	add_samples(&world, INSTRUCTIONS, (struct node_id){0}, world.main, 100, 1);
	add_samples(&world, INSTRUCTIONS, (struct node_id){0}, world.main, 1, 199900);
	world.selection = selection_of_all(world.history);
	CHECK_STR(table(&world),
		  "cycles instructions | IPC; main 100000/100000 200000/200000 | ~2.00");
	end(&world);
}

/* Chosen in a window of time through a filter, as the interface does: of each event what passes. */
static void filters_hold_for_all(void)
{
	struct world world;
	begin(&world, &(struct history_filter){0});
	add_event(&world, "branch-misses", WEIGHT_MISSES);
	tables_publish(world.profile.writer);
	add_samples(&world, CLOCK, world.in_main, world.leaf, 2, 1);
	add_samples(&world, INSTRUCTIONS, world.in_main, world.leaf, 50, 1000);
	add_samples(&world, INSTRUCTIONS, (struct node_id){0}, world.main, 50, 1000);
	add_samples(&world, MISSES, world.in_main, world.leaf, 50, 10);
	add_samples(&world, MORE_MISSES, (struct node_id){0}, world.main, 50, 1);
	world.selection = selection_new(world.history);
	const struct selection_criterion event = {.what = SELECTION_EVENT,
						  .number = INSTRUCTIONS - 1},
					 both[] = {event, {.what = SELECTION_TEXT, .text = "leaf"}};
	CHECK_EQ(selection_set_filter(world.selection, &event, 1), 0);
	CHECK_EQ(selection_refresh(world.selection, UINT64_MAX), 0);
	CHECK_STR(table(&world), "instructions cpu-clock cache-misses branch-misses | "
				 "cache-misses/1k branch-misses/1k; "
				 "main 50000/100000 0/2 0/500 50/50 | ~0.0 1.0; "
				 "leaf 50000/100000 2/2 500/500 0/50 | 10.0 ~0.0");
	CHECK_EQ(selection_set_filter(world.selection, both, 2), 0);
	CHECK_EQ(selection_refresh(world.selection, UINT64_MAX), 0);
	CHECK_STR(table(&world), "instructions cpu-clock cache-misses | misses/1k; "
				 "leaf 50000/50000 2/2 500/500 | 10.0; main 0/50000 0/2 0/500 | -");
	end(&world);
}

/* Of what is added up, a function has all of it, and its parts behind. */
static void computing_and_waiting_of_a_function(void)
{
	struct world world;
	struct event_columns columns = {0};
	struct text out = {0};
	begin(&world, &(struct history_filter){
			      .first_event = true, .time = TIME_SHOWN_WALL, .beside = true});
	add_event(&world, WAIT_EVENT, WEIGHT_NS);
	tables_publish(world.profile.writer);
	add_samples(&world, CLOCK, world.in_main, world.leaf, 2, 100);
	add_samples(&world, MORE_MISSES, world.in_main, world.leaf, 1, 1000);
	add_samples(&world, MORE_MISSES, (struct node_id){0}, world.main, 3, 2000);
	world.selection = selection_of_all(world.history);
	struct selection_functions functions = {0};
	CHECK_EQ(selection_top(world.selection, SELECTION_BY_NAME, 0, &functions, NULL), 0);
	event_columns_begin(&columns, world.selection, world.history);
	for (size_t i = 0; i < functions.nr; i++) {
		event_columns_clear_rows(&columns);
		CHECK_EQ(event_columns_add_function(&columns, world.selection,
						    functions.items[i].id),
			 0);
		for (size_t j = 0; j < columns.nr; j++) {
			const struct selection_amount *of = columns.columns[j].costs.items;
			text_addf(&out, "%d %d of %d; ", (int)of[0].weight, (int)of[1].weight,
				  (int)columns.columns[j].whole);
		}
	}
	CHECK_STR(text_string(&out), "1200 1200 of 7200; 200 200 of 200; 1000 1000 of 7000; "
				     "6000 7200 of 7200; 0 200 of 200; 6000 7000 of 7000; ");
	text_release(&out);
	free(functions.items);
	event_columns_release(&columns);
	end(&world);
}

int main(void)
{
	RUN(ratios_are_of_what_was_counted);
	RUN(few_that_carry_most_are_few);
	RUN(filters_hold_for_all);
	RUN(computing_and_waiting_of_a_function);
	return test_done();
}
