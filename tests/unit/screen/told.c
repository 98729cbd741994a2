/* SPDX-License-Identifier: MIT */
/* What the interface has to tell of what went wrong. */
#include "ui/small_profile.h"

#include <ctop/screen/losses.h>

static void a_filter_too_many_is_told(void)
{
	small_begin(30);
	ui_key(small.ui, '6');
	small_refresh(30);
	CHECK(small_shows("SHARE%"));
	int nr = 0;
	for (; nr < 40 && !small_line("no more filters fit"); nr++) {
		ui_key(small.ui, KEY_RETURN);
		ui_draw(small.ui);
	}
	CHECK(nr > 20 && nr < 40);
	CHECK(small_shows("no more filters fit: Esc undoes the last"));
	/* It goes with the next key, and Esc makes room. */
	ui_key(small.ui, KEY_ESCAPE);
	CHECK(!small_line("no more filters"));
	ui_key(small.ui, KEY_RETURN);
	CHECK(!small_line("no more filters"));
	ui_key(small.ui, KEY_RETURN);
	CHECK(small_shows("no more filters"));
	ui_key(small.ui, 'K');
	CHECK(small_shows("no more filters"));
	small_end();
}

/* ---- notices ---- */

static void what_went_wrong_stays_until_it_is_read(void)
{
	small_begin(30);
	small.facts.notices = "the collector was killed by signal 11\n";
	small_refresh(31);
	CHECK(small_shows("! the collector was killed by signal 11"));
	CHECK(small_shows("i: all"));
	/* No key but that one takes it away, nor time. */
	for (const char *key = "jk2s wv"; *key; key++)
		ui_key(small.ui, *key);
	small_refresh(300);
	CHECK(small_shows("! the collector was killed by signal 11"));
	ui_key(small.ui, 'i');
	ui_draw(small.ui);
	ui_key(small.ui, KEY_ESCAPE);
	CHECK(!small_line("the collector died"));
	/* What is new is shown, what was read is not shown again. */
	small.facts.notices = "the collector was killed by signal 11\nsecond\nthird\n";
	small_refresh(301);
	CHECK(small_shows("! second"));
	CHECK(small_shows("(+1)  i: all"));
	CHECK(!small_line("signal 11"));
	/* Escape takes back a filter first. */
	ui_key(small.ui, 'K');
	ui_key(small.ui, KEY_ESCAPE);
	CHECK(small_shows("! second"));
	ui_key(small.ui, KEY_ESCAPE);
	CHECK(!small_line("second"));
	CHECK(!small_line("no filter to undo"));
	ui_key(small.ui, KEY_ESCAPE);
	CHECK(small_shows("no filter to undo"));
	small_end();
}

static void a_notice_fits_every_screen(void)
{
	static const int sizes[][2] = {{24, 80}, {10, 40}, {8, 20}, {6, 12}, {3, 5}, {1, 1}};
	small_begin(30);
	small.facts.notices = "a very long notice about a file that has been damaged in the middle "
			      "of its first part, which is told all the same\nanother\n";
	small_refresh(31);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		CHECK_EQ(ui_resize(small.ui, sizes[i][0], sizes[i][1]), 0);
		CHECK(sizes[i][0] < 6 ? !small_line("! a v") : small_shows("! a v"));
	}
	small_end();
}

/* ---- losses ---- */

static bool header_has(const char *wanted)
{
	return small_shows(wanted);
}

static void losses_are_those_of_the_window(void)
{
	small_begin(30);
	CHECK(!small_line("lost "));
	small.facts.lost = 100;
	small.facts.dropped = 7;
	small_refresh(31);
	CHECK(header_has("lost 100 (50.0%)!"));
	CHECK(header_has("dropped 7 (6.5%)!"));
	small_refresh(40);
	CHECK(header_has("lost 100"));
	/* Ten seconds on it is out of the window, with the samples that came before. */
	small_refresh(41);
	small_samples(300, 41 * SECOND_NS);
	small_refresh(41);
	CHECK(!small_line("lost "));
	CHECK(!strstr(small_line("samples "), "dropped"));
	small.facts.lost = 103;
	small_refresh(42);
	CHECK(header_has("lost 3 (1.0%)!"));
	/* The whole run, and a longer window. */
	ui_key(small.ui, 'w');
	CHECK(header_has("lost 103 (20.5%)!"));
	CHECK(header_has("dropped 7 "));
	ui_key(small.ui, 'w');
	ui_key(small.ui, ']');
	CHECK(header_has("lost 103"));
	small_end();
}

static void a_pause_and_a_reset_hold_for_losses(void)
{
	small_begin(30);
	small.facts.lost = 5;
	small_refresh(30);
	CHECK(header_has("lost 5 "));
	ui_key(small.ui, ' ');
	small.facts.lost = 50;
	small_refresh(30);
	CHECK(header_has("lost 5 "));
	small_refresh(33);
	CHECK(header_has("lost 5 "));
	ui_key(small.ui, ' ');
	small_refresh(34);
	CHECK(header_has("lost 50 "));
	ui_key(small.ui, 'r');
	CHECK(!small_line("lost "));
	small.facts.lost = 52;
	small_samples(98, 34 * SECOND_NS + 900000000);
	small_refresh(34);
	CHECK(header_has("lost 2 (2.0%)!"));
	small_refresh(600);
	CHECK(header_has("lost 2 "));
	small_end();
}

static void throttling_before_a_reset_is_not_told_after_it(void)
{
	small_begin(30);
	small.facts.throttled = 138;
	small_refresh(30);
	CHECK(header_has("throttled 138x!"));
	ui_key(small.ui, 'r');
	small_refresh(31);
	CHECK(!small_line("throttled"));
	small.facts.throttled = 140;
	small_refresh(32);
	CHECK(header_has("throttled 2x!"));
	small_end();
}

static void what_the_host_took_is_told_apart(void)
{
	small_begin(30);
	small.facts.nr_cpus = 2;
	small.facts.cpu_percent = 48;
	small.facts.event = "cpu-clock";
	small.facts.frequency_hz = 999;
	small.facts.reached_hz = 240;
	small_refresh(30);
	CHECK(header_has("busy 24% of 2 CPUs"));
	CHECK(!small_line("stolen"));
	CHECK(small_line("240 Hz reached!") != NULL);
	small.facts.stolen_percent = 76;
	small_refresh(31);
	CHECK(small_line("stolen 76%!") != NULL);
	CHECK(small_line("240 Hz reached: stolen!") != NULL);
	small.facts.stolen_percent = 0;
	small.facts.throttled = 3;
	small_refresh(32);
	CHECK(small_line("240 Hz reached: throttled!") != NULL);
	small_end();
}

static void losses_after_the_last_sample_count(void)
{
	small_begin(30);
	small.facts.state = UI_EXITED;
	small.facts.lost = 8;
	small_refresh(32);
	CHECK(header_has("lost 8 "));
	small_end();
}

static void of_a_file_losses_are_those_of_the_run_or_not_known(void)
{
	small_begin(30);
	small.facts.state = UI_FILE;
	small.facts.lost = 100;
	small_refresh(500);
	CHECK(header_has("lost 100 (50.0%)!"));
	small.facts.lost = 0;
	small.facts.hides_losses = true;
	small_refresh(500);
	CHECK(header_has("lost ?"));
	small_end();
}

static void the_ring_of_losses_forgets_the_oldest_only(void)
{
	struct losses losses = {.nr = 0};
	for (uint64_t second = 1; second <= 10 * LOSSES_SECONDS; second++) {
		losses_note(&losses, second, (struct losses_count){.lost = second});
		CHECK_EQ(losses_between(&losses, 0, second).lost, second);
		uint64_t from = second > 300 ? second - 299 : 1;
		CHECK_EQ(losses_between(&losses, from, second).lost, second - from + 1);
	}
	/* Twice in a second, and seconds in which nobody looked. */
	losses_note(&losses, 10 * LOSSES_SECONDS, (struct losses_count){.lost = 5000});
	CHECK_EQ(losses_between(&losses, 10 * LOSSES_SECONDS, 10 * LOSSES_SECONDS).lost,
		 5000 - (10 * LOSSES_SECONDS - 1));
	losses_note(&losses, 20 * LOSSES_SECONDS, (struct losses_count){.lost = 5001});
	CHECK_EQ(losses_between(&losses, 15 * LOSSES_SECONDS, 16 * LOSSES_SECONDS).lost, 0);
	CHECK_EQ(losses_between(&losses, 15 * LOSSES_SECONDS, 20 * LOSSES_SECONDS).lost, 1);
	/* A counter that goes back. */
	losses_note(&losses, 20 * LOSSES_SECONDS + 1, (struct losses_count){.lost = 1});
	CHECK_EQ(losses_between(&losses, 20 * LOSSES_SECONDS, 20 * LOSSES_SECONDS + 1).lost, 0);
}

static void a_shared_counter_is_told(void)
{
	small_begin(30);
	CHECK(!small_line("counted"));
	small.facts.counted_share = 0.43;
	small_refresh(31);
	CHECK(small_shows("counted 43% of the time!"));
	CHECK_EQ(ui_resize(small.ui, 24, 80), 0);
	CHECK(small_shows("counted 43% of the time!"));
	small.facts.counted_share = 0.99;
	small_refresh(32);
	CHECK(!small_line("counted"));
	small_end();
}

int main(void)
{
	RUN(a_filter_too_many_is_told);
	RUN(what_went_wrong_stays_until_it_is_read);
	RUN(a_notice_fits_every_screen);
	RUN(losses_are_those_of_the_window);
	RUN(a_pause_and_a_reset_hold_for_losses);
	RUN(throttling_before_a_reset_is_not_told_after_it);
	RUN(what_the_host_took_is_told_apart);
	RUN(losses_after_the_last_sample_count);
	RUN(of_a_file_losses_are_those_of_the_run_or_not_known);
	RUN(the_ring_of_losses_forgets_the_oldest_only);
	RUN(a_shared_counter_is_told);
	return test_done();
}
