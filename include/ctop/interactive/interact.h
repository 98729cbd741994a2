/* SPDX-License-Identifier: MIT */
#ifndef CTOP_INTERACTIVE_INTERACT_H
#define CTOP_INTERACTIVE_INTERACT_H

/*
 * The interface on a terminal: keys, signals, time and a session (session/loop.h). Shows a
 * running profile, or one that is read from a file. It has the terminal from interact_open() to
 * interact_close(), whatever is shown in between.
 */

#include <ctop/base/error.h>
#include <ctop/history/history.h>
#include <ctop/options/options.h>
#include <ctop/session/session.h>
#include <ctop/output/refusal_text.h>

struct compare;
struct load;
struct interact;

/* Whether the user is to have the interface rather than text. */
bool interact_wanted(const struct options *options);

/* Blocks the signals that the loop reads; before anything is forked. *fd: a signalfd. 0 or -errno. */
int interact_block_signals(int *fd);

/* Takes the terminal. NULL with error. Options and signal_fd stay the caller's. */
struct interact *interact_open(const struct options *options, int signal_fd, struct error *error);
/* Leaves the terminal as it was. NULL is fine. */
void interact_close(struct interact *interact);

struct interact_source {
	struct session *session; /* a live one; NULL: a file */
	const struct load *load; /* of a file */
	struct load *loading;	 /* the same while it is still being read; else NULL */
	struct history *history;
	int32_t pid; /* the process that is all of the target; 0: there is none */
	const struct compare *compare; /* with another profile, of that name; NULL */
	const char *compared_with;
};

/* Until the user leaves. 0 or -errno with error. */
int interact_run(struct interact *interact, const struct interact_source *source,
		 struct error *error);

/* Whether the user left by ^C where the terminal makes that a signal: a command of ours got it, too. */
bool interact_was_interrupted(const struct interact *interact);

/* Shows why nothing can be sampled, until the user has read it. 0 or -errno with error. */
int interact_show_refusal(struct interact *interact, const struct refusal *refusal,
			  struct error *error);

/*
 * Lets the user choose processes, of those that have `wanted` (NULL: any) in their names or command lines at first. *pids is borrowed until
 * the next call; *nr: 0 when they left without one. 0 or -errno with error.
 */
int interact_pick(struct interact *interact, const char *wanted, const int32_t **pids, size_t *nr,
		  struct error *error);
/* The process that was picked can't be profiled: that is shown when the user is let choose again. */
void interact_tell_refusal(struct interact *interact, const struct error *error);

#endif
