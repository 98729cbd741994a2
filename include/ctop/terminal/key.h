/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TERMINAL_KEY_H
#define CTOP_TERMINAL_KEY_H

/* What a terminal tells of one key or click: a Unicode character, or one of these codes. */

enum key {
	KEY_TAB = 9,
	KEY_RETURN = 10,
	KEY_CTRL_L = 12,
	KEY_ESCAPE = 27,
	KEY_ERASE = 127,
	KEY_CTRL_U = 21,
	KEY_CTRL_W = 23,
	KEY_CTRL_C = 3,
	KEY_CTRL_Z = 26,
	/* beyond Unicode */
	KEY_ARROW_UP = 0x110000,
	KEY_ARROW_DOWN,
	KEY_ARROW_LEFT,
	KEY_ARROW_RIGHT,
	KEY_SHIFT_LEFT,
	KEY_SHIFT_RIGHT,
	KEY_SHIFT_TAB,
	KEY_PAGE_UP,
	KEY_PAGE_DOWN,
	KEY_TO_HOME,
	KEY_TO_END,
	KEY_F1,
	KEY_F4,
	KEY_F10,
	KEY_WHEEL_UP,
	KEY_WHEEL_DOWN,
	KEY_CLICK = 0x1000000,	/* and above: key_of_click() */
	KEY_LET_GO = 0x2000000, /* and above: key_of_letting_go() */
};

enum { CLICK_COLS = 1 << 12 };
/* The mouse at a place of the screen. */
static inline int key_of_click(int row, int col)
{
	return KEY_CLICK + (row % CLICK_COLS) * CLICK_COLS + col % CLICK_COLS;
}
/* Its button is let go, there or elsewhere. */
static inline int key_of_letting_go(int row, int col)
{
	return KEY_LET_GO + (row % CLICK_COLS) * CLICK_COLS + col % CLICK_COLS;
}

#endif
