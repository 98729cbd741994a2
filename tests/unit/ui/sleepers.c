/* SPDX-License-Identifier: MIT */
/* Threads that have no samples are listed, too. */
#include "interface.h"

enum { MANY = 10000 };

static const struct ui_thread three[] = {{42, 42}, {42, 50}, {42, 51}};

static void begin_with(const struct ui_thread *sleepers, size_t nr, bool with_samples, int rows,
		       int cols)
{
	const struct ui_options options = {0};
	begin_profile(false);
	profile.sleepers = sleepers;
	profile.nr_sleepers = nr;
	for (uint64_t second = 1; with_samples && second <= SECONDS; second++)
		add_samples(&stacks[0], second);
	begin_ui(&options);
	CHECK_EQ(ui_resize(profile.ui, rows, cols), 0);
}

static size_t lines_with(const char *wanted)
{
	struct text text = {0};
	cells_text(ui_draw(profile.ui), &text);
	size_t nr = 0;
	for (const char *at = text_string(&text); (at = strstr(at, wanted)); at++)
		nr++;
	text_release(&text);
	return nr;
}

static void a_deadlock_is_a_list_of_threads(void)
{
	begin_with(three, 3, false, 24, 80);
	press("6<Down>");
	compare("sleepers-80x24");
	end();
}

static void behind_those_that_run(void)
{
	begin_with(three, 3, true, 36, 120);
	press("6<End>");
	compare("sleepers-120x36");
	end();
}

static void a_name_is_found_that_is_not_on_the_screen(void)
{
	static struct ui_thread many[MANY];
	for (int i = 0; i < MANY; i++)
		many[i] = (struct ui_thread){42, 50 + i};
	begin_with(many, MANY, true, 24, 80);
	press("6/named 9000<Enter>");
	CHECK_EQ(lines_with("\n>                  9000 "), 1);
	press("<Home>");
	CHECK_EQ(lines_with("\n>  100.0"), 1);
	/* The selection stays with its thread. */
	press("<Down><Down><Down>");
	CHECK_EQ(ui_refresh(profile.ui, profile.now_ns + 10000000000), 0);
	CHECK_EQ(lines_with("\n>                    52 "), 1);
	end();
}

static void by_process(void)
{
	begin_with(three, 3, false, 24, 80);
	press("6p");
	compare("sleepers-by-process");
	end();
}

/* Those ask for samples. */
static void filters_of_functions_leave_them_out(void)
{
	begin_with(three, 3, true, 24, 80);
	press("6");
	CHECK_EQ(lines_with("futex_do_wait"), 2);
	press("\\serve<Enter>");
	CHECK_EQ(lines_with("futex_do_wait"), 0);
	press("<Esc>K");
	CHECK_EQ(lines_with("futex_do_wait"), 0);
	press("<Esc><End><Enter>"); /* one of them alone */
	CHECK_EQ(lines_with("[k] futex_do_wait"), 1);
	CHECK_EQ(lines_with("filter: thread=51 sleeper"), 1);
	end();
}

static void one_that_has_left_is_named(void)
{
	begin_with(NULL, 0, true, 24, 80);
	press("6<Enter>1");
	CHECK_EQ(lines_with("filter: thread=42 program "), 1);
	const uint64_t later_s = profile.now_ns / 1000000000 + 20;
	add_samples(&stacks[4], later_s); /* another thread's */
	CHECK_EQ(ui_refresh(profile.ui, later_s * 1000000000 + 500000000), 0);
	CHECK_EQ(lines_with("  No samples of thread 42 program in the last 10 s; Esc shows all.\n"),
		 1);
	end();
}

/* What has ended does nothing any more. */
static void not_of_what_has_ended(void)
{
	begin_with(three, 3, true, 24, 80);
	profile.facts.state = UI_EXITED;
	CHECK_EQ(ui_refresh(profile.ui, profile.now_ns), 0);
	press("6");
	CHECK_EQ(lines_with("futex"), 0);
	end();
}

/* Where there is an account: how much of a CPU, how much waiting, and since when to the tenth of a second. */
static void what_they_did_lately(void)
{
	begin_with(three, 3, true, 24, 80);
	profile.has_times = true;
	CHECK_EQ(ui_refresh(profile.ui, profile.now_ns), 0);
	press("6<End>");
	compare("sleepers-times-80x24");
	CHECK_EQ(ui_resize(profile.ui, 36, 120), 0);
	compare("sleepers-times-120x36");
	press("p");
	compare("sleepers-times-by-process");
	/* What a cut line keeps is since when. */
	press("p");
	CHECK_EQ(ui_resize(profile.ui, 24, 72), 0);
	CHECK_EQ(lines_with(" 12.3s "), 2);
	/* Since a reset nobody knows; samples tell of the CPU. */
	press("r");
	CHECK_EQ(ui_refresh(profile.ui, profile.now_ns), 0);
	CHECK_EQ(lines_with("WAIT%"), 0);
	CHECK_EQ(lines_with("CPU%"), 1);
	end();
}

int main(void)
{
	RUN(a_deadlock_is_a_list_of_threads);
	RUN(behind_those_that_run);
	RUN(a_name_is_found_that_is_not_on_the_screen);
	RUN(by_process);
	RUN(filters_of_functions_leave_them_out);
	RUN(one_that_has_left_is_named);
	RUN(not_of_what_has_ended);
	RUN(what_they_did_lately);
	return test_done();
}
