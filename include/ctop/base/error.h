/* SPDX-License-Identifier: MIT */
#ifndef CTOP_BASE_ERROR_H
#define CTOP_BASE_ERROR_H

/*
 * Why something failed, for the person at the terminal: one line of cause and
 * one of remedy. Recorded where the cause is known, printed once by the command (src/main/cli/main.c).
 * Both lines are lower-case, without a full stop.
 */

#include <stddef.h>

enum error_exit { ERROR_EXIT_FAILED = 1, ERROR_EXIT_USAGE = 2 };

struct error {
	char cause[512];
	char remedy[512]; /* "" when there is nothing to advise */
	int code;	  /* as the cause was set with */
	int exit_code;	  /* enum error_exit, or a command's own 126 or 127 */
	/* When it is a matter of rights: whose rules forbid it, as the layer that was refused numbers them; else 0. */
	int refusal;
	char tried[160]; /* and what was tried; "" */
};

/* Sets the cause (and clears the remedy); returns code, so that `return error_set(err, -errno, ...)`. */
int error_set(struct error *error, int code, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same for a mistake in what the user typed: exit code 2. Returns -EINVAL. */
int error_usage(struct error *error, const char *format, ...) __attribute__((format(printf, 2, 3)));
/*
 * A mistake at a place in what was typed, marked with an arrow: "no such term: 'cpu/>>>confg=1/'". Both sides are
 * cut where they are long. Returns -EINVAL.
 */
int error_marked(struct error *error, const char *typed, size_t at, const char *format, ...)
	__attribute__((format(printf, 4, 5)));
/* Adds the remedy to a cause already set. Returns the cause's code. */
int error_remedy(struct error *error, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
