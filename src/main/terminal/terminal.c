/* SPDX-License-Identifier: MIT */
#define NCURSES_WIDECHAR 1
#include <ctop/terminal/terminal.h>

#include <curses.h>
#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <term.h>
#include <termios.h>
#include <unistd.h>

#include "terminal_keys.h"
#include "terminal_rescue.h"

enum { ESCAPE_DELAY_MS = 25 };
/* What terminals accept of a clipboard. */
enum { COPY_BYTES_MAX = 74994 };

struct terminal {
	SCREEN *screen;
	enum theme theme;
	struct cells shown; /* what is on the screen */
	bool repaint;
};

bool terminal_is_usable(void)
{
	const char *name = getenv("TERM");
	return isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) && name && *name &&
	       strcmp(name, "dumb") != 0;
}

bool terminal_speaks_utf8(void)
{
	setlocale(LC_CTYPE, "");
	return strcmp(nl_langinfo(CODESET), "UTF-8") == 0;
}

static void begin_colours(struct terminal *terminal)
{
	bool has_colours = has_colors() && start_color() == OK && use_default_colors() == OK;
	terminal->theme = theme_resolve(terminal->theme, has_colours && COLORS >= 8);
	if (terminal->theme == THEME_MONO)
		return;
	for (short role = 0; role < NR_ROLES; role++) {
		struct role_look look = theme_look(terminal->theme, COLORS, (enum role)role);
		init_pair((short)(role + 1), look.colour, look.background);
	}
}

static void leave_alone(int number)
{
	(void)number;
}

struct terminal *terminal_open(enum theme theme, struct error *error)
{
	struct terminal *terminal = calloc(1, sizeof(*terminal));
	if (!terminal) {
		error_set(error, -ENOMEM, "out of memory");
		return NULL;
	}
	int bad = 0;
	terminal->theme = theme;
	terminal_rescue_arm();
	setlocale(LC_CTYPE, "");
	/*
	 * Suspending is done here, at a time of our own choosing; curses would do it in a handler, and ignore the signal while it draws, which
	 * throws away one that is pending. Where it finds another handler (ncurses 6.4, lib_tstp.c) it leaves the signal alone for ever.
	 */
	signal(SIGTSTP, leave_alone);
	/* newterm(), unlike initscr(), says why it cannot; setupterm() tells before it prints. */
	if (setupterm(NULL, STDOUT_FILENO, &bad) == OK)
		terminal->screen = newterm(NULL, stdout, stdin);
	signal(SIGTSTP, SIG_DFL);
	if (!terminal->screen) {
		const char *name = getenv("TERM");
		error_set(error, -ENOTTY, "unknown terminal type '%s'", name ? name : "");
		error_remedy(error, "set TERM to a known one, as in TERM=xterm; or use --stdio");
		terminal_rescue_disarm();
		free(terminal);
		return NULL;
	}
	terminal_rescue_learn(tigetstr("rmcup"), tigetstr("cnorm"), tigetstr("sgr0"),
			      tigetstr("rmkx"));
	set_escdelay(ESCAPE_DELAY_MS);
	cbreak();
	noecho();
	nonl();
	nodelay(stdscr, TRUE);
	keypad(stdscr, TRUE);
	curs_set(0);
	begin_colours(terminal);
	terminal->repaint = true;
	return terminal;
}

/* Where there is no other screen to come back from (vt100, the console), what was drawn goes, not to mix with a prompt. */
static void leave_screen(void)
{
	const char *other_screen = tigetstr("smcup");
	if (!other_screen || other_screen == (const char *)-1) {
		erase();
		refresh();
	}
	endwin();
}

void terminal_close(struct terminal *terminal)
{
	if (!terminal)
		return;
	leave_screen();
	terminal_rescue_disarm();
	delscreen(terminal->screen);
	cells_release(&terminal->shown);
	free(terminal);
}

void terminal_size(const struct terminal *terminal, int *rows, int *cols)
{
	struct winsize size = {0};
	(void)terminal;
	if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || !size.ws_row || !size.ws_col) {
		*rows = LINES > 0 ? LINES : 24;
		*cols = COLS > 0 ? COLS : 80;
		return;
	}
	*rows = size.ws_row;
	*cols = size.ws_col;
}

/* ---- the grid to the screen ---- */

static attr_t curses_attributes(unsigned attributes)
{
	return (attributes & CELL_BOLD ? A_BOLD : 0) | (attributes & CELL_REVERSE ? A_REVERSE : 0) |
	       (attributes & CELL_UNDERLINE ? A_UNDERLINE : 0) |
	       (attributes & CELL_FAINT ? A_DIM : 0);
}

static void set_look(const struct terminal *terminal, const struct cell *cell)
{
	bool in_bar = cell->attributes & CELL_SELECTED;
	enum role role = in_bar ? ROLE_BAR : (enum role)cell->role;
	struct role_look look = theme_look(terminal->theme, COLORS, role);
	/* Reverse twice is not reverse at all. */
	unsigned attributes = (unsigned)look.attributes | cell->attributes;
	short pair = terminal->theme == THEME_MONO ? 0 : (short)(role + 1);
	attr_set(curses_attributes(attributes), pair, NULL);
}

static bool same_look(const struct cell *a, const struct cell *b)
{
	return a->role == b->role && a->attributes == b->attributes;
}

static void draw_row(const struct terminal *terminal, const struct cells *cells, int row)
{
	const struct cell *line = &cells->items[(size_t)row * (size_t)cells->cols];
	char run[256];
	for (int col = 0; col < cells->cols;) {
		int first = col;
		size_t size = 0;
		while (col < cells->cols && same_look(&line[col], &line[first]) &&
		       size + CELL_BYTES < sizeof(run)) {
			size_t bytes = strlen(line[col].text);
			memcpy(run + size, line[col].text, bytes);
			size += bytes;
			col++;
		}
		set_look(terminal, &line[first]);
		mvaddnstr(row, first, run, (int)size);
	}
}

static bool same_row(const struct cells *a, const struct cells *b, int row)
{
	size_t first = (size_t)row * (size_t)a->cols;
	return !memcmp(&a->items[first], &b->items[first], (size_t)a->cols * sizeof(*a->items));
}

void terminal_draw(struct terminal *terminal, const struct cells *cells)
{
	struct cells *shown = &terminal->shown;
	bool resized = shown->rows != cells->rows || shown->cols != cells->cols;
	if (resized) {
		if (LINES != cells->rows || COLS != cells->cols)
			resizeterm(cells->rows, cells->cols);
		if (cells_resize(shown, cells->rows, cells->cols))
			return;
	}
	bool all = resized || terminal->repaint;
	if (terminal->repaint)
		clearok(curscr, TRUE);
	for (int row = 0; row < cells->rows; row++)
		if (all || !same_row(shown, cells, row))
			draw_row(terminal, cells, row);
	memcpy(shown->items, cells->items,
	       (size_t)cells->rows * (size_t)cells->cols * sizeof(*cells->items));
	terminal->repaint = false;
	move(cells->rows - 1, 0);
	refresh();
}

void terminal_repaint(struct terminal *terminal)
{
	terminal->repaint = true;
}

/* ---- keys ---- */

static bool is_gone(void)
{
	struct pollfd poll_fd = {.fd = STDIN_FILENO};
	return poll(&poll_fd, 1, 0) == 1 && poll_fd.revents & (POLLHUP | POLLERR | POLLNVAL);
}

int terminal_key(struct terminal *terminal)
{
	wint_t code;
	(void)terminal;
	int kind = get_wch(&code);
	if (kind == ERR)
		return is_gone() ? -1 : 0;
	return terminal_key_code(kind == KEY_CODE_YES, code);
}

void terminal_set_mouse(struct terminal *terminal, bool on)
{
	(void)terminal;
	mousemask(on ? BUTTON1_PRESSED | BUTTON1_RELEASED | BUTTON4_PRESSED | BUTTON5_PRESSED : 0,
		  NULL);
	/* Each as it comes: it may be let go at another place. */
	mouseinterval(0);
}

/* ---- away and back ---- */

void terminal_suspend(struct terminal *terminal)
{
	leave_screen();
	terminal_rescue_disarm();
	sigset_t stop, before;
	sigemptyset(&stop);
	sigaddset(&stop, SIGTSTP);
	sigprocmask(SIG_UNBLOCK, &stop, &before);
	kill(0, SIGTSTP); /* the whole job, as the terminal would */
	sigprocmask(SIG_SETMASK, &before, NULL);
	terminal_rescue_arm();
	terminal_resume(terminal);
}

void terminal_resume(struct terminal *terminal)
{
	reset_prog_mode();
	terminal->repaint = true;
}

/* ---- the clipboard ---- */

static void add_base64(struct text *out, const unsigned char *bytes, size_t size)
{
	static const char digits[] =
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	for (size_t i = 0; i < size; i += 3) {
		unsigned group = (unsigned)bytes[i] << 16;
		group |= i + 1 < size ? (unsigned)bytes[i + 1] << 8 : 0;
		group |= i + 2 < size ? bytes[i + 2] : 0;
		char four[4] = {digits[group >> 18], digits[group >> 12 & 63],
				i + 1 < size ? digits[group >> 6 & 63] : '=',
				i + 2 < size ? digits[group & 63] : '='};
		text_add_bytes(out, four, sizeof(four));
	}
}

int terminal_copy(struct terminal *terminal, const char *string)
{
	struct text text = {0};
	size_t size = strlen(string);
	bool in_tmux = getenv("TMUX") != NULL;
	(void)terminal;
	if (size > COPY_BYTES_MAX)
		return -E2BIG;
	/* tmux passes on what is wrapped, each escape doubled; it takes the plain one as well when set-clipboard is on. */
	text_add(&text, in_tmux ? "\033Ptmux;\033\033]52;c;" : "\033]52;c;");
	add_base64(&text, (const unsigned char *)string, size);
	text_add(&text, in_tmux ? "\a\033\\" : "\a");
	int result = text.failed ? -ENOMEM : 0;
	if (!result && (fwrite(text.bytes, 1, text.size, stdout) < text.size || fflush(stdout)))
		result = -EIO;
	text_release(&text);
	return result;
}
