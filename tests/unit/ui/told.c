/* SPDX-License-Identifier: MIT */
/* What the interface has to tell of what went wrong. */
#include "small_world.h"

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
	CHECK(small_shows("no more filters fit: Esc takes back the last"));
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

int main(void)
{
	RUN(a_filter_too_many_is_told);
	return test_done();
}
