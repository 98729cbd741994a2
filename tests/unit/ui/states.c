/* SPDX-License-Identifier: MIT */
/* States that keys do not lead to, and what keys ask of the program. */
#include "interface.h"

static void nothing_sampled_yet(void)
{
	const struct ui_options options = {0};
	begin(&options, false);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	compare("empty-live");
	/* No key and no view may stumble over nothing. */
	press("2<Down><Right><Left>*ECHG3<Down>4<Enter>5<Up><Down><Right><Left><Enter>6<Enter>1"
	      "sI/x<Enter>nNybfFDdtiK%L w[]rv<PgDn><End><Home>?<Esc>");
	ui_draw(profile.ui);
	end();
}

static void the_target_has_ended(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	profile.facts.state = UI_EXITED;
	profile.facts.ending = "status 1";
	profile.facts.lost = 400;
	profile.facts.throttled = 2;
	profile.facts.event = "cpu-clock:u";
	profile.facts.nr_fallbacks = 2;
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(9000) * 1000000000), 0);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	compare("exited");
	end();
}

static void the_target_ends_in_a_pause(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	press(" ");
	profile.facts.state = UI_EXITED;
	profile.facts.ending = "status 1";
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 3)), 0);
	compare("exited-in-a-pause");
	end();
}

static void a_file_is_being_read(void)
{
	const struct ui_options options = {.since_start = true};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	profile.facts.state = UI_LOADING;
	profile.facts.loaded = 0.4;
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * SECONDS), 0);
	compare("loading");
	end();
}

static void the_target_becomes_another_program(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	profile.facts.execs = 1;
	profile.facts.target = "another[42]";
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 1)), 0);
	add_samples(&stacks[4], SECONDS + 2);
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 6)), 0);
	compare("after-an-exec");
	end();
}

/* A history that has no room folds stacks below callers that matter, and forgets old seconds. */
static void what_had_no_room_is_told(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	history_set_limit(profile.history, 1);
	add_samples(&(struct stack){0, 3, STACK_COMPLETE, {"_start", "main", "another"}},
		    SECONDS + 1);
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 1) + 500000000), 0);
	compare("folded");
	end();
}

static void the_rate_is_not_reached(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 120), 0);
	profile.facts.reached_hz = 950;
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 1)), 0);
	compare("rate-reached");
	profile.facts.reached_hz = 700;
	profile.facts.nr_cpus = 8;
	profile.facts.throttled = profile.facts.nr_fallbacks = 1;
	profile.facts.lost = 12;
	profile.facts.fallback = "no hardware counters here: cpu-clock instead of cycles";
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 1)), 0);
	compare("rate-not-reached");
	add_samples(&stacks[3], SECONDS + 5);
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 11)), 0);
	compare("rate-not-reached-later"); /* the row's words are back */
	end();
}

/* Each event by itself: its samples, its share, its name. */
static void one_of_two_events_is_shown(void)
{
	const struct ui_options options = {0};
	struct event_row event = {.period = 1};
	uint32_t id;
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	event.name = event.asked = string_of("faults");
	CHECK_EQ(tables_add_event(profile.writer, &event, &id), 0);
	CHECK_EQ(press("e"), UI_WISH_NONE); /* there is one only */
	compare("event-only");
	for (int i = 0; i < 7; i++)
		add_samples_of((uint8_t)id, &stacks[i % 2 ? 4 : 3], SECONDS + 1);
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 1) + 500000000), 0);
	compare("event-first");
	press("e");
	compare("event-second");
	press("\\serve<Enter>");
	compare("event-filtered");
	press("<Esc>");
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 20)), 0);
	compare("event-without-samples");
	press("e");
	compare("event-first-again");
	end();
}

/* Few samples that stand for nearly everything: they lead, and that they are few is said. */
static void few_samples_carry_most(void)
{
	const struct ui_options options = {0};
	struct event_row event = {.frequency_hz = 999};
	uint32_t id;
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 100), 0);
	event.name = event.asked = string_of("faults");
	CHECK_EQ(tables_add_event(profile.writer, &event, &id), 0);
	for (int i = 0; i < 9; i++)
		add_samples_of_weight((uint8_t)id, &stacks[3], SECONDS + 1, 1);
	add_samples_of_weight((uint8_t)id, &stacks[4], SECONDS + 1, 50000);
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 1) + 500000000), 0);
	press("e");
	compare("event-uneven");
	end();
}

static void a_pause_stands_still(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	press(" ");
	for (uint64_t second = SECONDS + 1; second < SECONDS + 8; second++)
		add_samples(&stacks[4], second);
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 8)), 0);
	compare("paused-later");
	press(" ");
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 8)), 0);
	compare("unpaused");
	end();
}

static void the_selection_follows_its_function(void)
{
	const struct ui_options options = {.since_start = true};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	ui_draw(profile.ui);
	press("/hash_block<Enter>");
	/* It becomes the first of all. */
	for (uint64_t second = SECONDS + 1; second < SECONDS + 200; second++)
		add_samples(&stacks[4], second);
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 200)), 0);
	compare("selection-followed");
	end();
}

/* Moving down, another function overtakes: rows stay for a while, then the order is right again. */
static void rows_stay_while_the_user_moves(void)
{
	const struct ui_options options = {.since_start = true};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	ui_draw(profile.ui);
	press("<Down>");
	for (int i = 0; i < 200; i++)
		add_samples(&stacks[4], SECONDS + 1);
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * SECONDS + 1500000000), 0);
	compare("order-held");
	CHECK_EQ(ui_refresh(profile.ui, UINT64_C(1000000000) * (SECONDS + 3)), 0);
	compare("order-let-go");
	end();
}

static void the_picker(void)
{
	const struct ui_options options = {.view = VIEW_PICKER};
	begin(&options, false);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	compare("picker");
	press("ali");
	compare("picker-filtered");
	CHECK_EQ(press("<Enter>"), UI_WISH_PROFILE);
	size_t nr;
	CHECK_EQ(ui_picked(profile.ui, &nr)[0], 42);
	CHECK_EQ(nr, 1);
	ui_tell(profile.ui,
		"cannot sample process 42 (program): it is not yours, and that is all that can "
		"be said of it here\nrun ctop as its owner, or as root");
	compare("picker-refused");
	CHECK_EQ(press("<BS>"), UI_WISH_NONE);
	CHECK_EQ(press("<Enter>"), UI_WISH_PROFILE); /* and chosen again */
	end();
	begin(&options, false);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	ui_draw(profile.ui);
	CHECK_EQ(press("zzz<Enter>"), UI_WISH_NONE); /* nothing is left to choose */
	CHECK_EQ(press("<Esc>"), UI_WISH_NONE);
	CHECK_EQ(press("<Esc>"), UI_WISH_QUIT);
	end();
}

/* Marked with Space, all of them with *; the filter begins with what was wanted. */
static void several_are_picked(void)
{
	struct ui_options options = {.view = VIEW_PICKER};
	size_t nr;
	begin(&options, false);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	press("  ");
	compare("picker-marked");
	CHECK_EQ(ui_refresh(profile.ui, profile.now_ns + 1), 0); /* marks stay */
	CHECK_EQ(press("<Enter>"), UI_WISH_PROFILE);
	ui_picked(profile.ui, &nr);
	CHECK_EQ(nr, 2);
	press(" <Up> "); /* one more, then not that one */
	CHECK_EQ(press("*<Enter>"), UI_WISH_PROFILE);
	ui_picked(profile.ui, &nr);
	CHECK_EQ(nr, 3);
	press("*"); /* none is marked: the selected one */
	CHECK_EQ(press("<Enter>"), UI_WISH_PROFILE);
	ui_picked(profile.ui, &nr);
	CHECK_EQ(nr, 1);
	end();
	/* Of that name, not those that have it somewhere; until the user types. */
	static const struct {
		const char *wanted, *keys;
		size_t nr;
	} names[] = {{"program", "", 1}, {"idle", "", 1},   {"ali", "", 0},
		     {"alic", "e", 1},	 {"progra", "", 0}, {"odd", "<BS><BS><BS>", 3}};
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		options.wanted = names[i].wanted;
		begin(&options, false);
		CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
		press(names[i].keys);
		CHECK_EQ(press("*<Enter>"), names[i].nr ? UI_WISH_PROFILE : UI_WISH_NONE);
		ui_picked(profile.ui, &nr);
		CHECK_EQ(nr, names[i].nr);
		end();
	}
}

static void wishes(void)
{
	const struct ui_options options = {0};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	ui_draw(profile.ui);
	CHECK_EQ(press("q"), UI_WISH_QUIT);
	CHECK_EQ(press("\x1a"), UI_WISH_SUSPEND);
	CHECK_EQ(press("\x0c"), UI_WISH_REPAINT);
	CHECK_EQ(press("m"), UI_WISH_MOUSE);
	CHECK(ui_mouse(profile.ui));
	CHECK_EQ(press("/memcpy<Enter>y"), UI_WISH_COPY);
	CHECK_STR(ui_copied(profile.ui), "memcpy");
	CHECK_EQ(press("/q"), UI_WISH_NONE); /* typed, not pressed */
	CHECK_EQ(press("\x03"), UI_WISH_QUIT);
	end();
}

int main(void)
{
	RUN(nothing_sampled_yet);
	RUN(the_target_has_ended);
	RUN(the_target_ends_in_a_pause);
	RUN(a_file_is_being_read);
	RUN(the_target_becomes_another_program);
	RUN(what_had_no_room_is_told);
	RUN(the_rate_is_not_reached);
	RUN(one_of_two_events_is_shown);
	RUN(few_samples_carry_most);
	RUN(a_pause_stands_still);
	RUN(the_selection_follows_its_function);
	RUN(rows_stay_while_the_user_moves);
	RUN(the_picker);
	RUN(several_are_picked);
	RUN(wishes);
	return test_done();
}
