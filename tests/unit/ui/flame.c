/* SPDX-License-Identifier: MIT */
/* The flame graph by keys and mouse: chains, slivers, zooms. */
#include "interface.h"

static bool shows(const char *words)
{
	struct text text = {0};
	cells_text(ui_draw(profile.ui), &text);
	bool found = strstr(text_string(&text), words) != NULL;
	if (!found)
		printf("# no \"%s\" in\n%s", words, text_string(&text));
	text_release(&text);
	return found;
}

static void begin_flame(void)
{
	const struct ui_options options = {.ascii = true};
	begin(&options, true);
	CHECK_EQ(ui_resize(profile.ui, 24, 80), 0);
	ui_draw(profile.ui);
	press("5");
}

/* _start, main and serve have no other callees: one box, until it fills the width. */
static void a_chain_is_one_box_until_it_is_zoomed(void)
{
	begin_flame();
	CHECK(shows("_start ~ serve | 3 "));
	press("<Down><Enter>");
	CHECK(!shows("_start ~ serve"));
	CHECK(shows("main"));
	press("<Esc>");
	CHECK(shows("_start ~ serve | 3 "));
	end();
}

enum { BOXES_ROW = 3 };

static void the_mouse_chooses_and_zooms(void)
{
	begin_flame();
	ui_key(profile.ui, key_of_click(BOXES_ROW + 1, 60));
	CHECK(shows("start_thread | 33.3%, self 0.0% | 80 samples | program"));
	ui_key(profile.ui, key_of_click(BOXES_ROW + 1, 60));
	CHECK(shows(">start_thread "));
	CHECK(shows("worker "));
	CHECK(!shows("_start"));
	/* The box that fills the width gives it back. */
	ui_key(profile.ui, key_of_click(BOXES_ROW + 1, 10));
	CHECK(shows("_start"));
	/* Nothing is there. */
	ui_key(profile.ui, key_of_click(BOXES_ROW + 9, 10));
	ui_key(profile.ui, key_of_click(0, 0));
	ui_key(profile.ui, key_of_click(4000, 4000));
	end();
}

/* Above a box that fills the width, as wide. */
static void callers_stay_above_what_is_zoomed(void)
{
	begin_flame();
	press("<Down><Down><Enter>");
	CHECK(shows("\n|[all]                                                                     "
		    "100%"));
	CHECK(shows("\n|_start ~ serve | 3  "));
	CHECK(shows("\n>parse_request "));
	/* A caller, too, can be chosen, and then fills the width itself. */
	press("<Up>");
	CHECK(shows("\n>_start ~ serve | 3 "));
	press("<Enter>");
	CHECK(shows("\n>_start "));
	CHECK(shows("|parse_request "));
	/* What was below it is no longer to be taken back. */
	press("<Esc>");
	CHECK(shows("_start ~ serve | 3 "));
	end();
}

static void where_there_is_no_room_callers_are_one_box(void)
{
	begin_flame();
	CHECK_EQ(ui_resize(profile.ui, 10, 80), 0);
	press("<Down><Down><Down><Enter>");
	CHECK(shows("\n|[all] ~ serve | 4  "));
	CHECK(shows("\n|parse_request "));
	CHECK(shows("\n>std::map"));
	/* It stands for all of them: the outermost fills the width. */
	press("<Up><Up><Enter>");
	CHECK(shows("_start ~ serve | 3 "));
	end();
}

/* Each key of moving, from each box. */
static void every_box_can_be_reached_and_left(void)
{
	begin_flame();
	for (int round = 0; round < 3; round++)
		press("<Down><Down><Right><Right><Down><Down><Left><Left><Left><Up><Right><Down>"
		      "<Enter><Down><Right><Down><Up><Esc>");
	CHECK(shows("[all]"));
	end();
}

int main(void)
{
	RUN(a_chain_is_one_box_until_it_is_zoomed);
	RUN(the_mouse_chooses_and_zooms);
	RUN(callers_stay_above_what_is_zoomed);
	RUN(where_there_is_no_room_callers_are_one_box);
	RUN(every_box_can_be_reached_and_left);
	return test_done();
}
