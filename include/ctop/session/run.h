/* SPDX-License-Identifier: MIT */
#ifndef CTOP_SESSION_RUN_H
#define CTOP_SESSION_RUN_H

/*
 * Runs a live session, which was started, until it is drained: until the duration is over, the
 * target has ended, or ^C or SIGTERM asks for the end. A second ^C does not wait for names;
 * it stays unread in the signalfd, for what would wait next.
 * A command that the terminal's ^C has interrupted along with us is profiled to its end, unless there is a second.
 * SIGUSR1 switches sampling on and off.
 */

#include <sys/signalfd.h>

#include <ctop/base/error.h>
#include <ctop/options/options.h>
#include <ctop/session/session.h>

/* What main may remember of a profile that is recorded; with the tables and the children, below 256 MiB in all. */
enum { RUN_HISTORY_BYTES = 64 << 20 };

struct run_ticker {
	void *context;
	/* About ten times a second, and once when all is handed over. 0 or -errno with error: ends the run. */
	int (*tick)(void *context, struct error *error);
	/* Something is to be said: what stands on the terminal's line makes way until the next tick. NULL: nothing does. */
	void (*make_way)(void *context);
	/* SIGUSR2 came. Whoever takes it blocks it, too: run_block_usr2(). */
	void (*usr2)(void *context);
};

/* Blocks the signals that steer a run; before anything is forked or opened. *fd: a signalfd. 0 or -errno. */
int run_block_signals(int *fd);
/* The same, and SIGUSR2. */
int run_block_usr2(int *fd);
/* Those that came meanwhile are forgotten; from then on they end us again. */
void run_unblock_signals(void);
int run_session(struct session *session, const struct options *options, int signal_fd,
		const struct run_ticker *ticker, struct error *error);

/* Whether it is the terminal's ^C, which whatever runs in the foreground gets, commands of ours included. */
bool run_is_terminals(const struct signalfd_siginfo *info);
/* Profiling ends; the command, which the terminal has interrupted, is awaited until it ends, or another signal comes. */
void run_await_command(struct session *session, int signal_fd);

/*
 * ctop itself failed: with -- CMD the exit code is 125, so that nobody takes it for the command's own (as
 * timeout(1) does). Returns result.
 */
int run_failed(const struct options *options, int result, struct error *error);

/* Exit status of a command by its wait status, as a shell gives it. */
int run_exit_status(int wait_status);

#endif
