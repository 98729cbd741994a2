/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_LOOP_H
#define CTOP_SESSION_LOOP_H

/*
 * The loop over a profile, with a terminal or without: serves what comes, reads signals, keeps the session's course, and gives its front end
 * a turn. What differs between front ends (session/run.h, interactive/interact.h) are these hooks.
 */

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/signalfd.h>

#include <ctop/base/error.h>
#include <ctop/session/course.h>
#include <ctop/session/session.h>

/* Each returns 0, or -errno with error, which ends the loop. */
struct front_end {
	/* Waits at most timeout_ms for something to do, does it. */
	int (*serve)(void *context, int timeout_ms, struct error *error);
	/* All signals but SIGUSR1, which switches sampling on and off. */
	int (*signal)(void *context, const struct signalfd_siginfo *info, struct error *error);
	/* After each round of the loop, and once due_ns has come. */
	int (*turn)(void *context, enum course_change change, struct error *error);
};

struct loop {
	const struct front_end *front;
	void *context;
	struct session *session; /* whose course is kept; NULL: there is none */
	struct course course;
	int signal_fd;
	uint64_t due_ns; /* of the front end's next turn, if nothing comes */
	/* Set by the front end: */
	bool leaves_signals; /* unread, for whoever waits next */
	bool is_over;
};

/*
 * Blocks the signals that a loop reads, and SIGPIPE: a reader that went away is a write error. Before anything is forked or opened. *fd: a
 * signalfd. 0 or -errno.
 */
int loop_block_signals(const sigset_t *watched, int *fd);
/* Until it is over, or fails. */
int loop_run(struct loop *loop, struct error *error);

#endif
