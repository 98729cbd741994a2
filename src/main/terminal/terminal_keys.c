/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1
#include "terminal_keys.h"

#include <curses.h>

/* Curses and our own table both call keys KEY_*: only the names that are the same are in each other's way. */
enum { CURSES_F1 = KEY_F(1), CURSES_F4 = KEY_F(4), CURSES_F10 = KEY_F(10) };

#include <ctop/terminal/key.h>

static int mouse_key(void)
{
	MEVENT event;
	if (getmouse(&event) != OK)
		return 0;
	if (event.bstate & BUTTON4_PRESSED)
		return KEY_WHEEL_UP;
	if (event.bstate & BUTTON5_PRESSED)
		return KEY_WHEEL_DOWN;
	if (event.bstate & BUTTON1_RELEASED)
		return key_of_letting_go(event.y, event.x);
	return event.bstate & BUTTON1_PRESSED ? key_of_click(event.y, event.x) : 0;
}

int terminal_key_code(bool is_function_key, wint_t code)
{
	static const struct {
		int curses, ours;
	} keys[] = {
		{KEY_UP, KEY_ARROW_UP},	     {KEY_DOWN, KEY_ARROW_DOWN},
		{KEY_LEFT, KEY_ARROW_LEFT},  {KEY_RIGHT, KEY_ARROW_RIGHT},
		{KEY_SLEFT, KEY_SHIFT_LEFT}, {KEY_SRIGHT, KEY_SHIFT_RIGHT},
		{KEY_BTAB, KEY_SHIFT_TAB},   {KEY_PPAGE, KEY_PAGE_UP},
		{KEY_NPAGE, KEY_PAGE_DOWN},  {KEY_HOME, KEY_TO_HOME},
		{KEY_END, KEY_TO_END},	     {KEY_BACKSPACE, KEY_ERASE},
		{KEY_ENTER, KEY_RETURN},     {CURSES_F1, KEY_F1},
		{CURSES_F4, KEY_F4},	     {CURSES_F10, KEY_F10},
	};
	if (!is_function_key)
		return code == '\r' ? KEY_RETURN : code == '\b' ? KEY_ERASE : (int)code;
	if (code == KEY_MOUSE)
		return mouse_key();
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		if (keys[i].curses == (int)code)
			return keys[i].ours;
	return 0;
}
