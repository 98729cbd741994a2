/* SPDX-License-Identifier: MIT */
#include "terminal_rescue.h"

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGQUIT, SIGTRAP};
enum { NR_FATAL_SIGNALS = sizeof(fatal_signals) / sizeof(*fatal_signals) };

/* A handler can be given nothing: the one exception to having no globals. */
static struct {
	bool has_mode;
	struct termios mode;
	char farewell[256];
	size_t farewell_bytes;
	struct sigaction before[NR_FATAL_SIGNALS];
} rescue;

/* Only what is allowed in a handler: write(), tcsetattr(), raise(). */
static void save_terminal(int signal_number)
{
	ssize_t ignored = write(STDOUT_FILENO, rescue.farewell, rescue.farewell_bytes);
	(void)ignored;
	if (rescue.has_mode)
		tcsetattr(STDIN_FILENO, TCSANOW, &rescue.mode);
	raise(signal_number); /* reset to what it was by default, and let in once this returns */
}

void terminal_rescue_arm(void)
{
	rescue.has_mode = tcgetattr(STDIN_FILENO, &rescue.mode) == 0;
	struct sigaction action = {.sa_handler = save_terminal, .sa_flags = (int)SA_RESETHAND};
	sigemptyset(&action.sa_mask);
	for (size_t i = 0; i < NR_FATAL_SIGNALS; i++)
		sigaction(fatal_signals[i], &action, &rescue.before[i]);
}

static void add(const char *sequence)
{
	if (!sequence || sequence == (const char *)-1)
		return;
	size_t size = strlen(sequence);
	if (rescue.farewell_bytes + size > sizeof(rescue.farewell))
		return;
	memcpy(rescue.farewell + rescue.farewell_bytes, sequence, size);
	rescue.farewell_bytes += size;
}

void terminal_rescue_learn(const char *leave_screen, const char *show_cursor,
			   const char *reset_look, const char *leave_keypad)
{
	rescue.farewell_bytes = 0;
	add("\033[?1000l\033[?1006l"); /* the mouse, which may be on */
	add(reset_look);
	add(leave_keypad);
	add(show_cursor);
	add(leave_screen);
}

void terminal_rescue_disarm(void)
{
	for (size_t i = 0; i < NR_FATAL_SIGNALS; i++)
		sigaction(fatal_signals[i], &rescue.before[i], NULL);
}
