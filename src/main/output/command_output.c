/* SPDX-License-Identifier: MIT */
#include <ctop/output/command_output.h>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <ctop/base/promptness.h>

#include "kept_output.h"

enum { KEPT_BYTES = 1 << 20, PIECE_BYTES = 1 << 16 };
/* What is still taken in when the terminal is free: a pipe holds no more, and who waits must not wait for ever. */
enum { LAST_PIECES = 32 };

/* ---- the process that takes it ---- */

struct relay {
	int from_fd, held_fd, done_fd;
	struct kept_output kept;
	char piece[PIECE_BYTES];
};

/* All of it, also where the terminal does not block. 0 or -errno. */
static int write_to_terminal(void *context, const char *bytes, size_t size)
{
	(void)context;
	while (size) {
		ssize_t written = write(STDOUT_FILENO, bytes, size);
		struct pollfd wait = {.fd = STDOUT_FILENO, .events = POLLOUT};
		if (written < 0 && errno == EAGAIN)
			poll(&wait, 1, -1);
		else if (written < 0 && errno != EINTR)
			return -errno;
		bytes += written > 0 ? written : 0;
		size -= written > 0 ? (size_t)written : 0;
	}
	return 0;
}

/* It lives as long as the command writes, not as long as somebody at the keyboard likes. */
static void ignore_the_terminal(void)
{
	static const int ignored[] = {SIGINT, SIGQUIT, SIGHUP, SIGPIPE, SIGTSTP, SIGTTOU, SIGUSR1};
	sigset_t none;
	sigemptyset(&none);
	for (size_t i = 0; i < sizeof(ignored) / sizeof(*ignored); i++)
		signal(ignored[i], SIG_IGN);
	sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Bytes; 0: there will be no more. */
static size_t read_piece(struct relay *relay)
{
	ssize_t size;
	do
		size = read(relay->from_fd, relay->piece, sizeof(relay->piece));
	while (size < 0 && errno == EINTR);
	return size > 0 ? (size_t)size : 0;
}

static bool is_ready(int fd)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	return poll(&poll_fd, 1, 0) > 0;
}

/* While the terminal is taken. False: the command has closed its output. */
static bool keep(struct relay *relay)
{
	struct pollfd fds[] = {
		{.fd = relay->from_fd, .events = POLLIN},
		{.fd = relay->held_fd, .events = POLLIN},
	};
	bool more = true;
	for (int nr_last = 0;
	     !fds[1].revents || (more && is_ready(relay->from_fd) && nr_last < LAST_PIECES);) {
		if (poll(fds, 2, -1) < 0)
			continue;
		nr_last += fds[1].revents != 0;
		if (!fds[0].revents)
			continue;
		size_t size = read_piece(relay);
		kept_output_add(&relay->kept, relay->piece, size);
		if (!size) {
			more = false;
			fds[0].fd = -1;
			fds[0].revents = 0;
		}
	}
	return more;
}

static _Noreturn void run_relay(struct relay *relay)
{
	ignore_the_terminal();
	promptness_end();
	prctl(PR_SET_NAME, "ctop-output");
	bool more = keep(relay);
	int result = kept_output_give(&relay->kept, write_to_terminal, NULL);
	close(relay->done_fd);
	/* A terminal that is gone is no reason for the command to fail. */
	for (size_t size; more && (size = read_piece(relay)) > 0;)
		if (!result)
			result = write_to_terminal(NULL, relay->piece, size);
	_exit(0);
}

/* ---- main's side ---- */

static void close_both(int *fds)
{
	for (int i = 0; i < 2; i++)
		if (fds[i] >= 0)
			close(fds[i]);
}

/* It is not waited for: main ends before it, or it has ended. */
static int start(struct relay *relay, const int *others, size_t nr_others)
{
	pid_t pid = fork();
	if (pid < 0)
		return -errno;
	if (pid)
		return 0;
	for (size_t i = 0; i < nr_others; i++)
		close(others[i]);
	run_relay(relay);
}

int command_output_open(struct command_output *output, int input_fd, struct error *error)
{
	struct relay *relay = calloc(1, sizeof(*relay));
	int pipes[3][2] = {{-1, -1}, {-1, -1}, {-1, -1}};
	int result = relay ? kept_output_init(&relay->kept, KEPT_BYTES) : -ENOMEM;
	for (size_t i = 0; !result && i < 3; i++)
		result = pipe2(pipes[i], O_CLOEXEC) < 0 ? -errno : 0;
	if (!result) {
		const int others[] = {pipes[0][1], pipes[1][1], pipes[2][0], input_fd};
		relay->from_fd = pipes[0][0];
		relay->held_fd = pipes[1][0];
		relay->done_fd = pipes[2][1];
		result = start(relay, others, input_fd ? 4 : 3);
	}
	if (relay)
		kept_output_release(&relay->kept);
	free(relay);
	if (result) {
		for (size_t i = 0; i < 3; i++)
			close_both(pipes[i]);
		return error_set(error, result, "cannot keep the command's output: %s",
				 strerror(-result));
	}
	close(pipes[0][0]);
	close(pipes[1][0]);
	close(pipes[2][1]);
	*output = (struct command_output){pipes[0][1], pipes[1][1], pipes[2][0]};
	return 0;
}

void command_output_close(struct command_output *output)
{
	char byte;
	close(output->write_fd);
	close(output->held_fd);
	while (read(output->done_fd, &byte, 1) < 0 && errno == EINTR)
		;
	close(output->done_fd);
	*output = (struct command_output){-1, -1, -1};
}
