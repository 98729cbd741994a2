/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TERMINAL_RESCUE_H
#define CTOP_TERMINAL_RESCUE_H

/*
 * Puts the terminal back when the process dies of a fatal signal. Armed before the terminal is
 * touched; gets the terminal's own sequences once they are known. There is one terminal per process.
 */

void terminal_rescue_arm(void);
/* Sequences of terminfo's; NULL and (char *)-1: it has none. Copied. */
void terminal_rescue_learn(const char *leave_screen, const char *show_cursor,
			   const char *reset_look, const char *leave_keypad);
void terminal_rescue_disarm(void);

#endif
