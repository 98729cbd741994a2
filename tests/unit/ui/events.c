/* SPDX-License-Identifier: MIT */
/* Several events: lists and trees have a column for each other one, and the ratios that they make, as far as there is room. */
#include "interface.h"

enum { CYCLES = 2, INSTRUCTIONS, MISSES };

static void begin_with_counters(int rows, int cols)
{
	static const struct {
		const char *name;
		enum weight_unit unit;
	} counters[] = {{"cycles", WEIGHT_CYCLES},
			{"instructions", WEIGHT_INSTRUCTIONS},
			{"cache-misses", WEIGHT_MISSES}};
	static const struct ui_options options = {0};
	begin_profile(false);
	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++) {
		struct event_row event = {.weight_unit = counters[i].unit, .frequency_hz = 999};
		uint32_t id;
		event.name = event.asked = string_of(counters[i].name);
		CHECK_EQ(tables_add_event(profile.writer, &event, &id), 0);
	}
	for (uint64_t second = 1; second <= SECONDS; second++)
		for (size_t i = 0; i < sizeof(stacks) / sizeof(*stacks); i++) {
			add_samples_of_weight(CYCLES, &stacks[i], second, 1000000);
			add_samples_of_weight(INSTRUCTIONS, &stacks[i], second,
					      500000 + 250000 * i);
			if (i == 1 || (i == 2 && second == SECONDS))
				add_samples_of_weight(MISSES, &stacks[i], second, 1000 * i);
		}
	begin_ui(&options);
	CHECK_EQ(ui_resize(profile.ui, rows, cols), 0);
	press("e"); /* the clock has no samples */
}

static void as_many_as_there_is_room_for(void)
{
	begin_with_counters(24, 80);
	compare("events-80x24");
	CHECK_EQ(ui_resize(profile.ui, 24, 100), 0);
	compare("events-100x24");
	CHECK_EQ(ui_resize(profile.ui, 36, 140), 0);
	compare("events-140x36");
	CHECK_EQ(ui_resize(profile.ui, 10, 40), 0);
	compare("events-40x10");
	end();
}

/* Each may be the one that rows are sorted by; groups have them, too. */
static void of_another_and_of_lines(void)
{
	begin_with_counters(24, 100);
	press("e");
	compare("events-instructions");
	press("bbbbb");
	compare("events-threads");
	press("<Enter>");
	compare("events-of-a-thread");
	end();
}

/* Of a tree's rows all that is below them. */
static void of_trees(void)
{
	begin_with_counters(24, 80);
	press("2");
	compare("events-tree-80x24");
	CHECK_EQ(ui_resize(profile.ui, 36, 160), 0);
	compare("events-tree-160x36");
	press("3");
	compare("events-callers-160x36");
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	press("14");
	compare("events-sandwich-80x24");
	end();
}

int main(void)
{
	RUN(as_many_as_there_is_room_for);
	RUN(of_another_and_of_lines);
	RUN(of_trees);
	return test_done();
}
