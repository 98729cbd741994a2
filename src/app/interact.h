/* SPDX-License-Identifier: MIT */
#ifndef CTOP_APP_INTERACT_H
#define CTOP_APP_INTERACT_H

/*
 * The interface on a terminal: one loop over keys, signals, time and a session. Shows a
 * running profile, or one that was read from a file.
 */

#include <ctop/app/options.h>
#include <ctop/app/session.h>
#include <ctop/base/error.h>
#include <ctop/profile/history.h>

/* Whether the user is to have the interface rather than text. */
bool interact_wanted(const struct options *options);

/* Blocks the signals that the loop reads; before anything is forked. *fd: a signalfd. 0 or -errno. */
int interact_block_signals(int *fd);

struct interact_source {
	struct session *session; /* NULL: everything is in the history */
	struct history *history; /* NULL: only the picker is to be shown */
};

/* Until the user leaves. 0 or -errno with error; the terminal is as it was in any case. */
int interact_run(const struct interact_source *source, const struct options *options, int signal_fd,
		 struct error *error);

/* Lets the user choose a process. *pid: 0 when they left without one. 0 or -errno with error. */
int interact_pick(const struct options *options, int signal_fd, int32_t *pid, struct error *error);

#endif
