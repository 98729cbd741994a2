/* SPDX-License-Identifier: MIT */
#include <ctop/terminal/theme.h>

#include <stdlib.h>

#include "test.h"

static bool same_look(struct role_look a, struct role_look b)
{
	return a.colour == b.colour && a.background == b.background && a.attributes == b.attributes;
}

static void the_background_is_believed_where_it_is_told(void)
{
	unsetenv("NO_COLOR");
	unsetenv("COLORFGBG");
	CHECK_EQ(theme_resolve(THEME_AUTO, true), THEME_AUTO);
	setenv("COLORFGBG", "15;0", 1);
	CHECK_EQ(theme_resolve(THEME_AUTO, true), THEME_DARK);
	setenv("COLORFGBG", "0;default;15", 1);
	CHECK_EQ(theme_resolve(THEME_AUTO, true), THEME_LIGHT);
	CHECK_EQ(theme_resolve(THEME_DARK, true), THEME_DARK);
	CHECK_EQ(theme_resolve(THEME_LIGHT, false), THEME_MONO);
	setenv("COLORFGBG", ";", 1);
	CHECK_EQ(theme_resolve(THEME_AUTO, true), THEME_AUTO);
	setenv("NO_COLOR", "1", 1);
	CHECK_EQ(theme_resolve(THEME_AUTO, true), THEME_MONO);
	CHECK_EQ(theme_resolve(THEME_LIGHT, true), THEME_LIGHT);
	unsetenv("NO_COLOR");
	unsetenv("COLORFGBG");
}

/* Heat, kernel, modules and warnings are told apart, in each theme, and letters from what is below them. */
static void one_colour_has_one_meaning(void)
{
	static const enum role meanings[] = {ROLE_HOT,	ROLE_KERNEL, ROLE_MODULE,
					     ROLE_WARN, ROLE_GOOD,   ROLE_DIM};
	enum { NR_MEANINGS = sizeof(meanings) / sizeof(*meanings) };
	for (enum theme theme = THEME_AUTO; theme < THEME_MONO; theme++)
		for (int nr_colours = 8; nr_colours <= 256; nr_colours += 248) {
			for (size_t i = 0; i < NR_MEANINGS; i++)
				for (size_t k = 0; k < i; k++)
					CHECK(!same_look(
						theme_look(theme, nr_colours, meanings[i]),
						theme_look(theme, nr_colours, meanings[k])));
			for (enum role role = ROLE_TEXT; role < NR_ROLES; role++) {
				struct role_look look = theme_look(theme, nr_colours, role);
				CHECK(look.colour != look.background || look.colour < 0);
			}
		}
}

/* Boxes one above the other differ, with 256 colours and with none. */
static void boxes_have_two_shades(void)
{
	for (enum theme theme = THEME_AUTO; theme <= THEME_MONO; theme++)
		for (int tone = 0; tone < NR_BOX_TONES; tone++) {
			enum role role = (enum role)(ROLE_BOX + 2 * tone);
			CHECK(!same_look(theme_look(theme, 256, role),
					 theme_look(theme, 256, (enum role)(role + 1))));
			CHECK(!same_look(theme_look(theme, 256, role),
					 theme_look(theme, 256, ROLE_CHOSEN_BOX)));
		}
}

int main(void)
{
	RUN(the_background_is_believed_where_it_is_told);
	RUN(one_colour_has_one_meaning);
	RUN(boxes_have_two_shades);
	return test_done();
}
