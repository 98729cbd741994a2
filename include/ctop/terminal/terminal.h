/* SPDX-License-Identifier: MIT */
#ifndef CTOP_TERMINAL_TERMINAL_H
#define CTOP_TERMINAL_TERMINAL_H

/*
 * The terminal: the only user of curses. Takes a grid of cells to the screen with as little
 * output as can be, and keys in. There is one terminal a process: its fatal-signal handlers
 * put it back as it was, whatever happens.
 */

#include <stdbool.h>

#include <ctop/base/error.h>
#include <ctop/terminal/cells.h>
#include <ctop/terminal/theme.h>

struct terminal;

/* Whether standard input and output are a terminal that can place its cursor, judged by the environment alone. */
bool terminal_is_usable(void);
/* Whether the locale (LC_ALL, LC_CTYPE, LANG) speaks UTF-8. Sets the process's LC_CTYPE. */
bool terminal_speaks_utf8(void);

/* Takes over the terminal. NULL with cause and remedy. */
struct terminal *terminal_open(enum theme theme, struct error *error);
/* Leaves the terminal as it was. */
void terminal_close(struct terminal *terminal);

void terminal_size(const struct terminal *terminal, int *rows,
		   int *cols); /* as the kernel tells it now */
void terminal_draw(struct terminal *terminal, const struct cells *cells);
/* The next key: a character or enum key; 0: none is waiting; -1: the terminal is gone. */
int terminal_key(struct terminal *terminal);
/* Stops the process as ^Z does, and returns when it goes on: everything is to be drawn again. */
void terminal_suspend(struct terminal *terminal);
/* After somebody else may have had the terminal: takes it over again. */
void terminal_resume(struct terminal *terminal);
/* Forget what is on the screen: the next draw paints all of it. */
void terminal_repaint(struct terminal *terminal);
void terminal_set_mouse(struct terminal *terminal, bool on);
/*
 * Puts text on the terminal's clipboard (OSC 52, wrapped for tmux). Write-only: nothing is read back. 0, -ENOMEM, -EIO, or
 * -E2BIG: it is more than terminals take.
 */
int terminal_copy(struct terminal *terminal, const char *text);

#endif
