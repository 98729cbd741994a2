/* SPDX-License-Identifier: MIT */
#include "test.h"

#include <ctop/terminal/cells.h>

static struct cells cells;
static struct text text;

static void begin(int rows, int cols)
{
	cells_release(&cells);
	CHECK_EQ(cells_resize(&cells, rows, cols), 0);
}

static const char *shown(void)
{
	text_clear(&text);
	cells_text(&cells, &text);
	return text_string(&text);
}

static const char *attributes(void)
{
	text_clear(&text);
	cells_text_attributes(&cells, &text);
	return text_string(&text);
}

static void text_is_cut_at_its_room_and_at_the_edge(void)
{
	begin(2, 6);
	CHECK_EQ(cells_put(&cells, 0, 0, 3, ROLE_TEXT, "abcdef"), 3);
	CHECK_EQ(cells_put(&cells, 1, 4, 100, ROLE_TEXT, "xyz"), 2);
	CHECK_STR(shown(), "abc\n    xy\n");
	CHECK_EQ(cells_put_cut(&cells, 0, 0, 4, ROLE_TEXT, "abcdef"), 4);
	CHECK_STR(shown(), "abc…\n    xy\n");
	CHECK_EQ(cells_put_cut(&cells, 0, 0, 6, ROLE_TEXT, "abcdef"), 6);
	CHECK_STR(shown(), "abcdef\n    xy\n");
}

static void nothing_is_drawn_outside(void)
{
	begin(1, 4);
	CHECK_EQ(cells_put(&cells, -1, 0, 4, ROLE_TEXT, "abc"), 0);
	CHECK_EQ(cells_put(&cells, 1, 0, 4, ROLE_TEXT, "abc"), 0);
	CHECK_EQ(cells_put(&cells, 0, -2, 4, ROLE_TEXT, "abc"), 0);
	CHECK_EQ(cells_put(&cells, 0, 9, 4, ROLE_TEXT, "abc"), 0);
	CHECK_EQ(cells_put_cut(&cells, 0, 9, 4, ROLE_TEXT, "abc"), 0);
	CHECK_EQ(cells_put(&cells, 0, 0, -3, ROLE_TEXT, "abc"), 0);
	cells_mark(&cells, (struct area){-5, -5, 100, 100}, CELL_BOLD);
	cells_blank(&cells, (struct area){0, 3, -1, 5});
	CHECK_STR(shown(), "\n");
	CHECK_STR(attributes(), "bbbb\n");
}

static void wide_characters_take_two_cells(void)
{
	begin(1, 5);
	CHECK_EQ(cells_put(&cells, 0, 0, 5, ROLE_TEXT, "漢字x"), 5);
	CHECK_STR(shown(), "漢字x\n");
	/* One that has half the room it needs is left out. */
	begin(1, 3);
	CHECK_EQ(cells_put(&cells, 0, 0, 3, ROLE_TEXT, "漢字"), 2);
	CHECK_STR(shown(), "漢\n");
}

static void half_a_wide_character_becomes_a_blank(void)
{
	begin(1, 4);
	cells_put(&cells, 0, 0, 4, ROLE_TEXT, "漢字");
	cells_put(&cells, 0, 1, 1, ROLE_TEXT, "x");
	CHECK_STR(shown(), " x字\n");
	cells_put(&cells, 0, 2, 1, ROLE_TEXT, "y");
	CHECK_STR(shown(), " xy\n");
}

static void marks_combine_with_what_is_before_them(void)
{
	begin(1, 4);
	CHECK_EQ(cells_put(&cells, 0, 0, 4, ROLE_TEXT, "e\xcc\x81x"), 2);
	CHECK_STR(shown(), "e\xcc\x81x\n");
	/* More of them than a cell holds: cut between characters. */
	begin(1, 2);
	cells_put(&cells, 0, 0, 2, ROLE_TEXT,
		  "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81z");
	CHECK_STR(shown(), "e\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81\xcc\x81z\n");
}

static void ascii_only(void)
{
	begin(1, 8);
	cells.ascii = true;
	CHECK_EQ(cells_put(&cells, 0, 0, 8, ROLE_TEXT, "a漢é\xcc\x81z"), 5);
	cells.ascii = false;
	CHECK_STR(shown(), "a???z\n");
}

static void writing_takes_attributes_away(void)
{
	begin(1, 4);
	cells_put(&cells, 0, 0, 4, ROLE_TEXT, "abcd");
	cells_mark(&cells, (struct area){0, 1, 1, 2}, CELL_REVERSE);
	CHECK_STR(attributes(), ".rr.\n");
	cells_put(&cells, 0, 1, 1, ROLE_BAD, "x");
	CHECK_STR(attributes(), "..r.\n");
	CHECK_EQ(cells.items[1].role, ROLE_BAD);
}

int main(void)
{
	RUN(text_is_cut_at_its_room_and_at_the_edge);
	RUN(nothing_is_drawn_outside);
	RUN(wide_characters_take_two_cells);
	RUN(half_a_wide_character_becomes_a_blank);
	RUN(marks_combine_with_what_is_before_them);
	RUN(ascii_only);
	RUN(writing_takes_attributes_away);
	cells_release(&cells);
	text_release(&text);
	return test_done();
}
